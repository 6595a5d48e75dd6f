"""Intraclass correlations: pingouin's numbers, statsmodels' mean squares, a classic table, laws."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from segjury.analysis.statistics.icc import icc, mean_squares
from tests.places import GOLDEN

EXPECTED = json.loads((GOLDEN / "statistics" / "icc_pingouin.json").read_text())
NAMES = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]


def ratings_of(rng, n, k, *, signal=1.0, bias=0.5, noise=0.7):
    return (
        rng.normal(0, signal, (n, 1)) + rng.normal(0, bias, (1, k)) + rng.normal(0, noise, (n, k))
    )


def values(table):
    return np.array([c.value for c in icc(table).coefficients])


def test_there_are_enough_tables_of_every_kind():
    found = [table["icc"]["ICC(2,1)"][0] for table in EXPECTED["tables"]]
    assert len(found) >= 30
    assert sum(value < 0 for value in found) >= 5


def exact_squares(table):
    """Between targets, between raters and residual, in fractions."""
    rows = [[Fraction(float(value)) for value in row] for row in table]
    n, k = len(rows), len(rows[0])
    grand = sum(map(sum, rows)) / (n * k)
    targets = [sum(row) / k for row in rows]
    raters = [sum(column) / n for column in zip(*rows, strict=True)]
    residual = sum(
        (rows[i][j] - targets[i] - raters[j] + grand) ** 2 for i in range(n) for j in range(k)
    )
    return (
        k * sum((t - grand) ** 2 for t in targets) / (n - 1),
        n * sum((r - grand) ** 2 for r in raters) / (k - 1),
        residual / ((n - 1) * (k - 1)),
    )


def satterthwaite(ratings, value):
    """Degrees of freedom of ICC(2,1) = value as Shrout and Fleiss write them."""
    n, k = np.shape(ratings)
    _, raters, residual = (float(square) for square in exact_squares(ratings))
    weight = n * (1 + (k - 1) * value) - k * value
    f = raters / residual
    return (
        (n - 1)
        * (k - 1)
        * (k * value * f + weight) ** 2
        / ((n - 1) * k**2 * value**2 * f**2 + weight**2)
    )


def few_degrees(table):
    """Whether pingouin's limits of ICC(2,.) rest on fewer than k - 1 degrees of freedom."""
    value = table["icc"]["ICC(2,1)"][0]
    return satterthwaite(table["ratings"], value) < len(table["ratings"][0]) - 1


def limits(coefficient):
    return coefficient.low, coefficient.high


@pytest.mark.parametrize("table", EXPECTED["tables"], ids=lambda table: table["name"])
def test_all_numbers_are_pingouins(table):
    found = icc(table["ratings"])
    k = len(table["ratings"][0])
    for name, (value, low, high, f, df1, df2, p) in table["icc"].items():
        coefficient = found[name]
        assert (coefficient.df1, coefficient.df2) == (df1, df2)
        assert coefficient.f == pytest.approx(f, rel=1e-10)
        assert coefficient.p == pytest.approx(p, rel=1e-9)
        if name == "ICC(2,k)" and table["icc"]["ICC(2,1)"][0] <= -1 / (k - 1):
            assert np.isnan([coefficient.value, *limits(coefficient)]).all()
            assert value > 1  # pingouin's, for raters who contradict each other
            continue
        assert coefficient.value == pytest.approx(value, rel=1e-10, abs=1e-10)
        if not (name.startswith("ICC(2") and few_degrees(table)):
            assert limits(coefficient) == pytest.approx((low, high), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    "table", [t for t in EXPECTED["tables"] if few_degrees(t)], ids=lambda table: table["name"]
)
def test_limits_of_negative_agreement_hold_the_coefficient(table):
    n, k = np.shape(table["ratings"])
    coefficient = icc(table["ratings"])["ICC(2,1)"]
    between, raters, residual = (float(square) for square in exact_squares(table["ratings"]))

    def at(scaled):
        return (scaled - residual) / (scaled + (k - 1) * residual + k * (raters - residual) / n)

    low = at(between / stats.f.ppf(0.975, n - 1, k - 1))
    high = at(between * stats.f.ppf(0.975, k - 1, n - 1))
    assert limits(coefficient) == pytest.approx((low, high), rel=1e-9)
    assert low < coefficient.value < high


