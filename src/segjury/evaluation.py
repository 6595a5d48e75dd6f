"""Score every method on every case of a protocol.

The cases are those of the reference, so a missing prediction is an explicit row.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segjury import execution
from segjury.efficiency import Costs, read_efficiency, with_efficiency
from segjury.errors import InputError
from segjury.judging import REFERENCE, CaseTask, evaluate_case, no_gain_by_absence
from segjury.loading import (
    case_names,
    case_table,
    method_names,
    prediction_inputs,
    reference_inputs,
)
from segjury.metrics import READINGS, Reading
from segjury.protocols import Protocol, load_protocol, protocol_text
from segjury.store import Result
from segjury.ties import settled

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


def evaluate(
    protocol: str | Path | Protocol,
    *,
    reference: str | Path,
    predictions: str | Path,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
    cases: str | Path | None = None,
    efficiency: str | Path | None = None,
) -> pd.DataFrame:
    """Score every method on every case and return the long table.

    `cases` is a table of the cases, if not in the reference folder; `efficiency` one of the time
    and memory that the methods took.
    """
    return run(
        protocol,
        reference=Path(reference),
        predictions=Path(predictions),
        readings=readings,
        methods=methods,
        jobs=jobs,
        case_file=Path(cases) if cases else None,
        efficiency=Path(efficiency) if efficiency else None,
    ).scores


def run(
    protocol: str | Path | Protocol,
    *,
    reference: Path,
    predictions: Path,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int | None = 1,
    store: Path | None = None,
    case_file: Path | None = None,
    efficiency: Path | None = None,
    progress: Callable[[str, int], None] = lambda _case, _methods: None,
) -> Evaluation:
    """Score every method on every case; see `evaluate`.

    With a `store`, finished results are kept there and taken from it in the next run. `progress`
    is called with each finished case and the number of its methods.
    """
    form = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    unknown = [reading for reading in readings if reading not in READINGS]
    if unknown or isinstance(readings, str):
        raise InputError(f"readings are {readings!r}", f"Give a list of {', '.join(READINGS)}")
    cases = case_names(reference)
    found = method_names(predictions)
    absent = [name for name in methods or [] if name not in found]
    if absent:
        raise InputError(
            f"{predictions} has no method {', '.join(absent)}", f"It has {', '.join(found)}"
        )
    chosen = tuple(dict.fromkeys(methods or found))
    _check_folders(form, reference, cases, predictions, chosen)
    known = case_table(form, reference, cases, case_file)
    costs = read_efficiency(efficiency, chosen, cases) if efficiency else Costs({})
    tasks = [
        CaseTask(form, tuple(readings), reference, predictions, case, chosen, store)
        for case in cases
    ]
    begun, clock = datetime.now(UTC), time.perf_counter()
    workers = execution.default_jobs(len(tasks)) if jobs is None else jobs
    by_case: dict[str, list[Result]] = {}
    for task, results in execution.run(evaluate_case, tasks, jobs=workers):
        by_case[task.case] = results
        progress(task.case, len(results))
    results = [result for case in cases for result in by_case[case]]
    about = {
        "segjury": _version(),
        "protocol": {
            "name": form.name,
            "title": form.title,
            "hash": form.hash,
            "text": "" if isinstance(protocol, Protocol) else protocol_text(protocol),
            "definition": form.model_dump(mode="json"),
        },
        "readings": list(readings),
        "reference": str(reference.resolve()),
        "predictions": str(predictions.resolve()),
        "case_table": str(case_file.resolve()) if case_file else None,
        "efficiency": str(efficiency.resolve()) if efficiency else None,
        "methods": list(chosen),
        "cases": len(cases),
        "versions": _versions(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "jobs": workers,
        "started": begun.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
    }
    results = with_efficiency(form, no_gain_by_absence(form, results), readings, costs)
    return _tabulate(form, results, known, about, costs.warnings)


def _check_folders(
    protocol: Protocol, reference: Path, cases: list[str], predictions: Path, methods: Sequence[str]
) -> None:
    """Refuse folders of the wrong level, in which nothing at all could be scored."""
    if not any(reference_inputs(protocol, reference / case) for case in cases):
        stem = protocol.reference.rater_stems[0]
        raise InputError(
            f"no folder in {reference} has a {stem} (it has {', '.join(cases[:3])}, ...)",
            "Give the folder that has one folder per case",
        )
    level_too_deep = set(methods) & set(cases) and not any(
        prediction_inputs(protocol, predictions / method, case)
        for method in methods
        for case in cases
    )
    if level_too_deep:
        raise InputError(
            f"the folders in {predictions} are cases, not methods",
            f"Give the folder above it, {predictions.parent}",
        )


def _tabulate(
    protocol: Protocol,
    results: list[Result],
    known: dict[str, dict[str, str]],
    about: dict[str, Any],
    warnings: tuple[str, ...],
) -> Evaluation:
    import pandas as pd

    from segjury.table import COLUMNS, DETAIL_COLUMNS

    facts = {result.case: result.facts for result in results}
    columns = protocol.cases.columns if known else ()
    groups = {case: {column: known[case][column] for column in columns} for case in facts}
    cohort = {case: _cohorts(protocol, facts[case], groups[case]) for case in facts}
    scores = pd.DataFrame(
        [
            {"method": r.method, "case": r.case, **asdict(row), "cohort": cohort[r.case]}
            | groups[r.case]
            for r in results
            for row in r.rows
        ],
        columns=[*COLUMNS, *columns],
    )
    details = pd.DataFrame(
        [{"method": r.method, "case": r.case, **asdict(d)} for r in results for d in r.details],
        columns=list(DETAIL_COLUMNS),
    )
    cases = pd.DataFrame(
        [
            {"case": case, **known.get(case, {}), "cohort": cohort[case], **measured}
            for case, measured in facts.items()
        ]
    )
    calibration = _calibration(results, protocol.reference.n_raters)
    return Evaluation(scores, details, calibration, cases, _problems(results), about, warnings)


def _calibration(results: list[Result], n_raters: int) -> pd.DataFrame:
    """The filled confidence bins of all predictions, with a column of hits per rater."""
    import pandas as pd

    from segjury.table import BIN_COLUMNS

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
            if r.problem.startswith(REFERENCE)
            else f"case {r.case}, method {r.method}: {r.problem}"
            for r in results
            if r.problem
        )
    )


def _cohorts(protocol: Protocol, facts: dict[str, float], groups: dict[str, str]) -> str:
    names = [
        c.name
        for c in protocol.cohorts
        if settled(np.array(facts.get(c.measure, math.inf))) <= c.at_most
    ]
    return ";".join([*names, *(value for value in groups.values() if value)])


def _version() -> str:
    return metadata.version("segjury")


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "pandas", "SimpleITK", "nibabel", "isal", "scikit-image")
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in packages}


def write(evaluation: Evaluation, out: Path) -> None:
    """Write `scores.csv`, `.parquet`, `details.csv`, `calibration.csv`, `cases.csv`, `run.json`."""
    from segjury.table import write_csv, write_scores, write_text

    out.mkdir(parents=True, exist_ok=True)
    write_scores(evaluation.scores, out)
    write_csv(evaluation.details, out / "details.csv")
    write_csv(evaluation.calibration, out / "calibration.csv")
    write_csv(evaluation.cases, out / "cases.csv")
    run = evaluation.run
    folders = {kind: os.path.relpath(run[kind], out) for kind in ("reference", "predictions")}
    content = json.dumps(run | {"relative": folders}, indent=2, ensure_ascii=False)
    write_text(content, out / "run.json")
