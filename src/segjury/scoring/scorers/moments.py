"""Scores of the centres and extents of masks."""

from __future__ import annotations

from segjury.metrics.metric import Options, Reading
from segjury.metrics.moments import MAHALANOBIS, mahalanobis_from
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured, of_masks, scorer


@scorer(MAHALANOBIS)
def score_mahalanobis(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """Distance of the masks' centres relative to their extent."""
    value = mahalanobis_from(
        comparison.reference_mask(label).moments, comparison.predicted_mask(label).moments
    )
    return of_masks(value, comparison, label)
