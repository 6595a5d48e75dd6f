"""Limits of agreement of two raters, or of a method and the reference, on the same cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Floats
from segjury.rounding import rounded, rounded_differences

Scale = Literal["difference", "percent", "ratio"]

SCALES: tuple[Scale, ...] = ("difference", "percent", "ratio")
LIMIT_SD = 1.96
EXACT_CASES = 8  # up to so many, every order of the ranks is tried


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence limits."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SizeDependence:
    """Correlation of the differences with the sizes, with two-sided p."""

    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float


@dataclass(frozen=True)
class BlandAltman:
    """Bias and limits of agreement; `sizes` and `differences` are the points of the plot.

    `sd` is the sample SD of the differences, on the ratio scale of the natural logarithms of the
    ratios. Where differences depend on the size, limits are too wide for one end of the sizes
    and too narrow for the other: another scale may serve.
    """

    scale: Scale
    level: float
    sizes: Floats
    differences: Floats
    bias: Estimate
    sd: float
    lower: Estimate
    upper: Estimate
    dependence: SizeDependence


def bland_altman(
    first: ArrayLike, second: ArrayLike, *, scale: Scale = "difference", level: float = 0.95
) -> BlandAltman:
    """Bland and Altman's bias and limits of agreement, `mean ± 1.96 SD` of `first - second`.

    `percent`: differences as a percentage of the pair's mean. `ratio`: `log(first / second)`,
    everything but `sd` given as ratios again; sizes are then geometric means. Both are for
    numbers of at least 0. Where a pair has no value on the scale (a 0 in a ratio, 0 and 0 as a
    percentage), all is NaN.

    The interval of the bias is Student's. Those of the limits are exact for normal differences:
    `mean ± q s/√n`, q a quantile of the noncentral t with n - 1 degrees of freedom and
    noncentrality `1.96 √n`; each limit on its own, not both at once. Equal differences have
    limits and intervals without width, and no correlation with the size (NaN), as fewer than 3
    cases have none. Spearman's p tries all orders of up to 8 cases, and is Student's beyond.
    Sources: Bland and Altman 1986 and 1999; Carkeet 2015 for the intervals of the limits.
    """
    from scipy import stats

    sizes, differences = _points(*_checked(first, second, scale, level), scale)
    n = len(differences)
    mean, sd = _mean_and_sd(differences)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    student = stats.t.ppf(tails, n - 1) / math.sqrt(n)
    limit = stats.nct.ppf(tails, n - 1, LIMIT_SD * math.sqrt(n)) / math.sqrt(n)

    def estimate(*steps: float) -> Estimate:
        return Estimate(*_on_scale(mean + np.array(steps) * sd, scale).tolist())

    return BlandAltman(
        scale=scale,
        level=level,
        sizes=_on_scale(sizes, scale),
        differences=_on_scale(differences, scale),
        bias=estimate(0.0, *student),
        sd=sd,
        lower=estimate(-LIMIT_SD, *-limit[::-1]),
        upper=estimate(LIMIT_SD, *limit),
        dependence=_dependence(sizes, differences),
    )


def _checked(
    first: ArrayLike, second: ArrayLike, scale: Scale, level: float
) -> tuple[Floats, Floats]:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a number between 0 and 1")
    if a.ndim != 1 or a.size < 2:
        raise ValueError(f"first has shape {a.shape}, expected at least 2 cases in one dimension")
    if a.shape != b.shape:
        raise ValueError(f"second has shape {b.shape}, first has {a.shape}")
    for name, values in (("first", a), ("second", b)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has NaN or infinite values, expected a number for each case")
        if scale != "difference" and values.min() < 0:
            raise ValueError(f"{name} has {values.min()}, expected at least 0 for scale {scale!r}")
    return a, b


def _points(a: Floats, b: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Sizes and differences of the pairs, for ratios both as logarithms."""
    if scale == "ratio":
        positive = (a > 0) & (b > 0)
        a, b = np.where(positive, a, np.nan), np.where(positive, b, np.nan)
        return (np.log(a) + np.log(b)) / 2, np.log(rounded(a / b))
    sizes, differences = (a + b) / 2, rounded_differences(a, b)
    if scale == "percent":
        share = np.divide(differences, sizes, out=np.full_like(sizes, np.nan), where=sizes > 0)
        differences = rounded(100 * share)
    return sizes, differences


def _on_scale(values: Floats, scale: Scale) -> Floats:
    """Logarithms as ratios again; anything else as it is."""
    if scale != "ratio":
        return values
    with np.errstate(over="ignore"):
        return np.exp(values)


def _mean_and_sd(differences: Floats) -> tuple[float, float]:
    if np.ptp(differences) == 0:  # exact, where the SD of equal numbers may be a tiny one
        return float(differences[0]), 0.0
    return float(differences.mean()), float(differences.std(ddof=1))


def _dependence(sizes: Floats, differences: Floats) -> SizeDependence:
    sizes = rounded(sizes)
    if sizes.size < 3 or not (np.ptp(sizes) > 0 and np.ptp(differences) > 0):
        return SizeDependence(math.nan, math.nan, math.nan, math.nan)
    from scipy import stats

    pearson = stats.pearsonr(sizes, differences)
    spearman = stats.spearmanr(sizes, differences)
    few = sizes.size <= EXACT_CASES
    return SizeDependence(
        pearson=float(pearson.statistic),
        pearson_p=float(pearson.pvalue),
        spearman=float(spearman.statistic),
        spearman_p=_exact_p(sizes, differences) if few else float(spearman.pvalue),
    )


def _exact_p(sizes: Floats, differences: Floats) -> float:
    """Share of all orders whose rank correlation is at least as far from 0."""
    from scipy import stats

    x, y = (2 * stats.rankdata(values) - values.size - 1 for values in (sizes, differences))
    products = np.array(list(permutations(y))) @ x  # whole numbers, so that ties are exact
    return float((np.abs(products) >= abs(y @ x)).mean())