def test_a_lower_limit_that_does_not_exist():
    # B = 4, J = 0, E = 1: a mean varies by 4 - 1/2, but with B down at its limit by less than 0
    coefficient = icc([[5, 4], [2, 3]])["ICC(2,k)"]
    assert coefficient.value == pytest.approx(3 / 3.5)
    assert coefficient.low == -math.inf
    assert coefficient.value < coefficient.high < 1


def test_the_table_of_shrout_and_fleiss():
    squares = mean_squares(SHROUT_FLEISS)
    published = (11.24, 32.49, 1.02, 6.26)
    found = (squares.targets, squares.raters, squares.residual, squares.within)
    assert found == pytest.approx(published, abs=0.005)
    assert values(SHROUT_FLEISS) == pytest.approx((0.17, 0.29, 0.71, 0.44, 0.62, 0.91), abs=0.005)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (12, 2), (6, 4), (15, 7)])
def test_mean_squares_are_statsmodels(shape):
    table = ratings_of(np.random.default_rng(shape[0]), *shape)
    target, rater = np.indices(shape)
    long = pd.DataFrame({"y": table.ravel(), "target": target.ravel(), "rater": rater.ravel()})
    anova = anova_lm(ols("y ~ C(target) + C(rater)", long).fit())["mean_sq"]
    found = mean_squares(table)
    assert found.targets == pytest.approx(anova["C(target)"], rel=1e-9)
    assert found.raters == pytest.approx(anova["C(rater)"], rel=1e-9)
    assert found.residual == pytest.approx(anova["Residual"], rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_a_large_offset_costs_no_digits(offset):
    table = offset + ratings_of(np.random.default_rng(5), 12, 4)
    squares = mean_squares(table)
    expected = [float(value) for value in exact_squares(table)]
    found = (squares.targets, squares.raters, squares.residual)
    assert found == pytest.approx(expected, rel=1e-15 * max(offset, 100.0))


def test_perfect_agreement():
    for coefficient in icc([[0.1] * 3, [0.3] * 3, [0.7] * 3]).coefficients:
        assert (coefficient.value, coefficient.low, coefficient.high) == (1.0, 1.0, 1.0)
        assert (coefficient.f, coefficient.p) == (math.inf, 0.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
def test_no_variance_at_all_is_undefined(value):
    for coefficient in icc(np.full((5, 3), value)).coefficients:
        assert np.isnan([coefficient.value, coefficient.low, coefficient.high]).all()
        assert np.isnan([coefficient.f, coefficient.p]).all()


def test_a_constant_offset_of_a_rater_by_hand():
    # targets 1, 3, 5 and the second rater always 0.6 higher: B = 8, J = 0.54, E = 0, W = 0.18
    found = icc([[1, 1.6], [3, 3.6], [5, 5.6]])
    assert found["ICC(1,1)"].value == pytest.approx((8 - 0.18) / (8 + 0.18), rel=1e-12)
    assert found["ICC(2,1)"].value == pytest.approx(8 / (8 + 2 * 0.54 / 3), rel=1e-12)
    assert found["ICC(2,k)"].value == pytest.approx(8 / (8 + 0.54 / 3), rel=1e-12)
    assert found["ICC(2,1)"].low < found["ICC(2,1)"].value < found["ICC(2,1)"].high
    for name in ("ICC(3,1)", "ICC(3,k)"):
        assert (found[name].value, found[name].low, found[name].high) == (1.0, 1.0, 1.0)


def test_targets_that_do_not_differ():
    # rows are orders of 1, 2, 3: B = J = 0, so the mean of the raters varies by nothing
    found = icc([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    assert found["ICC(1,1)"].value == found["ICC(3,1)"].value == pytest.approx(-1 / 2)
    assert found["ICC(1,1)"].f == 0.0
    assert found["ICC(1,1)"].p == 1.0
    for name in ("ICC(1,k)", "ICC(2,k)", "ICC(3,k)"):
        assert math.isnan(found[name].value)


TABLES = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 6))


@settings(max_examples=60, deadline=None)
@given(TABLES, st.sampled_from([-3.0, 0.01, 250.0]), st.sampled_from([-5.0, 0.0, 40.0]))
def test_order_unit_and_origin_change_nothing(drawn, unit, origin):
    seed, n, k = drawn
    rng = np.random.default_rng(seed)
    table = ratings_of(rng, n, k)
    moved = origin + unit * table[rng.permutation(n)][:, rng.permutation(k)]
    for before, after in zip(icc(table).coefficients, icc(moved).coefficients, strict=True):
        pairs = [(before.value, after.value), (before.low, after.low), (before.high, after.high)]
        for a, b in [*pairs, (before.p, after.p)]:
            assert b == pytest.approx(a, rel=1e-6, abs=1e-9, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_means_step_up_by_spearman_and_brown(drawn):
    seed, n, k = drawn
    found = icc(ratings_of(np.random.default_rng(seed), n, k, signal=2.0))
    for form in "123":
        single, mean = found[f"ICC({form},1)"], found[f"ICC({form},k)"]
        for one, many in zip(
            (single.value, single.low, single.high), (mean.value, mean.low, mean.high), strict=True
        ):
            if one > -1 / (k - 1) + 1e-6 and not math.isnan(many):
                assert many == pytest.approx(k * one / (1 + (k - 1) * one), rel=1e-6)
        assert single.low <= single.value <= single.high <= 1


def coverage(name, truth, level, draw, *, samples=1500):
    found = (icc(draw(), level=level)[name] for _ in range(samples))
    return sum(c.low <= truth <= c.high for c in found) / samples


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_the_truth_as_often_as_they_say(level):
    rng = np.random.default_rng(12)
    error = math.sqrt(level * (1 - level) / 1500)
    truth = 1 / (1 + 0.8**2)
    one_way = coverage("ICC(1,1)", truth, level, lambda: ratings_of(rng, 8, 3, bias=0.0, noise=0.8))
    assert one_way == pytest.approx(level, abs=4 * error)
    offsets = np.array([0.0, 2.0, 5.0])
    mixed = coverage(
        "ICC(3,1)", truth, level, lambda: offsets + ratings_of(rng, 8, 3, bias=0.0, noise=0.8)
    )
    assert mixed == pytest.approx(level, abs=4 * error)
    truth = 1 / (1 + (0.5**2 + 0.8**2) / 6)
    random = coverage("ICC(2,k)", truth, level, lambda: ratings_of(rng, 8, 6, noise=0.8))
    assert random == pytest.approx(level, abs=0.03)  # Satterthwaite's is an approximation


def test_one_is_found_by_its_name():
    found = icc(SHROUT_FLEISS)
    assert tuple(c.name for c in found.coefficients) == NAMES
    assert found["ICC(2,k)"].meaning == "absolute agreement, two-way random, mean of the raters"
    with pytest.raises(KeyError, match="ICC\\(4,k\\)"):
        found["ICC(4,k)"]


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([1.0, 2.0], "shape \\(2,\\)"),
        ([[1.0, 2.0]], "at least 2"),
        ([[1.0], [2.0]], "at least 2"),
        ([[1.0, math.nan], [2.0, 3.0]], "complete"),
    ],
)
def test_what_is_no_complete_table_is_refused(ratings, message):
    with pytest.raises(ValueError, match=message):
        icc(ratings)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(ValueError, match="level"):
        icc(SHROUT_FLEISS, level=level)
