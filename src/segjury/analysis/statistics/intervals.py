"""Confidence intervals of means over cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from segjury.arrays import Floats
from segjury.rounding import SAME

Method = Literal["bca", "percentile", "t"]

TITLES: dict[Method, str] = {
    "bca": "BCa bootstrap, {} samples",
    "percentile": "percentile bootstrap, {} samples",
    "t": "Student's t",
}
FEW_CASES = 20  # up to here Student's interval covers better than the bootstrap's (docs)
LARGEST_BLOCK = 1 << 22  # drawn cases at once, 32 MB


@dataclass(frozen=True)
class MeanInterval:
    """Means over cases with their confidence limits; `method` is its name for people."""

    estimate: Floats
    low: Floats
    high: Floats
    level: float
    method: str


def usual_method(cases: int) -> Method:
    """The interval that covers best for so many cases."""
    return "t" if cases <= FEW_CASES else "bca"


def mean_interval(
    values: Floats,
    *,
    level: float = 0.95,
    method: Method = "bca",
    samples: int = 2000,
    rng: np.random.Generator,
) -> MeanInterval:
    """Interval of the mean over the first axis, the cases; all columns share the same resamples.

    `t`: `mean ± t(n-1) s/√n`. `percentile`: quantiles of the bootstrap means. `bca`: the same at
    levels corrected for bias and skewness. Values that are all equal are their own limits; one
    case has no limits, NaN. In small samples both bootstraps cover less than they say: of 95 %
    about 84 at 5 normal scores, 90 at 11 and 93 at 20, where `t` is exact; with a long tail all
    three cover less.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapters 13 and 14.
    """
    values = _checked(values, level)
    if method not in TITLES:
        raise ValueError(f"method is {method!r}, expected one of {', '.join(TITLES)}")
    if samples < 1:
        raise ValueError(f"samples is {samples}, expected at least 1")
    columns = values.reshape(len(values), math.prod(values.shape[1:]))
    estimate = columns.mean(axis=0)
    tolerance = SAME * np.abs(columns).max(axis=0)
    deviations = np.where(np.ptp(columns, axis=0) > tolerance, columns - estimate, 0.0)
    if len(values) == 1:
        limits = np.full((2, estimate.size), np.nan)
    elif method == "t":
        limits = _t_limits(deviations, level)
    else:
        means = _bootstrap_means(deviations, samples, rng)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])[:, None]
        if method == "bca":
            tails = _corrected(tails, _bias(means, tolerance), _acceleration(deviations))
        limits = _quantiles(means, np.broadcast_to(tails, (2, estimate.size)))
        limits = np.clip(limits, deviations.min(axis=0), deviations.max(axis=0))  # last digits
    low, high = (estimate + limits).reshape(2, *values.shape[1:])
    return MeanInterval(
        estimate=estimate.reshape(values.shape[1:]),
        low=np.asarray(low),
        high=np.asarray(high),
        level=level,
        method=TITLES[method].format(samples),
    )


def _checked(values: Floats, level: float) -> Floats:
    """The values as floats; refuse what has no mean or no level."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(f"values has shape {values.shape}, expected at least one case")
    if not np.isfinite(values).all():
        raise ValueError("values has NaN or infinite scores, expected finite ones")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected more than 0 and less than 1")
    return values


def _t_limits(deviations: Floats, level: float) -> Floats:
    """Student's limits of the mean, from deviations (cases, columns), around 0."""
    n = len(deviations)
    error = np.sqrt((deviations**2).sum(axis=0) / (n - 1) / n)
    half = special.stdtrit(n - 1, (1 + level) / 2) * error
    return np.stack([-half, half])


def _bootstrap_means(deviations: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """Means of resampled cases, (columns, samples), each row ascending.

    How often each case was drawn, times the deviations: one product of matrices for all columns.
    """
    n, columns = deviations.shape
    means = np.empty((columns, samples))
    block = max(LARGEST_BLOCK // n, 1)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=size * n).reshape(size, n)
        means[:, start : start + size] = deviations.T @ counts.T.astype(np.float64) / n
    means.sort(axis=1)
    return means


def _bias(means: Floats, tolerance: Floats) -> Floats:
    """Normal quantile of the share of bootstrap means below the estimate, ties counted half."""
    below = (means < -tolerance[:, None]).mean(axis=1)
    above = (means > tolerance[:, None]).mean(axis=1)
    return np.asarray(special.ndtri((1 + below - above) / 2))


def _acceleration(deviations: Floats) -> Floats:
    """Σd³ / 6(Σd²)^1.5, which is what the jackknife of a mean comes to; 0 without any spread."""
    largest = np.abs(deviations).max(axis=0)
    d = deviations / np.where(largest > 0, largest, 1.0)  # powers of tiny deviations vanish
    squares = (d**2).sum(axis=0)
    return np.asarray((d**3).sum(axis=0) / (6 * np.where(squares > 0, squares, 1.0) ** 1.5))


def _corrected(tails: Floats, bias: Floats, acceleration: Floats) -> Floats:
    """The levels at which BCa reads the bootstrap means, (2, columns)."""
    with np.errstate(invalid="ignore"):  # all means on one side: infinite bias, NaN limits
        reach = bias + special.ndtri(tails)
        shrink = np.maximum(1 - acceleration * reach, SAME)  # beyond the pole lies no quantile
        return np.asarray(special.ndtr(bias + reach / shrink))


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """Quantiles of ascending rows, interpolated; row i of `ordered` at column i of `levels`."""
    place = levels * (ordered.shape[1] - 1)
    before = np.nan_to_num(np.floor(place)).astype(np.int64)
    after = np.minimum(before + 1, ordered.shape[1] - 1)
    row = np.arange(len(ordered))
    lower, upper = ordered[row, before], ordered[row, after]
    return np.asarray(lower + (upper - lower) * (place - before))
