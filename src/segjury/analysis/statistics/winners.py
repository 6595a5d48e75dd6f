"""Winners of many pairs: one-sided signed-rank tests with Holm's correction over all of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from segjury.analysis.statistics.tests import holm
from segjury.analysis.statistics.wilcoxon import (
    EXACT_UP_TO,
    asymptotic_p,
    exact_p,
    shares_at_most,
    signed_ranks,
)
from segjury.arrays import Bools, Floats, Ints


def winners(differences: Floats, alpha: float) -> Ints:
    """Which side of each pair wins: 1 the first, -1 the second, 0 neither; (pairs, cases).

    Each pair has two one-sided tests, and Holm's correction is over all of them. At most one of
    the two can be significant; the other comes last in Holm's order. The tests are those of
    `wilcoxon`: exact up to 50 differences that are not 0, also where a resample repeats cases and
    so ties their differences.

    Exact p take long, so each is first enclosed between two of a distribution without ties. Holm's
    procedure rejects no more with larger p, so a pair that it rejects with all upper bounds wins,
    one that it does not reject with all lower bounds does not, and only the rest need their own.
    """
    ranks = signed_ranks(differences)
    low, high = _p_bounds(ranks)
    possible, certain = _rejected(low, alpha), _rejected(high, alpha)
    p = np.where(certain, high, low)
    open_pairs = possible & ~certain
    if open_pairs.any():
        p[open_pairs] = exact_p(ranks[open_pairs], "two-sided") / 2
        certain = _rejected(p, alpha)
    return np.asarray(np.sign(ranks.sum(axis=-1)) * certain)


def _rejected(p: Floats, alpha: float) -> Bools:
    """Whether Holm's procedure rejects; `p` are of the likelier side of each pair."""
    return np.asarray(holm(np.concatenate([p, np.ones(len(p))]))[: len(p)] < alpha)


def _p_bounds(ranks: Ints) -> tuple[Floats, Floats]:
    """Bounds of the one-sided p of each pair's likelier side; both the same beyond 50 differences.

    Signed sums of tied ranks and of ranks without ties differ by at most `shift`, the sum of
    what tied ranks are above those in their place.
    """
    sizes = np.sort(np.abs(ranks), axis=-1)
    counts = np.count_nonzero(ranks, axis=-1)
    cases = ranks.shape[-1]
    in_place = 2 * np.maximum(np.arange(1, cases + 1) - (cases - counts)[:, None], 0)
    shift = np.maximum(sizes - in_place, 0).sum(axis=-1)
    total, balance = sizes.sum(axis=-1), np.abs(ranks.sum(axis=-1))
    at_most = (total - balance) // 2
    low, high = np.empty(len(ranks)), np.empty(len(ranks))
    for count in np.unique(counts):
        rows = counts == count
        if count > EXACT_UP_TO:
            low[rows] = high[rows] = asymptotic_p(ranks[rows], "two-sided") / 2
            continue
        shares = _shares_without_ties(int(count))
        below, above = at_most[rows] - shift[rows], at_most[rows] + shift[rows]
        low[rows] = np.where(below < 0, 0.0, shares[np.maximum(below, 0)])
        high[rows] = shares[np.minimum(above, len(shares) - 1)]
    return low, high


@lru_cache(maxsize=EXACT_UP_TO + 1)
def _shares_without_ties(count: int) -> Floats:
    """P(W⁺ ≤ w) of so many doubled ranks without ties."""
    return shares_at_most(2 * np.arange(1, count + 1))
