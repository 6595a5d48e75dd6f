"""The median of paired differences, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from segjury.analysis.statistics.wilcoxon import checked_differences
from segjury.arrays import Floats


@dataclass(frozen=True)
class MedianDifference:
    """Median of paired differences and its interval; one entry per row of differences.

    `coverage` is the probability that such an interval holds the median of the population.
    """

    estimate: Floats
    low: Floats
    high: Floats
    coverage: float


def median_difference(differences: ArrayLike, *, level: float = 0.95) -> MedianDifference:
    """Sample median of paired differences, with an interval that supposes no distribution.

    From the l-th smallest to the l-th largest of n differences: the median of the population
    lies outside with probability `2 P(B < l)`, B binomial (n, 1/2), or less where differences tie.
    l is the largest that leaves a coverage of at least `level`; where even the whole range covers
    less (n < 6 at 95 %), low, high and coverage are NaN. Cases are on the last axis.
    Source: Thompson 1936.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a share between 0 and 1")
    array = np.sort(checked_differences(differences), axis=-1)
    estimate = np.asarray(np.median(array, axis=-1))
    order, coverage = _order_statistic(array.shape[-1], level)
    if order == 0:
        nothing = np.full_like(estimate, np.nan)
        return MedianDifference(estimate, nothing, nothing, float("nan"))
    low, high = np.asarray(array[..., order - 1]), np.asarray(array[..., -order])
    return MedianDifference(estimate, low, high, coverage)


def _order_statistic(cases: int, level: float) -> tuple[int, float]:
    """Largest l for which the l-th smallest to the l-th largest cover `level`, and its coverage.

    In whole numbers of the 2ⁿ ways in which cases fall below and above the median, so that a
    coverage of exactly `level` counts. 0 where there is none.
    """
    ways = 2**cases
    allowed = (1 - Fraction(level)) * ways / 2
    order, outside, more = 0, 0, 1  # more: the ways with exactly `order` cases below
    while outside + more <= allowed:
        outside += more
        order += 1
        more = more * (cases - order + 1) // order
    return order, (ways - 2 * outside) / ways
