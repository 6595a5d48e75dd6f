from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from segjury.analysis.ranking.consensus import borda, consensus, kemeny, kendall_tau, preferences


def disagreements(order, rankings, weights):
    """Pairs that an order and the rankings place the other way, counted one by one."""
    return sum(
        weight
        for ranking, weight in zip(rankings, weights, strict=True)
        for better, worse in combinations(order, 2)
        if ranking[worse] < ranking[better]
    )


def best_orders(rankings, weights):
    costs = {
        order: disagreements(order, rankings, weights)
        for order in permutations(range(len(rankings[0])))
    }
    least = min(costs.values())
    return least, [order for order, cost in costs.items() if cost <= least + 1e-9]


@st.composite
def several_rankings(draw, most=5):
    methods = draw(st.integers(1, most))
    ranks = st.lists(st.integers(1, methods), min_size=methods, max_size=methods)
    rankings = draw(st.lists(ranks, min_size=1, max_size=5))
    quarters = st.lists(st.integers(1, 8), min_size=len(rankings), max_size=len(rankings))
    return np.array(rankings, float), np.array(draw(quarters)) / 4


@settings(deadline=None, max_examples=80)
@given(several_rankings(), st.booleans())
def test_kemeny_is_the_best_of_all_orders(drawn, weighted):
    rankings, weights = drawn
    weights = weights if weighted else np.ones(len(rankings))
    found = kemeny(rankings, weights if weighted else None)
    least, best = best_orders(rankings.tolist(), weights.tolist())
    assert found.disagreements == pytest.approx(least)
    assert found.order in best
    assert found.only_one == (len(best) == 1)


@pytest.mark.parametrize(("methods", "seed"), [(6, 0), (6, 1), (6, 2), (7, 3)])
def test_kemeny_is_the_best_of_all_orders_of_many_methods(methods, seed):
    rng = np.random.default_rng(seed)
    rankings = np.stack([rankdata(rng.integers(0, 9, methods), "min") for _ in range(3)])
    weights = rng.random(3).round(2) + 0.1
    found = kemeny(rankings, weights)
    least, best = best_orders(rankings.tolist(), weights.tolist())
    assert found.disagreements == pytest.approx(least)
    assert found.order in best
    assert found.only_one == (len(best) == 1)


def test_unequal_orders_agree_up_to_ten_methods_and_borda_goes_beyond():
    rng = np.random.default_rng(4)
    truth = rng.permutation(10)
    ranks = np.tile(rankdata(truth), (3, 1))
    found = consensus(ranks)
    assert found.method == "kemeny"
    assert found.order == tuple(np.argsort(truth).tolist())
    assert (found.disagreements, found.only_one) == (0.0, True)
    eleven = np.stack([rankdata(rng.random(11)) for _ in range(4)])
    with pytest.raises(ValueError, match="rankings has 11 methods, expected at most 10"):
        kemeny(eleven)
    assert consensus(eleven) == borda(eleven)


def test_kemeny_is_not_borda():
    # three of five put A before B, yet B's mean rank is lower: Borda's known reversal
    rankings = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 3], [3, 1, 2], [3, 1, 2]], float)
    assert kemeny(rankings).order == (0, 1, 2)
    assert borda(rankings).order == (1, 0, 2)
    assert kemeny(rankings).disagreements == 4  # two rankings, A against B and A against C


@settings(deadline=None, max_examples=60)
@given(several_rankings())
def test_borda_orders_by_the_mean_rank(drawn):
    rankings, weights = drawn
    found = borda(rankings, weights)
    mean = [
        sum(w * r[m] for w, r in zip(weights, rankings, strict=True)) / sum(weights)
        for m in range(rankings.shape[1])
    ]
    along = [mean[m] for m in found.order]
    assert all(b >= a - 1e-12 for a, b in pairwise(along))
    for a, b in pairwise(found.order):
        assert mean[b] > mean[a] + 1e-12 or a < b  # of equal ones the first given
    gaps = [abs(mean[i] - mean[j]) > 1e-12 for i, j in combinations(range(len(mean)), 2)]
    assert found.only_one == all(gaps)
    assert found.disagreements == pytest.approx(disagreements(found.order, rankings, weights))


@settings(deadline=None, max_examples=40)
@given(several_rankings())
def test_preferences_of_two_methods_and_their_ties_are_all_rankings(drawn):
    rankings, weights = drawn
    before = preferences(rankings, weights)
    tied = np.einsum("r,rij->ij", weights, rankings[:, :, None] == rankings[:, None, :])
    np.testing.assert_allclose(before + before.T + tied, weights.sum())


def test_the_unit_of_weights_does_not_matter():
    rankings = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    assert kemeny(rankings, np.full(3, 1.0)).only_one
    assert kemeny(rankings, np.full(3, 1e-10)).only_one


def test_kendalls_tau_is_scipys_along_the_last_axis():
    rng = np.random.default_rng(5)
    one, two = rng.integers(1, 5, (2, 40, 6)).astype(float)
    found = kendall_tau(one, two)
    expected = [kendalltau(a, b).statistic for a, b in zip(one, two, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    against_one = [kendalltau(one[0], b).statistic for b in two]
    np.testing.assert_allclose(kendall_tau(one[0], two), against_one, atol=1e-14)


def test_kendalls_tau_by_hand():
    ranks = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall_tau(ranks, ranks) == 1.0
    assert kendall_tau(ranks, -ranks) == -1.0
    assert kendall_tau(ranks, np.array([2.0, 1.0, 3.0, 4.0])) == pytest.approx(4 / 6)
    assert kendall_tau(ranks, ranks + np.array([0, 1e-15, 0, 0])) == 1.0
    assert kendall_tau(np.array([0.3, 0.5]), np.array([0.1 + 0.2, 0.3])).item() != 1.0
    assert np.isnan(kendall_tau(ranks, np.ones(4)))
    assert np.isnan(kendall_tau(np.ones(1), np.ones(1)))
