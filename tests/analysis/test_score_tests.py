"""Tests on one score: what they decide, and that words and pictures say no more than that."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from segjury.analysis import Settings
from segjury.analysis.as_json import as_json
from segjury.analysis.ranking import Ranking, Rules
from segjury.analysis.ranking.schemes import case_ranks
from segjury.analysis.statistics.tests import smallest_friedman_p
from segjury.analysis.study import Study, completed
from segjury.analysis.tests import score_tests
from segjury.report.figures.tests.cd import cd, cd_alt, cd_data
from segjury.report.figures.tests.pvalues import p_values_alt, p_values_data
from tests.score_tables import labelled


def study_of(values, **settings):
    """A study of one score, (cases, methods); methods are called A, B, ..."""
    rows = [
        ("ABCDEFGHI"[m], f"P{c}", "dsc", value)
        for c, case in enumerate(np.asarray(values, float))
        for m, value in enumerate(case)
    ]
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    return Study(completed(table), settings=Settings(samples=100, **settings))


def alike(cases, methods):
    """Scores that order the methods alike on every case: Conover's p is 0 for every pair."""
    return np.linspace(0.9, 0.1, methods) + 0.001 * np.arange(cases)[:, None]


# ---- direction -----------------------------------------------------------------------------


def ahead_in_nine():
    """A is ahead of B on nine cases and equal on eleven."""
    second = np.full(20, 0.5)
    first = second + np.where(np.arange(20) < 9, 0.01 * np.arange(1, 21), 0.0)
    return np.stack([first, second], axis=1)


def test_a_difference_with_a_median_of_zero_has_the_direction_of_the_ranks():
    values = ahead_in_nine()
    (pair,) = score_tests(values, higher=True, baselines=[1]).baselines[1]
    assert pair.median == 0
    assert pair.p == stats.wilcoxon(values[:9, 0], values[:9, 1]).pvalue == 2 / 2**9
    assert pair.sign == 1
    (lower,) = score_tests(values, higher=False, baselines=[1]).baselines[1]
    assert lower.sign == -1


def test_a_difference_that_is_found_is_never_said_to_be_none():
    study = study_of(ahead_in_nine(), baselines=("B",))
    said = [sentence for sentence in study.sentences if "against B" in sentence]
    assert len(said) == 1
    assert "better: A (median difference 0" in said[0]
    assert "p 0.0039" in said[0]
    assert "no difference" not in said[0]


def test_a_median_against_the_ranks_does_not_turn_the_direction():
    steps = np.array([-1, -2, -3, -4, -5, -6, 10, 11, 12, 13, 14.0]) / 100  # six below 0, median -1
    values = np.stack([0.5 + steps, np.full(11, 0.5)], axis=1)
    (pair,) = score_tests(values, higher=True).wilcoxon
    assert pair.median < 0 < pair.effect
    assert pair.sign == 1


# ---- what so few cases can show -------------------------------------------------------------


@pytest.mark.parametrize(("cases", "methods"), [(2, 2), (4, 2), (2, 3), (3, 3)])
def test_the_smallest_p_of_friedmans_test_is_that_of_all_permutations(cases, methods):
    orders = [np.array(order) for order in product(range(methods), repeat=methods)
              if len(set(order)) == methods]  # fmt: skip
    spread = [((np.sum(ranks, axis=0) - cases * (methods - 1) / 2) ** 2).sum()
              for ranks in product(orders, repeat=cases)]  # fmt: skip
    share = np.mean(np.array(spread) >= max(spread) - 1e-9)
    assert smallest_friedman_p(cases, methods) == pytest.approx(share)


@pytest.mark.parametrize("cases", [2, 3, 4, 5])
def test_no_pair_differs_in_fewer_than_six_cases(cases):
    study = study_of(alike(cases, 9))
    tests = study.analysis.scores["dsc"].tests
    assert (tests.conover[np.triu_indices(9, 1)] == 0).all()
    assert not tests.differs.any()
    assert tests.cliques == (tuple(range(9)),)
    said = " ".join(study.sentences)
    assert "36 of 36" not in said
    assert "0 of 36 pairs differ" in said
    assert f"signed-rank test is {2 / 2**cases:.2g}, as of any exact test of two methods" in said


