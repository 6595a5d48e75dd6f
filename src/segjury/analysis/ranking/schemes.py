"""From scores to ranks, under any scheme and for many resamples of the cases at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from segjury.analysis.ranking.panel import Panel
from segjury.analysis.statistics.winners import winners
from segjury.arrays import Bools, Floats, Ints
from segjury.protocols.ranking import Aggregate, Ranking, Ties
from segjury.rounding import rounded, rounded_pairs

CELLS_AT_ONCE = 20_000_000  # of resamples x cases x methods, so that memory stays below 1 GB


@dataclass(frozen=True)
class Standings:
    """Value and rank of each method in each score, and mean rank, for each resample.

    `values` and `ranks` have axes (resamples, keys, methods), `mean_rank` (resamples, methods). A
    score that no case of a resample has is NaN there and does not count.
    """

    values: Floats
    ranks: Floats
    weights: Floats
    mean_rank: Floats

    @property
    def positions(self) -> Floats:
        """Places by mean rank, 1 for the best; equal mean ranks share the best of their places."""
        return places(self.mean_rank)


def standings(panel: Panel, ranking: Ranking, counts: Floats | None = None) -> Standings:
    """Rank the methods of a panel; `counts` (resamples, cases) says how often a case is drawn.

    1. A metric's case values become one value each (`aggregate`).
    2. That is ranked; or, with `rank-then-aggregate`, methods are ranked on each case, a missing
       or failed prediction last, and the ranks are aggregated; or, with `test-then-rank`, the
       methods that a method beats significantly are counted, and that is ranked.
    3. The mean rank is the weighted mean over the scores; with `rank-then-aggregate` each case's
       rank has that weight, so that a score with fewer cases weighs less.
    """
    if counts is None:
        counts = np.ones((1, len(panel.cases)))
    shape = (len(counts), len(panel.keys), len(panel.methods))
    values, ranks = np.empty(shape), np.empty(shape)
    for k in range(len(panel.keys)):
        inside = panel.defined[k]
        scores, drawn = panel.values[k, inside], counts if inside.all() else counts[:, inside]
        values[:, k] = aggregated(scores, drawn, ranking.aggregate)
        if ranking.scheme == "rank-then-aggregate":
            each = case_ranks(scores, panel.lost[k, inside], panel.higher[k], ranking)
            ranks[:, k] = aggregated(each, drawn, ranking.aggregate)
        elif ranking.scheme == "test-then-rank":
            wins = _wins(scores, drawn, higher=panel.higher[k], alpha=ranking.alpha)
            ranks[:, k] = ranked(wins, higher=True, ties=ranking.ties)
    if ranking.scheme in ("mean-of-metric-ranks", "aggregate-then-rank"):
        oriented = np.where(panel.higher[:, None], values, -values)
        ranks = ranked(rounded(oriented, digits=ranking.digits), higher=True, ties=ranking.ties)
    cases_drawn = counts @ panel.defined.T
    weights = np.array([ranking.weights.get(metric, 1.0) for metric in panel.metrics])
    by_case = ranking.scheme == "rank-then-aggregate"
    shares = weights * (cases_drawn if by_case else cases_drawn > 0)
    with np.errstate(invalid="ignore"):
        mean_rank = np.nansum(ranks * shares[:, :, None], axis=1) / shares.sum(axis=1)[:, None]
    return Standings(values, ranks, weights, mean_rank)


def ranked(values: Floats, *, higher: bool, ties: Ties) -> Floats:
    """Ranks along the last axis, 1 for the best; NaN where the values are."""
    from scipy.stats import rankdata  # takes a second to import

    found: Floats = rankdata(-values if higher else values, method=ties, axis=-1)
    return found


def places(mean_rank: Floats) -> Floats:
    """Places along the last axis; equal mean ranks share the best of their places."""
    return ranked(rounded(mean_rank), higher=False, ties="min")


def ordered(mean_rank: Floats) -> Ints:
    """Methods by index from best to worst; those with equal mean ranks stay as they come."""
    return np.argsort(rounded(mean_rank), kind="stable")


def case_ranks(scores: Floats, lost: Bools, higher: bool, ranking: Ranking) -> Floats:
    """Ranks on each case, (cases, methods); a lost prediction has the last and moves nobody."""
    last = -np.inf if higher else np.inf
    there = np.where(lost, last, rounded(scores, digits=ranking.digits))
    return np.where(lost, scores.shape[-1], ranked(there, higher=higher, ties=ranking.ties))


def ranks_by_case(panel: Panel, key: str, ranking: Ranking) -> tuple[list[str], Floats]:
    """The cases that count for a score, and the methods' ranks on them, (cases, methods)."""
    at = panel.keys.index(key)
    inside = panel.defined[at]
    higher = bool(panel.higher[at])
    ranks = case_ranks(panel.values[at, inside], panel.lost[at, inside], higher, ranking)
    return [case for case, counts in zip(panel.cases, inside, strict=True) if counts], ranks


def aggregated(scores: Floats, counts: Floats, aggregate: Aggregate) -> Floats:
    """Mean or quantile over cases drawn `counts` times, (resamples, methods); NaN without any.

    A quantile interpolates between neighbours, as that of the drawn values written out.
    """
    if aggregate == "mean":
        with np.errstate(invalid="ignore"):
            means: Floats = (counts @ scores) / counts.sum(axis=1)[:, None]
        return means
    level = 0.5 if aggregate == "median" else float(aggregate)
    at_once = max(1, CELLS_AT_ONCE // max(1, scores.size))
    parts = [
        _quantile(scores, counts[start : start + at_once], level)
        for start in range(0, len(counts), at_once)
    ]
    return np.concatenate(parts)


def over_cases(aggregate: Aggregate) -> Any:
    """The same aggregate for a frame of case values: what pandas takes as a function."""
    return aggregate if isinstance(aggregate, str) else partial(pd.Series.quantile, q=aggregate)


def _quantile(scores: Floats, counts: Floats, level: float) -> Floats:
    order = np.argsort(scores, axis=0)
    ascending = np.take_along_axis(scores, order, axis=0)
    below = np.cumsum(counts[:, order], axis=1)  # drawn values up to each, (resamples, cases, m)
    at = level * (counts.sum(axis=1) - 1)
    first = np.floor(at)
    low = _nth(ascending, below, first)
    high = _nth(ascending, below, np.ceil(at))
    return np.where(
        counts.sum(axis=1)[:, None] == 0, np.nan, low + (high - low) * (at - first)[:, None]
    )


def _nth(ascending: Floats, below: Floats, n: Floats) -> Floats:
    """The n-th drawn value, from 0."""
    at = (below <= n[:, None, None]).sum(axis=1)
    return np.take_along_axis(ascending, np.minimum(at, len(ascending) - 1), axis=0)


def _wins(scores: Floats, counts: Floats, *, higher: bool, alpha: float) -> Floats:
    """How many methods each beats in a one-sided Wilcoxon test, Holm over all ordered pairs.

    The same tests of all cases and of resamples, whose repeated cases are tied.
    """
    n = scores.shape[1]
    first, second = np.triu_indices(n, 1)
    columns = np.ascontiguousarray(scores.T if higher else -scores.T)
    differences = rounded_pairs(columns, first, second)
    wins = np.zeros((len(counts), n))
    for sample, drawn in enumerate(counts.astype(int)):
        if not drawn.any():
            wins[sample] = np.nan
            continue
        side = winners(np.repeat(differences, drawn, axis=1), alpha)
        np.add.at(wins[sample], first[side > 0], 1)
        np.add.at(wins[sample], second[side < 0], 1)
    return wins
