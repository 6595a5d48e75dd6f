"""Signed-rank test and effect sizes: scipy, all sign patterns by brute force, and laws."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from segjury.analysis.statistics import wilcoxon as module
from segjury.analysis.statistics.effects import median_difference
from segjury.analysis.statistics.wilcoxon import doubled_ranks, signed_rank_tests, wilcoxon
from segjury.rounding import rounded_differences

ALTERNATIVES = ("two-sided", "greater", "less")
STEPS = arrays(np.int64, st.integers(1, 9), elements=st.integers(-4, 4))


def rank_biserial(differences):
    return signed_rank_tests(differences).correlation


def by_brute_force(differences, alternative):
    """Share of all sign patterns whose rank sum is as extreme as the one observed."""
    steps = np.asarray(differences)[np.asarray(differences) != 0]
    ranks = stats.rankdata(np.abs(steps))
    signs = np.array(list(itertools.product([-1, 1], repeat=len(steps))), float)
    balance, observed = signs @ ranks, np.sign(steps) @ ranks
    extreme = {
        "two-sided": np.abs(balance) >= abs(observed),
        "greater": balance >= observed,
        "less": balance <= observed,
    }
    return extreme[alternative].mean()


@settings(max_examples=100)
@given(STEPS, st.sampled_from(ALTERNATIVES), st.sampled_from(["auto", "exact"]))
def test_exact_p_with_ties_and_zeros_counts_all_signs(steps, alternative, method):
    expected = by_brute_force(steps, alternative)
    assert wilcoxon(steps, alternative=alternative, method=method) == expected


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("cases", [1, 2, 5, 11, 30, 50])
def test_exact_p_without_ties_is_scipys(cases, alternative):
    differences = np.random.default_rng(cases).normal(0.2, 1, size=(20, cases))
    theirs = stats.wilcoxon(differences, alternative=alternative, method="exact", axis=-1)
    ours = wilcoxon(differences, alternative=alternative)
    np.testing.assert_allclose(ours, theirs.pvalue, rtol=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_exact_p_of_many_cases_is_scipys(alternative):
    differences = np.random.default_rng(4).normal(0.3, 1, size=120)
    theirs = stats.wilcoxon(differences, alternative=alternative, method="exact")
    ours = wilcoxon(differences, alternative=alternative, method="exact")
    assert ours == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("step", [None, 0.25])  # the second ties differences, and some with 0
def test_p_of_more_than_50_cases_is_scipys_approximation(step, alternative):
    differences = np.random.default_rng(5).normal(0.2, 1, size=(10, 80))
    if step:
        differences = np.round(differences / step) * step
    theirs = [
        stats.wilcoxon(row, alternative=alternative, method="asymptotic", correction=False)
        for row in differences
    ]
    assert ((differences != 0).sum(axis=1) > 50).all()
    ours = wilcoxon(differences, alternative=alternative)
    np.testing.assert_allclose(ours, [p.pvalue for p in theirs], rtol=1e-10)


def test_50_differences_that_are_not_0_are_exact_and_51_are_not():
    rows = np.tile(np.arange(1.0, 61.0), (2, 1)) * np.where(np.arange(60) % 3, 1, -1)
    rows[0, 50:], rows[1, 51:] = 0, 0
    exact, asymptotic = wilcoxon(rows, method="exact"), wilcoxon(rows, method="asymptotic")
    assert wilcoxon(rows).tolist() == [exact[0], asymptotic[1]]
    assert (exact != asymptotic).all()


@pytest.mark.parametrize("method", ["auto", "exact", "asymptotic"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_rows_of_zeros_show_nothing(alternative, method):
    for cases in (1, 60):
        p = wilcoxon(np.zeros((2, cases)), alternative=alternative, method=method)
        assert p.tolist() == [1, 1]


def test_leading_axes_and_parts_change_nothing(monkeypatch):
    differences = np.random.default_rng(6).integers(-5, 6, size=(3, 7, 12))
    whole, effects = wilcoxon(differences), rank_biserial(differences)
    assert whole.shape == effects.shape == (3, 7)
    assert wilcoxon(differences[0, 0]).shape == ()
    assert wilcoxon(differences[:0]).shape == (0, 7)
    assert all(whole[at] == wilcoxon(differences[at]) for at in np.ndindex(3, 7))
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 30)
    assert (wilcoxon(differences) == whole).all()
    assert (rank_biserial(differences) == effects).all()


@settings(max_examples=50)
@given(STEPS)
def test_reversed_differences_reverse_the_test(steps):
    assert wilcoxon(-steps) == wilcoxon(steps)
    assert wilcoxon(-steps, alternative="less") == wilcoxon(steps, alternative="greater")
    assert rank_biserial(-steps) == -rank_biserial(steps)
    assert median_difference(-steps).estimate == -median_difference(steps).estimate


@settings(max_examples=50)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.integers(0, 5))
)
def test_ranks_are_scipys(values):
    assert (doubled_ranks(values) == 2 * stats.rankdata(values, axis=-1)).all()


def test_equal_steps_between_scores_are_ties_and_equal_scores_are_no_difference():
    # steps of 0.1, 0.1 and -0.1, which floating point makes three different ones, and a 0
    first, second = [0.3, 0.8, 0.6, 0.1 + 0.2], [0.2, 0.7, 0.7, 0.3]
    differences = rounded_differences(np.array(first), np.array(second))
    assert (
        wilcoxon(differences, alternative="greater") == by_brute_force([1, 1, -1], "greater") == 0.5
    )


def test_rank_biserial_by_hand():
    # ranks 1, 2.5, 2.5, 4 without the zeros: (2.5 + 4 - 1 - 2.5) / 10
    rows = [[0, -1, 2, -2, 3, 0], [1, 2, 3, 4, 0, 0], [-1, -1, -2, 0, 0, 0], [0] * 6]
    assert rank_biserial(rows).tolist() == [0.3, 1, -1, 0]
    assert rank_biserial(rows[0]).shape == ()


@settings(max_examples=50)
@given(STEPS)
def test_rank_biserial_follows_from_scipys_rank_sums(steps):
    used = steps[steps != 0]
    if used.size:
        total = used.size * (used.size + 1) / 2
        above = stats.wilcoxon(used, alternative="greater", method="asymptotic").statistic
        assert rank_biserial(steps) == pytest.approx(2 * above / total - 1, abs=1e-14)


@pytest.mark.parametrize(
    ("cases", "low", "coverage"),  # tables of the sign test's interval at 95 %
    [(6, 1, 0.96875), (8, 1, 0.9921875), (9, 2, 0.9609375), (11, 2, 0.98828125), (20, 6, 0.9586)],
)
def test_median_interval_runs_between_tabled_order_statistics(cases, low, coverage):
    shuffled = np.random.default_rng(9).permutation(np.arange(1.0, cases + 1))
    found = median_difference(shuffled)
    assert (found.low, found.high) == (low, cases + 1 - low)
    assert found.estimate == (cases + 1) / 2
    assert found.coverage == pytest.approx(coverage, abs=5e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("cases", [8, 12, 13, 64, 2000])
def test_median_interval_is_the_shortest_that_the_binomial_distribution_allows(cases, level):
    found = median_difference(np.arange(1.0, cases + 1), level=level)
    order = int(found.low)
    outside = 2 * stats.binom.cdf([order - 1, order], cases, 0.5)
    assert 1 - outside[0] >= level > 1 - outside[1]
    assert found.coverage == pytest.approx(1 - outside[0], rel=1e-12)


def test_median_interval_that_covers_exactly_the_level_counts():
    for cases in (6, 9, 10, 40):
        found = median_difference(np.arange(cases), level=0.9)
        ways = Fraction(found.coverage) * 2**cases
        assert ways.denominator == 1
        assert median_difference(np.arange(cases), level=found.coverage) == found


def test_median_interval_needs_six_cases():
    found = median_difference(np.arange(10.0).reshape(2, 5))
    assert found.estimate.tolist() == [2, 7]
    assert np.isnan([*found.low, *found.high, found.coverage]).all()
    assert found.low.shape == (2,)


def test_median_interval_holds_the_median_as_often_as_it_says():
    drawn = np.random.default_rng(10).exponential(size=(20000, 9))
    found = median_difference(drawn)
    share = ((found.low <= np.log(2)) & (np.log(2) <= found.high)).mean()
    assert share == pytest.approx(found.coverage, abs=4 * np.sqrt(0.04 / 20000))


def test_wrong_calls_are_refused():
    for function in (wilcoxon, rank_biserial, median_difference):
        with pytest.raises(ValueError, match="differences must be finite, but 2 of 4"):
            function([[1, np.nan], [2, np.inf]])
        with pytest.raises(ValueError, match=r"differences has shape \(2, 0\)"):
            function(np.zeros((2, 0)))
        with pytest.raises(ValueError, match=r"differences has shape \(\)"):
            function(1.0)
    with pytest.raises(ValueError, match="alternative is 'bigger', expected one of two-sided"):
        wilcoxon([1, 2], alternative="bigger")
    with pytest.raises(ValueError, match="method is 'approx', expected one of auto"):
        wilcoxon([1, 2], method="approx")
    with pytest.raises(ValueError, match="level is 95"):
        median_difference([1, 2], level=95)
