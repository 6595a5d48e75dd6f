"""Scores of a map's uncertainty beside its errors and the raters' disagreement."""

from __future__ import annotations

from segjury.metrics import selective
from segjury.metrics.metric import Reading
from segjury.metrics.rated_map import RegionOptions
from segjury.metrics.selective import NccOptions, Risks
from segjury.scoring.comparison import Comparison, rated_key
from segjury.scoring.scorers.measured import NO_MARK, Component, Measured, scorer


@scorer(selective.AURC)
def score_aurc(
    comparison: Comparison, label: int, use: RegionOptions, _reading: Reading
) -> Measured:
    """Area under the risk-coverage curve."""
    risks = _risks(comparison, label, use)
    if risks is None:
        return NO_MARK
    parts = {"all voxels": risks.risk, "best order": risks.lowest_aurc}
    return Measured(risks.aurc, parts=tuple(Component("risk", *part) for part in parts.items()))


@scorer(selective.E_AURC)
def score_e_aurc(
    comparison: Comparison, label: int, use: RegionOptions, _reading: Reading
) -> Measured:
    """The area beyond that of the best order."""
    risks = _risks(comparison, label, use)
    return Measured(risks.e_aurc) if risks else NO_MARK


@scorer(selective.AUGRC)
def score_augrc(
    comparison: Comparison, label: int, use: RegionOptions, _reading: Reading
) -> Measured:
    """Area under the generalised risk-coverage curve."""
    risks = _risks(comparison, label, use)
    return Measured(risks.augrc) if risks else NO_MARK


@scorer(selective.UNCERTAINTY_NCC)
def score_uncertainty_ncc(
    comparison: Comparison, label: int, use: NccOptions, _reading: Reading
) -> Measured:
    """Correlation of the map's uncertainty with the raters' disagreement."""
    rated = comparison.rated_map(label, use)
    if rated is None:
        return NO_MARK
    found = selective.ncc_of(rated, use.uncertainty)
    if found.raters_constant:
        return Measured(found.value, "the raters disagree nowhere, or everywhere alike")
    if found.map_constant:
        return Measured(found.value, "the map is equally uncertain everywhere", fault=True)
    return Measured(found.value)


def _risks(comparison: Comparison, label: int, use: RegionOptions) -> Risks | None:
    """Errors by sureness; the areas share them."""
    rated = comparison.rated_map(label, use)
    if rated is None:
        return None
    key = "risks", label, rated_key(use)
    return comparison.once(key, lambda: selective.risks_of(rated))
