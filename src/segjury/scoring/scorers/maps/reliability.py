"""Scores of calibration against all raters together."""

from __future__ import annotations

import math

import numpy as np

from segjury.metrics import reliability
from segjury.metrics.calibration import EceOptions
from segjury.metrics.geometry.band import outline_band
from segjury.metrics.metric import Reading
from segjury.metrics.rated_map import RegionOptions, marks_box, rated_voxels
from segjury.metrics.reliability import BinnedShares, BinOptions, BoundaryOptions
from segjury.scoring.comparison import Comparison, rated_key
from segjury.scoring.scorers.measured import NO_MARK, Component, Measured, scorer


@scorer(reliability.POOLED_ECE)
def score_pooled_ece(
    comparison: Comparison, label: int, use: BinOptions, _reading: Reading
) -> Measured:
    """Calibration error of the label's probability."""
    binned = _even_bins(comparison, label, use, use.bins)
    return Measured(binned.ece) if binned else NO_MARK


@scorer(reliability.ADAPTIVE_ECE)
def score_adaptive_ece(
    comparison: Comparison, label: int, use: BinOptions, _reading: Reading
) -> Measured:
    """Calibration error over bins that hold equally many voxels."""
    rated = comparison.rated_map(label, use)
    return Measured(reliability.equal_bins(rated, use.bins).ece) if rated else NO_MARK


@scorer(reliability.CLASSWISE_ECE)
def score_classwise_ece(comparison: Comparison, use: EceOptions, _reading: Reading) -> Measured:
    """Mean of the calibration errors of all labels, over the whole image."""
    parts = []
    for name, label in comparison.reference.labels.items():
        binned = _even_bins(comparison, label, RegionOptions(), use.bins)
        parts.append(Component("ece", name, binned.ece if binned else math.nan))
    return Measured(float(np.mean([part.value for part in parts])), parts=tuple(parts))


@scorer(reliability.ACE)
def score_ace(comparison: Comparison, label: int, use: BinOptions, _reading: Reading) -> Measured:
    """Mean error of the bins."""
    binned = _even_bins(comparison, label, use, use.bins)
    return Measured(binned.ace) if binned else NO_MARK


@scorer(reliability.MCE)
def score_mce(comparison: Comparison, label: int, use: BinOptions, _reading: Reading) -> Measured:
    """Largest error of a bin."""
    binned = _even_bins(comparison, label, use, use.bins)
    return Measured(binned.mce) if binned else NO_MARK


@scorer(reliability.BOUNDARY_ECE)
def score_boundary_ece(
    comparison: Comparison, label: int, use: BoundaryOptions, _reading: Reading
) -> Measured:
    """Calibration error near the raters' outlines."""
    reference = comparison.reference
    band = reference.memo.once(
        ("band", label, use.band_mm),
        lambda: outline_band(
            reference.patterns,
            label,
            marks_box(reference.patterns, label),
            reference.grid.spacing_mm,
            use.band_mm,
            ignored=reference.ignored,
        ),
    )
    if not band.size:
        return Measured(math.nan, "no rater draws an outline inside the image")
    p = comparison.probability(label).array
    rated = rated_voxels(reference.patterns, label, p, band)
    return Measured(reliability.even_bins(rated, use.bins).ece)


def _even_bins(
    comparison: Comparison, label: int, use: RegionOptions, bins: int
) -> BinnedShares | None:
    """Bins of even width; metrics share them."""
    rated = comparison.rated_map(label, use)
    if rated is None:
        return None
    key = "even bins", label, rated_key(use), bins
    return comparison.once(key, lambda: reliability.even_bins(rated, bins))
