"""How sure the ranks are: the ranking of many resamples of the cases, and of cases and raters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from segjury.analysis.ranking import Panel
from segjury.analysis.ranking.consensus import kendall_tau
from segjury.analysis.ranking.schemes import ordered, places, ranked, standings
from segjury.analysis.redrawn_raters import RaterScores
from segjury.analysis.statistics.cliques import letters
from segjury.analysis.statistics.resampling import draws
from segjury.arrays import Floats, Ints
from segjury.protocols.ranking import Ranking
from segjury.rounding import rounded

FEWEST_CASES = 6  # resamples of fewer cases look surer than they can be
NORMAL_95 = 1.96  # the papers' interval: mean rank of the resamples +/- 1.96 of their SD


@dataclass(frozen=True)
class RankDistribution:
    """The ranks of the methods over resamples; arrays are per method, in the panel's order.

    `frequencies` (methods, places) is the share of the resamples in which a method has a place;
    methods that tie share the best of their places. `first` is the share in which it is first, a
    shared first place divided. The other numbers are of the ranks, in which ties share the mean.
    `low` and `high` are percentiles. `ahead[i, j]` is the share of the resamples in which i ranks
    before j, ties counted half. `tau` is Kendall's tau-b between each resample's ranking and that
    of all cases.
    """

    rank: Floats
    frequencies: Floats
    first: Floats
    mean: Floats
    sd: Floats
    median: Floats
    low: Floats
    high: Floats
    normal_low: Floats
    normal_high: Floats
    ahead: Floats
    tau: Floats
    level: float

    def of_method(self, m: int) -> dict[str, Any]:
        """All that is known of one method's ranks, by name."""
        return {
            "rank": self.rank[m],
            "mean": self.mean[m],
            "sd": self.sd[m],
            "median": self.median[m],
            "low": self.low[m],
            "high": self.high[m],
            "mean_minus_1.96_sd": self.normal_low[m],
            "mean_plus_1.96_sd": self.normal_high[m],
            "first": self.first[m],
            "group": self.groups[m],
        }

    @property
    def order(self) -> Ints:
        """Methods from best to worst on all cases."""
        return ordered(self.rank)

    @cached_property
    def groups(self) -> list[str]:
        """Letters per method: two methods that share one are not told apart by the resamples."""
        tail = (1 - self.level) / 2
        differs = rounded(self.ahead) <= rounded(np.array(tail))
        return letters(self.order, differs | differs.T)

    @property
    def tau_quantiles(self) -> Floats:
        """Lower limit, median and upper limit of Kendall's tau; NaN where it is undefined."""
        known = self.tau[~np.isnan(self.tau)]
        tail = (1 - self.level) / 2
        return np.quantile(known, (tail, 0.5, 1 - tail)) if known.size else np.full(3, np.nan)

    @property
    def first_wrong(self) -> float:
        """Share of the resamples in which the first place goes to others; NaN for one method."""
        if len(self.rank) < 2:
            return float("nan")
        kept = float(self.first[self.rank == self.rank.min()].sum())
        return max(0.0, round(1.0 - kept, 12))  # shares of shared places do not add up to the digit

    @property
    def rivals(self) -> Ints:
        """The first and every method whose order with it the resamples do not settle."""
        first, tail = self.order[0], (1 - self.level) / 2
        open_order = rounded(self.ahead[:, first]) > rounded(np.array(tail))
        return np.flatnonzero(open_order | (np.arange(len(open_order)) == first))

    @property
    def second_ahead(self) -> float:
        """Share of the resamples in which the second is ahead of the first; NaN for one method."""
        if len(self.rank) < 2:
            return float("nan")
        first, second = self.order[:2]
        return float(self.ahead[second, first])


@dataclass(frozen=True)
class Stability:
    """Rank distributions of the whole ranking and of each score.

    `raters` are those that were drawn with the cases, none if only cases were, `within_cases` if
    they were drawn anew on each case; `redrawn` are the scores that follow the raters drawn.
    """

    overall: RankDistribution
    scores: dict[str, RankDistribution]
    samples: int
    cases: int
    raters: tuple[str, ...] = ()
    redrawn: tuple[str, ...] = ()
    within_cases: bool = False

    @property
    def informative(self) -> bool:
        """Whether there are cases enough for resamples to show how sure the order is."""
        return self.cases >= FEWEST_CASES


def case_stability(
    panel: Panel, ranking: Ranking, *, samples: int, level: float, rng: np.random.Generator
) -> Stability:
    """Rank resamples of the cases, drawn with replacement."""
    found = standings(panel, ranking, draws(len(panel.cases), samples, rng))
    return _stability(panel, ranking, found.ranks, found.mean_rank, level)