def test_six_cases_suffice_for_a_pair():
    tests = study_of(alike(6, 9)).analysis.scores["dsc"].tests
    assert tests.differs.sum() == 2 * 36
    assert tests.cliques == ()


def test_a_pair_that_ties_on_most_cases_counts_those_on_which_it_differs():
    values = alike(12, 6)
    values[:, 1] = values[:, 0]
    values[:3, 1] -= 0.01  # A before B on three cases, equal on nine: no exact p below 0.25
    tests = score_tests(values, higher=True)
    assert tests.conover[0, 1] < 0.05
    assert not tests.differs[0, 1]
    assert tests.smallest[0, 1] == 0.25
    assert tests.differs[0, 2]
    assert tests.cliques == ((0, 1),)


def test_friedmans_approximation_finds_nothing_that_its_exact_test_cannot():
    values = alike(4, 2)
    tests = score_tests(values, higher=True)
    assert tests.friedman.p < 0.05  # chi-squared 4
    assert not tests.found
    assert "in 0 of 1 score at 0.05" in " ".join(study_of(values).sentences)


def test_the_file_keeps_conovers_p_and_says_what_cannot_be_claimed():
    study = study_of(alike(3, 4))
    found = as_json(study.analysis)["metrics"]["dsc"]
    assert all(row["p"] == 0 for row in found["conover_holm"])
    assert all(row["smallest_exact_p"] == 0.25 for row in found["conover_holm"])
    assert not any(row["differs"] for row in found["conover_holm"])
    assert found["smallest_friedman_p"] == pytest.approx(1 / 24**2)
    assert found["cliques"] == [["A", "B", "C", "D"]]
    assert not study.tests("dsc")["differs"].any()


def test_the_figures_of_few_cases_show_one_group_and_no_small_p():
    study = study_of(alike(3, 4))
    figure = cd(study, "dsc")
    assert list(labelled(figure, "bar")) == ["1"]
    said = figure.get_supxlabel().replace("\n", " ")
    assert "no exact test of two methods gives a p below .25" in said
    assert "No pair can be told apart" in cd_alt(study, "dsc")
    below = p_values_data(study, "dsc").query("test == 'conover'")
    assert (below["p"] == 0.25).all()
    assert "Conover's test after Friedman's: 0 of 6 pairs differ" in p_values_alt(study, "dsc")


# ---- one order ------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["average", "min", "max", "dense"])
@pytest.mark.parametrize("digits", [12, 2])
def test_the_diagram_has_the_mean_ranks_and_the_order_of_a_leaderboard_of_case_ranks(ties, digits):
    rng = np.random.default_rng(2)
    for _ in range(5):
        values = np.round(rng.integers(1, 5, (6, 5)) / 4 + rng.choice([0, 0.0012], (6, 5)), 4)
        study = study_of(values)
        lost = rng.random(len(study.scores)) < 0.2
        scores = study.scores.assign(
            status=np.where(lost, "missing", "ok"), value=study.scores["value"].mask(lost, 0.25)
        ).sample(frac=1, random_state=1)
        ranking = Ranking(scheme="rank-then-aggregate", ties=ties, digits=digits)
        study = Study(scores, Rules(ranking=ranking), settings=Settings(samples=100))
        board = study.first_leaderboard.board
        drawn = cd_data(study, "dsc").drop_duplicates("method").set_index("method")["mean_rank"]
        assert list(drawn.index) == list(board.position.index)
        np.testing.assert_allclose(drawn, board.mean_rank)


def test_friedman_and_conover_see_the_ties_of_the_ranking():
    values = np.random.default_rng(3).random((8, 4))
    lost = np.zeros((8, 4), bool)
    lost[:3, 0] = lost[1, 2] = True
    ranks = case_ranks(values, lost, True, Ranking(scheme="rank-then-aggregate", ties="min"))
    last = np.where(lost, -1.0, values)
    found = score_tests(values, higher=True, ranks=ranks)
    expected = stats.friedmanchisquare(*last.T)
    assert found.friedman.chi2 == pytest.approx(expected.statistic)
    np.testing.assert_allclose(found.mean_ranks, ranks.mean(axis=0))
