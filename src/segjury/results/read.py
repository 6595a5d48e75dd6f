"""The long table of scores: writing it, and reading ours or anybody's."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]

from segjury.errors import InputError, MissingInputError
from segjury.results.forms import (
    COLUMNS,
    DETAIL_COLUMNS,
    RATER,
    group_columns,
    long_form,
    mean_over_raters,
    numbers,
    values_of_raters,
    with_our_names,
)
from segjury.runtime.writing import whole

__all__ = [
    "BIN_COLUMNS",
    "COLUMNS",
    "DETAIL_COLUMNS",
    "group_columns",
    "read_calibration",
    "read_cases",
    "read_ceiling",
    "read_details",
    "read_run",
    "read_scores",
    "read_table",
    "run_folder",
    "scores_file",
    "write_csv",
    "write_scores",
]

# a row of `calibration.csv`; `hits_1` and so on follow, one for each rater
BIN_COLUMNS = (
    "method",
    "case",
    "metric",
    "structure",
    "reading",
    "bin_low",
    "bin_high",
    "voxels",
    "confidence",
)
HITS = re.compile(r"hits_\d+")
CEILING = "ceiling.csv"
MOST_COLUMNS = 10_000
LONGEST_ROW_BYTES = 1 << 24
_SEPARATORS = ",;\t|"
_END = "\x03"  # the control character for the end of a text


def write_scores(scores: pd.DataFrame, folder: Path) -> None:
    """Write `scores.csv` and `scores.parquet`, each whole or not at all."""
    write_csv(scores, folder / "scores.csv")
    with whole(folder / "scores.parquet") as partial:
        scores.to_parquet(partial, index=False)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    with whole(path) as partial:
        table.to_csv(partial, index=False, lineterminator="\n", quoting=quoting(table))


def quoting(table: pd.DataFrame) -> Any:
    """Quotes where needed; around all text if some has a carriage return, which csv overlooks."""
    texts = (cells.astype(str).str for _, cells in table.select_dtypes(exclude="number").items())
    loose = any(text.contains("\r", regex=False).any() for text in texts)
    return csv.QUOTE_NONNUMERIC if loose else csv.QUOTE_MINIMAL


def read_scores(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Collection[str] = (),
    matrix: str | None = None,
) -> pd.DataFrame:
    """Read a table of scores, CSV or parquet: ours, or another tool's in one of these forms.

    - Long: `method, case, metric, value`. Further columns are groups of cases, such as `dataset`
      or `sex`, and the same in all rows of a case. With a column `rater` a value is the mean of
      all raters', each of whom must have scored everything; see also `read_details`.
    - Wide: `method` and a column per metric (suffixes such as `_percent` or `_median` are dropped,
      `vi_porta` becomes `vi` of PORTA, columns of ranks and spreads are left out), with or without
      `case`. A column without any number is a group.
    - A matrix of one metric, if its name is given as `matrix`: a row per case (`case`, or else the
      first column), a column per method.

    `columns` says what our columns are called in the file, as in `{"method": "team"}`; `groups`
    are columns of numbers that are groups all the same. The result has our columns, filled in
    where the file has none, then the groups, as text.
    """
    file = scores_file(path)
    table = with_our_names(_read(file), columns or {}, file.name)
    scores = long_form(table, file.name, groups=groups, matrix=matrix)
    return mean_over_raters(scores, file.name) if RATER in scores else scores


def read_details(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Collection[str] = (),
    matrix: str | None = None,
) -> pd.DataFrame | None:
    """What the scores were made from: each rater's, or the `details.csv` beside the table.

    The options are those of `read_scores`. A rater's value is the quantity `score` of the item
    `rater NAME`.
    """
    file = scores_file(path)
    table = with_our_names(_read(file), columns or {}, file.name)
    if RATER in table:
        scores = long_form(table, file.name, groups=groups, matrix=matrix)
        if RATER in scores:
            return values_of_raters(scores)
    beside = file.with_name("details.csv")
    if not beside.is_file():
        return None
    table = with_our_names(_read(beside), {}, beside.name)
    _require(table, DETAIL_COLUMNS, beside)
    found = numbers(table["value"])
    if np.isinf(found).any():
        cell = table["value"][np.isinf(found)].iloc[0]
        raise InputError(f"{beside} has the value {cell!r}", "Give a number, or leave it empty")
    return table[list(DETAIL_COLUMNS)].assign(value=found)


def read_calibration(path: Path) -> pd.DataFrame | None:
    """The `calibration.csv` beside a table of scores, if there is one: counts per confidence bin.

    `confidence` is the sum over a bin's voxels, `hits_k` how many have the label of rater k.
    """
    beside = (path if path.is_dir() else path.parent) / "calibration.csv"
    if not beside.is_file():
        return None
    table = with_our_names(_read(beside), {}, beside.name)
    _require(table, [*BIN_COLUMNS, "hits_1"], beside)
    hits = [str(name) for name in table.columns if HITS.fullmatch(str(name))]
    counted = [*BIN_COLUMNS[5:], *hits]
    found = {name: numbers(table[name]) for name in counted}
    for name, cells in found.items():
        bad = ~np.isfinite(cells)
        if bad.any():
            cell = table[name][bad].iloc[0]
            raise InputError(f"{beside} has the {name} {cell!r}", "Give a number")
    return table[[*BIN_COLUMNS, *hits]].assign(**found)


def read_cases(path: Path) -> pd.DataFrame | None:
    """The `cases.csv` beside a table of scores, if there is one.

    Columns of numbers are numbers, unless they are codes with leading zeros; the rest is text.
    """
    beside = (path if path.is_dir() else path.parent) / "cases.csv"
    if not beside.is_file():
        return None
    table = with_our_names(_read(beside), {}, beside.name)
    _require(table, ["case"], beside)
    double = table["case"].duplicated()
    if double.any():
        name = table["case"][double].iloc[0]
        raise InputError(f"{beside} has two rows for case {name}", "Keep one of them")
    table = table.loc[:, table.columns != ""]
    about = {name: _measured(table[name]) for name in table.columns if name not in COLUMNS}
    return table.assign(**about)


def read_table(path: Path) -> pd.DataFrame:
    """Any table, CSV or parquet, with its cells as text; see `score_forms.numbers`."""
    if not path.is_file():
        raise MissingInputError(f"there is no table {path}", "Give a CSV")
    table = _read(path)
    table.columns = pd.Index([str(name).strip() for name in table.columns])
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InputError(f"{path.name} has two columns '{twice[0]}'", "Rename one of them")
    return table


def read_ceiling(path: Path, folder: Path | None = None) -> pd.DataFrame | None:
    """The scores that raters get as methods, from a folder that `segjury raters` wrote.

    Unless told, it is looked for beside a table of scores, in `raters` or in its own folder.
    """
    if folder is not None:
        file = folder / CEILING if folder.is_dir() else folder
        if not file.is_file():
            todo = f"Give the folder of segjury raters; of one rater it has no {CEILING}"
            raise MissingInputError(f"there is no {file}", todo)
        return read_scores(file)
    beside = path if path.is_dir() else path.parent
    found = (file for file in (beside / "raters" / CEILING, beside / CEILING) if file.is_file())
    file_found = next(found, None)
    return None if file_found is None else read_scores(file_found)


def _measured(cells: pd.Series[Any]) -> Any:
    """A column of facts: as numbers, if that loses nothing."""
    found = numbers(cells)
    words = np.isinf(found).any() or cells.str.match(r"[+-]?0\d").any()
    return cells if words or (np.isnan(found).all() and (cells != "").any()) else found


def _require(table: pd.DataFrame, needed: Collection[str], path: Path) -> None:
    absent = [name for name in needed if name not in table.columns]
    if absent:
        raise InputError(f"{path} has no column '{absent[0]}'", "Write it anew, or remove it")


def scores_file(path: Path) -> Path:
    """The table that a path means: itself, or the one in its folder."""
    file = path / "scores.csv" if path.is_dir() else path
    if not file.is_file():
        raise MissingInputError(f"there is no table {file}", "Give a scores.csv")
    return file


def _read(path: Path) -> pd.DataFrame:
    """A table with its cells as text (a method may be called NA, a case 007); see `numbers`.

    Only fractions in a parquet file stay numbers.
    """
    try:
        if path.suffix.lower() == ".parquet":
            return _read_parquet(path)
        return _read_csv(path.read_bytes(), path.name)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InputError(f"{path.name} cannot be read ({reason})", "Give a CSV") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    file = pa.parquet.ParquetFile(path)  # read_table would make columns of folders called x=y
    _check_width(file.metadata.num_columns, path.name)
    table = file.read()
    columns = [
        column
        if pa.types.is_floating(column.type)
        else column.cast(pa.large_string()).fill_null("")
        for column in table.columns
    ]
    places = [str(place) for place in range(len(columns))]  # two columns may have one name
    frame: pd.DataFrame = pa.table(columns, places).to_pandas()
    return frame.set_axis(table.column_names, axis="columns")


def _read_csv(data: bytes, file: str) -> pd.DataFrame:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{file} is UTF-16 text", "Save it as CSV in UTF-8")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{file} is not text (line {line} has a NUL)", "Save it as CSV in UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    _check_utf8(data, file)  # first: arrow prints a traceback of its own where a bad row is not
    names, separator = _header(data, file)
    return _cells(data, separator, len(names), file).set_axis(names, axis="columns")


def _header(data: bytes, file: str) -> tuple[list[str], str]:
    """The names of the columns, and what stands between them."""
    best: list[str] = []
    separator = ","
    for candidate in _SEPARATORS:
        lines = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
        try:
            names = next(csv.reader(lines, delimiter=candidate), [])
        except csv.Error as error:
            raise InputError(
                f"the header of {file} cannot be read ({error})", "Give a CSV"
            ) from None
        if len(names) > len(best):
            best, separator = names, candidate
        if len(best) > 1:
            break
    if not best:
        raise InputError(f"{file} cannot be read (it is empty)", "Give a CSV")
    _check_width(len(best), file)
    return best, separator


def _check_width(columns: int, file: str) -> None:
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{file} has {columns:,} columns, more than {MOST_COLUMNS:,}",
            "Give a long table: method, case, metric, value",
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


def _check_utf8(data: bytes, file: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{file} is not UTF-8 text (line {line} has the byte 0x{data[error.start]:02x})",
            "Save it as CSV in UTF-8",
        ) from None


def read_run(scores: Path) -> dict[str, Any] | None:
    """The `run.json` beside a table of scores, if there is one."""
    folder = scores if scores.is_dir() else scores.parent
    try:
        run = json.loads((folder / "run.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return run if isinstance(run, dict) else None


def run_folder(run: Mapping[str, Any], kind: str, beside: Path) -> Path:
    """Where a run's images are: as it was started, or at the same place relative to its table."""
    relative = run.get("relative")
    near = relative.get(kind, run[kind]) if isinstance(relative, Mapping) else run[kind]
    places = [Path(str(run[kind])), beside / str(near)]
    for place in places:
        if place.is_dir():
            return place
    raise InputError(f"there is no folder {places[0]}")
