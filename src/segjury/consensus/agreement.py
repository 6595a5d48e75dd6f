"""Agreement of several raters past chance: Fleiss' kappa and Krippendorff's alpha.

Both are `1 - observed / expected`: the disagreement found, over that expected if the same ratings
were dealt out at random. Of masks they need only how many voxels have each pattern of labels.

Over a whole image nearly every voxel is background on which all agree. The plain share of
agreement then goes to 1 whatever the raters do, and kappa and alpha of one structure go to the
pooled Dice of all pairs of raters, `Σ 2|A ∧ B| / Σ (|A| + |B|)`, which no further background
changes. `voxels="marked"` looks only where at least one rater marks something. Nobody can agree on
background there, so values are low: for two raters and one structure never above 0, and NaN where
all masks are the same. Compare such values only with each other.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Floats
from segjury.rounding import rounded

Voxels = Literal["all", "marked"]
Scale = Literal["nominal", "ordinal", "interval", "ratio"]

VOXELS: tuple[Voxels, ...] = ("all", "marked")
SCALES: tuple[Scale, ...] = ("nominal", "ordinal", "interval", "ratio")
MISSING = -1


def fleiss_kappa(labels: ArrayLike, counts: ArrayLike, *, voxels: Voxels = "all") -> float:
    """Fleiss' kappa of raters on voxels, `(P - P_e) / (1 - P_e)`.

    P is the share of agreeing pairs of raters over all voxels, `P_e = Σ_c p_c²` with the share
    p_c of label c among all ratings. `labels` (patterns, raters) is the label of each rater in
    each pattern, `counts` the number of voxels with that pattern. NaN where there is no voxel or
    everybody always says the same single label. Source: Fleiss 1971.
    """
    table, weights = _patterns(labels, counts, voxels, lowest=0)
    observed, expected, _ = _disagreement(table, weights, "nominal")
    return 1 - observed / expected if expected > 0 else math.nan


def krippendorff_alpha(labels: ArrayLike, counts: ArrayLike, *, voxels: Voxels = "all") -> float:
    """Krippendorff's alpha (nominal) of raters on voxels, `1 - D_o / D_e`.

    `labels` and `counts` are as for `fleiss_kappa`, and label -1 is a missing rating; voxels with
    fewer than two ratings do not count. Without missing ones, and n ratings in all,
    `1 - alpha = (1 - kappa) (n - 1) / n`. NaN where no voxel counts or everybody always says the
    same single label. Source: Krippendorff 2011.
    """
    table, weights = _patterns(labels, counts, voxels, lowest=MISSING)
    return _alpha(*_disagreement(table, weights, "nominal"))


def alpha_of_ratings(ratings: ArrayLike, *, scale: Scale) -> float:
    """Krippendorff's alpha of `ratings` (raters, units), NaN where one is missing.

    `1 - D_o / D_e`, both mean squared distances of two ratings c and k. `nominal`: 1 if they
    differ; `ordinal`: between their mean ranks among all ratings that count; `interval`: c - k;
    `ratio`: (c - k) / (c + k), for numbers of at least 0. Units with fewer than two ratings do not
    count. NaN where no unit counts or all ratings are the same. Source: Krippendorff 2011.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    table = rounded(np.asarray(ratings, np.float64))
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(
            f"ratings has shape {table.shape}, expected (raters, units), at least 2 raters"
        )
    if np.isinf(table).any():
        raise ValueError("ratings has infinite values, expected numbers, NaN where missing")
    if scale == "ratio" and (table < 0).any():
        raise ValueError(f"ratings has {np.nanmin(table)}, expected at least 0 on a ratio scale")
    return _alpha(*_disagreement(table.T, np.ones(table.shape[1]), scale))


def _patterns(
    labels: ArrayLike, counts: ArrayLike, voxels: Voxels, *, lowest: int
) -> tuple[Floats, Floats]:
    """The patterns that count, NaN where a rating is missing, and the number of their voxels."""
    table, numbers = np.asarray(labels), np.asarray(counts)
    if voxels not in VOXELS:
        raise ValueError(f"voxels is {voxels!r}, expected one of {', '.join(VOXELS)}")
    if table.ndim != 2 or table.shape[1] < 2 or table.dtype.kind not in "iu":
        raise ValueError(
            f"labels has shape {table.shape} and type {table.dtype}, "
            "expected whole numbers (patterns, raters), at least 2 raters"
        )
    if numbers.shape != table.shape[:1] or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"counts has shape {numbers.shape} and type {numbers.dtype}, "
            f"expected one whole number for each of {len(table)} patterns"
        )
    if table.size and table.min() < lowest:
        raise ValueError(f"labels has {table.min()}, expected at least {lowest}")
    if numbers.size and numbers.min() < 0:
        raise ValueError(f"counts has {numbers.min()}, expected at least 0")
    kept = numbers > 0
    if voxels == "marked":
        kept &= (table > 0).any(axis=1)
    table = table[kept]
    return np.where(table == MISSING, np.nan, table), numbers[kept].astype(np.float64)


def _disagreement(ratings: Floats, weights: Floats, scale: Scale) -> tuple[float, float, float]:
    """Disagreement observed and expected by chance, and the number of ratings that count.

    `ratings` has shape (units, raters), `weights` is how often each unit occurs. Only what differs
    is summed, so that a small disagreement is never the difference of two large numbers.
    """
    values, votes = _votes(ratings)
    rated = votes.sum(axis=1)
    pairable = rated >= 2
    votes, weights, rated = votes[pairable], weights[pairable], rated[pairable]
    totals = (weights[:, None] * votes).sum(axis=0)
    n = float(totals.sum())
    if n == 0:
        return 0.0, 0.0, 0.0
    distances = _squared_distances(values, totals, scale)
    coincidences = np.einsum("ui,uj->ij", votes, (weights / (rated - 1))[:, None] * votes)
    observed = float((coincidences * distances).sum()) / n
    expected = float((np.outer(totals, totals) * distances).sum()) / n**2
    return observed, expected, n


def _votes(ratings: Floats) -> tuple[Floats, Floats]:
    """The different ratings, and how many raters give each one, shape (units, ratings)."""
    values = np.unique(ratings[~np.isnan(ratings)])
    votes = np.empty((len(ratings), values.size))
    for column, value in enumerate(values):
        votes[:, column] = (ratings == value).sum(axis=1)
    return values, votes


def _squared_distances(values: Floats, totals: Floats, scale: Scale) -> Floats:
    """Squared distance of each two values; `totals` is how often each was given."""
    if scale == "nominal":
        return 1 - np.eye(values.size)
    if scale == "ordinal":
        values = np.cumsum(totals) - totals / 2  # mean ranks, all shifted by the same half
    apart = values[:, None] - values[None, :]
    if scale == "ratio":
        both = values[:, None] + values[None, :]
        apart = np.divide(apart, both, out=np.zeros_like(apart), where=both > 0)
    return np.asarray(apart**2)


def _alpha(observed: float, expected: float, n: float) -> float:
    """Alpha from a chance that never draws the same rating twice."""
    return 1 - observed / expected * (n - 1) / n if expected > 0 else math.nan
