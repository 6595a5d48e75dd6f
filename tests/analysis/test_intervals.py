from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from segjury.analysis.statistics import intervals
from segjury.analysis.statistics.intervals import mean_interval

METHODS = ("bca", "percentile", "t")
# Multiples of 1/8 and shifts and factors that leave all sums exact, so that laws hold to the bit.
EIGHTHS = arrays(
    np.float64, (9, 3), elements=st.integers(0, 40).map(lambda whole: whole / 8), fill=st.nothing()
)


def rng(seed=7):
    return np.random.default_rng(seed)


def samples_of(kind, n, columns, seed=1):
    draw = rng(seed)
    by_kind = {
        "normal": lambda: draw.normal(0.7, 0.1, (n, columns)),
        "skewed": lambda: draw.lognormal(0, 1, (n, columns)),
        "few values": lambda: draw.integers(1, 9, (n, columns)) / 8,
    }
    return by_kind[kind]()


@pytest.mark.parametrize("method", ["BCa", "percentile"])
@pytest.mark.parametrize("kind", ["normal", "skewed", "few values"])
@pytest.mark.parametrize("n", [4, 11, 64])
def test_bootstrap_limits_are_those_of_scipy_on_the_same_resamples(method, kind, n):
    # Multiples of 2^-20, whose sums are exact: scipy then sees every tie with the estimate.
    values = np.round(samples_of(kind, n, 5) * 2**20) / 2**20
    means = values[rng().integers(n, size=(500, n))].mean(axis=1)
    interval = mean_interval(values, method=method.lower(), samples=500, level=0.9, rng=rng())
    expected = stats.bootstrap(
        (values.T,),
        np.mean,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=means.T),
        confidence_level=0.9,
        method=method,
        axis=1,
    ).confidence_interval
    np.testing.assert_array_equal(interval.estimate, values.mean(axis=0))
    np.testing.assert_allclose(interval.low, expected.low, rtol=1e-12)
    np.testing.assert_allclose(interval.high, expected.high, rtol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_student_limits_are_those_of_statsmodels(level):
    values = samples_of("skewed", 11, 4)
    interval = mean_interval(values, method="t", level=level, rng=rng())
    low, high = DescrStatsW(values).tconfint_mean(1 - level)
    np.testing.assert_allclose(interval.low, low, rtol=1e-12)
    np.testing.assert_allclose(interval.high, high, rtol=1e-12)


def test_a_small_bootstrap_by_hand():
    # Of two cases 0 and 1, means are 0, 1/2 and 1 in a quarter, half and a quarter of samples.
    interval = mean_interval(np.array([0.0, 1.0]), method="percentile", level=0.6, rng=rng())
    assert (interval.low, interval.estimate, interval.high) == (0.0, 0.5, 1.0)
    interval = mean_interval(np.array([0.0, 1.0]), method="percentile", level=0.4, rng=rng())
    assert (interval.low, interval.high) == (0.5, 0.5)
    # Half of the ties count as below, so there is no bias to correct but that of sampling.
    interval = mean_interval(np.array([0.0, 1.0]), method="bca", level=0.4, rng=rng())
    assert (interval.low, interval.high) == (0.5, 0.5)


@pytest.mark.parametrize("method", METHODS)
@given(values=EIGHTHS, shift=st.integers(-64, 64), power=st.integers(-3, 3))
def test_limits_follow_shifts_scales_and_signs(method, values, shift, power):
    plain = mean_interval(values, method=method, samples=99, rng=rng())
    moved = mean_interval(values * 2.0**power + shift, method=method, samples=99, rng=rng())
    np.testing.assert_allclose(moved.low, plain.low * 2.0**power + shift, atol=1e-10)
    np.testing.assert_allclose(moved.high, plain.high * 2.0**power + shift, atol=1e-10)
    negated = mean_interval(-values, method=method, samples=99, rng=rng())
    np.testing.assert_allclose(negated.low, -plain.high, atol=1e-10)
    np.testing.assert_allclose(negated.high, -plain.low, atol=1e-10)


@given(values=EIGHTHS)
def test_ties_with_the_estimate_are_seen_through_rounding_errors(values):
    whole = mean_interval(values * 8, samples=99, rng=rng())
    tenths = mean_interval(values * 8 / 10, samples=99, rng=rng())
    np.testing.assert_allclose(tenths.low, whole.low / 10, atol=1e-12)
    np.testing.assert_allclose(tenths.high, whole.high / 10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(values=EIGHTHS)
def test_wider_levels_hold_narrower_ones(method, values):
    each = [
        mean_interval(values, method=method, samples=99, level=level, rng=rng())
        for level in (0.5, 0.8, 0.95, 0.99, 1 - 1e-12)
    ]
    for narrow, wide in pairwise(each):
        assert (wide.low <= narrow.low).all()
        assert (narrow.low <= narrow.high).all()
        assert (narrow.high <= wide.high).all()
    if method != "t":
        assert (each[-1].low >= values.min(axis=0) - 1e-12).all()
        assert (each[-1].high <= values.max(axis=0) + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_equal_values_are_their_own_limits(method):
    values = np.full((7, 3), [0.1, 0.0, 1e9 / 3])
    values[3, 0] = 0.30000000000000004 - 0.2  # the same number but for the order of additions
    interval = mean_interval(values, method=method, rng=rng())
    np.testing.assert_array_equal(interval.low, interval.estimate)
    np.testing.assert_array_equal(interval.high, interval.estimate)
    np.testing.assert_allclose(interval.estimate, values[0], rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_one_case_has_a_mean_but_no_limits(method):
    interval = mean_interval(np.array([[0.4, 0.5]]), method=method, rng=rng())
    assert interval.estimate.tolist() == [0.4, 0.5]
    assert np.isnan([interval.low, interval.high]).all()


def test_columns_of_any_shape_share_their_resamples():
    values = samples_of("normal", 12, 6)
    whole = mean_interval(values.reshape(12, 2, 3), rng=rng())
    assert whole.low.shape == (2, 3)
    for i in range(6):
        alone = mean_interval(values[:, i], rng=rng())
        assert alone.low.shape == ()
        assert whole.low.reshape(6)[i] == pytest.approx(float(alone.low), rel=1e-12)
        assert whole.high.reshape(6)[i] == pytest.approx(float(alone.high), rel=1e-12)
    assert mean_interval(np.zeros((4, 0)), rng=rng()).low.shape == (0,)


def test_blocks_of_samples_change_nothing(monkeypatch):
    values = samples_of("skewed", 13, 2)
    whole = mean_interval(values, samples=101, rng=rng())
    monkeypatch.setattr(intervals, "LARGEST_BLOCK", 40)
    np.testing.assert_allclose(mean_interval(values, samples=101, rng=rng()).low, whole.low)


def test_intervals_name_their_method():
    names = [mean_interval(np.arange(4.0), method=m, rng=rng()).method for m in METHODS]
    expected = ["BCa bootstrap, 2000 samples", "percentile bootstrap, 2000 samples", "Student's t"]
    assert names == expected


def covered(values, truth, method, level=0.95):
    interval = mean_interval(values, method=method, level=level, samples=1000, rng=rng())
    return float(((interval.low <= truth) & (truth <= interval.high)).mean())


@pytest.mark.parametrize("n", [2, 5, 11])
def test_student_limits_of_normal_scores_cover_as_stated(n):
    simulations = 20_000
    share = covered(samples_of("normal", n, simulations, seed=3), 0.7, "t")
    assert share == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / simulations))


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_limits_of_normal_scores_cover_as_theory_says(method):
    # Bootstrap means of normal scores are nearly normal, with the SD of n, not n - 1: coverage is
    # that of t against the normal quantile. 0.005 allows for 1000 samples, whose own quantiles
    # scatter, and for bootstrap means that are not quite normal.
    n, simulations = 100, 1000
    theory = 1 - 2 * stats.t.sf(stats.norm.ppf(0.975) * np.sqrt((n - 1) / n), n - 1)
    assert 0.945 < theory < 0.95
    share = covered(samples_of("normal", n, simulations, seed=3), 0.7, method)
    tolerance = 3 * np.sqrt(0.95 * 0.05 / simulations) + 0.005
    assert share == pytest.approx(theory, abs=tolerance)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_limits_of_skewed_scores_cover_as_stated(method):
    # Skewness 1 at n = 100: 0.01 allows for errors of order 1/n, which are about half of that.
    simulations = 1000
    values = rng(4).gamma(4.0, 1.0, (100, simulations))
    tolerance = 3 * np.sqrt(0.95 * 0.05 / simulations) + 0.01
    assert covered(values, 4.0, method) == pytest.approx(0.95, abs=tolerance)


def test_bca_misses_more_evenly_on_both_sides_than_percentile():
    values = rng(5).lognormal(0, 0.75, (60, 4000))
    truth = np.exp(0.75**2 / 2)
    difference = {}
    for method in ("bca", "percentile"):
        interval = mean_interval(values, method=method, samples=1000, rng=rng())
        difference[method] = (interval.high < truth).mean() - (interval.low > truth).mean()
    assert 0 < difference["bca"] < difference["percentile"]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.zeros((0, 3)), {}, r"values has shape \(0, 3\)"),
        (np.array([0.1, np.nan]), {}, "values has NaN"),
        (np.array([0.1, np.inf]), {}, "values has NaN or infinite"),
        (np.zeros(3), {"level": 95}, "level is 95"),
        (np.zeros(3), {"method": "basic"}, "method is 'basic', expected one of bca"),
        (np.zeros(3), {"samples": 0}, "samples is 0"),
    ],
)
def test_what_has_no_interval_is_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        mean_interval(values, **options, rng=rng())
