"""Tests between methods on one score, and the size of their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from segjury.analysis.ranking.schemes import ordered
from segjury.analysis.statistics.cliques import cliques
from segjury.analysis.statistics.effects import median_difference
from segjury.analysis.statistics.tests import (
    Friedman,
    conover,
    friedman,
    holm,
    holm_pairs,
    mean_ranks,
    smallest_friedman_p,
    smallest_p,
)
from segjury.analysis.statistics.wilcoxon import signed_rank_tests
from segjury.arrays import Bools, Floats, Ints
from segjury.rounding import rounded, rounded_pairs


@dataclass(frozen=True)
class Pair:
    """Two methods, by index, in a Wilcoxon signed-rank test.

    `p` is Holm-adjusted within its family. `median`, `low` and `high` are of the differences
    a - b over the cases, with an order-statistic interval (NaN where the cases are too few for
    one). `effect` is the rank-biserial correlation, positive where `a` is better. `sign` is that
    of the effect: 1 where `a` is better, -1 where `b` is, 0 where neither. The test compares rank
    sums, so where it finds a difference this is its direction; the median may be 0 all the same.
    """

    a: int
    b: int
    p: float
    p_unadjusted: float
    median: float
    low: float
    high: float
    effect: float
    sign: int


@dataclass(frozen=True)
class ScoreTests:
    """All tests on one score; matrices and indices are in the order of the methods.

    `baselines` holds, for each baseline, its pairs (method, baseline) with the methods that are
    no baselines. `conover` has Conover's own p, adjusted by Holm; they approximate, and may be 0
    for two cases. `smallest` has the least p that an exact test of each pair can give, by the cases
    on which the two differ. `cliques` are groups, best first, of which no pair differs; all
    methods are one where Friedman's test finds no difference, as a post-hoc test needs one.
    """

    cases: int
    friedman: Friedman
    mean_ranks: Floats
    conover: Floats
    smallest: Floats
    wilcoxon: tuple[Pair, ...]
    cliques: tuple[tuple[int, ...], ...]
    baselines: Mapping[int, tuple[Pair, ...]]
    alpha: float
    level: float

    def against(self, baseline: int) -> dict[int, Pair]:
        """The comparison of each other method with a baseline, by index; none for no baseline."""
        return {pair.a: pair for pair in self.baselines.get(baseline, ())}

    @property
    def order(self) -> Ints:
        """Methods by mean rank, best first; equal ones in the order of the leaderboard."""
        return ordered(self.mean_ranks)

    @property
    def found(self) -> bool:
        """Whether Friedman's test finds a difference, and its exact form could."""
        return max(self.friedman.p, self.smallest_friedman_p) < self.alpha

    @property
    def decisive(self) -> Floats:
        """Conover's adjusted p, but none below what an exact test of the pair can give."""
        return np.maximum(self.conover, self.smallest)

    @property
    def differs(self) -> Bools:
        """Whether two methods may be said to differ, (methods, methods)."""
        return np.asarray((self.decisive < self.alpha) & self.found)

    @property
    def pairs_differing(self) -> int:
        """How many pairs may be said to differ."""
        return int(self.differs.sum()) // 2

    @property
    def smallest_friedman_p(self) -> float:
        """The smallest p that an exact Friedman test can give with so many cases and methods."""
        return smallest_friedman_p(self.cases, len(self.mean_ranks))

    @property
    def smallest_p(self) -> float:
        """The smallest p that a signed-rank test can give with so many cases."""
        return smallest_p(self.cases)

    @property
    def smallest_adjusted(self) -> float:
        """The smallest that Holm's correction can make of it over all pairs."""
        return min(1.0, self.smallest_p * max(1, len(self.wilcoxon)))


def score_tests(
    values: Floats,
    *,
    higher: bool,
    baselines: Sequence[int] = (),
    ranks: Floats | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
) -> ScoreTests | None:
    """Test one score, (cases, methods); None for one case or one method, which nothing can test.

    `ranks` are those of the methods on each case, if the ranking has its own: what ties in them,
    and who is last, is the same in Friedman's and Conover's tests and in the mean ranks.
    """
    cases, methods = values.shape
    if cases < 2 or methods < 2:
        return None
    placed = values if ranks is None else ranks
    mean = mean_ranks(values, higher=higher) if ranks is None else ranks.mean(axis=0)
    first, second = np.triu_indices(methods, 1)
    others = [m for m in range(methods) if m not in baselines]
    tests = ScoreTests(
        cases=cases,
        friedman=friedman(placed),
        mean_ranks=mean,
        conover=holm_pairs(conover(placed)),
        smallest=_smallest(placed),
        wilcoxon=_pairs(values, first, second, higher=higher, level=level),
        cliques=(),
        baselines={
            base: _pairs(
                values, np.array(others), np.full(len(others), base), higher=higher, level=level
            )
            for base in baselines
            if others
        },
        alpha=alpha,
        level=level,
    )
    return replace(tests, cliques=tuple(cliques(tests.order, tests.differs)))


def _smallest(values: Floats) -> Floats:
    """The least p of an exact test of each pair, (methods, methods); 1 on the diagonal."""
    each = rounded(values)
    cases = (each[:, :, None] != each[:, None, :]).sum(axis=0)
    return np.asarray(np.minimum(1.0, 2.0 * 0.5**cases))


def _pairs(
    values: Floats, first: Ints, second: Ints, *, higher: bool, level: float
) -> tuple[Pair, ...]:
    """One family of Wilcoxon tests."""
    columns = np.ascontiguousarray(values.T)
    differences = rounded_pairs(columns, first, second)
    tested = signed_rank_tests(differences)
    adjusted = holm(tested.p)
    middle = median_difference(differences, level=level)
    towards = 1 if higher else -1
    effect = towards * tested.correlation
    return tuple(
        Pair(
            a=int(a),
            b=int(b),
            p=float(adjusted[n]),
            p_unadjusted=float(tested.p[n]),
            median=float(middle.estimate[n]),
            low=float(middle.low[n]),
            high=float(middle.high[n]),
            effect=float(effect[n]),
            sign=int(np.sign(effect[n])),
        )
        for n, (a, b) in enumerate(zip(first, second, strict=True))
    )
