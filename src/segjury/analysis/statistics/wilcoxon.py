"""Wilcoxon signed-rank test of paired differences, for many pairs at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Floats, Ints

Alternative = Literal["two-sided", "greater", "less"]
Method = Literal["auto", "exact", "asymptotic"]

EXACT_UP_TO = 50
NUMBERS_AT_ONCE = 1 << 20  # ranked together, so that thousands of pairs fit in little memory


@dataclass(frozen=True)
class SignedRanks:
    """P-values of signed-rank tests, and their rank-biserial correlations."""

    p: Floats
    correlation: Floats


def wilcoxon(
    differences: ArrayLike, *, alternative: Alternative = "two-sided", method: Method = "auto"
) -> Floats:
    """P-values of Wilcoxon's signed-rank test that differences lie symmetrically about 0.

    `W⁺ = Σ r_i over d_i > 0`, r the rank of |d|; ties share the mean of their ranks, differences
    of 0 are discarded. Cases are on the last axis, each row of the others is a test of its own; a
    row of zeros gives 1. `greater` asks whether differences tend to be above 0.

    `exact` compares W⁺ with all 2ⁿ ways to give the ranks a sign, also where ranks are tied;
    `asymptotic` takes `(W⁺ - W⁻) / √(Σ r²)` as standard normal, without continuity correction;
    `auto` is exact up to 50 differences that are not 0. Differences of scores should come from
    `rounded_differences`, so that equal steps are tied. Source: Wilcoxon 1945; Pratt and Gibbons
    1981 for ties.
    """
    return signed_rank_tests(differences, alternative=alternative, method=method).p


def signed_rank_tests(
    differences: ArrayLike, *, alternative: Alternative = "two-sided", method: Method = "auto"
) -> SignedRanks:
    """The tests of `wilcoxon` with the size of the differences, `(W⁺ - W⁻) / (W⁺ + W⁻)`.

    A correlation of 1 says that all differences are above 0; a row of zeros has 0. Source of the
    correlation: Kerby 2014.
    """
    check_alternative(alternative)
    if method not in get_args(Method):
        raise ValueError(f"method is {method!r}, expected one of {', '.join(get_args(Method))}")
    array = checked_differences(differences)
    rows = array.reshape(-1, array.shape[-1])
    p, correlation = np.ones(len(rows)), np.zeros(len(rows))
    for part in _parts(*rows.shape):
        ranks = signed_ranks(rows[part])
        p[part] = _p_values(ranks, alternative, method)
        correlation[part] = ranks.sum(axis=-1) / np.maximum(np.abs(ranks).sum(axis=-1), 1)
    return SignedRanks(p.reshape(array.shape[:-1]), correlation.reshape(array.shape[:-1]))


def signed_ranks(differences: Floats) -> Ints:
    """Twice the rank of |d| among the differences of its row that are not 0, with d's sign.

    Twice, because ties share the mean of their ranks and everything stays a whole number; 0 for
    a difference of 0.
    """
    zeros = (differences == 0).sum(axis=-1, keepdims=True)
    sign = np.sign(differences).astype(np.int64)
    return np.asarray(sign * (doubled_ranks(np.abs(differences)) - 2 * zeros))


def doubled_ranks(values: Floats) -> Ints:
    """Twice the rank along the last axis, 2 for the smallest; ties share the mean of ranks."""
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    position = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    changes = ordered[..., 1:] != ordered[..., :-1]
    first, last = position.copy(), position.copy()
    first[..., 1:][~changes] = 0
    last[..., :-1][~changes] = values.shape[-1]
    first = np.maximum.accumulate(first, axis=-1)
    last = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape, np.int64)
    np.put_along_axis(ranks, order, first + last + 2, axis=-1)
    return ranks


def checked_differences(differences: ArrayLike) -> Floats:
    """Differences as an array with at least one case on its last axis, all finite."""
    array = np.asarray(differences, np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"differences has shape {array.shape}, expected cases on the last axis")
    wrong = array.size - int(np.isfinite(array).sum())
    if wrong:
        raise ValueError(f"differences must be finite, but {wrong} of {array.size} are not")
    return array


def check_alternative(alternative: str) -> None:
    """Refuse what is no alternative, instead of taking it for one."""
    known = get_args(Alternative)
    if alternative not in known:
        raise ValueError(f"alternative is {alternative!r}, expected one of {', '.join(known)}")


def _parts(rows: int, cases: int) -> Iterator[slice]:
    """Consecutive rows, so many that about 2^20 numbers are held at once."""
    step = max(NUMBERS_AT_ONCE // cases, 1)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _p_values(ranks: Ints, alternative: Alternative, method: Method) -> Floats:
    counts = np.count_nonzero(ranks, axis=-1)
    limit = {"auto": EXACT_UP_TO, "exact": ranks.shape[-1], "asymptotic": 0}[method]
    exact = counts <= limit  # without any difference the exact test gives 1, and it alone
    p = np.ones(len(ranks))
    p[~exact] = asymptotic_p(ranks[~exact], alternative)
    p[exact] = exact_p(ranks[exact], alternative)
    return p


def asymptotic_p(ranks: Ints, alternative: Alternative) -> Floats:
    """Normal approximation; `Σ r² / 4` is the variance of W⁺ given the ties."""
    from scipy.special import ndtr

    z = ranks.sum(axis=-1) / np.sqrt(np.square(ranks.astype(np.float64)).sum(axis=-1))
    if alternative == "two-sided":
        return np.asarray(2.0 * ndtr(-np.abs(z)))
    return np.asarray(ndtr(-z if alternative == "greater" else z))


def exact_p(ranks: Ints, alternative: Alternative) -> Floats:
    """Share of sign patterns with a W⁺ as extreme; rows with equal ranks share one distribution."""
    above = np.where(ranks > 0, ranks, 0).sum(axis=-1)
    below = np.where(ranks < 0, -ranks, 0).sum(axis=-1)
    # Signs are exchangeable: W⁺ is as often at least w as W⁻ is, which is at most the total - w.
    at_most = {"greater": below, "less": above, "two-sided": np.minimum(above, below)}[alternative]
    patterns, which = np.unique(np.sort(np.abs(ranks), axis=-1), axis=0, return_inverse=True)
    share = np.ones(len(ranks))
    for number, pattern in enumerate(patterns):
        rows = which.reshape(-1) == number
        share[rows] = shares_at_most(pattern[pattern > 0])[at_most[rows]]
    return np.minimum(share * (2.0 if alternative == "two-sided" else 1.0), 1.0)


def shares_at_most(ranks: Ints) -> Floats:
    """P(W⁺ ≤ w) for w = 0, 1, ... Σ ranks, over all signs; without rounding up to 53 ranks."""
    shares = np.zeros(int(ranks.sum()) + 1)
    shares[0] = 1.0
    reach = 1
    for rank in ranks.tolist():
        shares[:reach] *= 0.5
        grown = reach + rank
        shares[rank:grown] += shares[:reach].copy()
        reach = grown
    return np.cumsum(shares)
