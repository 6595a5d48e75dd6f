"""Tests between methods over all cases: Friedman, Conover's pairs after it, Holm's correction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from segjury.analysis.statistics.wilcoxon import Alternative, check_alternative, doubled_ranks
from segjury.arrays import Floats, Ints
from segjury.rounding import rounded


@dataclass(frozen=True)
class Friedman:
    """Friedman's statistic, its degrees of freedom and its p."""

    chi2: float
    df: int
    p: float


def friedman(values: ArrayLike) -> Friedman:
    """Friedman's test that all methods are equal; `values` has shape (cases, methods).

    `χ² = (k - 1) Σ_j (R_j - n (k + 1) / 2)² / Σ_ij (r_ij - (k + 1) / 2)²` for ranks r within each
    of n cases, rank sums R of k methods, and k - 1 degrees of freedom; without ties this is the
    usual `12 / (n k (k + 1)) Σ_j R_j² - 3 n (k + 1)`. Where all methods tie on every case χ² is
    0/0, NaN, and p is 1: nothing speaks against their being equal. Which scores are better does
    not matter. Source: Friedman 1937; Conover 1999, 5.8 for ties.
    """
    from scipy.special import chdtrc

    deviations = _rank_deviations(values)
    total, between = _squares(deviations)
    df = deviations.shape[1] - 1
    if total == 0:
        return Friedman(float("nan"), df, 1.0)
    chi2 = df * between / total
    return Friedman(chi2, df, float(chdtrc(df, chi2)))


def conover(values: ArrayLike) -> Floats:
    """P-values of Conover's test after Friedman's for every two methods, not adjusted.

    Two-sided, `t = |R_i - R_j| / √(2 (n Σ r² - Σ R²) / df)` with `df = (n - 1)(k - 1)` for ranks r
    within each of n cases and rank sums R of k methods; `values` has shape (cases, methods). 1 on
    the diagonal. Where every case ranks the methods alike the root is 0, and p is the limit: 0 for
    different rank sums, 1 for equal ones. Source: Conover and Iman 1979; Conover 1999, 5.8.
    """
    from scipy.special import stdtr

    deviations = _rank_deviations(values)
    cases, methods = deviations.shape
    total, between = _squares(deviations)
    residual = cases * total - between
    sums = deviations.sum(axis=0)
    gaps = np.abs(sums[:, None] - sums[None, :])
    if residual == 0:
        return np.where(gaps > 0, 0.0, 1.0)
    df = (cases - 1) * (methods - 1)
    return np.asarray(2.0 * stdtr(df, -gaps * np.sqrt(df / (2.0 * residual))))


def mean_ranks(values: ArrayLike, *, higher: bool) -> Floats:
    """Mean over cases of each method's rank, 1 for the best; ties share the mean of their ranks.

    `values` has shape (cases, methods); `higher`: higher scores are better.
    """
    table = _table(values, cases=1, methods=1)
    return np.asarray(doubled_ranks(-table if higher else table).mean(axis=0) / 2)


def holm(p: ArrayLike) -> Floats:
    """P-values of one family of tests, adjusted by Holm's step-down procedure.

    The i-th smallest of m becomes `min(1, max over j ≤ i of (m - j + 1) p_j)`. Source: Holm 1979.
    """
    raw = np.asarray(p, np.float64)
    if raw.ndim != 1:
        raise ValueError(f"p has shape {raw.shape}, expected one axis, the tests of a family")
    if not np.all((raw >= 0) & (raw <= 1)):
        raise ValueError(f"p must lie in 0 to 1, but has {raw[~((raw >= 0) & (raw <= 1))][0]}")
    order = np.argsort(raw)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1))
    return np.minimum(adjusted, 1.0)


def holm_pairs(matrix: ArrayLike) -> Floats:
    """P-values of all pairs of methods, adjusted by Holm's procedure; 1 on the diagonal.

    `matrix` is symmetric, and each pair counts once in the family.
    """
    raw = np.asarray(matrix, np.float64)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        raise ValueError(f"matrix has shape {raw.shape}, expected (methods, methods)")
    pairs = np.triu_indices(len(raw), 1)
    if not np.array_equal(raw[pairs], raw.T[pairs], equal_nan=True):
        raise ValueError("matrix must be symmetric, as p of two-sided tests are")
    adjusted = np.ones_like(raw)
    adjusted[pairs] = adjusted.T[pairs] = holm(raw[pairs])
    return adjusted


def smallest_p(cases: int, *, alternative: Alternative = "two-sided") -> float:
    """Smallest p that an exact signed-rank test of so many cases can give.

    `2 / 2ⁿ` for two-sided tests and `1 / 2ⁿ` for others: all differences have the same sign. No
    other exact test of two paired methods gives less, nor any correction for further pairs.
    """
    check_alternative(alternative)
    if cases < 0:
        raise ValueError(f"cases is {cases}, expected 0 or more")
    return float(min(1.0, (2.0 if alternative == "two-sided" else 1.0) * 0.5**cases))


def smallest_friedman_p(cases: int, methods: int) -> float:
    """Smallest p that Friedman's test can give if all orders of the ranks are counted.

    `1 / (k!)ⁿ⁻¹` for k methods on n cases: every case orders them alike.
    """
    return math.exp(-math.lgamma(methods + 1) * (cases - 1))


def _table(values: ArrayLike, *, cases: int, methods: int) -> Floats:
    """Scores with equal ones made equal; at least so many cases and methods."""
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.shape[0] < cases or table.shape[1] < methods:
        raise ValueError(
            f"values has shape {table.shape}, expected (cases, methods) "
            f"with at least {cases} of the first and {methods} of the second"
        )
    missing = int(np.isnan(table).sum())
    if missing:
        raise ValueError(f"values must be complete, but {missing} of {table.size} are NaN")
    return rounded(table)


def _rank_deviations(values: ArrayLike) -> Ints:
    """Twice each rank within its case minus the middle rank: whole numbers, so nothing rounds."""
    ranks = doubled_ranks(_table(values, cases=2, methods=2))
    return np.asarray(ranks - (ranks.shape[1] + 1))


def _squares(deviations: Ints) -> tuple[int, int]:
    """Sum of the squares of all deviations, and of their sums per method."""
    return int(np.square(deviations).sum()), int(np.square(deviations.sum(axis=0)).sum())
