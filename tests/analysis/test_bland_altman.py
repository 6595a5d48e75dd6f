"""Limits of agreement: a classic table, numbers by hand, an integral, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from statsmodels.stats.weightstats import DescrStatsW

from segjury.analysis.statistics.bland_altman import bland_altman

# peak expiratory flow by two meters, first readings; Bland and Altman 1986
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]


def numbers(found):
    estimates = (found.bias, found.lower, found.upper)
    return np.array([v for e in estimates for v in (e.value, e.low, e.high)] + [found.sd])


def probability_below(factor, n):
    """P(mean + factor * SD < 1.96) of n standard normal numbers, integrated over SD.

    SD² (n-1) is chi-squared, the mean normal with variance 1/n and independent of it.
    """
    df = n - 1

    def density(sd):
        log = (df - 1) * math.log(sd) - df * sd * sd / 2
        return math.exp(log + df / 2 * math.log(df / 2) - math.lgamma(df / 2)) * 2

    def below(sd):
        return density(sd) * special.ndtr(math.sqrt(n) * (1.96 - factor * sd))

    reach = 12 / math.sqrt(2 * df)
    ends = max(1e-12, 1 - reach), 1 + reach
    return integrate.quad(below, *ends, points=[1.0], limit=400, epsabs=1e-12)[0]


# ---- published, by hand, other programs ----------------------------------------------------


def test_the_meters_of_bland_and_altman():
    found = bland_altman(WRIGHT, MINI)
    assert found.bias.value == pytest.approx(-2.1, abs=0.05)
    assert found.sd == pytest.approx(38.8, abs=0.05)
    assert (found.bias.low, found.bias.high) == pytest.approx((-22.0, 17.8), abs=0.1)
    assert found.lower.value == pytest.approx(-2.1 - 1.96 * 38.8, abs=0.2)
    assert found.upper.value == pytest.approx(-2.1 + 1.96 * 38.8, abs=0.2)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_bias_and_its_interval_are_statsmodels(level):
    rng = np.random.default_rng(1)
    first, second = rng.normal(50, 9, (2, 23))
    found = bland_altman(first, second, level=level)
    oracle = DescrStatsW(first - second)
    assert (found.bias.low, found.bias.high) == pytest.approx(
        oracle.tconfint_mean(alpha=1 - level), rel=1e-9
    )
    assert found.sd == pytest.approx(oracle.var_ddof(1) ** 0.5, rel=1e-9)


def test_differences_by_hand():
    # differences 1, 3, 5: mean 3, SD 2
    found = bland_altman([11, 23, 35], [10, 20, 30])
    assert (found.bias.value, found.sd) == (3.0, 2.0)
    assert (found.lower.value, found.upper.value) == pytest.approx((3 - 3.92, 3 + 3.92))
    assert found.bias.high - 3 == pytest.approx(4.302653 * 2 / math.sqrt(3), rel=1e-6)
    np.testing.assert_array_equal(found.sizes, [10.5, 21.5, 32.5])
    np.testing.assert_array_equal(found.differences, [1, 3, 5])
    assert found.dependence.pearson == pytest.approx(1.0)
    assert found.dependence.spearman == pytest.approx(1.0)
    assert found.dependence.spearman_p == pytest.approx(2 / 6)  # of 6 orders, 2 are as extreme


def test_percent_by_hand():
    # 2 / 1, -6 / 15 and 0 / 7 of the mean
    found = bland_altman([2, 12, 7], [0, 18, 7], scale="percent")
    np.testing.assert_allclose(found.differences, [200, -40, 0])
    assert found.bias.value == pytest.approx(160 / 3)
    # squares of 440, -280 and -160, each over 3
    assert found.sd == pytest.approx(math.sqrt((440**2 + 280**2 + 160**2) / 9 / 2))


def test_ratio_by_hand():
    # ratios 2, 8 and 32: logarithms log 2 times 1, 3 and 5
    found = bland_altman([2, 16, 64], [1, 2, 2], scale="ratio")
    assert found.bias.value == pytest.approx(8.0)
    assert found.sd == pytest.approx(2 * math.log(2))
    assert found.lower.value == pytest.approx(8 / 4**1.96)
    assert found.upper.value == pytest.approx(8 * 4**1.96)
    np.testing.assert_allclose(found.differences, [2, 8, 32])
    np.testing.assert_allclose(found.sizes, np.sqrt([2, 32, 128]))


def test_ratio_is_the_difference_of_logarithms():
    rng = np.random.default_rng(3)
    first, second = np.exp(rng.normal(3, 1, (2, 15)))
    ratio = bland_altman(first, second, scale="ratio")
    logs = bland_altman(np.log(first), np.log(second))
    np.testing.assert_allclose(np.log(numbers(ratio)[:9]), numbers(logs)[:9], rtol=1e-9)
    assert ratio.sd == pytest.approx(logs.sd, rel=1e-9)
    assert ratio.dependence.pearson == pytest.approx(logs.dependence.pearson, rel=1e-9)


# ---- intervals of the limits ---------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 17, 85, 1000])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_of_the_limits_are_exact(n, level):
    differences = np.linspace(-1, 1, n)
    found = bland_altman(differences, np.zeros(n), level=level)
    low, high = found.upper.low / found.sd, found.upper.high / found.sd
    assert probability_below(low, n) == pytest.approx((1 + level) / 2, abs=1e-8)
    assert probability_below(high, n) == pytest.approx((1 - level) / 2, abs=1e-8)
    assert (found.lower.low, found.lower.high) == pytest.approx(
        (-found.upper.high, -found.upper.low)
    )


def test_intervals_of_many_cases_are_bland_and_altmans():
    n = 100_000
    differences = np.linspace(-1, 1, n)
    found = bland_altman(differences, np.zeros(n))
    error = found.sd * math.sqrt(1 / n + 1.96**2 / (2 * (n - 1)))
    assert found.upper.high - found.upper.value == pytest.approx(1.96 * error, rel=0.01)
    assert found.upper.value - found.upper.low == pytest.approx(1.96 * error, rel=0.01)


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(7)
    samples, level, bias, sd = 1500, 0.9, -3.0, 2.0
    covered = np.zeros(3)
    for _ in range(samples):
        second = rng.normal(40, 8, 9)
        found = bland_altman(second + rng.normal(bias, sd, 9), second, level=level)
        for place, estimate, truth in (
            (0, found.bias, bias),
            (1, found.lower, bias - 1.96 * sd),
            (2, found.upper, bias + 1.96 * sd),
        ):
            covered[place] += estimate.low <= truth <= estimate.high
    error = math.sqrt(level * (1 - level) / samples)
    assert covered / samples == pytest.approx(level, abs=4 * error)


# ---- dependence on the size ----------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5, 6])
def test_spearmans_p_of_few_cases_is_scipys_permutation_test(n):
    first, second = np.random.default_rng(n).normal(0, 1, (2, n))
    found = bland_altman(first, second).dependence
    size = (first + second) / 2
    oracle = stats.permutation_test(
        (first - second,),
        lambda difference: stats.spearmanr(size, difference).statistic,
        permutation_type="pairings",
        n_resamples=math.factorial(n),
    )
    assert found.spearman == pytest.approx(oracle.statistic)
    assert found.spearman_p == pytest.approx(oracle.pvalue)


def test_pearsons_p_asks_whether_the_variances_differ():
    # Pitman and Morgan: differences correlate with sizes where one rater spreads more
    rng = np.random.default_rng(4)
    second = rng.normal(0, 1, 60)
    wide = bland_altman(3 * second + rng.normal(0, 0.3, 60), second).dependence
    alike = bland_altman(second + rng.normal(0, 0.3, 60), second + rng.normal(0, 0.3, 60))
    assert wide.pearson_p < 1e-6
    assert wide.spearman_p < 1e-6
    assert alike.dependence.pearson_p > 0.01


def test_errors_that_grow_with_the_size_need_the_ratio():
    rng = np.random.default_rng(11)
    truth = np.exp(rng.normal(5, 1, 80))
    first = truth * np.exp(rng.normal(0.3, 0.1, 80))
    assert bland_altman(first, truth).dependence.spearman_p < 1e-6
    assert bland_altman(first, truth, scale="ratio").dependence.spearman_p > 0.01
    assert bland_altman(first, truth, scale="ratio").bias.value == pytest.approx(1.35, abs=0.05)


# ---- laws ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_exchanging_the_raters_mirrors_everything(seed, n):
    first, second = np.exp(np.random.default_rng(seed).normal(2, 1, (2, n)))
    for scale, mirror in (
        ("difference", np.negative),
        ("percent", np.negative),
        ("ratio", np.reciprocal),
    ):
        one, other = (
            bland_altman(*pair, scale=scale) for pair in ((first, second), (second, first))
        )
        assert other.sd == pytest.approx(one.sd, rel=1e-9)
        assert other.bias.value == pytest.approx(mirror(one.bias.value), rel=1e-7, abs=1e-9)
        assert other.lower.value == pytest.approx(mirror(one.upper.value), rel=1e-7, abs=1e-9)
        assert other.lower.low == pytest.approx(mirror(one.upper.high), rel=1e-7, abs=1e-9)
        assert other.dependence.spearman_p == pytest.approx(one.dependence.spearman_p, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.001, 1000.0]))
def test_only_differences_have_the_unit_of_the_volumes(seed, unit):
    first, second = np.exp(np.random.default_rng(seed).normal(2, 1, (2, 9)))
    for scale, factor in (("difference", unit), ("percent", 1.0), ("ratio", 1.0)):
        one = bland_altman(first, second, scale=scale)
        other = bland_altman(unit * first, unit * second, scale=scale)
        np.testing.assert_allclose(numbers(other), factor * numbers(one), rtol=1e-7, atol=1e-9)


# ---- undefined, and refused ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "first", "value"),
    [("difference", [0.4, 0.5, 1.0], 0.3), ("ratio", [0.3, 0.6, 2.1], 3.0)],
)
def test_equal_differences_have_no_width(scale, first, value):
    found = bland_altman(first, [0.1, 0.2, 0.7], scale=scale)
    np.testing.assert_allclose(numbers(found), [value] * 9 + [0.0], atol=1e-12)
    assert np.isnan([found.dependence.pearson, found.dependence.spearman_p]).all()


def test_two_cases_have_limits_but_no_correlation():
    found = bland_altman([1.0, 5.0], [2.0, 3.0])
    assert np.isfinite(numbers(found)).all()
    assert math.isnan(found.dependence.pearson)
    assert math.isnan(found.dependence.spearman_p)


def test_a_pair_without_value_on_the_scale_makes_all_undefined():
    assert np.isnan(numbers(bland_altman([0, 2, 3], [1, 2, 4], scale="ratio"))).all()
    assert np.isnan(numbers(bland_altman([0, 2, 3], [0, 2, 4], scale="percent"))).all()
    assert np.isfinite(numbers(bland_altman([0, 2, 3], [1, 2, 4], scale="percent"))).all()


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1.0], [2.0], {}, "first has shape \\(1,\\)"),
        ([[1.0, 2.0]], [[1.0, 2.0]], {}, "first has shape"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], {}, "second has shape"),
        ([1.0, 2.0], [1.0, math.nan], {}, "second has NaN"),
        ([1.0, -2.0], [1.0, 2.0], {"scale": "ratio"}, "first has -2"),
        ([1.0, 2.0], [1.0, 2.0], {"scale": "log"}, "scale is 'log'"),
        ([1.0, 2.0], [1.0, 2.0], {"level": 95}, "level is 95"),
    ],
)
def test_wrong_calls_are_refused(first, second, options, message):
    with pytest.raises(ValueError, match=message):
        bland_altman(first, second, **options)
