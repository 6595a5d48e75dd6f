"""Judge the predictions of one case: their scores, or what it costs to have none.

A case's reference is prepared once and used for all methods; one bad file costs its own rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from segjury import execution, scoring
from segjury.case import PredictedCase, ReferenceCase
from segjury.comparison import Comparison
from segjury.errors import InputError, MissingInputError
from segjury.loading import (
    digest,
    load_prediction,
    load_reference,
    prediction_inputs,
    reference_inputs,
)
from segjury.metrics import READINGS, Reading
from segjury.metrics.calibration import RaterHits
from segjury.protocols import Protocol
from segjury.protocols.metric_use import Efficiency, ImageUse
from segjury.store import FORMAT, CalibrationBin, Detail, Result, Row, Status, Store
from segjury.volume import Volume

OUR_FAULT = "internal error"
REFERENCE = "reference"


@dataclass(frozen=True)
class Scored:
    """The scores of a prediction, and the numbers and counts that they were made from."""

    rows: tuple[Row, ...] = ()
    details: tuple[Detail, ...] = ()
    bins: tuple[CalibrationBin, ...] = ()


def score(
    reference: ReferenceCase,
    prediction: PredictedCase,
    protocol: Protocol,
    readings: Sequence[Reading] = READINGS,
) -> Scored:
    """All scores of one prediction, in the order of the protocol."""
    comparison = Comparison(reference, prediction, _lowest_threshold(protocol))
    warnings = "; ".join((*reference.warnings, *prediction.warnings))
    rows: list[Row] = []
    details: list[Detail] = []
    bins: list[CalibrationBin] = []
    for use, reading in _metric_readings(protocol, readings):
        for found in scoring.score(protocol, comparison, use, reading):
            measured, about = found.measured, (use.name, found.structure, reading)
            rows.append(_scored_row(protocol, use, reading, found, reference, warnings))
            details += [
                Detail(*about, p.quantity, p.item, _finite(p.value)) for p in measured.parts
            ]
            if measured.calibration and reading == _most_corrected(use, readings):
                bins += _filled_bins(measured.calibration, *about)
    return Scored(tuple(rows), tuple(details), tuple(bins))


def _most_corrected(use: ImageUse, readings: Sequence[Reading]) -> Reading:
    return max((r for r in readings if r in use.readings), key=READINGS.index)


def _filled_bins(
    counted: RaterHits, metric: str, structure: str, reading: Reading
) -> Iterator[CalibrationBin]:
    """The bins that hold voxels."""
    low, high = counted.edges(reading)
    for b in np.flatnonzero(counted.voxels):
        yield CalibrationBin(
            metric,
            structure,
            reading,
            bin_low=float(low[b]),
            bin_high=float(high[b]),
            voxels=int(counted.voxels[b]),
            confidence=float(counted.confidence[b]),
            hits=tuple(counted.hits[:, b].tolist()),
        )


def _finite(value: float) -> float:
    """NaN for a number beyond measure, such as a distance to an empty mask."""
    return value if math.isfinite(value) else math.nan


def _metric_readings(
    protocol: Protocol, readings: Sequence[Reading]
) -> Iterator[tuple[ImageUse, Reading]]:
    """What is computed from the images; efficiency comes from a table of its own."""
    for use in protocol.metrics:
        for reading in readings:
            if reading in use.readings and not isinstance(use, Efficiency):
                yield use, reading


def _lowest_threshold(protocol: Protocol) -> float:
    return min((min(getattr(use, "thresholds", (1.0,))) for use in protocol.metrics), default=1.0)


def _scored_row(
    protocol: Protocol,
    use: ImageUse,
    reading: Reading,
    found: scoring.Score,
    reference: ReferenceCase,
    warnings: str,
) -> Row:
    value, note = found.measured.value, found.measured.note
    undefined = math.isnan(value)
    policy = use.undefined or protocol.policy.undefined
    if undefined and (found.measured.fault or policy == "worst"):
        value = scoring.worst_value(use, reference.grid)
    if note and not undefined:
        note = f"warning: {note}"
    about = [use.remark(reading), note, f"warning: {warnings}" if warnings else ""]
    status: Status = "undefined" if undefined else "ok"
    detail = "; ".join(filter(None, about))
    return Row(use.name, found.structure, reading, value, use.unit_used, status, detail)


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
        for structure in scoring.structures_of(protocol, use):
            value = as_empty.get((use.name, structure, reading), math.nan)
            if reference and not math.isnan(value) and use.worst != "empty-prediction":
                value = scoring.worst_value(use, reference.grid)
            rows.append(Row(use.name, structure, reading, value, use.unit_used, status, detail))
    return rows


def _empty_scores(
    protocol: Protocol, readings: Sequence[Reading], reference: ReferenceCase
) -> dict[tuple[str, str, str], float]:
    """What a prediction without any voxel scores."""
    zeros = np.zeros(reference.grid.shape, np.float32, "F")
    maps = tuple(Volume(zeros, reference.grid, ()) for _ in protocol.probability_stems)
    nothing = PredictedCase(np.zeros(0, np.int64), np.zeros(0, np.uint8), maps)
    rows = score(reference, nothing, protocol, readings).rows
    return {(row.metric, row.structure, row.reading): row.value for row in rows}


def no_gain_by_absence(protocol: Protocol, results: Sequence[Result]) -> list[Result]:
    """Let no prediction that is missing or to blame do better than the worst one scored.

    For metrics without a worst value, whose cost is only the image's diagonal.
    """
    limited = {use.name for use in protocol.metrics if use.worst == "image-diagonal"}
    worst: dict[tuple[str, str, str, str], float] = {}
    for result in results:
        for row in result.rows:
            if row.metric in limited and row.status == "ok":
                key = (result.case, row.metric, row.structure, row.reading)
                worst[key] = max(row.value, worst.get(key, row.value))

    def settled(case: str, row: Row) -> Row:
        scored = worst.get((case, row.metric, row.structure, row.reading))
        absent = row.metric in limited and row.status != "ok" and not math.isnan(row.value)
        return replace(row, value=max(row.value, scored)) if absent and scored else row

    return [
        replace(result, rows=tuple(settled(result.case, row) for row in result.rows))
        for result in results
    ]


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
    facts = reference.facts()
    metrics = {use.name for use, _ in _metric_readings(task.protocol, task.readings)}

    def load(method: str) -> PredictedCase:
        folder = task.predictions / method
        return load_prediction(task.protocol, folder, task.case, reference.grid)

    loading = execution.ahead(load, methods, depth=2)
    for method, loaded in zip(methods, loading, strict=True):
        problem = ""
        try:
            reference.prepare(metrics)  # while the first predictions are read
            found = score(reference, loaded.result(), task.protocol, task.readings)
        except InputError as error:
            status: Status = "missing" if isinstance(error, MissingInputError) else "failed"
            problem = str(error)
            cost = penalty_rows(task.protocol, task.readings, reference, status, problem)
            found = Scored(tuple(cost))
        except Exception as error:  # nor the other methods, nor punish this one
            problem = _our_fault(error)
            cost = penalty_rows(task.protocol, task.readings, None, "failed", problem)
            found = Scored(tuple(cost))
        yield Result(method, task.case, found.rows, found.details, problem, facts, found.bins)


def _our_fault(error: Exception) -> str:
    return f"{OUR_FAULT}, please report it: {type(error).__name__}: {error}"


def fingerprints(task: CaseTask) -> dict[str, str]:
    """Per method: changes whenever its result could, with inputs, protocol or version."""
    reference = digest(reference_inputs(task.protocol, task.reference / task.case))
    said = "\0".join([version("segjury"), FORMAT, task.protocol.hash, *task.readings, reference])
    return {
        method: f"{said}\0{digest(prediction_inputs(task.protocol, folder, task.case))}"
        for method, folder in ((method, task.predictions / method) for method in task.methods)
    }
