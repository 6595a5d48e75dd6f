"""From the results of a run to its tables, and their files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segjury.protocols import Protocol
from segjury.rounding import rounded
from segjury.runtime.writing import whole_files, write_text
from segjury.scoring.records import Fact, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evaluation:
    """The results of a run as tables."""

    scores: pd.DataFrame
    details: pd.DataFrame
    calibration: pd.DataFrame
    cases: pd.DataFrame
    problems: list[str]
    run: dict[str, Any]
    warnings: tuple[str, ...] = ()
    worth_repeating: bool = False  # something failed for a reason that may be gone the next time


def tabulate(
    protocol: Protocol,
    results: list[Result],
    known: dict[str, dict[str, str]],
    about: dict[str, Any],
    warnings: tuple[str, ...],
) -> Evaluation:
    """The tables of a run; `known` is what the table of cases says, `about` goes to `run.json`."""
    import pandas as pd

    from segjury.results.read import DETAIL_COLUMNS

    facts: dict[str, Sequence[Fact]] = {}
    for result in results:
        facts[result.case] = result.facts or facts.get(result.case, ())
    cohort = case_cohorts(protocol, facts, known)
    scores = score_table(protocol, results, known, cohort)
    details = pd.DataFrame(
        [{"method": r.method, "case": r.case, **asdict(d)} for r in results for d in r.details],
        columns=list(DETAIL_COLUMNS),
    )
    cases = pd.DataFrame(
        [
            {"case": case, **known.get(case, {}), "cohort": cohort[case], **_by_column(measured)}
            for case, measured in facts.items()
        ]
    )
    calibration = _calibration(results, protocol.reference.n_raters)
    return Evaluation(
        scores,
        details,
        calibration,
        cases,
        _problems(results),
        about,
        warnings,
        worth_repeating=any(r.may_pass for r in results),
    )


def score_table(
    protocol: Protocol,
    results: Sequence[Result],
    known: Mapping[str, Mapping[str, str]],
    cohort: Mapping[str, str],
) -> pd.DataFrame:
    """The long table of scores, with the cohorts of each case and the groups known of it."""
    import pandas as pd

    from segjury.results.read import COLUMNS

    columns = protocol.cases.columns if known else ()
    return pd.DataFrame(
        [
            {"method": r.method, "case": r.case, **asdict(row), "cohort": cohort[r.case]}
            | {column: known[r.case][column] for column in columns}
            for r in results
            for row in r.rows
        ],
        columns=[*COLUMNS, *columns],
    )


def case_cohorts(
    protocol: Protocol,
    facts: Mapping[str, Sequence[Fact]],
    known: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """The cohorts of each case, with semicolons: by its facts, then by the groups known of it."""
    columns = protocol.cases.columns if known else ()
    groups = {case: [known[case][column] for column in columns] for case in facts}
    return {
        case: ";".join([*_cohorts(protocol, facts[case]), *filter(None, groups[case])])
        for case in facts
    }


def _calibration(results: list[Result], n_raters: int) -> pd.DataFrame:
    """The filled confidence bins of all predictions, with a column of hits per rater."""
    import pandas as pd

    from segjury.results.read import BIN_COLUMNS

    hits = [f"hits_{k + 1}" for k in range(n_raters)]
    rows = [
        {"method": r.method, "case": r.case, **vars(b), **dict(zip(hits, b.hits, strict=True))}
        for r in results
        for b in r.bins
    ]
    return pd.DataFrame(rows, columns=[*BIN_COLUMNS, *hits])


def _problems(results: list[Result]) -> list[str]:
    """One line per fault: a reference's once, not once per method."""
    return list(
        dict.fromkeys(
            f"case {r.case}: {r.problem}"
            if r.fault == "reference"
            else f"case {r.case}, method {r.method}: {r.problem}"
            for r in results
            if r.problem
        )
    )


def _by_column(facts: Sequence[Fact]) -> dict[str, float]:
    """The facts of a case by their columns in `cases.csv`."""
    from segjury.results.facts import fact_column

    return {fact_column(f.label, f.quantity, f.first, f.second): f.value for f in facts}


def _cohorts(protocol: Protocol, facts: Sequence[Fact]) -> list[str]:
    measured = _by_column(facts)
    return [
        c.name
        for c in protocol.cohorts
        if rounded(np.array(measured.get(c.measure, math.inf))) <= c.at_most
    ]


def left_out(evaluation: Evaluation, out: Path) -> list[str]:
    """Warnings of what the tables of an earlier run in `out` have and these will not."""
    from segjury.results.read import read_run

    before, warnings = read_run(out) or {}, []
    for kind in ("methods", "readings"):
        earlier = before.get(kind)
        listed = earlier if isinstance(earlier, list) else []
        gone = [str(name) for name in listed if name not in evaluation.run[kind]]
        if gone:
            warnings.append(f"the tables no longer have the {kind} {', '.join(gone)}")
    return warnings


def write(evaluation: Evaluation, out: Path) -> None:
    """Write `scores.csv`, `.parquet`, `details.csv`, `calibration.csv`, `cases.csv`, `run.json`.

    They take the place of an earlier run's all together.
    """
    from segjury.results.read import write_scores
    from segjury.runtime.tables import write_csv

    run = evaluation.run
    folders = {kind: os.path.relpath(run[kind], out) for kind in ("reference", "predictions")}
    content = json.dumps(run | {"relative": folders}, indent=2, ensure_ascii=False)
    with whole_files(out, last="run.json") as new:
        write_scores(evaluation.scores, new)
        write_csv(evaluation.details, new / "details.csv")
        write_csv(evaluation.calibration, new / "calibration.csv")
        write_csv(evaluation.cases, new / "cases.csv")
        write_text(content, new / "run.json")
