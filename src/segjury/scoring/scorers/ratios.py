"""Scores from counts of voxels: overlap, sizes and error rates."""

from __future__ import annotations

from segjury.metrics import ratios
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import (
    Measured,
    common_voxels,
    measured_masks,
    of_masks,
    scorer,
    table_scorer,
)

for _metric, _measure in ratios.RATIOS.items():
    if _metric not in (ratios.DICE, ratios.F_BETA):  # they have their own, below
        scorer(_metric)(table_scorer(_measure))


@scorer(ratios.DICE)
def score_dice(comparison: Comparison, label: int, _use: Options, _reading: Reading) -> Measured:
    """Dice of the predicted mask and the consensus, undefined where one is empty."""
    counts = comparison.confusion(label)
    value = ratios.dice_from(counts)
    return measured_masks(value, counts.reference, counts.prediction, common_voxels(counts))


@scorer(ratios.F_BETA)
def score_f_beta(
    comparison: Comparison, label: int, use: ratios.FBetaOptions, _reading: Reading
) -> Measured:
    """Weighted harmonic mean of precision and sensitivity."""
    value = ratios.f_beta_from(comparison.confusion(label), beta=use.beta)
    return of_masks(value, comparison, label)