def rater_stability(
    raters: RaterScores,
    ranking: Ranking,
    *,
    samples: int,
    level: float,
    rng: np.random.Generator,
) -> Stability:
    """Rank resamples of cases and raters, both drawn with replacement.

    Where the same raters mark all cases, a resample draws raters once and cases once, and takes the
    scores of those cases against those raters (the pigeonhole bootstrap, Owen 2007). Where they do
    not, or nobody knows whether they do, it draws as many raters of each drawn case as it has.
    """
    if not raters.crossed:
        return _stability_within_cases(raters, ranking, samples=samples, level=level, rng=rng)
    panel = raters.panel
    cases = draws(len(panel.cases), samples, rng)
    sets, which = np.unique(draws(len(raters.raters), samples, rng), axis=0, return_inverse=True)
    ranks = np.empty((samples, len(panel.keys), len(panel.methods)))
    mean_rank = np.empty((samples, len(panel.methods)))
    for at, counts in enumerate(sets):
        chosen = which == at
        found = standings(raters.with_counts(counts), ranking, cases[chosen])
        ranks[chosen], mean_rank[chosen] = found.ranks, found.mean_rank
    whole = _stability(panel, ranking, ranks, mean_rank, level)
    return replace(whole, raters=raters.raters, redrawn=raters.keys)


def _stability_within_cases(
    raters: RaterScores,
    ranking: Ranking,
    *,
    samples: int,
    level: float,
    rng: np.random.Generator,
) -> Stability:
    """Rank resamples of cases and, for each case drawn, of its own raters."""
    panel, present = raters.panel, raters.present.T
    sizes = present.sum(axis=1)
    shares = np.where(present, 1 / np.maximum(sizes, 1)[:, None], 0.0)
    ranks = np.empty((samples, len(panel.keys), len(panel.methods)))
    mean_rank = np.empty((samples, len(panel.methods)))
    for at in range(samples):
        cases = rng.integers(len(panel.cases), size=len(panel.cases))
        counts = rng.multinomial(sizes[cases], shares[cases]).astype(np.float64)
        found = standings(raters.resampled(cases, counts), ranking)
        ranks[at], mean_rank[at] = found.ranks[0], found.mean_rank[0]
    whole = _stability(panel, ranking, ranks, mean_rank, level)
    return replace(whole, raters=raters.raters, redrawn=raters.keys, within_cases=True)


def _stability(
    panel: Panel, ranking: Ranking, ranks: Floats, mean_rank: Floats, level: float
) -> Stability:
    main = standings(panel, ranking)
    return Stability(
        overall=rank_distribution(main.mean_rank[0], mean_rank, level=level),
        scores={
            key: rank_distribution(main.ranks[0, k], ranks[:, k], level=level)
            for k, key in enumerate(panel.keys)
        },
        samples=len(mean_rank),
        cases=len(panel.cases),
    )


def rank_distribution(main: Floats, resampled: Floats, *, level: float) -> RankDistribution:
    """How ranks spread: `main` (methods) of all cases, `resampled` (samples, methods).

    Both may be any numbers of which less is better. Resamples in which a score has no case at all
    are left out.
    """
    resampled = rounded(resampled[~np.isnan(resampled).any(axis=1)])
    if not len(resampled):
        resampled = main[None]  # no resample has it: nothing is known beyond all cases
    methods = len(main)
    place = places(resampled)
    each = ranked(resampled, higher=False, ties="average")
    shared = (place == 1).sum(axis=1, keepdims=True)
    mean, sd = each.mean(axis=0), each.std(axis=0)
    tail = (1 - level) / 2
    low, median, high = np.quantile(each, (tail, 0.5, 1 - tail), axis=0)
    rank = ranked(rounded(main), higher=False, ties="average")
    return RankDistribution(
        rank=rank,
        frequencies=(place[:, :, None] == np.arange(1, methods + 1)).mean(axis=0),
        first=((place == 1) / shared).mean(axis=0),
        mean=mean,
        sd=sd,
        median=median,
        low=low,
        high=high,
        normal_low=mean - NORMAL_95 * sd,
        normal_high=mean + NORMAL_95 * sd,
        ahead=_ahead(each),
        tau=kendall_tau(rank, each),
        level=level,
    )


def _ahead(ranks: Floats) -> Floats:
    """Share of the resamples in which i ranks before j, (methods, methods); ties count half."""
    ahead = np.empty((ranks.shape[1], ranks.shape[1]))
    for i in range(len(ahead)):
        before, tied = ranks[:, [i]] < ranks, ranks[:, [i]] == ranks
        ahead[i] = (before + 0.5 * tied).mean(axis=0)
    return ahead
