"""Scores of calibration against each rater."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, bounding_box
from segjury.consensus import union
from segjury.metrics import calibration
from segjury.metrics.metric import Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured, rater_parts, scorer


@scorer(calibration.ECE)
def score_ece(comparison: Comparison, use: calibration.EceOptions, reading: Reading) -> Measured:
    """Calibration error of all classes against each rater, over the whole image."""
    histogram = comparison.calibration(use.bins, reading)
    return _per_rater(comparison, histogram, comparison.reference.patterns.labels, reading)


@scorer(calibration.MR_ECE)
def score_mr_ece(
    comparison: Comparison, label: int, use: calibration.MrEceOptions, reading: Reading
) -> Measured:
    """Calibration error against each rater inside the padded union box."""
    patterns = comparison.reference.patterns
    marked = patterns.marked(label)
    anyone = union(patterns, label=label)
    shape = comparison.reference.grid.shape
    boxes = [bounding_box(v[anyone[codes]], shape) for v, codes in patterns.marks.pieces()]
    marks = [box for box in boxes if box]
    around = calibration.scored_box(Box.around(marks) if marks else None, shape, use.padding_voxels)
    if around is None:
        return Measured(math.nan, "no rater marked anything")
    histogram = comparison.lesion_calibration(label, around, use.bins, reading)
    found = _per_rater(comparison, histogram, marked.astype(np.int64), reading)
    if reading == "released" and around.wraps:
        region = "an empty region" if math.isnan(found.value) else "a wrong region"
        note = "the lesion is nearer to the border than the padding, so the released code scores "
        return replace(found, note=note + region)
    return found


def _per_rater(
    comparison: Comparison,
    histogram: calibration.CalibrationHistogram,
    labels: NDArray[np.int64],
    reading: Reading,
) -> Measured:
    counted = calibration.rater_hits(histogram, labels)
    errors = calibration.ece_from_hits(counted, reading=reading)
    parts = rater_parts("ece", comparison.reference, errors)
    return Measured(float(errors.mean()), parts=parts, calibration=counted)
