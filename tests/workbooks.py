"""Workbooks of spreadsheets, written by hand: the few files of a zip archive that a table needs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def sheet(rows: str) -> str:
    """A sheet of rows that are written out."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def rows_of(table: Sequence[Sequence[object]]) -> str:
    """Rows of numbers and texts within the cells; nothing for what is None."""
    cells = []
    for row, line in enumerate(table, 1):
        cells.append(f'<row r="{row}">')
        for column, value in enumerate(line):
            place = f"{chr(ord('A') + column)}{row}"
            if isinstance(value, str):
                text = f"<is><t>{escape(value)}</t></is>"
                cells.append(f'<c r="{place}" t="inlineStr">{text}</c>')
            elif value is not None:
                cells.append(f'<c r="{place}"><v>{value!r}</v></c>')
        cells.append("</row>")
    return "".join(cells)


def workbook(
    sheets: Mapping[str, str], *, strings: str = "", more: Mapping[str, str] | None = None
) -> bytes:
    """A workbook with these sheets, the texts that they share, and further files."""
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>'
        for n, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Target="worksheets/sheet{n}.xml" Type="{LINKS}/worksheet"/>'
        for n in range(1, len(sheets) + 1)
    )
    files = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
    }
    for n, text in enumerate(sheets.values(), 1):
        files[f"xl/worksheets/sheet{n}.xml"] = text
    if strings:
        files["xl/sharedStrings.xml"] = f'<sst xmlns="{MAIN}">{strings}</sst>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (files | dict(more or {})).items():
            archive.writestr(name, text)
    return data.getvalue()


def write_workbook(path: Path, table: Sequence[Sequence[object]]) -> Path:
    """Write a workbook with one table."""
    path.write_bytes(workbook({"Scores": sheet(rows_of(table))}))
    return path
