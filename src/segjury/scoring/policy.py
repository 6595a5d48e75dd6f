"""What having no score costs: a missing or broken prediction, and one that nobody could score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.errors import PassingError
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import Reading
from segjury.protocols import Protocol
from segjury.protocols.reference import WHOLE
from segjury.scoring import scorers
from segjury.scoring.records import Fault, Result, Row, Status
from segjury.scoring.score import metric_readings, score


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
    for use, reading in metric_readings(protocol, readings):
        for structure in scorers.structures_of(protocol, use):
            value = as_empty.get((use.name, structure, reading), math.nan)
            if reference and not math.isnan(value) and use.worst != "empty-prediction":
                value = scorers.worst_value(use, reference.grid)
            rows.append(Row(use.name, structure, reading, value, use.unit_used, status, detail))
    return rows


def completed_rows(
    protocol: Protocol,
    own: Sequence[Row],
    penalties: Sequence[Row],
    prediction: PredictedCase,
) -> tuple[Row, ...]:
    """The rows of a prediction that lacks maps or samples, with penalties for the others.

    In the order of the protocol. The mean over labels counts the penalty of one without a map.
    """
    scored = {(row.metric, row.structure, row.reading): row for row in own}
    metrics = {use.name: use.metric for use in protocol.metrics}
    maps = reasons_together(prediction.no_maps.values())
    rows: dict[tuple[str, str, str], Row] = {}
    for penalty in penalties:
        key = penalty.metric, penalty.structure, penalty.reading
        if key in scored:
            rows[key] = scored[key]
            continue
        metric = metrics[penalty.metric]
        why = prediction.why_no_samples if metric.needs_samples else maps
        of_labels = [(penalty.metric, name, penalty.reading) for name in protocol.label_names]
        if penalty.structure == WHOLE and any(of in scored for of in of_labels):
            values = [rows[of].value for of in of_labels if not math.isnan(rows[of].value)]
            penalty = replace(penalty, value=float(np.mean(values)) if values else math.nan)
        rows[key] = replace(penalty, detail=why)
    return tuple(rows.values())


def reasons_together(reasons: Iterable[str]) -> str:
    """Several sentences as one; each is told once."""
    *before, last = dict.fromkeys(filter(None, reasons)) or [""]
    return "; ".join([*(reason.rstrip(".") for reason in before), last])


def _empty_scores(
    protocol: Protocol, readings: Sequence[Reading], reference: ReferenceCase
) -> dict[tuple[str, str, str], float]:
    """What a prediction without any voxel scores."""
    zeros = np.zeros(reference.grid.shape, np.float32, "F")
    maps = tuple(Volume(zeros, reference.grid, ()) for _ in protocol.probability_stems)
    empty = SparseLabels((np.zeros(0, np.int64), np.zeros(0, np.uint8)))
    samples = (empty,) * reference.patterns.n_raters  # as many as any metric of them asks for
    nothing = PredictedCase(empty, maps, samples=samples)
    rows = score(reference, nothing, protocol, readings).rows
    return {(row.metric, row.structure, row.reading): row.value for row in rows}


def cap_missing(protocol: Protocol, results: Sequence[Result]) -> list[Result]:
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

    def capped(case: str, row: Row) -> Row:
        scored = worst.get((case, row.metric, row.structure, row.reading))
        absent = row.metric in limited and row.status != "ok" and not math.isnan(row.value)
        return replace(row, value=max(row.value, scored)) if absent and scored else row

    return [
        replace(result, rows=tuple(capped(result.case, row) for row in result.rows))
        for result in results
    ]


def internal_problem(error: Exception) -> tuple[Fault, str]:
    """Whose fault an error is that nobody's files are to blame for, and what to say of it."""
    if isinstance(error, PassingError):
        return "passing", f"not scored: {error}"
    if isinstance(error, MemoryError):
        fix = "Run the same command again, with fewer jobs"
        return "passing", f"not scored: memory was short. {fix}."
    return "ours", f"internal error, please report it: {type(error).__name__}: {error}"
