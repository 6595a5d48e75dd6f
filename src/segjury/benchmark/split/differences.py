"""How alike parts of a whole are: total variation and standardised differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Floats


def total_variation(first: ArrayLike, second: ArrayLike) -> Floats:
    """Half the sum of `|p - q|` over the levels on the last axis, from 0 to 1.

    The share of one part that would have to be of another level for both to be alike.
    """
    p, q = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def mean_difference(
    first_mean: ArrayLike, first_sd: ArrayLike, second_mean: ArrayLike, second_sd: ArrayLike
) -> Floats:
    """Standardised difference of two means, `|m₁ - m₂| / sqrt((s₁² + s₂²) / 2)`.

    NaN where a mean or an SD is; two different constants are infinitely far apart.
    Source: Austin 2009.
    """
    m1, m2 = np.asarray(first_mean, np.float64), np.asarray(second_mean, np.float64)
    s1, s2 = np.asarray(first_sd, np.float64), np.asarray(second_sd, np.float64)
    apart, spread = np.abs(m1 - m2), np.sqrt((s1**2 + s2**2) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = apart / spread
    return np.asarray(np.where((apart == 0) & (spread == 0), 0.0, found))


def share_difference(first: ArrayLike, second: ArrayLike) -> Floats:
    """Standardised difference of two shares, `|p - q| / sqrt((p(1 - p) + q(1 - q)) / 2)`.

    Source: Austin 2009.
    """
    p, q = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return mean_difference(p, np.sqrt(p * (1 - p)), q, np.sqrt(q * (1 - q)))


def category_difference(first: ArrayLike, second: ArrayLike) -> Floats:
    """Standardised difference of two sets of shares, levels on the last axis.

    The Mahalanobis distance `sqrt((p - q)ᵀ S⁻¹ (p - q))` with S the mean of the two multinomial
    covariances; with two levels that of `share_difference`. S is the covariance of `(p + q) / 2`
    less a matrix of rank one, so that with `c = Σ (p - q)² / (2 (p + q))` over the levels that
    are there, the distance is `2 sqrt(c / (1 - c))`: no inverse, and infinite exactly where the
    two share no level. NaN where a share is. Source: Yang & Dalton 2012.
    """
    p, q = np.asarray(first, np.float64), np.asarray(second, np.float64)
    total = p + q
    terms = np.divide((p - q) ** 2, 2 * total, out=np.zeros_like(total), where=total != 0)
    common = 1 - np.minimum(terms.sum(axis=-1), 1.0)
    shared = ((p > 0) & (q > 0)).any(axis=-1)  # else 1 - c may miss 0 by its last digit
    with np.errstate(divide="ignore"):
        found = 2 * np.sqrt((1 - common) / np.where(shared, common, 0.0))
    return np.asarray(np.where(np.isnan(total).any(axis=-1), np.nan, found))
