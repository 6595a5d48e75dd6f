"""Proper scores of a probability map: Brier score and negative log-likelihood.

A score is proper if, whatever the raters say, no map scores better than the share of the raters
that mark each voxel. So it pays to say what one believes, and over-confidence costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import Floats
from segjury.metrics.geometry import steady
from segjury.metrics.metric import Metric
from segjury.metrics.rated_map import (
    PADDING_VOXELS,
    RatedMap,
    Region,
    RegionOptions,
    rate,
)
from segjury.metrics.redrawn import mean_of_raters

__all__ = ["brier", "nll"]

CLIP = 1e-7  # about the step of float32 below 1: a map cannot be surer than that and say so
SMALLEST_CLIP, LARGEST_CLIP = 1e-15, 0.01
AT_ONCE = 16  # factors; their product is a usual number even if each is as small as can be


class NllOptions(RegionOptions):
    """Which voxels count, and the smallest probability that is told from 0."""

    clip: float = Field(
        default=CLIP,
        ge=SMALLEST_CLIP,
        le=LARGEST_CLIP,
        description="smallest probability of what a rater said; a smaller one counts as this",
    )


BRIER = Metric(
    name="brier",
    options=RegionOptions,
    from_raters=mean_of_raters,
    title="Brier score",
    formula="mean over raters and voxels of (p - a)²",
    needs_raters=True,
    summary="Mean squared difference of probability and each rater's mask, mean over raters.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
NLL = Metric(
    name="nll",
    options=NllOptions,
    from_raters=mean_of_raters,
    title="NLL",
    formula="mean over raters and voxels of -ln(probability of what the rater said)",
    needs_raters=True,
    summary="Negative log-likelihood of each rater's mask under the map, mean over raters.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="nat",
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)


@dataclass(frozen=True)
class ProperScore:
    """A score against each rater, against the raters' mean, and the lowest that any map can have.

    `of_mean` is what the map scores if each voxel's truth is the share of the raters that mark it.
    """

    of_raters: Floats
    of_mean: float
    lowest: float

    @property
    def value(self) -> float:
        """The mean over the raters."""
        return float(self.of_raters.mean())


def brier(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Brier score, the mean over raters k and voxels of `(p - a_k)²`.

    It equals `mean (p - s)² + mean s (1 - s)`, where s is the share of the raters that mark a
    voxel, so that no map beats p = s. `region` is the image, or the box around all raters' marks
    widened by `padding_voxels` (`near`), which does not see what is far from them. NaN for `near`
    if no rater marks anything. Source: Brier, Monthly Weather Review 1950.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return brier_of(rated).value if rated and rated.voxels else math.nan


def nll(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    clip: float = CLIP,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Negative log-likelihood, the mean over raters k and voxels of `-ln max(q_k, clip)`, in nat.

    `q_k` is the probability of what rater k said: p where it is marked, 1 - p elsewhere. No map
    beats the share of the raters that mark a voxel. `clip` keeps a voxel that is certain and wrong
    finite; a certain and right one scores 0. For `region` see `brier`. NaN for `near` if no rater
    marks anything. Source: Good, J R Stat Soc B 1952 (logarithmic score).
    """
    if not SMALLEST_CLIP <= clip <= LARGEST_CLIP:
        raise ValueError(f"clip is {clip:g}, expected {SMALLEST_CLIP:g} to {LARGEST_CLIP:g}")
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return nll_of(rated, clip=clip).value if rated and rated.voxels else math.nan


def brier_of(rated: RatedMap) -> ProperScore:
    """`brier` of a map beside its raters; there is at least one voxel."""
    codes, p = rated.marked
    p = p.astype(np.float64)
    elsewhere = sum(float((q * q).sum()) for q in rated.unmarked_doubles())
    share = rated.raters_marking[codes] / rated.n_raters
    from_mean = float(((p - share) ** 2).sum()) + elsewhere
    n, of_raters = rated.voxels, _of_raters(rated, (1 - p) ** 2, p * p, elsewhere)
    return ProperScore(of_raters, from_mean / n, _lowest(rated, lambda s: s * (1 - s)))


def nll_of(rated: RatedMap, *, clip: float = CLIP) -> ProperScore:
    """`nll` of a map beside its raters; there is at least one voxel."""
    codes, p = rated.marked
    p = p.astype(np.float64)
    marked, not_marked = (-steady.log(np.maximum(q, clip)) for q in (p, 1 - p))
    elsewhere = -sum(_sum_of_logs(np.maximum(1 - q, clip)) for q in rated.unmarked_doubles())
    share = rated.raters_marking[codes] / rated.n_raters
    from_mean = float((share * marked + (1 - share) * not_marked).sum()) + elsewhere
    n, of_raters = rated.voxels, _of_raters(rated, marked, not_marked, elsewhere)
    return ProperScore(of_raters, from_mean / n, _lowest(rated, entropy_nat))


def entropy_nat(share: Floats) -> Floats:
    """Entropy of a probability, in nat; 0 for 0 and for 1."""
    inside = (share > 0) & (share < 1)
    s = np.where(inside, share, 0.5)
    return np.where(inside, -s * steady.log(s) - (1 - s) * steady.log1p(-s), 0.0)


def _of_raters(rated: RatedMap, marked: Floats, not_marked: Floats, elsewhere: float) -> Floats:
    """Means over the voxels against each rater, from what a voxel that somebody marks costs.

    That is `marked` for those who mark it and `not_marked` for the others; `elsewhere` is the cost
    of all other voxels.
    """
    codes, n_codes = rated.marked[0], len(rated.marks)
    costs = [np.bincount(codes, weights=cost, minlength=n_codes) for cost in (marked, not_marked)]
    by_pattern = np.where(rated.marks, costs[0][:, None], costs[1][:, None])
    return np.asarray((by_pattern.sum(axis=0) + elsewhere) / rated.voxels)


def _lowest(rated: RatedMap, of_share: Callable[[Floats], Floats]) -> float:
    """The score of the map that is the share of the raters."""
    share = np.arange(rated.n_raters + 1) / rated.n_raters
    return float((rated.voxels_by_raters * of_share(share)).sum() / rated.voxels)


def _sum_of_logs(values: Floats) -> float:
    """Sum of the logarithms: those of products of several values, which are faster."""
    whole = values.size // AT_ONCE * AT_ONCE
    products = np.multiply.reduce(values[:whole].reshape(AT_ONCE, -1), axis=0)
    return float(steady.log(products).sum() + steady.log(values[whole:]).sum())
