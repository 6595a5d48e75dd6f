"""The table in a workbook of a spreadsheet (.xlsx), read with care: it may be a stranger's.

A workbook is a zip archive of XML files. What they unpack to is known before they are unpacked, and
a document type, by which XML can grow without end or name other files, is refused.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from segjury.errors import InputError
from segjury.runtime.csv_text import check_width
from segjury.wording import listed

SUFFIXES = (".xlsx", ".xlsm")
MOST_BYTES = 1 << 27
MOST_CELLS = 5_000_000
MOST_TEXT = 1 << 28  # characters of all cells
_DEEPEST = 30  # tags within each other
LONGEST_CELL = 32_767  # as spreadsheets have it
_PIECE = 1 << 16
_PLACE = re.compile(r"([A-Z]{1,4})\d{0,9}")
_FLAGS = {"0": "FALSE", "1": "TRUE"}
_AS_CSV = "Save the table as CSV"

Row = dict[int, str]
Attributes = dict[str, str]


class _WorkbookError(Exception):
    """Something in a workbook is not as it must be."""


def read_workbook(path: Path) -> list[list[str]]:
    """The rows of the only table in a workbook, as text, the header first; all of one length.

    Numbers are written to the last digit. Empty rows, and empty columns, are left out.
    """
    try:
        with ZipFile(path) as archive:
            return _Workbook(archive, path.name).table()
    except (
        *(_WorkbookError, BadZipFile, expat.ExpatError, zlib.error, EOFError, KeyError),
        *(NotImplementedError, RuntimeError, ValueError, LookupError),
    ) as error:
        reason = str(error)[:200] or type(error).__name__
        raise InputError(f"{path.name} cannot be read ({reason})", _AS_CSV) from None


class _Workbook:
    def __init__(self, archive: ZipFile, file: str) -> None:
        self._archive = archive
        self._file = file
        self._left = MOST_BYTES
        self._texts = self._cells = 0
        self._shared: list[str] = []

    def table(self) -> list[list[str]]:
        """The rows of the only sheet that has cells."""
        sheets = self._sheets()
        if "xl/sharedStrings.xml" in self._archive.namelist():
            self._shared = self._strings()
        found = {name: rows for name, part in sheets.items() if (rows := self._rows(part))}
        if not found:
            raise InputError(f"{self._file} has no table", _AS_CSV)
        if len(found) > 1:
            names = listed(found, most=10)
            raise InputError(f"{self._file} has several sheets: {names}", f"{_AS_CSV}, or alone")
        (rows,) = found.values()
        used = sorted({column for row in rows for column in row})
        check_width(len(used), self._file)
        self._check_cells(len(rows) * len(used))
        return [[row.get(column, "") for column in used] for row in rows]

    def _sheets(self) -> dict[str, str]:
        """The parts of the sheets that are not hidden, by name."""
        listed_sheets: list[tuple[str, str]] = []
        places: dict[str, str] = {}

        def sheet(tag: str, given: Attributes) -> None:
            if tag == "sheet" and given.get("state", "visible") == "visible":
                link = next((text for name, text in given.items() if name.endswith(" id")), "")
                listed_sheets.append((given["name"], link))

        def link(tag: str, given: Attributes) -> None:
            if tag == "Relationship":
                places[given["Id"]] = posixpath.normpath(posixpath.join("/xl", given["Target"]))

        self._parse("xl/workbook.xml", start=sheet)
        self._parse("xl/_rels/workbook.xml.rels", start=link)
        return {name: places[link].lstrip("/") for name, link in listed_sheets}

    def _strings(self) -> list[str]:
        """The texts that cells share; how they are pronounced is left out."""
        found: list[str] = []
        inside: list[str] = []
        pieces: list[str] = []

        def start(tag: str, _given: Attributes) -> None:
            inside.append(tag)
            if tag == "si":
                pieces.clear()

        def end(tag: str) -> None:
            inside.pop()
            if tag == "si":
                found.append("".join(pieces))

        def text(data: str) -> None:
            if inside[-1] == "t" and "rPh" not in inside:
                pieces.append(data)

        self._parse("xl/sharedStrings.xml", start=start, end=end, text=text)
        return found

    def _rows(self, part: str) -> list[Row]:
        """The rows of a sheet that have cells, each by its columns."""
        rows: list[Row] = []
        cell = _Cell()
        inside: list[str] = []

        def start(tag: str, given: Attributes) -> None:
            inside.append(tag)
            if tag == "row":
                rows.append({})
                cell.column = -1
            elif tag == "c":
                cell.begin(given, self._file)
            elif tag == "f":
                cell.formula = True

        def end(tag: str) -> None:
            inside.pop()
            if tag == "c":
                self._add(rows[-1], cell)
            elif tag == "row" and not rows[-1]:
                rows.pop()

        def text(data: str) -> None:
            if inside[-1] in ("v", "t") and "rPh" not in inside:
                cell.pieces.append(data)

        self._parse(part, start=start, end=end, text=text)
        return rows

    def _add(self, row: Row, cell: _Cell) -> None:
        found = cell.text(self._shared)
        self._texts += len(found)
        self._cells += 1
        self._check_cells(self._cells)
        if len(found) > LONGEST_CELL:
            raise InputError(
                f"{self._file} has a cell of {len(found):,} characters, more than {LONGEST_CELL:,}",
                "Shorten it",
            )
        if self._texts > MOST_TEXT:
            raise InputError(f"{self._file} has more text than a table of scores", _AS_CSV)
        if found:
            row[cell.column] = found

    def _check_cells(self, cells: int) -> None:
        if cells > MOST_CELLS:
            raise InputError(f"{self._file} has over {MOST_CELLS:,} cells", _AS_CSV)

    def _parse(
        self,
        part: str,
        *,
        start: Callable[[str, Attributes], None] = lambda _tag, _given: None,
        end: Callable[[str], None] = lambda _tag: None,
        text: Callable[[str], None] = lambda _data: None,
    ) -> None:
        """Read an XML file; tags come without their namespace."""
        depth = 0

        def opened(tag: str, given: Attributes) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                raise _WorkbookError(f"{part} has too many tags within each other")
            start(tag.rpartition(" ")[2], given)

        def closed(tag: str) -> None:
            nonlocal depth
            depth -= 1
            end(tag.rpartition(" ")[2])

        about = self._archive.getinfo(part)
        self._left -= about.file_size
        if self._left < 0:
            size = (MOST_BYTES - self._left) >> 20
            raise InputError(
                f"{self._file} unpacks to {size} MB, more than {MOST_BYTES >> 20}", _AS_CSV
            )
        if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise _WorkbookError(f"{part} is packed in an unknown way")
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler = opened
        parser.EndElementHandler = closed
        parser.CharacterDataHandler = text
        parser.buffer_text = True
        with self._archive.open(about) as file:
            while piece := file.read(_PIECE):
                parser.Parse(piece, False)
        parser.Parse(b"", True)


def _refuse(*_: Any) -> None:
    raise _WorkbookError("it has a document type")


class _Cell:
    """The cell that is read: its column, its kind, and the pieces of its text."""

    def __init__(self) -> None:
        self.column = -1
        self.place = ""
        self.kind = ""
        self.formula = False
        self.pieces: list[str] = []

    def begin(self, given: Mapping[str, str], file: str) -> None:
        """Go to the next cell, or to the one that is named."""
        self.place, self.kind = given.get("r", ""), given.get("t", "n")
        self.formula, self.pieces = False, []
        column = _column(self.place, file) if self.place else self.column + 1
        if column <= self.column:
            raise _WorkbookError(f"cell {self.place} is not in its order")
        self.column = column

    def text(self, shared: list[str]) -> str:
        """What the cell holds; a number with all its digits."""
        text = "".join(self.pieces)
        if self.formula and not text and self.kind != "str":
            raise _WorkbookError(f"cell {self.place} has a formula without its value")
        if not text:
            return ""
        if self.kind == "s":
            place = int(text)
            if not 0 <= place < len(shared):
                raise _WorkbookError(f"cell {self.place} has a text that is not there")
            return shared[place]
        if self.kind == "b":
            return _FLAGS.get(text, text)
        return _number(text) if self.kind == "n" else text


def _column(place: str, file: str) -> int:
    """The number of a column from its letters: 0 for A, 26 for AA."""
    found = _PLACE.fullmatch(place)
    if found is None:
        letters = len(place.rstrip("0123456789"))
        check_width(26 ** min(letters, 8), file)
        raise _WorkbookError(f"there is no cell {place[:20]}")
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - ord("A") + 1
    check_width(number, file)
    return number - 1


def _number(text: str) -> str:
    """A number as Python writes it, without needless decimals."""
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
