"""Winners of pairs: the enclosed p decide as the exact ones of the signed-rank test do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon
from statsmodels.stats.multitest import multipletests

from segjury.analysis.statistics.wilcoxon import signed_rank_tests
from segjury.analysis.statistics.winners import winners


@pytest.mark.parametrize("cases", [2, 7, 20, 50, 60])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_bounds_decide_as_the_tests_themselves(cases, alpha):
    rng = np.random.default_rng(cases)
    for pairs in (1, 10, 60):
        steps = np.round(rng.normal(rng.choice([0, 0.4, 0.8], (pairs, 1)), 1, (pairs, cases)), 1)
        drawn = rng.integers(0, cases, cases)  # a resample: cases are repeated
        each = signed_rank_tests(steps[:, drawn])
        rejected = multipletests([*each.p / 2, *np.ones(pairs)], alpha, method="holm")[0][:pairs]
        expected = np.sign(each.correlation) * rejected
        np.testing.assert_array_equal(winners(steps[:, drawn], alpha), expected)


def test_without_ties_scipy_decides_alike():
    steps = np.random.default_rng(1).normal(0.5, 1, (40, 15))
    sides = [wilcoxon(steps, alternative=a, axis=-1).pvalue for a in ("greater", "less")]
    rejected = multipletests(np.concatenate(sides), 0.05, method="holm")[0].reshape(2, -1)
    assert 0 < rejected.sum() < 40
    np.testing.assert_array_equal(winners(steps, 0.05), rejected[0].astype(int) - rejected[1])


def test_no_difference_has_no_winner():
    assert winners(np.zeros((2, 5)), 0.4).tolist() == [0, 0]
