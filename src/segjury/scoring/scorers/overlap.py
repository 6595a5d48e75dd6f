"""Scores of overlap with the consensus, and with the raters at several thresholds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from segjury.consensus import soft_mean
from segjury.metrics import agreement, overlap
from segjury.metrics.metric import Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured, common_voxels, scorer


@scorer(overlap.DSC)
def score_dsc(
    comparison: Comparison, label: int, use: overlap.DscOptions, reading: Reading
) -> Measured:
    """Dice of the predicted mask and the consensus, or of both where the raters agree."""
    if use.against == "consensus":
        counts = comparison.confusion(label)
        sizes = (counts.reference, counts.prediction, counts.tp)
        value = overlap.dsc_from_sizes(*sizes, reading=reading, epsilon=use.epsilon)
        return Measured(value, parts=common_voxels(counts))
    if reading == "released":
        return Measured(agreement.rowwise_dsc(comparison.agreement_rows(label)))
    value = agreement.agreement_dsc_from_sizes(*comparison.agreement_sizes(label), reading=reading)
    return Measured(value, "nothing to agree on and nothing predicted" if math.isnan(value) else "")


@scorer(overlap.THR_DSC)
def score_thr_dsc(
    comparison: Comparison, label: int, use: overlap.ThresholdOptions, reading: Reading
) -> Measured:
    """Mean Dice over thresholds, from voxel counts by (rater pattern, probability level)."""
    joint = comparison.probability_levels(label, use.thresholds)
    n_levels = joint.shape[1]
    by_level = np.zeros((n_levels, n_levels), np.int64)
    patterns = comparison.reference.patterns
    if reading != "corrected" and patterns.weights:
        patterns = replace(patterns, weights=())  # the other readings know of none
    share = soft_mean(patterns, label=label)
    np.add.at(by_level, overlap.threshold_levels(share, use.thresholds), joint)
    return Measured(overlap.thr_dsc_from_levels(by_level, reading=reading))
