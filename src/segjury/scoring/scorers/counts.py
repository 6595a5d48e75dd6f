"""Scores from counts of voxels: overlap and the other measures of a 2x2 table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from segjury.metrics import agreement, overlap, ratios
from segjury.metrics.confusion import Confusion
from segjury.metrics.metric import Reading
from segjury.protocols import options as form
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, measured_masks


def score_dsc(comparison: Comparison, label: int, use: form.Dsc, reading: Reading) -> Measured:
    """Dice of the predicted mask and the consensus, or of both where the raters agree."""
    if use.against == "consensus":
        counts = comparison.confusion(label)
        sizes = (counts.reference, counts.prediction, counts.tp)
        value = overlap.dsc_from_sizes(*sizes, reading=reading, epsilon=use.epsilon)
        return Measured(value, parts=_voxels(counts))
    if reading == "released":
        return Measured(agreement.rowwise_dsc(comparison.agreement_rows(label)))
    value = agreement.agreement_dsc_from_sizes(*comparison.agreement_sizes(label), reading=reading)
    return Measured(value, "nothing to agree on and nothing predicted" if math.isnan(value) else "")


def score_dice(comparison: Comparison, label: int, _use: form.Plain, _reading: Reading) -> Measured:
    """Dice of the predicted mask and the consensus, undefined where one is empty."""
    counts = comparison.confusion(label)
    value = ratios.dice_from(counts)
    return measured_masks(value, counts.reference, counts.prediction, _voxels(counts))


def _voxels(counts: Confusion) -> tuple[Component, ...]:
    """The counts behind every measure of overlap."""
    found = {"common": counts.tp, "missed": counts.fn, "added": counts.fp}
    return tuple(Component("voxels", item, float(count)) for item, count in found.items())


def table_scorer(
    measure: Callable[[Confusion], float],
) -> Callable[[Comparison, int, Any, Reading], Measured]:
    """The scorer of a measure of the 2x2 table of consensus and prediction."""

    def scorer(comparison: Comparison, label: int, _use: Any, _reading: Reading) -> Measured:
        counts = comparison.confusion(label)
        return measured_masks(measure(counts), counts.reference, counts.prediction)

    return scorer


def score_f_beta(
    comparison: Comparison, label: int, use: form.FBeta, _reading: Reading
) -> Measured:
    """Weighted harmonic mean of precision and sensitivity."""
    counts = comparison.confusion(label)
    value = ratios.f_beta_from(counts, beta=use.beta)
    return measured_masks(value, counts.reference, counts.prediction)
