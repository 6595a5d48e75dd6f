"""Calibration errors against all raters together: are voxels marked as often as the map says.

All compare the probability of the label, not of the likelier class, with the share of the raters
that mark the voxels of a bin. Hits are pooled over the raters before a difference is taken, so
that the map which says that share has no error, and one that is surer than the raters has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import Box, Floats, Ints, Spacing
from segjury.consensus import pack
from segjury.metrics.calibration import BINS, MOST_BINS, EceOptions, label_maps
from segjury.metrics.geometry.band import outline_band
from segjury.metrics.geometry.dimension import three_spacings
from segjury.metrics.inputs import as_map, as_raters, spacing_of
from segjury.metrics.metric import Metric, Reading, check_shapes
from segjury.metrics.rated_map import (
    PADDING_VOXELS,
    RatedMap,
    Region,
    RegionOptions,
    Values,
    marks_box,
    rate,
    rated_box,
    rated_voxels,
)

__all__ = ["ace", "adaptive_ece", "boundary_ece", "classwise_ece", "mce", "pooled_ece"]

BAND_MM = 5.0


class BinOptions(RegionOptions):
    """Which voxels count, and how finely their probabilities are divided."""

    bins: int = Field(default=BINS, ge=1, le=MOST_BINS, description="number of confidence bins")


class BoundaryOptions(EceOptions):
    """How finely probabilities are divided, and how far from the raters' outlines."""

    band_mm: float = Field(
        default=BAND_MM, ge=0, description="distance from the raters' outlines that counts"
    )

    def remark(self, _reading: Reading) -> str:
        """How wide the band is."""
        return f"within {self.band_mm:g} mm of the raters' outlines"


