"""Score every method on every case of a protocol.

The cases are those of the reference, so a missing prediction is an explicit row. A case's
reference is prepared once and used for all methods; one bad file costs its own rows only.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segjury import execution
from segjury.case import (
    PredictedCase,
    ReferenceCase,
    case_names,
    digest,
    load_prediction,
    load_reference,
    method_names,
    prediction_inputs,
    reference_inputs,
)
from segjury.comparison import Comparison
from segjury.errors import InputError, MissingInputError
from segjury.metrics import READINGS, Reading
from segjury.protocols import MetricUse, Protocol, load_protocol, protocol_text
from segjury.scoring import SCORERS, WHOLE, Score
from segjury.store import Detail, Result, Row, Status, Store
from segjury.volume import Volume

if TYPE_CHECKING:
    import pandas as pd

OUR_FAULT = "internal error"
REFERENCE = "reference"


# ---- one case ------------------------------------------------------------------------------


def score(
    reference: ReferenceCase,
    prediction: PredictedCase,
    protocol: Protocol,
    readings: Sequence[Reading] = READINGS,
) -> tuple[list[Row], list[Detail]]:
    """All scores of one prediction, in the order of the protocol."""
    comparison = Comparison(reference, prediction, _lowest_threshold(protocol))
    warnings = "; ".join((*reference.warnings, *prediction.warnings))
    rows, details = [], []
    for use, reading in _metric_readings(protocol, readings):
        for found in SCORERS[use.name](comparison, use, reading):
            rows.append(_scored_row(protocol, use, reading, found, warnings))
            details += [
                Detail(use.name, found.structure, reading, part.quantity, part.item, part.value)
                for part in found.parts
            ]
    return rows, details


def _metric_readings(
    protocol: Protocol, readings: Sequence[Reading]
) -> Iterator[tuple[MetricUse, Reading]]:
    for use in protocol.metrics:
        for reading in readings:
            if reading in use.readings:
                yield use, reading


def _lowest_threshold(protocol: Protocol) -> float:
    return min((min(getattr(use, "thresholds", (1.0,))) for use in protocol.metrics), default=1.0)


def _scored_row(
    protocol: Protocol, use: MetricUse, reading: Reading, found: Score, warnings: str
) -> Row:
    undefined = math.isnan(found.value)
    value, note = found.value, found.note
    if undefined and protocol.policy.undefined == "worst":
        value = _worst(use)
    if note and not undefined:
        note = f"warning: {note}"
    if warnings:
        note = "; ".join(filter(None, [note, f"warning: {warnings}"]))
    status: Status = "undefined" if undefined else "ok"
    return Row(use.name, found.structure, reading, value, use.metric.unit, status, note)


def penalty_rows(
    protocol: Protocol,
    readings: Sequence[Reading],
    reference: ReferenceCase | None,
    status: Status,
    detail: str,
) -> list[Row]:
    """The rows of a prediction that cannot be scored: the worst value of each metric.

    What nobody can be scored in (there is no reference, or it leaves the score undefined) is
    left empty for all methods alike.
    """
    as_empty = _empty_scores(protocol, readings, reference) if reference else {}
    rows = []
    for use, reading in _metric_readings(protocol, readings):
        for structure in _structures(protocol, use):
            value = as_empty.get((use.name, structure, reading), math.nan)
            if not math.isnan(value) and use.worst != "empty-prediction":
                value = _worst(use)
            rows.append(Row(use.name, structure, reading, value, use.metric.unit, status, detail))
    return rows


def _worst(use: MetricUse) -> float:
    worst = use.worst if isinstance(use.worst, float) else use.metric.worst
    return math.nan if worst is None else worst


def _empty_scores(
    protocol: Protocol, readings: Sequence[Reading], reference: ReferenceCase
) -> dict[tuple[str, str, str], float]:
    """What a prediction without any voxel scores."""
    zeros = np.zeros(reference.grid.shape, np.float32, "F")
    nothing = PredictedCase(np.zeros(0, np.int64), Volume(zeros, reference.grid, ()))
    rows, _ = score(reference, nothing, protocol, readings)
    return {(row.metric, row.structure, row.reading): row.value for row in rows}


def _structures(protocol: Protocol, use: MetricUse) -> list[str]:
    return protocol.structure_names if use.name in ("vi", "contact_angle") else [WHOLE]


@dataclass(frozen=True)
class CaseTask:
    """One case to score, for all methods."""

    protocol: Protocol
    readings: tuple[Reading, ...]
    reference: Path
    predictions: Path
    case: str
    methods: tuple[str, ...]
    store: Path | None = None


def evaluate_case(task: CaseTask) -> list[Result]:
    """Score the methods on one case; results found in the store are not computed again."""
    if task.store is None:
        return list(_evaluate_methods(task, list(task.methods)))
    store = Store(task.store)
    marks = fingerprints(task)
    results = {method: store.load(task.case, method, marks[method]) for method in task.methods}
    for result in _evaluate_methods(task, [m for m in task.methods if results[m] is None]):
        results[result.method] = result
        if not result.problem.startswith(OUR_FAULT):  # that may be gone the next time
            store.save(result, marks[result.method])
    return [result for result in results.values() if result is not None]


def _evaluate_methods(task: CaseTask, methods: list[str]) -> Iterator[Result]:
    if not methods:
        return
    try:
        reference = load_reference(task.protocol, task.reference / task.case)
    except Exception as error:  # a fault of ours must not stop the other cases
        fault = f"{REFERENCE}: {error}" if isinstance(error, InputError) else _our_fault(error)
        unscored = tuple(penalty_rows(task.protocol, task.readings, None, "failed", fault))
        for method in methods:
            yield Result(method, task.case, unscored, problem=fault)
        return
    facts = {
        "mean_pairwise_dsc": reference.mean_pairwise_dsc,
        "consensus_cm3": reference.consensus_voxels.size * reference.grid.voxel_volume_mm3 / 1000,
    } | {f"rater_{k + 1}_cm3": float(v) for k, v in enumerate(reference.volumes_cm3)}

    def load(method: str) -> PredictedCase:
        folder = task.predictions / method
        return load_prediction(task.protocol, folder, task.case, reference.grid)

    loading = execution.ahead(load, methods, depth=2)
    for method, loaded in zip(methods, loading, strict=True):
        rows: list[Row] = []
        details: list[Detail] = []
        problem = ""
        try:
            reference.prepare(
                [use.name for use in task.protocol.metrics]
            )  # while the first predictions are read
            rows, details = score(reference, loaded.result(), task.protocol, task.readings)
        except InputError as error:
            status: Status = "missing" if isinstance(error, MissingInputError) else "failed"
            problem = str(error)
            rows = penalty_rows(task.protocol, task.readings, reference, status, problem)
        except Exception as error:  # nor the other methods, nor punish this one
            problem = _our_fault(error)
            rows = penalty_rows(task.protocol, task.readings, None, "failed", problem)
        yield Result(method, task.case, tuple(rows), tuple(details), problem, facts)


def _our_fault(error: Exception) -> str:
    return f"{OUR_FAULT}, please report it: {type(error).__name__}: {error}"


def fingerprints(task: CaseTask) -> dict[str, str]:
    """Per method: changes whenever its result could, with inputs, protocol or version."""
    reference = digest(reference_inputs(task.protocol, task.reference / task.case))
    said = "\0".join([_version(), task.protocol.hash, *task.readings, reference])
    return {
        method: f"{said}\0{digest(prediction_inputs(task.protocol, folder, task.case))}"
        for method, folder in ((method, task.predictions / method) for method in task.methods)
    }


# ---- a whole benchmark ---------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """The results of a run as tables."""

    scores: pd.DataFrame
    details: pd.DataFrame
    cases: pd.DataFrame
    problems: list[str]
    run: dict[str, Any]


def evaluate(
    protocol: str | Path | Protocol,
    *,
    reference: str | Path,
    predictions: str | Path,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
) -> pd.DataFrame:
    """Score every method on every case and return the long table."""
    return run(
        protocol,
        reference=Path(reference),
        predictions=Path(predictions),
        readings=readings,
        methods=methods,
        jobs=jobs,
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
        "methods": list(chosen),
        "cases": len(cases),
        "versions": _versions(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "jobs": workers,
        "started": begun.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
    }
    return _tabulate(form, results, about)


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


def _tabulate(protocol: Protocol, results: list[Result], about: dict[str, Any]) -> Evaluation:
    import pandas as pd

    from segjury.table import COLUMNS, DETAIL_COLUMNS

    facts = {result.case: result.facts for result in results}
    cohort = {case: _cohorts(protocol, known) for case, known in facts.items()}
    scores = pd.DataFrame(
        [
            {"method": r.method, "case": r.case, **asdict(row), "cohort": cohort[r.case]}
            for r in results
            for row in r.rows
        ],
        columns=list(COLUMNS),
    )
    details = pd.DataFrame(
        [{"method": r.method, "case": r.case, **asdict(d)} for r in results for d in r.details],
        columns=list(DETAIL_COLUMNS),
    )
    cases = pd.DataFrame(
        [{"case": case, "cohort": cohort[case], **known} for case, known in facts.items()]
    )
    return Evaluation(scores, details, cases, _problems(results), about)


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


def _cohorts(protocol: Protocol, facts: dict[str, float]) -> str:
    names = [c.name for c in protocol.cohorts if facts.get(c.measure, math.inf) <= c.at_most]
    return ";".join(names)


def _version() -> str:
    return metadata.version("segjury")


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "pandas", "SimpleITK", "nibabel", "isal", "scikit-image")
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in packages}


def write(evaluation: Evaluation, out: Path) -> None:
    """Write `scores.csv`, `scores.parquet`, `details.csv`, `cases.csv` and `run.json`."""
    from segjury.table import write_csv, write_scores

    out.mkdir(parents=True, exist_ok=True)
    write_scores(evaluation.scores, out)
    write_csv(evaluation.details, out / "details.csv")
    write_csv(evaluation.cases, out / "cases.csv")
    run = evaluation.run
    folders = {kind: os.path.relpath(run[kind], out) for kind in ("reference", "predictions")}
    content = json.dumps(run | {"relative": folders}, indent=2, ensure_ascii=False)
    partial = out / f".run.json.{os.getpid()}"
    partial.write_text(f"{content}\n", "utf-8")
    partial.replace(out / "run.json")
