"""Friedman, Conover and Holm: the numbers of a paper, independent libraries, and laws."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scikit_posthocs import posthoc_conover_friedman
from scipy import stats
from statsmodels.stats.multitest import multipletests

from segjury.analysis.statistics.tests import (
    conover,
    friedman,
    holm,
    holm_pairs,
    mean_ranks,
    smallest_p,
)
from segjury.analysis.statistics.wilcoxon import wilcoxon
from tests.places import PUBLISHED

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def dice_ranks():
    return pd.read_csv(PUBLISHED / "smile_uhura_ranks_dice.csv", index_col="subject")


def printed(p):
    """A p-value as the paper prints it."""
    return f"{p:.4f}" if p >= 1e-4 else f"{p:.2e}"


def random_table(seed, *, cases=9, methods=5, ties=False):
    rng = np.random.default_rng(seed)
    shift = np.linspace(0, 0.5, methods)
    values = rng.normal(size=(cases, methods)) + shift
    return np.round(2 * values) if ties else values


@st.composite
def tables(draw):
    shape = draw(st.tuples(st.integers(2, 7), st.integers(2, 5)))
    return draw(arrays(np.int64, shape, elements=st.integers(-4, 4))).astype(float)


def test_friedman_gives_the_papers_statistic():
    paper = pd.read_csv(PUBLISHED / "smile_uhura_friedman.csv", dtype=str).set_index("metric")
    ours = friedman(dice_ranks())
    for metric in ("Dice", "Jaccard"):
        row = paper.loc[metric]
        assert (f"{ours.chi2:.2f}", str(ours.df), f"{ours.p:.2e}") == (row.chi2, row.df, row.p)


def test_conover_with_holm_gives_the_papers_pairs_and_no_others():
    ranks = dice_ranks()
    paper = pd.read_csv(PUBLISHED / "smile_uhura_conover_pairs.csv", dtype=str)
    dice = paper[paper["metric"] == "Dice"]
    expected = {
        frozenset(pair): p
        for *pair, p in dice[["method_a", "method_b", "p_holm"]].itertuples(index=False)
    }
    adjusted = holm_pairs(conover(ranks))
    significant = {
        frozenset((ranks.columns[i], ranks.columns[j])): adjusted[i, j]
        for i, j in itertools.combinations(range(len(adjusted)), 2)
        if adjusted[i, j] < 0.05
    }
    assert len(expected) == 76
    assert {pair: printed(p) for pair, p in significant.items()} == expected


@pytest.mark.parametrize("baseline", ["Baseline DS6", "Baseline UNet MSS"])
def test_a_method_always_on_one_side_of_the_baseline_gets_the_papers_smallest_p(baseline):
    # 16 comparisons of 11 subjects: 16 * 2 / 2^11, also where the steps between ranks are tied
    ranks = dice_ranks()
    file = {"Baseline DS6": "ds6", "Baseline UNet MSS": "unet_mss"}[baseline]
    paper = pd.read_csv(PUBLISHED / f"smile_uhura_wilcoxon_vs_{file}.csv", index_col="method")
    steps = ranks[paper.index].sub(ranks[baseline], axis=0)
    adjusted = pd.Series(holm(wilcoxon(steps.T)), paper.index)
    one_sided = paper.index[(steps > 0).all() | (steps < 0).all()]
    assert {"Koala OM1", "ADAR_LAB UNesT", "Koala Manual"} <= set(one_sided)
    assert (adjusted[one_sided] == 0.015625).all()
    assert (paper.loc[one_sided, "dice"] == 0.016).all()
    assert paper.min().min() == round(16 * smallest_p(11), 3)


def test_tied_steps_to_the_baseline_keep_the_smallest_p():
    ranks = dice_ranks()
    steps = ranks["Baseline UNet MSS"] - ranks["LSGroup"]
    assert (steps > 0).all()
    assert steps.duplicated().any()
    assert wilcoxon(steps) == 2 / 2**11


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_friedman_is_scipys(seed, ties):
    values = random_table(seed, ties=ties)
    ours, theirs = friedman(values), stats.friedmanchisquare(*values.T)
    assert ours.chi2 == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-10)
    assert ours.df == 4


def test_friedman_of_two_methods_is_the_sign_test_statistic():
    # 5 wins, 2 losses, 1 tie: (5 - 2)^2 / (5 + 2)
    values = np.array([[1, 0]] * 5 + [[0, 1]] * 2 + [[1, 1]])
    ours = friedman(values)
    assert ours.chi2 == pytest.approx(9 / 7, rel=1e-14)
    assert ours.p == pytest.approx(stats.chi2.sf(9 / 7, 1), rel=1e-12)


def test_friedman_of_methods_that_always_tie_is_undefined_and_shows_nothing():
    ours = friedman(np.full((4, 3), 0.7))
    assert math.isnan(ours.chi2)
    assert (ours.df, ours.p) == (2, 1.0)


def test_friedman_of_methods_that_balance_out_is_0():
    ours = friedman([[1, 2], [2, 1]])
    assert (ours.chi2, ours.p) == (0.0, 1.0)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("methods", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_conover_is_scikit_posthocs(seed, methods, ties):
    values = random_table(seed, methods=methods, ties=ties)
    ours, theirs = conover(values), posthoc_conover_friedman(values).to_numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert (np.diag(ours) == 1).all()


def test_conover_of_cases_that_all_agree():
    values = [[0.9, 0.5, 0.5], [0.8, 0.1, 0.1], [0.7, 0.6, 0.6]]
    assert conover(values).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_conover_of_methods_that_always_tie():
    assert (conover(np.ones((3, 4))) == 1).all()


def test_scores_that_differ_in_the_last_bit_are_tied():
    noisy = [[0.1 + 0.2, 0.3, 0.1], [0.3, 0.1 + 0.2, 0.1], [0.3, 0.3, 0.4]]
    clean = [[0.3, 0.3, 0.1], [0.3, 0.3, 0.1], [0.3, 0.3, 0.4]]
    assert friedman(noisy) == friedman(clean)
    assert (conover(noisy) == conover(clean)).all()
    assert mean_ranks(noisy, higher=True).tolist() == [11 / 6, 11 / 6, 7 / 3]


def test_infinite_scores_rank_last():
    values, ranks = [[1.0, np.inf, 2.0], [3.0, np.inf, np.inf]], [[1, 3, 2], [1, 2.5, 2.5]]
    assert friedman(values) == friedman(ranks)
    assert mean_ranks(values, higher=False).tolist() == [1, 2.75, 2.25]


@settings(max_examples=50)
@given(tables(), st.randoms(use_true_random=False))
def test_order_of_methods_and_cases_does_not_matter(values, random):
    methods = random.sample(range(values.shape[1]), values.shape[1])
    cases = random.sample(range(values.shape[0]), values.shape[0])
    moved = values[np.ix_(cases, methods)]
    np.testing.assert_equal(astuple(friedman(moved)), astuple(friedman(values)))
    assert (conover(moved) == conover(values)[np.ix_(methods, methods)]).all()


@settings(max_examples=50)
@given(tables())
def test_only_the_order_of_scores_within_a_case_matters(values):
    levels = np.arange(len(values))[:, None]
    for same in (-values, values**3 + values, np.exp(values), values + levels):
        np.testing.assert_equal(astuple(friedman(same)), astuple(friedman(values)))
        assert (conover(same) == conover(values)).all()


@settings(max_examples=50)
@given(tables())
def test_p_values_are_probabilities_and_pairs_are_symmetric(values):
    p = conover(values)
    assert ((p >= 0) & (p <= 1)).all()
    assert (p == p.T).all()
    assert 0 <= friedman(values).p <= 1


@settings(max_examples=50)
@given(tables())
def test_mean_ranks_are_scipys_and_mirror_with_the_direction(values):
    low, high = mean_ranks(values, higher=False), mean_ranks(values, higher=True)
    np.testing.assert_allclose(low, stats.rankdata(values, axis=1).mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(low + high, values.shape[1] + 1, rtol=1e-14)


@settings(max_examples=50)
@given(P_VALUES)
def test_holm_is_statsmodels_and_never_below_the_raw_p(p):
    ours = holm(p)
    np.testing.assert_allclose(ours, multipletests(p, method="holm")[1], rtol=1e-14)
    assert (ours >= p).all()
    assert (np.diff(ours[np.argsort(p, kind="stable")]) >= 0).all()


def test_holm_by_hand_and_of_nothing():
    assert holm([0.01, 0.04, 0.03]).tolist() == [0.03, 0.06, 0.06]
    assert holm([]).tolist() == []


def test_holm_counts_each_pair_once():
    raw = np.array([[1, 0.01, 0.04], [0.01, 1, 0.03], [0.04, 0.03, 1]])
    assert holm_pairs(raw).tolist() == [[1, 0.03, 0.06], [0.03, 1, 0.06], [0.06, 0.06, 1]]


def test_smallest_p():
    assert smallest_p(4) == 0.125
    assert smallest_p(11) == pytest.approx(0.000977, abs=5e-7)
    assert (smallest_p(0), smallest_p(1), smallest_p(1, alternative="less")) == (1.0, 1.0, 0.5)
    for cases, alternative in itertools.product((1, 2, 7), ("two-sided", "greater")):
        theirs = stats.wilcoxon(np.arange(1, cases + 1), alternative=alternative, method="exact")
        assert smallest_p(cases, alternative=alternative) == theirs.pvalue


@pytest.mark.parametrize("test", [friedman, conover])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], r"values has shape \(3,\)"),
        ([[1, 2]], r"values has shape \(1, 2\).* at least 2"),
        ([[1], [2]], r"values has shape \(2, 1\).* 2 of the second"),
        ([[1, 2], [np.nan, 1]], "values must be complete, but 1 of 4 are NaN"),
    ],
)
def test_wrong_tables_are_refused(test, values, message):
    with pytest.raises(ValueError, match=message):
        test(values)


def test_wrong_families_are_refused():
    with pytest.raises(ValueError, match=r"p has shape \(1, 1\)"):
        holm([[0.5]])
    with pytest.raises(ValueError, match="p must lie in 0 to 1, but has nan"):
        holm([0.5, np.nan])
    with pytest.raises(ValueError, match=r"but has 1\.5"):
        holm([0.5, 1.5])
    with pytest.raises(ValueError, match=r"matrix has shape \(1, 2\)"):
        holm_pairs([[1, 0.5]])
    with pytest.raises(ValueError, match="symmetric"):
        holm_pairs([[1, 0.5], [0.4, 1]])
    with pytest.raises(ValueError, match="cases is -1"):
        smallest_p(-1)
