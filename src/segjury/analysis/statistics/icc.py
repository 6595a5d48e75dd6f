"""Intraclass correlations of several raters' numbers, from the mean squares of their table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from segjury.arrays import Floats
from segjury.rounding import SAME


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of the two-way analysis of variance of a table, one rating per cell."""

    n_targets: int
    n_raters: int
    targets: float
    raters: float
    residual: float

    @property
    def within(self) -> float:
        """Mean square within targets: raters and residual together."""
        return (self.raters + (self.n_targets - 1) * self.residual) / self.n_targets


@dataclass(frozen=True)
class Icc:
    """One intraclass correlation, its confidence limits, and the F test that it is 0."""

    name: str
    meaning: str
    value: float
    low: float
    high: float
    f: float
    df1: int
    df2: int
    p: float


@dataclass(frozen=True)
class IccTable:
    """The six intraclass correlations of a table; `table["ICC(2,k)"]` is one of them."""

    n_targets: int
    n_raters: int
    level: float
    coefficients: tuple[Icc, ...]

    def __getitem__(self, name: str) -> Icc:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise KeyError(f"{name!r}, expected one of {', '.join(c.name for c in self.coefficients)}")


@dataclass(frozen=True)
class _Form:
    """`(B - noise) / (B + rest)`, with B the mean square of the targets."""

    name: str
    meaning: str
    noise: float
    rest: float
    df_noise: int
    df_limits: float

    def at(self, between: float) -> float:
        """The coefficient if B were `between`; -inf where the denominator is not positive."""
        if math.isinf(between):
            return 1.0
        denominator = between + self.rest
        return (between - self.noise) / denominator if denominator > 0 else -math.inf


def icc(ratings: ArrayLike, *, level: float = 0.95) -> IccTable:
    """The six intraclass correlations of Shrout and Fleiss; `ratings` is (targets, raters).

    With the mean squares B of n targets, J of k raters, E residual, W within targets, for one
    rater and for the mean of all k:

        ICC(1,1) = (B - W) / (B + (k-1) W)                   ICC(1,k) = (B - W) / B
        ICC(2,1) = (B - E) / (B + (k-1) E + k (J - E) / n)   ICC(2,k) = (B - E) / (B + (J - E) / n)
        ICC(3,1) = (B - E) / (B + (k-1) E)                   ICC(3,k) = (B - E) / B

    F is B / W or B / E. The limits are the same formulas with B divided, or multiplied, by a
    quantile of F; for ICC(2,.) with Satterthwaite's degrees of freedom, at least k - 1, where
    other programs take fewer for some negative ICC(2,1) and get limits that may exclude it.

    Negative values stay. Perfect agreement is 1 with limits 1 and 1, F infinite, p = 0. The
    denominator estimates a variance: where it is not positive (no variance at all; for means also
    raters who contradict each other) the coefficient and its limits are NaN. A lower limit that
    does not exist is -inf. Sources: Shrout and Fleiss 1979; McGraw and Wong 1996.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a number between 0 and 1")
    squares = mean_squares(ratings)
    return IccTable(
        n_targets=squares.n_targets,
        n_raters=squares.n_raters,
        level=level,
        coefficients=tuple(_coefficient(form, squares, level) for form in _forms(squares)),
    )


def mean_squares(ratings: ArrayLike) -> MeanSquares:
    """Two-way analysis of variance of `ratings` (targets, raters), complete.

    Effects that all lie past the 12th digit of the largest rating are none.
    """
    table = np.asarray(ratings, np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(
            f"ratings has shape {table.shape}, expected (targets, raters), at least 2 of each"
        )
    if not np.isfinite(table).all():
        raise ValueError("ratings has NaN or infinite values, expected a complete table")
    n, k = table.shape
    smallest = SAME * float(np.abs(table).max())
    table = table - table.mean()
    targets = table.mean(axis=1) - table.mean()
    raters = table.mean(axis=0) - table.mean()
    residual = table - table.mean() - targets[:, None] - raters
    return MeanSquares(
        n_targets=n,
        n_raters=k,
        targets=k * _sum_of_squares(targets, smallest) / (n - 1),
        raters=n * _sum_of_squares(raters, smallest) / (k - 1),
        residual=_sum_of_squares(residual, smallest) / ((n - 1) * (k - 1)),
    )


def _sum_of_squares(effects: Floats, smallest: float) -> float:
    return float((effects**2).sum()) if (np.abs(effects) > smallest).any() else 0.0


def _forms(squares: MeanSquares) -> tuple[_Form, ...]:
    n, k = squares.n_targets, squares.n_raters
    within, residual = squares.within, squares.residual
    bias = (squares.raters - residual) / n  # the estimated variance between raters
    one_way = n * (k - 1), float(n * (k - 1))
    two_way = (n - 1) * (k - 1), float((n - 1) * (k - 1))
    satterthwaite = two_way[0], _satterthwaite(squares)
    random = "absolute agreement, one-way random, "
    agreement = "absolute agreement, two-way random, "
    consistency = "consistency, two-way mixed, "
    single, mean = "single rater", "mean of the raters"
    single_noise = (k - 1) * residual
    return (
        _Form("ICC(1,1)", random + single, within, (k - 1) * within, *one_way),
        _Form("ICC(2,1)", agreement + single, residual, single_noise + k * bias, *satterthwaite),
        _Form("ICC(3,1)", consistency + single, residual, single_noise, *two_way),
        _Form("ICC(1,k)", random + mean, within, 0.0, *one_way),
        _Form("ICC(2,k)", agreement + mean, residual, bias, *satterthwaite),
        _Form("ICC(3,k)", consistency + mean, residual, 0.0, *two_way),
    )


def _satterthwaite(squares: MeanSquares) -> float:
    """Degrees of freedom for the limits of ICC(2,.), by Satterthwaite's approximation.

    Shrout and Fleiss write them with ICC(2,1); with its mean squares put in, most cancels:
    `(n B W)² / (((B - E) J)² / (k-1) + (((n-1) B + J) E)² / ((n-1)(k-1)))`. A sum of mean squares
    has at least k - 1; a negative ICC(2,1) makes it a difference, whose fewer degrees, down to 0,
    would put the coefficient outside its own limits.
    """
    n, k = squares.n_targets, squares.n_raters
    between, raters, residual = squares.targets, squares.raters, squares.residual
    spread = ((between - residual) * raters) ** 2 / (k - 1) + (
        ((n - 1) * between + raters) * residual
    ) ** 2 / ((n - 1) * (k - 1))
    df = (n * between * squares.within) ** 2 / spread if spread > 0 else 0.0
    return max(df, float(k - 1))


def _coefficient(form: _Form, squares: MeanSquares, level: float) -> Icc:
    between, df1 = squares.targets, squares.n_targets - 1
    upper_tail = (1 + level) / 2
    shrunk = between / float(special.fdtri(df1, form.df_limits, upper_tail))
    grown = between * float(special.fdtri(form.df_limits, df1, upper_tail))
    defined = between + form.rest > 0
    f = _ratio(between, form.noise)
    return Icc(
        name=form.name,
        meaning=form.meaning,
        value=form.at(between) if defined else math.nan,
        low=form.at(shrunk) if defined else math.nan,
        high=form.at(grown) if defined else math.nan,
        f=f,
        df1=df1,
        df2=form.df_noise,
        p=float(special.fdtrc(df1, form.df_noise, f)),
    )


def _ratio(numerator: float, denominator: float) -> float:
    if denominator > 0:
        return numerator / denominator
    return math.inf if numerator > 0 else math.nan
