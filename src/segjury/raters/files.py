"""The files of an analysis of raters: tables, everything in one JSON, and plain sentences."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from segjury.errors import escaped
from segjury.raters.sentences import sentences
from segjury.raters.study import RaterStudy
from segjury.runtime.paths import make_folder
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import json_text, write_text

TABLES = (
    "pairs",
    "agreement",
    "raters",
    "rater_measures",
    "rater_cases",
    "invasion",
    "invasion_splits",
    "ceiling",
    "ceiling_all",
    "ceiling_summary",
    "repeats",
)
OF_CASES = (
    "pairs",
    "rater_measures",
    "ceiling",
    "ceiling_all",
    "repeats",
)  # long: in their files alone


def write_raters(study: RaterStudy, folder: Path) -> None:
    """Write the tables that have rows as CSV, `raters.json` and `raters.md`.

    A table that the benchmark has nothing for is not written, and removed if one is there.
    """
    make_folder(folder)
    for name in TABLES:
        table: pd.DataFrame = getattr(study, name)
        if table.empty:
            (folder / f"{name}.csv").unlink(missing_ok=True)
        else:
            write_csv(table, folder / f"{name}.csv")
    write_text(json_text(as_json(study), indent=1), folder / "raters.json")
    lines = (f"- {escaped(' '.join(said.split()))}" for said in sentences(study))
    write_text("\n".join(lines), folder / "raters.md")


def as_json(study: RaterStudy) -> dict[str, Any]:
    """Everything but the long tables of single cases; numbers that are not defined are null."""
    return {
        "protocol": {"name": study.protocol.name, "hash": study.protocol.hash},
        "raters": study.n_raters,
        "cases": study.cases,
        **({} if study.crossed else _panel(study)),
        "settings": asdict(study.settings),
        "tables": {name: _records(getattr(study, name)) for name in TABLES if name not in OF_CASES},
        "outlier_tests": {
            label: {"cases": tests.cases, "why_not": tests.why_not or None}
            for label, tests in study.outliers.items()
        },
        "warnings": list(study.warnings),
        "problems": list(study.problems),
    }


def _panel(study: RaterStudy) -> dict[str, Any]:
    """What is to be known of raters who did not all mark all cases, or who are not known."""
    return {
        "anonymous": study.anonymous,
        "cases_by_number_of_raters": {str(n): cases for n, cases in study.marked_by.items()},
        "krippendorff_alpha_over_all_cases": study.alpha,
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
