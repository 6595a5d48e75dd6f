"""One ranking out of several, and how much two rankings agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from segjury.arrays import Floats, Ints
from segjury.rounding import rounded

MOST_FOR_KEMENY = 10  # methods; the search takes 2^methods steps
SLACK = 1e-9  # of the largest weight: disagreements are sums of weights
ConsensusMethod = Literal["kemeny", "borda"]


@dataclass(frozen=True)
class ConsensusRanking:
    """A consensus ranking: `order` holds method indices, best first.

    `disagreements` counts the (weighted) pairs that the rankings order the other way. `only_one`
    is whether no other order has as few (Kemeny), or as low a mean rank (Borda).
    """

    method: ConsensusMethod
    order: tuple[int, ...]
    disagreements: float
    only_one: bool


def consensus(rankings: Floats, weights: Floats | None = None) -> ConsensusRanking:
    """The consensus of rankings (rankings, methods), 1 for the best: Kemeny, or Borda for many."""
    small = rankings.shape[1] <= MOST_FOR_KEMENY
    return kemeny(rankings, weights) if small else borda(rankings, weights)


def borda(rankings: Floats, weights: Floats | None = None) -> ConsensusRanking:
    """Order by mean rank; of equal ones the first given comes first."""
    mean = rounded(np.average(rankings, axis=0, weights=weights))
    order = np.argsort(mean, kind="stable")
    return ConsensusRanking(
        "borda",
        tuple(map(int, order)),
        _disagreements(preferences(rankings, weights), order),
        only_one=len(set(mean.tolist())) == len(mean),
    )


def kemeny(rankings: Floats, weights: Floats | None = None) -> ConsensusRanking:
    """The order with the fewest disagreements with the rankings, over all pairs of methods.

    A tie in a ranking disagrees with neither order. Found exactly, over all subsets of methods
    that may come first. Of several best orders, the first is taken, methods in Borda's order.
    """
    n = rankings.shape[1]
    if n > MOST_FOR_KEMENY:
        raise ValueError(f"rankings has {n} methods, expected at most {MOST_FOR_KEMENY}")
    start = np.array(borda(rankings, weights).order, dtype=int)
    against = preferences(rankings, weights)[np.ix_(start, start)]
    # cost[i, s]: disagreements if i comes before everybody in the set s
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n)) & 1
    cost = against.T @ inside.T
    everybody, slack = (1 << n) - 1, SLACK * float(against.max(initial=0.0))
    least, ways = np.zeros(1 << n), np.ones(1 << n)
    for placed in range(everybody - 1, -1, -1):
        free = np.flatnonzero(~inside[placed].astype(bool))
        totals = _totals(placed, free, everybody, cost, least)
        least[placed] = totals.min()
        ways[placed] = ways[placed | (1 << free[totals <= least[placed] + slack])].sum()
    placed, order = 0, []
    while placed != everybody:
        free = np.flatnonzero(~inside[placed].astype(bool))
        totals = _totals(placed, free, everybody, cost, least)
        first = int(free[np.argmax(totals <= least[placed] + slack)])
        order.append(int(start[first]))
        placed |= 1 << first
    return ConsensusRanking("kemeny", tuple(order), float(least[0]), only_one=bool(ways[0] == 1))


def _totals(placed: int, free: Ints, everybody: int, cost: Floats, least: Floats) -> Floats:
    """Disagreements among those not placed, for each that could come next."""
    rest = everybody & ~placed & ~(1 << free)
    return np.asarray(cost[free, rest] + least[placed | (1 << free)])


def preferences(rankings: Floats, weights: Floats | None = None) -> Floats:
    """Weight of the rankings that place i before j, (methods, methods)."""
    before = rounded(rankings)[:, :, None] < rounded(rankings)[:, None, :]
    shares = np.ones(len(rankings)) if weights is None else np.asarray(weights, np.float64)
    return np.asarray(np.einsum("r,rij->ij", shares, before.astype(np.float64)))


def _disagreements(before: Floats, order: Ints) -> float:
    return float(np.triu(before[np.ix_(order, order)].T, 1).sum())


def kendall_tau(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b of rankings along the last axis; NaN where one ties everybody.

    tau = sum(s t) / sqrt(sum|s| sum|t|) over pairs of methods, s and t the signs of their order.
    """
    n = np.asarray(first).shape[-1]
    i, j = np.triu_indices(n, 1)
    one, two = (np.sign(a[..., i] - a[..., j]) for a in (rounded(first), rounded(second)))
    untied = np.sqrt(np.abs(one).sum(axis=-1) * np.abs(two).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * two).sum(axis=-1) / untied)
