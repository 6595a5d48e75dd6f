"""The table of cases that a benchmark may bring along: what is known of each, such as a group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segjury.errors import InputError
from segjury.protocols import Protocol
from segjury.runtime.csv_text import read_rows


def case_table(
    protocol: Protocol, reference: Path, cases: Sequence[str], file: Path | None = None
) -> dict[str, dict[str, str]]:
    """What the table of cases says of each case; nothing where the benchmark has none.

    `file` is read instead of the one in the reference folder, and must then be there.
    """
    path = file or reference / protocol.cases.file
    if file is None and not path.is_file():
        return {}
    rows = read_rows(path)
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
