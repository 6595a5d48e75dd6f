"""Judge a prediction: its scores, or what it costs to have none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.errors import PassingError
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import READINGS, Reading
from segjury.metrics.calibration import RaterHits
from segjury.protocols import Protocol
from segjury.protocols.options import Efficiency, ImageUse
from segjury.scoring import scorers
from segjury.scoring.comparison import Comparison
from segjury.scoring.store import CalibrationBin, Detail, Result, Row, Status

OUR_FAULT = "internal error"
REFERENCE = "reference"
ENDED = "not scored"
MAY_PASS = (OUR_FAULT, ENDED)  # how problems begin that may be gone the next time
BLAMELESS = (*MAY_PASS, REFERENCE)  # and those that are not the method's fault


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
    for use, reading in metric_readings(protocol, readings):
        for found in scorers.score(protocol, comparison, use, reading):
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


def metric_readings(
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
    found: scorers.Score,
    reference: ReferenceCase,
    warnings: str,
) -> Row:
    value, note = found.measured.value, found.measured.note
    undefined = math.isnan(value)
    policy = use.undefined or protocol.policy.undefined
    if undefined and (found.measured.fault or policy == "worst"):
        value = scorers.worst_value(use, reference.grid)
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
    for use, reading in metric_readings(protocol, readings):
        for structure in scorers.structures_of(protocol, use):
            value = as_empty.get((use.name, structure, reading), math.nan)
            if reference and not math.isnan(value) and use.worst != "empty-prediction":
                value = scorers.worst_value(use, reference.grid)
            rows.append(Row(use.name, structure, reading, value, use.unit_used, status, detail))
    return rows


def _empty_scores(
    protocol: Protocol, readings: Sequence[Reading], reference: ReferenceCase
) -> dict[tuple[str, str, str], float]:
    """What a prediction without any voxel scores."""
    zeros = np.zeros(reference.grid.shape, np.float32, "F")
    maps = tuple(Volume(zeros, reference.grid, ()) for _ in protocol.probability_stems)
    nothing = PredictedCase(SparseLabels((np.zeros(0, np.int64), np.zeros(0, np.uint8))), maps)
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

    def settled(case: str, row: Row) -> Row:
        scored = worst.get((case, row.metric, row.structure, row.reading))
        absent = row.metric in limited and row.status != "ok" and not math.isnan(row.value)
        return replace(row, value=max(row.value, scored)) if absent and scored else row

    return [
        replace(result, rows=tuple(settled(result.case, row) for row in result.rows))
        for result in results
    ]


def internal_problem(error: Exception) -> str:
    """What to say of an error that nobody's files are to blame for."""
    if isinstance(error, PassingError):
        return f"{ENDED}: {error}"
    if isinstance(error, MemoryError):
        return f"{ENDED}: memory was short. Run the same command again, with fewer jobs."
    return f"{OUR_FAULT}, please report it: {type(error).__name__}: {error}"
