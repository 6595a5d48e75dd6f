"""Brier score, negative log-likelihood and the empirical CRPS."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from segjury.metrics import brier, crps, crps_empirical, nll
from tests.metrics.panels import row, scene

seeds = st.integers(0, 10_000)
few = settings(max_examples=25, deadline=None)
proper = pytest.mark.parametrize("score", [brier, nll])


def test_brier_by_hand():
    raters = [row(0, 1), row(0, 0)]
    # (0.1² + 0.4²) / 2 against the first rater, (0.1² + 0.6²) / 2 against the second
    assert brier(raters, row(0.1, 0.6)) == pytest.approx((0.085 + 0.185) / 2)


def test_nll_by_hand():
    raters = [row(0, 1), row(0, 0)]
    expected = (-math.log(0.9) - math.log(0.6) - math.log(0.9) - math.log(0.4)) / 4
    assert nll(raters, row(0.1, 0.6)) == pytest.approx(expected, rel=1e-14)


@few
@given(seed=seeds)
def test_brier_is_that_of_scikit_learn_for_each_rater(seed):
    raters, p = scene(seed)
    expected = [brier_score_loss(r.ravel(), p.ravel().astype(float), labels=[0, 1]) for r in raters]
    assert brier(raters, p) == pytest.approx(np.mean(expected), rel=1e-12)


@few
@given(seed=seeds)
def test_nll_is_the_log_loss_of_scikit_learn_for_each_rater(seed):
    raters, p = scene(seed)
    p = np.clip(p.astype(float), 1e-6, 1 - 1e-6)
    expected = [log_loss(r.ravel(), p.ravel(), labels=[0, 1]) for r in raters]
    assert nll(raters, p) == pytest.approx(np.mean(expected), rel=1e-12)


@proper
@few
@given(seed=seeds, change=st.sampled_from(["noise", "harder", "softer", "mask", "another"]))
def test_no_map_beats_the_share_of_the_raters(score, seed, change):
    raters, another = scene(seed)
    share, rng = raters.mean(axis=0), np.random.default_rng(seed)
    maps = {
        "noise": np.clip(share + rng.normal(0, 0.05, share.shape), 0, 1),
        "harder": np.clip(share + 0.3 * (share - 0.5), 0, 1),
        "softer": 0.9 * share + 0.05,
        "mask": (share > 0.5).astype(float),
        "another": another.astype(float),
    }
    assert score(raters, share) <= score(raters, maps[change])


@proper
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 1.0])
def test_the_lowest_score_of_a_voxel_is_at_the_share_of_its_raters(score, share):
    raters = [row(int(k < round(5 * share))) for k in range(5)]
    others = np.linspace(0, 1, 1001)
    scores = [score(raters, row(p)) for p in others]
    assert others[int(np.argmin(scores))] == pytest.approx(share, abs=1e-9)


@proper
def test_one_rater_listed_twice_counts_twice(score):
    a, b, p = row(0, 1, 1), row(0, 0, 1), row(0.2, 0.3, 0.9)
    expected = (2 * score([a], p) + score([b], p)) / 3
    assert score([a, a, b], p) == pytest.approx(expected, rel=1e-14)


def test_a_certain_and_wrong_voxel_costs_the_logarithm_of_the_clip():
    assert nll([row(1, 0)], row(0.0, 0.0)) == pytest.approx(-math.log(1e-7) / 2, rel=1e-14)
    assert nll([row(0, 0)], row(1.0, 0.0), clip=1e-3) == pytest.approx(-math.log(1e-3) / 2)


def test_a_certain_and_right_voxel_costs_nothing():
    assert nll([row(1, 0)], row(1.0, 0.0)) == 0 == brier([row(1, 0)], row(1, 0))


def test_a_clip_that_is_none_is_refused():
    with pytest.raises(ValueError, match="clip is 0, expected 1e-15 to"):
        nll([row(1, 0)], row(1.0, 0.0), clip=0)


@proper
def test_near_is_the_padded_box_around_the_marks_of_all_raters(score):
    raters, p = np.zeros((2, 9, 9, 9), bool), np.random.default_rng(0).random((9, 9, 9))
    raters[0, 4, 4, 4] = raters[1, 5, 4, 4] = True
    box = (slice(2, 8), slice(2, 7), slice(2, 7))
    inside = score(raters[(slice(None), *box)], p[box])
    assert score(raters, p, region="near", padding_voxels=2) == pytest.approx(inside, rel=1e-13)


@proper
def test_near_does_not_see_a_false_positive_far_away(score):
    raters, p = np.zeros((1, 40, 5, 5), bool), np.zeros((40, 5, 5))
    raters[0, 2, 2, 2] = p[2, 2, 2] = True
    p[39] = 1
    assert score(raters, p, region="near", padding_voxels=3) == 0 < score(raters, p)


@proper
def test_near_nothing_is_undefined(score):
    nobody, p = [row(0, 0)], row(0.5, 0.5)
    assert math.isnan(score(nobody, p, region="near"))
    assert score(nobody, p) > 0
    with pytest.raises(ValueError, match="region is 'box', expected 'image' or 'near'"):
        score(nobody, p, region="box")


# ---- empirical CRPS ----------------------------------------------------------------------------


@few
@given(seed=seeds, n_raters=st.integers(1, 9))
def test_empirical_crps_is_that_of_scoringrules(seed, n_raters):
    rng = np.random.default_rng(seed)
    volumes, predicted = rng.gamma(2, 10, n_raters), float(rng.gamma(2, 10))
    expected = scoringrules.crps_ensemble(predicted, volumes, estimator="nrg")
    assert crps_empirical(volumes, predicted) == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


def test_empirical_crps_by_hand():
    # |1 - 4| and |3 - 4| are 2 on average; the pairs are apart by 0, 2, 2, 0
    assert crps_empirical([1.0, 3.0], 4.0) == 2 - 0.5
    assert crps_empirical([5.0], 4.0) == 1
    assert crps_empirical([5.0, 5.0], 5.0) == 0


def test_empirical_crps_is_about_that_of_a_gaussian_for_many_raters():
    volumes = np.random.default_rng(0).normal(50, 5, 4000)
    assert crps_empirical(volumes, 58.0) == pytest.approx(crps(volumes, 58.0), rel=0.02)


def test_empirical_crps_needs_a_rater():
    with pytest.raises(ValueError, match="no rater's volume"):
        crps_empirical([], 4.0)
