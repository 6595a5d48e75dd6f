"""The rows of one prediction: its scores, and the numbers that they were made from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.metrics import READINGS, Metric, Options, Reading
from segjury.metrics.calibration import RaterHits
from segjury.metrics.overlap import ThresholdOptions
from segjury.protocols import Protocol
from segjury.protocols.options import Efficiency, ImageUse
from segjury.scoring import scorers
from segjury.scoring.comparison import Comparison
from segjury.scoring.records import CalibrationBin, Detail, Row, Status


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
    """All scores of one prediction, in the order of the protocol.

    Of one without all of its probability maps, or without samples, those that need none of these.
    """
    comparison = Comparison(reference, prediction, _lowest_threshold(protocol))
    warnings = "; ".join((*reference.warnings, *prediction.warnings))
    rows: list[Row] = []
    details: list[Detail] = []
    bins: list[CalibrationBin] = []
    for use, reading in metric_readings(protocol, readings):
        if is_lacking(protocol, prediction, use.metric):
            continue
        for found in scorers.score(protocol, comparison, use, reading):
            measured, about = found.measured, (use.name, found.structure, reading)
            rows.append(_scored_row(protocol, use, reading, found, reference, warnings))
            details += [
                Detail(*about, p.quantity, p.item, _finite(p.value)) for p in measured.parts
            ]
            if measured.calibration and reading == _most_corrected(use, readings):
                bins += _filled_bins(measured.calibration, reference.rater_names, *about)
    return Scored(tuple(rows), tuple(details), tuple(bins))


def is_lacking(protocol: Protocol, prediction: PredictedCase, metric: Metric) -> bool:
    """Whether a metric has nothing to look at, for want of maps or samples.

    A metric of several labels may have the maps of some.
    """
    if metric.needs_samples and not prediction.samples:
        return True
    lacking, labels = len(prediction.no_maps), len(protocol.reference.labels)
    few = lacking == labels or metric.scope != "label"
    return metric.needs_probability and lacking > 0 and few


def _most_corrected(use: ImageUse, readings: Sequence[Reading]) -> Reading:
    return max((r for r in readings if r in use.readings), key=READINGS.index)


def _filled_bins(
    counted: RaterHits, raters: tuple[str, ...], metric: str, structure: str, reading: Reading
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
            raters=raters,
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
    uses: Sequence[Options] = protocol.metrics
    cut = (use.thresholds for use in uses if isinstance(use, ThresholdOptions))
    return min((min(thresholds) for thresholds in cut), default=1.0)


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
