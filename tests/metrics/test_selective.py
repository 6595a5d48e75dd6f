"""Risk and coverage, and the correlation of uncertainties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, pearsonr
from sklearn.metrics import roc_auc_score

from segjury.metrics import augrc, aurc, e_aurc, uncertainty_ncc
from segjury.metrics.selective import harmonic_between
from tests.metrics import brute_force
from tests.metrics.panels import row, scene

seeds = st.integers(0, 10_000)
few = settings(max_examples=25, deadline=None)
SMALL = (1, 2, 3)
AREAS = [aurc, e_aurc, augrc]
areas = pytest.mark.parametrize("score", AREAS)


@few
@given(seed=seeds)
def test_areas_as_defined_over_all_orders_of_ties(seed):
    raters, p = scene(seed, SMALL)
    expected = brute_force.aurc(raters, p)
    assert aurc(raters, p) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    excess = expected - brute_force.lowest_aurc(raters, p)
    assert e_aurc(raters, p) == pytest.approx(excess, rel=1e-11, abs=1e-14)
    assert augrc(raters, p) == pytest.approx(brute_force.augrc(raters, p), rel=1e-12, abs=1e-14)


def test_areas_by_hand():
    # The surest voxel is right, the second wrong, the third right: risks 0, 1/2, 1/3.
    rater, p = [row(1, 1, 0)], row(0.9, 0.2, 0.3)
    assert aurc(rater, p) == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert e_aurc(rater, p) == pytest.approx((0 + 1 / 2 + 1 / 3) / 3 - (0 + 0 + 1 / 3) / 3)
    # kept errors 0, 0, 1/3, 1/3 of all at 0, 1, 2, 3 voxels
    assert augrc(rater, p) == pytest.approx((0 + 1 / 6 + 1 / 3) / 3)


@few
@given(seed=seeds)
def test_augrc_of_one_rater_follows_from_accuracy_and_auroc(seed):
    raters, p = scene(seed, (6, 5, 4))
    wrong = (raters[0] != (p > 0.5)).ravel()
    accuracy = 1 - wrong.mean()
    if 0 < accuracy < 1:
        auroc = roc_auc_score(wrong, np.minimum(p, 1 - p).ravel())
        expected = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
        assert augrc(raters[:1], p) == pytest.approx(expected, rel=1e-12)


@areas
def test_the_order_of_the_voxels_does_not_matter(score):
    raters, p = scene(2, (6, 6, 6))
    order = np.random.default_rng(0).permutation(p.size)
    moved = raters.reshape(len(raters), -1)[:, order], p.ravel()[order]
    assert score(raters, p) == score(*moved)


@areas
def test_a_map_and_its_counterpart_are_alike(score):
    raters, p = scene(5, (6, 6, 6))
    p = np.where(p == 0.5, 0.25, np.round(p * 64) / 64)  # 0.5 does not count as marked
    assert score(~raters, 1 - p) == pytest.approx(score(raters, p), rel=1e-12)


def test_being_unsure_where_wrong_is_rewarded():
    rater = [row(1, 1, 1, 0, 0, 0)]
    unsure, sure = row(0.9, 0.9, 0.4, 0.1, 0.1, 0.1), row(0.6, 0.6, 0.1, 0.4, 0.4, 0.4)
    for score in AREAS:
        assert score(rater, unsure) < score(rater, sure)
    assert e_aurc(rater, unsure) == pytest.approx(0, abs=1e-15)


def test_the_excess_can_favour_a_map_that_is_always_wrong():
    rater, half, none = [row(1, 1, 1, 1)], row(1, 1, 0, 0), row(0, 0, 0, 0)
    assert e_aurc(rater, none) == pytest.approx(0, abs=1e-15)
    assert e_aurc(rater, half) > 0.1
    assert aurc(rater, none) == 1 > aurc(rater, half)


def test_areas_of_many_voxels():
    """Against one long sum in the order of the voxels; more doubts than are looked at together."""
    rng, n = np.random.default_rng(0), 400_000
    p = rng.random(n).astype(np.float32)
    rater = rng.random(n) < p
    order = np.argsort(np.minimum(p, 1 - p), kind="stable")
    assert np.unique(np.minimum(p, 1 - p)).size > n // 2
    errors = (rater != (p > 0.5))[order]
    kept = np.cumsum(errors)
    ranks = np.arange(1, n + 1)
    assert aurc(rater[None], p) == pytest.approx((kept / ranks).mean(), rel=1e-6)
    assert augrc(rater[None], p) == pytest.approx((kept / n).mean(), rel=1e-5)


def test_sums_of_reciprocals():
    ends = [(0, 0), (0, 1), (0, 31), (5, 32), (32, 33), (31, 1000), (400, 401), (0, 10**6)]
    first, last = np.array(ends).T
    expected = [math.fsum(1 / k for k in range(a + 1, b + 1)) for a, b in ends]
    np.testing.assert_allclose(harmonic_between(first, last), expected, rtol=1e-14)
    far = harmonic_between(np.array([10**8]), np.array([10**8 + 1]))
    assert far[0] == pytest.approx(1 / (10**8 + 1), rel=1e-14)


@pytest.mark.parametrize("score", [*AREAS, uncertainty_ncc])
def test_near_nothing_is_undefined(score):
    assert math.isnan(score([row(0, 0)], row(0.2, 0.5), region="near"))
    assert math.isnan(score(np.zeros((2, 0, 3, 3), bool), np.zeros((0, 3, 3))))


# ---- correlation ---------------------------------------------------------------------------------


@few
@given(seed=seeds)
def test_the_correlation_is_that_of_scipy(seed):
    raters, p = scene(seed, (6, 5, 4))
    share, q = raters.mean(axis=0).ravel(), p.ravel().astype(float)
    if np.unique(np.minimum(share, 1 - share).round(9)).size < 2 or np.unique(q * (1 - q)).size < 2:
        return
    variance = pearsonr(q * (1 - q), share * (1 - share))[0]
    assert uncertainty_ncc(raters, p) == pytest.approx(variance, abs=1e-12)
    bits = pearsonr(entropy([q, 1 - q], base=2), entropy([share, 1 - share], base=2))[0]
    assert uncertainty_ncc(raters, p, uncertainty="entropy") == pytest.approx(bits, abs=1e-12)


def test_the_share_of_the_raters_correlates_fully():
    raters, _ = scene(8, (6, 5, 4))
    assert 0 < raters.mean() < 1
    assert len(raters) > 1
    for uncertainty in ("variance", "entropy"):
        found = uncertainty_ncc(raters, raters.mean(axis=0), uncertainty=uncertainty)
        assert found == pytest.approx(1, abs=1e-12)


def test_small_differences_keep_their_digits():
    raters = np.stack([row(1, 1, 0, 0), row(1, 0, 0, 0)])
    p = 0.3 + 1e-9 * row(0.0, 1.0, 2.0, 3.0)
    expected = pearsonr([0, 1, 2, 3], [0, 1, 0, 0])[0]
    assert uncertainty_ncc(raters, p) == pytest.approx(expected, abs=1e-6)


def test_the_correlation_is_undefined_where_a_side_is_constant():
    split, agreed = [row(1, 1, 0), row(1, 0, 0)], [row(1, 1, 0), row(1, 1, 0)]
    assert math.isnan(uncertainty_ncc(agreed, row(0.9, 0.5, 0.1)))
    assert math.isnan(uncertainty_ncc(split, row(1, 0, 0)))
    assert math.isnan(uncertainty_ncc(split, row(0.3, 0.7, 0.3)))  # but for rounding
    assert not math.isnan(uncertainty_ncc(split, row(0.9, 0.5, 0.1)))


def test_an_unknown_uncertainty_is_refused():
    with pytest.raises(ValueError, match="uncertainty is 'bits'"):
        uncertainty_ncc([row(0, 1)], row(0, 1), uncertainty="bits")
