"""The text of CSV files: its encoding, header and, of small ones, its rows, without pandas."""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path

from segjury.errors import InputError, MissingInputError
from segjury.runtime.paths import refuse_pipe

PIECE_BYTES = 1 << 20
ZEROS = bytes(4)  # in which there is a NUL, also in UTF-16
MOST_COLUMNS = 10_000
_SEPARATORS = ",;\t|"


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a small table by the names of its columns; a row may end before the last one.

    Pandas, which is not needed here, would take time and memory from what comes next.
    """
    if not path.is_file():
        raise MissingInputError(f"there is no table {path}", "Give a CSV")
    try:
        text = read_text(path)
        names, separator = header(text, path.name)
        lines = io.StringIO(text.decode(), newline="")
        rows = [row for row in csv.reader(lines, delimiter=separator, strict=True) if any(row)]
    except (OSError, csv.Error) as error:
        raise InputError(f"{path.name} cannot be read ({error})", "Give a CSV") from None
    for row in rows:
        if any(row[len(names) :]):
            raise InputError(
                f"{path.name}: the row of {row[0]!r} has more cells than the header", "Fix it"
            )
    named = [(place, name.strip()) for place, name in enumerate(names) if name.strip()]
    return [
        {name: row[place].strip() if place < len(row) else "" for place, name in named}
        for row in rows[1:]
    ]


def read_text(path: Path) -> bytes:
    """The text of a file in UTF-8, without marks and empty lines in front.

    UTF-16 is read where a mark says so; any other encoding is refused.
    """
    refuse_pipe(path)
    _refuse_zeros(path)
    data, file = path.read_bytes(), path.name
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = _from_utf16(data, file)
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{file} is not text (line {line} has a NUL)", "Save it as CSV in UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    _check_utf8(data, file)  # arrow would print a traceback of its own
    return data


def _refuse_zeros(path: Path) -> None:
    """Refuse what is no text where zeros begin: they may go on for more than memory holds."""
    lines = 1
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            before, zeros, _ = piece.partition(ZEROS)
            lines += before.count(b"\n")
            if zeros:
                what = f"{path.name} is not text (line {lines} has a NUL)"
                raise InputError(what, "Save it as CSV in UTF-8")


def header(data: bytes, file: str) -> tuple[list[str], str]:
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
    if not best:
        raise InputError(f"{file} cannot be read (it is empty)", "Give a CSV")
    check_width(len(best), file)
    return best, separator


def check_width(columns: int, file: str) -> None:
    """Refuse a table that is wider than any is meant to be."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{file} has {columns:,} columns, more than {MOST_COLUMNS:,}",
            "Give a long table: method, case, metric, value",
        )


def _from_utf16(data: bytes, file: str) -> bytes:
    try:
        return data.decode("utf-16").encode()
    except UnicodeError:
        raise InputError(f"{file} is not whole UTF-16 text", "Save it as CSV in UTF-8") from None


def _check_utf8(data: bytes, file: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{file} is not UTF-8 text (line {line} has the byte 0x{data[error.start]:02x})",
            "Save it as CSV in UTF-8",
        ) from None
