"""Which rater is the odd one out: over all cases by a test, on a single case by a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from segjury.analysis.statistics.tests import holm, smallest_p
from segjury.analysis.statistics.wilcoxon import signed_rank_tests
from segjury.arrays import Bools, Floats
from segjury.rounding import rounded_differences

APART = 0.1  # a rater whose Dice with every other is lower marked something else
TOGETHER = 0.3  # if the others agree so far; below, nobody can say who is apart


@dataclass(frozen=True)
class OutlierTests:
    """One-sided signed-rank tests, one per rater, that a rater agrees less than the others do.

    `deficit` is the mean over cases of the rater's mean Dice with the others minus the mean Dice of
    their pairs, `correlation` its rank-biserial correlation (-1: lower on every case), `p` is
    adjusted by Holm over the raters. NaN where `why_not` says that there can be no test. `cases`
    are all there are, `of_rater` those with two other raters that each one marked, where these
    differ; raters with too few are not tested.
    """

    deficit: Floats
    correlation: Floats
    p: Floats
    cases: int
    why_not: str = ""
    of_rater: tuple[int, ...] = ()

    def flagged(self, alpha: float) -> Bools:
        """The raters of whom the test says so."""
        return np.asarray(self.p < alpha)


def outlier_tests(own: Floats, among_others: Floats, *, alpha: float) -> OutlierTests:
    """Test each rater; both arrays are (cases, raters), see `OutlierTests`.

    Exchangeable raters have differences about 0. There is no test of fewer than three raters, nor
    of so few cases that even the same sign on all of them would not reach `alpha` after Holm. A
    value is NaN where a rater did not mark the case, or fewer than two others did.
    """
    differences = rounded_differences(own, among_others)
    cases, raters = differences.shape
    nothing = np.full(raters, np.nan)
    least = raters * smallest_p(cases, alternative="less")
    if raters < 3:
        why_not = "that takes three raters"
        return OutlierTests(nothing, nothing, nothing, cases, why_not)
    if np.isnan(differences).any():
        return _with_gaps(differences, alpha)
    deficit = differences.mean(axis=0) if cases else nothing
    if least >= alpha:
        needed = _cases_needed(raters, alpha)
        why_not = f"with {raters} raters it takes {needed} cases, there are {cases}"
        return OutlierTests(deficit, nothing, nothing, cases, why_not)
    found = signed_rank_tests(differences.T, alternative="less")
    return OutlierTests(deficit, found.correlation, holm(found.p), cases)


def _with_gaps(differences: Floats, alpha: float) -> OutlierTests:
    """The tests where raters marked different cases, each over his or her own."""
    cases, raters = differences.shape
    own = [column[~np.isnan(column)] for column in differences.T]
    counts = tuple(values.size for values in own)
    deficit, correlation, p = (np.full(raters, np.nan) for _ in range(3))
    for k, values in enumerate(own):
        if values.size:
            deficit[k] = values.mean()
    tested = [
        k for k, n in enumerate(counts) if n and raters * smallest_p(n, alternative="less") < alpha
    ]
    if not tested:
        why_not = (
            f"with {raters} raters it takes {_cases_needed(raters, alpha)} cases of a rater that "
            f"two others marked too, nobody has more than {max(counts)}"
        )
        return OutlierTests(deficit, correlation, p, cases, why_not, counts)
    for k in tested:
        found = signed_rank_tests(own[k][None], alternative="less")
        correlation[k], p[k] = found.correlation[0], found.p[0]
    p[tested] = holm(p[tested])
    return OutlierTests(deficit, correlation, p, cases, of_rater=counts)


def _cases_needed(raters: int, alpha: float) -> int:
    return math.floor(math.log2(raters / alpha)) + 1


def is_apart(highest_dice: float, dice_among_others: float) -> bool:
    """Whether a rater drew something else on a case on which the others roughly agree.

    The Dice with every other rater is under 0.1, and the mean of their pairs at least 0.3.
    """
    return highest_dice < APART and dice_among_others >= TOGETHER
