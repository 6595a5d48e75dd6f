"""Problems of the table of cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segjury.benchmark.case_table import case_table
from segjury.benchmark.check.problem import MOST_NAMED, Problem, failed, warning
from segjury.errors import InputError
from segjury.protocols import Protocol
from segjury.runtime.csv_text import read_rows
from segjury.wording import listed


def check_case_table(protocol: Protocol, reference: Path, cases: Sequence[str]) -> list[Problem]:
    """What keeps scoring from reading the table, else what it lacks."""
    name, columns = protocol.cases.file, protocol.cases.columns
    path = reference / name
    try:
        table = case_table(protocol, reference, cases)
    except InputError as error:
        return [failed(error, name, otherwise="broken-case-table")]
    if not path.is_file():
        needed = f"{name} is missing, which has the columns {', '.join(columns)}"
        return [warning("missing-case-table", needed, file=name)] if columns else []
    problems = []
    unknown = [row["case"] for row in read_rows(path) if row["case"] not in table]
    if unknown:
        message = f"{name} has {listed(unknown, most=MOST_NAMED)}, no case of the reference"
        problems.append(warning("unknown-case-in-table", message, file=name))
    for column in columns:
        empty = [case for case in cases if not table[case][column]]
        if empty:
            message = f"{name} has no {column} for {listed(empty, most=MOST_NAMED)}"
            problems.append(warning("empty-cell", message, "Fill it in", file=name))
    return problems
