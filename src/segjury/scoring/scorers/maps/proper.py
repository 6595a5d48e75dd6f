"""Proper scores of a probability map against each rater."""

from __future__ import annotations

from segjury.metrics import proper
from segjury.metrics.metric import Reading
from segjury.metrics.rated_map import RegionOptions
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import NO_MARK, Component, Measured, scorer


@scorer(proper.BRIER)
def score_brier(
    comparison: Comparison, label: int, use: RegionOptions, _reading: Reading
) -> Measured:
    """Brier score against each rater."""
    rated = comparison.rated_map(label, use)
    if rated is None or not rated.voxels:
        return NO_MARK
    return _against_each(comparison, "brier", proper.brier_of(rated))


@scorer(proper.NLL)
def score_nll(
    comparison: Comparison, label: int, use: proper.NllOptions, _reading: Reading
) -> Measured:
    """Negative log-likelihood of each rater's mask."""
    rated = comparison.rated_map(label, use)
    if rated is None or not rated.voxels:
        return NO_MARK
    return _against_each(comparison, "nll", proper.nll_of(rated, clip=use.clip))


def _against_each(comparison: Comparison, name: str, found: proper.ProperScore) -> Measured:
    names = comparison.reference.rater_names
    parts = [
        Component(name, f"rater {rater}", float(value))
        for rater, value in zip(names, found.of_raters, strict=True)
    ]
    parts.append(Component(name, "mean of raters", found.of_mean))
    parts.append(Component(name, "lowest possible", found.lowest))
    return Measured(found.value, parts=tuple(parts))
