from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from segjury.analysis.statistics.correlation import clustered, correlations

KINDS = ("pearson", "spearman", "kendall")
BY_SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
SCORES = arrays(
    np.float64,
    (12, 3),
    elements=st.one_of(st.integers(0, 9).map(lambda whole: whole / 10), st.just(np.nan)),
    fill=st.nothing(),
)


def scores(rows=200, metrics=5, missing=0.0, seed=1):
    """Correlated metrics, the last two of few values, some missing."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, metrics)) + rng.standard_normal((rows, 1))
    values[:, -2:] = np.round(values[:, -2:])
    return np.where(rng.random(values.shape) < missing, np.nan, values)


def more(metrics):
    return np.ones(metrics, bool)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_correlations_are_those_of_pandas_and_scipy(kind, missing):
    values = scores(missing=missing)
    found = correlations(values, more(5), kind=kind)
    np.testing.assert_allclose(found.matrix, pd.DataFrame(values).corr(kind), atol=1e-12)
    for i in range(5):
        for j in range(i):
            both = ~np.isnan(values[:, [i, j]]).any(axis=1)
            expected = BY_SCIPY[kind](values[both, i], values[both, j]).statistic
            assert found.matrix[i, j] == pytest.approx(expected, abs=1e-12)
            assert found.n[i, j] == found.n[j, i] == both.sum()
    np.testing.assert_array_equal(np.diag(found.n), (~np.isnan(values)).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_are_oriented_before_they_are_compared(kind):
    values = scores(metrics=3)
    plain = correlations(values, more(3), kind=kind).matrix
    higher = np.array([True, False, True])
    errors = values * np.where(higher, 1, -1)
    np.testing.assert_allclose(correlations(errors, higher, kind=kind).matrix, plain, atol=1e-12)
    mixed = correlations(values, higher, kind=kind).matrix
    np.testing.assert_allclose(mixed[0, 1], -plain[0, 1], atol=1e-12)
    np.testing.assert_allclose(mixed[0, 2], plain[0, 2], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_metric_has_no_correlation(kind):
    values = np.array([[0.3, 1.0], [0.3, 2.0], [0.1 + 0.2, 3.0], [np.nan, 4.0]])
    found = correlations(values, more(2), kind=kind)
    assert np.isnan(found.matrix[0]).all()
    assert found.matrix[1, 1] == pytest.approx(1)
    # Constant only on the rows that both metrics have.
    values = np.array([[0.5, 1.0], [0.5, 2.0], [0.5, 3.0], [0.9, np.nan]])
    found = correlations(values, more(2), kind=kind)
    assert np.isnan(found.matrix[0, 1])
    assert found.matrix[0, 0] == pytest.approx(1)
    assert found.n.tolist() == [[4, 3], [3, 3]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_have_no_correlation(kind, rows):
    found = correlations(np.zeros((rows, 2)), more(2), kind=kind)
    assert np.isnan(found.matrix).all()
    assert (found.n == rows).all()
    disjoint = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]])
    assert np.isnan(correlations(disjoint, more(2), kind=kind).matrix[0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_pooling_hides_what_cases_say_within_methods(kind):
    # Simpson's paradox: within each method the metrics agree, between methods they disagree.
    case, method = np.tile(np.arange(5.0), 3), np.repeat(np.arange(3), 5)
    values = np.stack([case + 100 * method, case - 100 * method], axis=1)
    pooled = correlations(values, more(2), kind=kind).matrix[0, 1]
    inside = correlations(values, more(2), kind=kind, within="method", method=method)
    assert pooled < -0.3
    assert inside.matrix[0, 1] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_within_methods_is_the_correlation_of_centred_scores_or_ranks(kind, missing):
    values = scores(rows=60, metrics=4, missing=missing)
    method = np.random.default_rng(2).choice([3, 8, 17], 60)
    found = correlations(values, more(4), kind=kind, within="method", method=method).matrix
    for i in range(4):
        for j in range(i):
            frame = pd.DataFrame(values[:, [i, j]]).assign(method=method).dropna()
            by_method = frame.groupby("method")[[0, 1]]
            inside = frame[[0, 1]] if kind == "pearson" else by_method.rank()
            centred = inside - inside.groupby(frame["method"]).transform("mean")
            expected = stats.pearsonr(centred[0], centred[1]).statistic
            assert found[i, j] == pytest.approx(expected, abs=1e-12)


@given(values=SCORES, method=arrays(np.int64, 12, elements=st.integers(0, 2)))
def test_kendall_within_methods_by_counting_pairs(values, method):
    found = correlations(values, more(3), kind="kendall", within="method", method=method).matrix
    for i, j in ((0, 1), (0, 2), (1, 2)):
        score = untied_i = untied_j = 0
        for a in range(12):
            for b in range(a):
                if method[a] == method[b] and not np.isnan(values[[a, b]][:, [i, j]]).any():
                    si, sj = np.sign(values[a, [i, j]] - values[b, [i, j]])
                    score += si * sj
                    untied_i += abs(si)
                    untied_j += abs(sj)
        expected = score / np.sqrt(untied_i * untied_j) if untied_i * untied_j else np.nan
        np.testing.assert_allclose(found[i, j], expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(values=SCORES, order=st.permutations(range(12)))
def test_correlations_are_symmetric_and_blind_to_scale_and_order(kind, values, order):
    found = correlations(values, more(3), kind=kind).matrix
    np.testing.assert_array_equal(found, found.T)
    assert (np.abs(found[~np.isnan(found)]) <= 1).all()
    moved = correlations(1e-8 * values[list(order)] + 1e-7, more(3), kind=kind).matrix
    np.testing.assert_allclose(moved, found, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_one_method_within_is_all_of_it(kind):
    values = scores(rows=50, missing=0.1)
    alone = correlations(values, more(5), kind=kind, within="method", method=np.full(50, 4))
    pooled = correlations(values, more(5), kind=kind)
    np.testing.assert_allclose(alone.matrix, pooled.matrix, atol=1e-12)


def test_metrics_that_agree_stand_together():
    # Two groups, given in mixed order; the fourth is opposed to the first, the last undefined.
    r = np.eye(5)
    for i, j, value in ((0, 2, 0.9), (1, 3, 0.8), (0, 1, 0.1), (0, 3, -0.9), (2, 3, -0.8)):
        r[i, j] = r[j, i] = value
    r[4, :4] = r[:4, 4] = np.nan
    found = clustered(r)
    place = np.argsort(found.order)
    assert sorted(found.order) == [0, 1, 2, 3, 4]
    assert abs(place[0] - place[2]) == 1
    assert abs(place[1] - place[3]) == 1
    # Average linkage by hand: 1 - 0.9, 1 - 0.8, 1 for the undefined one.
    np.testing.assert_allclose(found.linkage[:3, 2], [0.1, 0.2, 1.0])


def test_neighbours_in_the_order_are_as_close_as_the_tree_allows():
    r = np.full((4, 4), 0.1)
    for i, j, value in ((0, 1, 0.9), (2, 3, 0.8), (0, 3, 0.6)):
        r[i, j] = r[j, i] = value
    np.fill_diagonal(r, 1)
    assert clustered(r).order.tolist() in ([1, 0, 3, 2], [2, 3, 0, 1])


def test_one_metric_merges_with_none():
    alone = clustered(np.ones((1, 1)))
    assert alone.order.tolist() == [0]
    assert len(alone.linkage) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlations(np.zeros(3), more(3)), r"values has shape \(3,\)"),
        (lambda: correlations(np.zeros((3, 2)), more(3)), r"higher has shape \(3,\)"),
        (lambda: correlations(np.full((3, 2), np.inf), more(2)), "infinite"),
        (lambda: correlations(np.zeros((3, 2)), more(2), kind="tau"), "kind is 'tau'"),
        (lambda: correlations(np.zeros((3, 2)), more(2), within="case"), "within is 'case'"),
        (lambda: correlations(np.zeros((3, 2)), more(2), within="method"), "method is None"),
        (
            lambda: correlations(
                np.zeros((3, 2)), more(2), within="method", method=np.zeros(2, int)
            ),
            r"method is shape \(2,\)",
        ),
        (lambda: clustered(np.zeros((2, 3))), r"matrix has shape \(2, 3\)"),
        (lambda: clustered(np.array([[1.0, 0.5], [0.4, 1.0]])), "not symmetric"),
    ],
)
def test_what_cannot_be_correlated_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
