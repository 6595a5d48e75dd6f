"""Tables in files: CSV, parquet and workbooks in, with every cell as text; CSV out."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
from numpy.typing import NDArray

from segjury.errors import InputError, MissingInputError
from segjury.runtime.csv_text import check_width, header, read_text
from segjury.runtime.workbook import SUFFIXES, read_workbook
from segjury.runtime.writing import whole_file

LONGEST_ROW_BYTES = 1 << 24
MOST_BYTES = 1 << 31  # of a parquet file, unpacked
ROWS_AT_ONCE = 1 << 14
TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
NO_VALUE = (
    *("", "nan", "na", "none", "null", "n/a", "n.a.", "#n/a", "<na>"),
    *("-", "\N{EN DASH}", "\N{EM DASH}"),
)
_END = "\x03"  # the control character for the end of a text


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    with whole_file(path) as partial:
        table.to_csv(partial, index=False, lineterminator="\n", quoting=quoting(table))


def quoting(table: pd.DataFrame) -> Any:
    """Quotes where needed; around all text if some has a carriage return, which csv overlooks."""
    texts = (cells.astype(str).str for _, cells in table.select_dtypes(exclude="number").items())
    loose = any(text.contains("\r", regex=False).any() for text in texts)
    return csv.QUOTE_NONNUMERIC if loose else csv.QUOTE_MINIMAL


def read_table(path: Path) -> pd.DataFrame:
    """Any table, in whatever kind of file, with its cells as text; see `numbers`."""
    if not path.is_file():
        raise MissingInputError(f"there is no table {path}", "Give a CSV")
    table = read_cells(path)
    table.columns = pd.Index([str(name).strip() for name in table.columns])
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InputError(f"{path.name} has two columns '{twice[0]}'", "Rename one of them")
    return table


def numbers(cells: pd.Series[Any]) -> NDArray[np.float64]:
    """Cells as numbers, as Python reads them: NaN where empty, infinite where there is none."""
    if pd.api.types.is_numeric_dtype(cells):
        return cells.to_numpy(np.float64)
    return np.fromiter(map(_number, cells.tolist()), np.float64, len(cells))


def _number(cell: str) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return math.nan if cell.strip().lower() in NO_VALUE else math.inf


def read_cells(path: Path) -> pd.DataFrame:
    """A table with its cells as text (a method may be called NA, a case 007); see `numbers`.

    Only fractions in a parquet file stay numbers.
    """
    try:
        if path.suffix.lower() == ".parquet":
            return _read_parquet(path)
        if path.suffix.lower() in SUFFIXES:
            names, *rows = read_workbook(path)
            return pd.DataFrame(rows, columns=names, dtype=str)
        text = read_text(path)
        names, separator = header(text, path.name)
        return _cells(text, separator, len(names), path.name).set_axis(names, axis="columns")
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"{path.name} cannot be read ({reason})", "Give a CSV") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    """The columns of a parquet file; pieces are counted before they are unpacked.

    A few bytes can stand for any number of equal values, or for one long text many times.
    """
    file = pa.parquet.ParquetFile(path)  # read_table would make columns of folders called x=y
    about = file.schema_arrow
    check_width(file.metadata.num_columns, path.name)
    texts = [each.name for each in about if each.type in TEXT_TYPES]
    file = pa.parquet.ParquetFile(path, read_dictionary=texts)  # each text once, until counted
    left, pieces = MOST_BYTES, []
    for batch in file.iter_batches(ROWS_AT_ONCE):
        left -= sum(map(_unpacked_bytes, batch.columns))
        if left < 0:
            raise InputError(
                f"{path.name} unpacks to over {MOST_BYTES >> 20:,} MB", "Give a smaller table"
            )
        pieces.append([_as_cells(column) for column in batch.columns])
    places = [str(place) for place in range(len(about.names))]  # two columns may have one name
    kinds = [each.type if pa.types.is_floating(each.type) else pa.large_string() for each in about]
    columns = [
        pa.chunked_array([piece[place] for piece in pieces], kind)
        for place, kind in enumerate(kinds)
    ]
    frame: pd.DataFrame = pa.table(columns, places).to_pandas()
    return frame.set_axis(about.names, axis="columns")


def _unpacked_bytes(column: Any) -> int:
    """What a column takes when each cell has its own text."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pa.compute.binary_length(column.dictionary.cast(pa.large_binary()))
    return int(pa.compute.sum(lengths.take(column.indices)).as_py() or 0) + int(column.nbytes)


def _as_cells(column: Any) -> Any:
    return (
        column
        if pa.types.is_floating(column.type)
        else column.cast(pa.large_string()).fill_null("")
    )


def _cells(data: bytes, separator: str, width: int, file: str) -> pd.DataFrame:
    """The rows below the header. A last row of our own shows whether a quote is left open."""
    names = [str(place) for place in range(width)]
    bad: list[Any] = []

    def refuse(row: Any) -> str:
        bad.append(row)
        return "error"

    last = separator.join([_END] * width)
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(data + f"\n{last}\n".encode()),
            pa.csv.ReadOptions(
                column_names=names, skip_rows_after_names=1, block_size=LONGEST_ROW_BYTES
            ),
            pa.csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=refuse
            ),
            pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        if not bad:
            raise
        raise _wrong_row(bad[0], separator, width, file) from None
    n_rows = max(table.num_rows - 1, 0)
    if table.slice(n_rows).to_pylist() != [dict.fromkeys(names, _END)]:
        raise _open_quote(file)
    cells: pd.DataFrame = table.slice(0, n_rows).to_pandas()
    blank = cells["0"] == ""
    if blank.any():  # rows of separators, as spreadsheets leave below a table
        cells = cells[~(blank & (cells == "").all(axis=1))].reset_index(drop=True)
    return cells


def _wrong_row(row: Any, separator: str, width: int, file: str) -> InputError:
    """Why a row has more or fewer cells than the header."""
    if _END in row.text:
        return _open_quote(file)
    return InputError(
        f"{file}: the row {row.text[:80]!r} has {row.actual_columns} cells, the header has {width}",
        "Give every row a cell for every column"
        if row.actual_columns < width
        else f"Put cells with '{separator}' in quotes, and write numbers with a decimal point",
    )


def _open_quote(file: str) -> InputError:
    return InputError(f"{file} ends inside a quoted cell", "Close the quote, or remove it")
