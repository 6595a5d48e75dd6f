"""The table of cases that a benchmark may bring along: what is known of each, such as a group."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from segjury.errors import InputError
from segjury.protocols import Protocol

MOST_COLUMNS = 10_000


def case_table(
    protocol: Protocol, reference: Path, cases: Sequence[str], file: Path | None = None
) -> dict[str, dict[str, str]]:
    """What the table of cases says of each case; nothing where the benchmark has none.

    `file` is read instead of the one in the reference folder, and must then be there.
    """
    path = file or reference / protocol.cases.file
    if file is None and not path.is_file():
        return {}
    rows = case_rows(path)
    for column in ("case", *protocol.cases.columns):
        if not rows or column not in rows[0]:
            raise InputError(f"{path.name} has no column {column}", "Name the columns in line 1")
    table: dict[str, dict[str, str]] = {}
    for cells in rows:
        case = cells.pop("case")
        if case in table:
            raise InputError(
                f"{path.name} has case {case} twice", "Keep one line", kind="double-case"
            )
        if any(";" in cells[column] for column in protocol.cases.columns):
            raise InputError(f"{path.name}: case {case} has a semicolon", "Use another sign")
        table[case] = cells
    absent = [case for case in cases if case not in table]
    if absent:
        what = f"{path.name} has no case {', '.join(absent[:5])}"
        raise InputError(what, "Add a line for each", kind="case-not-in-table")
    return {case: table[case] for case in cases}


def case_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table of cases; cells at the end of a row may be left out."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, strict=True)
            width = len(reader.fieldnames or ())
            if width > MOST_COLUMNS:
                raise InputError(f"{path.name} has {width} columns", "Keep those about the cases")
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error})", "Save it as CSV, UTF-8") from None
    for number, row in enumerate(rows, 2):
        if any(row.get(None) or ()):  # beyond the last column
            raise InputError(f"{path.name}: row {number} has more cells than line 1", "Fix it")
        if any("\0" in (cell or "") for cell in row.values()):
            raise InputError(f"{path.name}: row {number} has a NUL", "Save it as CSV, UTF-8")
    return [{key: (cell or "").strip() for key, cell in row.items() if key} for row in rows]
