"""Scores of probability maps: thresholded overlap, confidence, calibration and volume."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, bounding_box
from segjury.consensus import agreement_region, soft_mean, union
from segjury.metrics import agreement, calibration, overlap, volume
from segjury.metrics.metric import Reading
from segjury.protocols import options as form
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured


def score_thr_dsc(
    comparison: Comparison, label: int, use: form.ThrDsc, reading: Reading
) -> Measured:
    """Mean Dice over thresholds, from voxel counts by (rater pattern, probability level)."""
    joint = comparison.probability_levels(label, use.thresholds)
    n_levels = joint.shape[1]
    by_level = np.zeros((n_levels, n_levels), np.int64)
    share = soft_mean(comparison.reference.patterns, label=label)
    np.add.at(by_level, overlap.threshold_levels(share, use.thresholds), joint)
    return Measured(overlap.thr_dsc_from_levels(by_level, reading=reading))


def score_confidence(
    comparison: Comparison, label: int, _use: form.Plain, _reading: Reading
) -> Measured:
    """Probability of being right where the raters agree."""
    patterns, sums = comparison.reference.patterns, comparison.pattern_sums(label)
    everyone = agreement_region(patterns, "foreground", label=label)
    nobody = agreement_region(patterns, "background", label=label)
    value = agreement.confidence_from_sums(
        int(patterns.counts[everyone].sum()),
        float(sums[everyone].sum()),
        int(patterns.counts[nobody].sum()),
        float(sums[nobody].sum()),
    )
    return Measured(value, "the raters agree on no voxel of it" if math.isnan(value) else "")


def score_ece(comparison: Comparison, use: form.Ece, reading: Reading) -> Measured:
    """Calibration error of all classes against each rater, over the whole image."""
    histogram = comparison.calibration(use.bins, reading)
    return _per_rater(histogram, comparison.reference.patterns.labels, reading)


def score_mr_ece(comparison: Comparison, label: int, use: form.MrEce, reading: Reading) -> Measured:
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
    found = _per_rater(histogram, marked.astype(np.int64), reading)
    if reading == "released" and around.wraps:
        region = "an empty region" if math.isnan(found.value) else "a wrong region"
        note = "the lesion is nearer to the border than the padding, so the released code scores "
        return replace(found, note=note + region)
    return found


def _per_rater(
    histogram: calibration.CalibrationHistogram, labels: NDArray[np.int64], reading: Reading
) -> Measured:
    counted = calibration.rater_hits(histogram, labels)
    errors = calibration.ece_from_hits(counted, reading=reading)
    parts = tuple(Component("ece", f"rater {k + 1}", float(e)) for k, e in enumerate(errors))
    return Measured(float(errors.mean()), parts=parts, calibration=counted)


def score_crps(comparison: Comparison, label: int, _use: form.Crps, reading: Reading) -> Measured:
    """CRPS of the predicted volume in cm3."""
    volumes_cm3 = comparison.reference.volumes_cm3(label)
    predicted_mm3 = comparison.volume_mm3(label)
    value = volume.crps(volumes_cm3 * 1000, predicted_mm3, reading=reading) / 1000
    note = "the raters' volumes are all equal" if math.isnan(value) else ""
    parts = [Component("volume_cm3", f"rater {k + 1}", float(v)) for k, v in enumerate(volumes_cm3)]
    parts.append(Component("volume_cm3", "prediction", predicted_mm3 / 1000))
    return Measured(value, note, tuple(parts))