POOLED_ECE = Metric(
    name="pooled_ece",
    options=BinOptions,
    title="Pooled ECE",
    formula="Σ over bins of n/N |share of the raters - probability|",
    needs_raters=True,
    summary="Expected calibration error of the label's probability against all raters together.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
ADAPTIVE_ECE = Metric(
    name="adaptive_ece",
    options=BinOptions,
    title="Adaptive ECE",
    formula="mean over bins of as many voxels of |share of the raters - probability|",
    needs_raters=True,
    summary="Calibration error against all raters together, over bins with equally many voxels.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
CLASSWISE_ECE = Metric(
    name="classwise_ece",
    options=EceOptions,
    title="Class-wise ECE",
    formula="mean over labels of Σ over bins of n/N |share of the raters - probability|",
    needs_raters=True,
    summary="Mean over the labels of the calibration error of each label's own probability.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    scope="case",
    needs_probability=True,
    readings=("corrected",),
)
ACE = Metric(
    name="ace",
    options=BinOptions,
    title="ACE",
    formula="mean over filled bins of |share of the raters - probability|",
    needs_raters=True,
    summary="Average calibration error: each bin that holds voxels counts the same.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=4,
    needs_probability=True,
    readings=("corrected",),
)
MCE = Metric(
    name="mce",
    options=BinOptions,
    title="MCE",
    formula="max over filled bins of |share of the raters - probability|",
    needs_raters=True,
    summary="Maximum calibration error: that of the worst bin.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=4,
    needs_probability=True,
    readings=("corrected",),
)
BOUNDARY_ECE = Metric(
    name="boundary_ece",
    options=BoundaryOptions,
    title="Boundary ECE",
    formula="Σ over bins of n/N |share of the raters - probability|, near the raters' outlines",
    needs_raters=True,
    summary="Calibration error against all raters together, in a band around their outlines.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=4,
    needs_probability=True,
    readings=("corrected",),
)


@dataclass(frozen=True)
class BinnedShares:
    """Per bin: voxels, and the sum of `share of the raters - probability` over them."""

    voxels: Ints | Floats
    differences: Floats

    @property
    def ece(self) -> float:
        """Mean over the voxels of the error of their bin; NaN where there is no voxel."""
        n = self.voxels.sum()
        return float(np.abs(self.differences).sum() / n) if n else math.nan

    @property
    def of_filled(self) -> Floats:
        """The error of each bin that holds voxels."""
        filled = self.voxels > 0
        return np.asarray(np.abs(self.differences[filled]) / self.voxels[filled])

    @property
    def ace(self) -> float:
        """Mean of the errors; NaN where there is no voxel."""
        return float(self.of_filled.mean()) if self.of_filled.size else math.nan

    @property
    def mce(self) -> float:
        """The largest error; NaN where there is no voxel."""
        return float(self.of_filled.max()) if self.of_filled.size else math.nan


def pooled_ece(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = BINS,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Calibration error against all raters together, `sum_b |sum (s - p)| / n`.

    The inner sum is over the voxels whose p lies in bin `[j/bins, (j+1)/bins)`, the last one closed
    at 1; s is the share of the raters that mark a voxel. Computed in float64. `region` is the
    image, or the box around all raters' marks widened by `padding_voxels` (`near`). NaN for `near`
    if no rater marks anything. Source: Guo et al., ICML 2017, for one rater and the likelier class.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return even_bins(rated, bins).ece if rated else math.nan


def adaptive_ece(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = BINS,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """`pooled_ece` with bins that hold equally many voxels, in the order of their probability.

    Voxels with one probability have one share, their mean, and are divided among the bins as if
    each could be cut, so that their order does not matter. Undefined as `pooled_ece`.
    Source: Nguyen and O'Connor, EMNLP 2015; Nixon et al., CVPR Workshops 2019.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return equal_bins(rated, bins).ece if rated else math.nan


def classwise_ece(raters: ArrayLike, probabilities: ArrayLike, *, bins: int = BINS) -> float:
    """Mean over labels 1 to C of the `pooled_ece` of a label's own probability in the image.

    `raters` are label maps (raters, x, y, z) with labels 0 to C, `probabilities` the maps of
    labels 1 to C, (C, x, y, z). Background is no class of its own. NaN of an image without a voxel.
    Source: Nixon et al., CVPR Workshops 2019 (static calibration error), who also count background.
    """
    labels, maps = label_maps(raters, probabilities)
    patterns, box = pack(labels, n_labels=len(maps) + 1), Box.whole(labels.shape[1:])
    rated = (rated_box(patterns, label, p, box) for label, p in enumerate(maps, 1))
    return float(np.mean([even_bins(each, bins).ece for each in rated]))


def ace(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = BINS,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Average calibration error, the mean of `|mean s - mean p|` over the bins that hold voxels.

    Bins and region are those of `pooled_ece`; each bin counts the same, however many voxels it
    holds. Not the adaptive error of Nixon et al., also called ACE: see `adaptive_ece`.
    Undefined as `pooled_ece`. Source: Neumann et al., NeurIPS Workshops 2018.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return even_bins(rated, bins).ace if rated else math.nan


def mce(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = BINS,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Maximum calibration error, the largest `|mean s - mean p|` of a bin that holds voxels.

    Bins and region are those of `pooled_ece`. Undefined as `pooled_ece`.
    Source: Guo et al., ICML 2017.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return even_bins(rated, bins).mce if rated else math.nan


def boundary_ece(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    band_mm: float = BAND_MM,
    bins: int = BINS,
) -> float:
    """`pooled_ece` of the voxels whose centre is at most `band_mm` from an edge voxel.

    A voxel is an edge voxel if some rater marks it and not one of its face neighbours, or such a
    neighbour and not the voxel. So the band is where raters draw their outlines; the map plays no
    part in it. NaN where no rater draws an outline inside the image.
    """
    if not band_mm >= 0:
        raise ValueError(f"band_mm is {band_mm:g}, expected 0 or more")
    masks, p = as_raters(raters, probability=probability), as_map(probability)
    check_shapes(masks, probability=p)
    images = raters if isinstance(raters, list | tuple) else [raters]
    x, y, z = p.shape
    spacing = three_spacings(spacing_mm or spacing_of(*images, probability), (x, y, z))
    patterns = pack(masks)
    band = outline_band(patterns, 1, marks_box(patterns, 1), spacing, band_mm)
    return even_bins(rated_voxels(patterns, 1, p, band), bins).ece


def even_bins(rated: RatedMap, bins: int = BINS) -> BinnedShares:
    """A region's voxels in bins of even width."""
    cuts = _first_values(np.arange(1, bins) / bins, rated.dtype)
    voxels, differences = _differences(rated, cuts)
    return BinnedShares(voxels, differences)


def equal_bins(rated: RatedMap, bins: int = BINS) -> BinnedShares:
    """A region's voxels in bins that hold equally many, of which those with one value can be cut.

    The sum of differences up to a place grows evenly among voxels with one value, so that it is
    known at each end of a bin from where these begin and end.
    """
    n = rated.voxels
    if not n:
        return BinnedShares(np.zeros(1), np.zeros(1))
    ranks = np.array([-(-n * j // bins) for j in range(1, bins)], np.int64)
    values = np.unique(rated.values_at(ranks))
    cuts = np.unique(np.concatenate([values, np.nextafter(values, values.dtype.type(2))]))
    voxels, differences = _differences(rated, cuts)
    ends = np.concatenate([[0], np.cumsum(voxels)])
    upto = np.concatenate([[0.0], np.cumsum(differences)])
    places = n * np.arange(bins + 1) / bins
    part = np.clip(np.searchsorted(ends, places) - 1, 0, voxels.size - 1)
    inside = (places - ends[part]) / np.maximum(voxels[part], 1)
    return BinnedShares(np.full(bins, n / bins), np.diff(upto[part] + inside * differences[part]))


def _differences(rated: RatedMap, cuts: Values) -> tuple[Ints, Floats]:
    """Voxels between cuts, and the sum of `share of the raters - probability` over them."""
    voxels, sums = rated.between(cuts)
    marks = (voxels * np.arange(rated.n_raters + 1)[:, None]).sum(axis=0)
    return voxels.sum(axis=0), marks / rated.n_raters - sums.sum(axis=0)


def _first_values(cuts: Floats, dtype: np.dtype[np.generic]) -> Values:
    """The smallest numbers of a type that are not below some cuts."""
    nearest = cuts.astype(dtype)
    return np.where(nearest < cuts, np.nextafter(nearest, nearest.dtype.type(2)), nearest)
