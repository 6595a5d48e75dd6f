"""Proper scores of a probability map: Brier score and negative log-likelihood.

A score is proper if, whatever the raters say, no map scores better than the share of the raters
that mark each voxel. So it pays to say what one believes, and over-confidence costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import Floats
from segjury.metrics.geometry import steady
from segjury.metrics.metric import Metric
from segjury.metrics.rated_map import (
    FEW_VOXELS,
    PADDING_VOXELS,
    RatedMap,
    Region,
    RegionOptions,
    parts_of,
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
    elsewhere = sum(float((p * p).sum()) for p in rated.unmarked_doubles())
    of_raters = _of_raters(rated, _squares, elsewhere)
    from_mean = elsewhere
    for k, values in enumerate(rated.by_raters, 1):
        share = k / rated.n_raters
        for p in parts_of(values, FEW_VOXELS):
            from_mean += float(((p.astype(np.float64) - share) ** 2).sum())
    return ProperScore(of_raters, from_mean / rated.voxels, _lowest(rated, lambda s: s * (1 - s)))


def nll_of(rated: RatedMap, *, clip: float = CLIP) -> ProperScore:
    """`nll` of a map beside its raters; there is at least one voxel."""
    elsewhere = -sum(_sum_of_logs(np.maximum(1 - p, clip)) for p in rated.unmarked_doubles())
    of_raters = _of_raters(rated, partial(_logs, clip=clip), elsewhere)
    # It is linear in what the raters say, so that their mean scores as they do on average.
    return ProperScore(of_raters, float(of_raters.mean()), _lowest(rated, entropy_nat))


def _squares(p: Floats) -> tuple[Floats, Floats]:
    """What a voxel costs against a rater who marks it, and against one who does not."""
    return (1 - p) ** 2, p * p


def _logs(p: Floats, *, clip: float) -> tuple[Floats, Floats]:
    return -steady.log(np.maximum(p, clip)), -steady.log(np.maximum(1 - p, clip))


def entropy_nat(share: Floats) -> Floats:
    """Entropy of a probability, in nat; 0 for 0 and for 1."""
    inside = (share > 0) & (share < 1)
    s = np.where(inside, share, 0.5)
    return np.where(inside, -s * steady.log(s) - (1 - s) * steady.log1p(-s), 0.0)


def _of_raters(
    rated: RatedMap, costs_of: Callable[[Floats], tuple[Floats, Floats]], elsewhere: float
) -> Floats:
    """Means over the voxels against each rater.

    `costs_of` are the costs of voxels that somebody marks, to those who mark them and to the
    others; `elsewhere` is the cost of all other voxels.
    """
    costs = np.zeros((2, len(rated.marks)))
    for codes, values in rated.marked():
        for which, cost in enumerate(costs_of(values.astype(np.float64))):
            found = np.bincount(codes, weights=cost)
            costs[which, : found.size] += found
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
