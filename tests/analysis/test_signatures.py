from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from segjury.analysis.statistics.signatures import hard_cases, signatures

SCORES = arrays(
    np.float64,
    (2, 4, 3),
    elements=st.one_of(st.integers(0, 20).map(lambda whole: whole / 10), st.just(np.nan)),
    fill=st.nothing(),
)
HIGHER = np.array([True, False])


def test_signatures_are_scipys_z_scores_over_cases_and_methods():
    rng = np.random.default_rng(1)
    values = rng.random((3, 20, 5)) * np.array([1, 1e-6, 1e4])[:, None, None]
    values[rng.random(values.shape) < 0.1] = np.nan
    found = signatures(values, np.array([True, True, False]))
    for metric, sign in ((0, 1), (1, 1), (2, -1)):
        expected = stats.zscore(values[metric], axis=None, nan_policy="omit")
        np.testing.assert_allclose(found[metric], sign * expected, rtol=1e-9)


def test_signatures_by_hand():
    # Mean 3 and population SD 2 of 1, 1, 5, 5: better than average is positive.
    values = np.array([[[1.0, 1.0], [5.0, 5.0]], [[1.0, 5.0], [1.0, 5.0]]])
    found = signatures(values, HIGHER)
    assert found[0].tolist() == [[-1, -1], [1, 1]]
    assert found[1].tolist() == [[1, -1], [1, -1]]


def test_a_constant_metric_is_average_and_missing_scores_stay_missing():
    values = np.full((3, 2, 2), 0.3)
    values[0, 1, 1] = 0.1 + 0.2  # the same number but for the order of additions
    values[1, 0, 0] = np.nan
    values[2] = np.nan
    found = signatures(values, np.array([True, False, True]))
    assert (found[0] == 0).all()
    np.testing.assert_array_equal(found[1], [[np.nan, 0], [0, 0]])
    assert np.isnan(found[2]).all()


@given(values=SCORES, shift=st.integers(-9, 9), scale=st.integers(1, 9))
def test_signatures_are_standardised_and_blind_to_units(values, shift, scale):
    found = signatures(values, HIGHER)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    np.testing.assert_allclose(signatures(scale * values + shift, HIGHER), found, atol=1e-9)
    np.testing.assert_allclose(signatures(-values, ~HIGHER), found, atol=1e-9)
    for metric in range(2):
        known = found[metric][~np.isnan(found[metric])]
        if known.size:
            assert known.mean() == pytest.approx(0, abs=1e-9)
            assert known.std() == pytest.approx(1, abs=1e-9) or (known == 0).all()


def test_hard_cases_by_hand():
    by_method = np.array(
        [
            [-0.5, 0.5, 0.0, 1.0],  # easy
            [-1.0, -1.2, 0.9, 0.9],  # two of four, one exactly at the threshold
            [-3.0, 0.0, 0.0, 0.0],  # one method's own failure
            [-2.0, -2.0, -2.0, np.nan],  # all that have a score
            [np.nan, np.nan, np.nan, np.nan],
        ]
    )
    metrics = np.stack([by_method - 0.25, by_method + 0.25])  # their means are as above
    metrics[:, 3, 0] = (-2.0, np.nan)  # a missing metric leaves the mean of the others
    found = hard_cases(metrics)
    np.testing.assert_allclose(found.by_method, by_method)
    np.testing.assert_allclose(found.mean, [0.25, -0.1, -0.75, -2.0, np.nan])
    np.testing.assert_array_equal(found.hard, np.nan_to_num(by_method) <= -1)
    assert found.number.tolist() == [0, 2, 1, 3, 0]
    assert found.scored.tolist() == [4, 4, 4, 3, 0]
    assert found.several.tolist() == [False, True, False, True, False]
    assert found.order.tolist() == [3, 2, 1, 0, 4]
    assert found.recurrent.tolist() == [3, 1]
    assert hard_cases(metrics, share=0.75).recurrent.tolist() == [3]
    assert hard_cases(metrics, threshold=-0.5).number.tolist() == [1, 2, 1, 3, 0]


def test_one_method_is_not_several():
    assert hard_cases(np.full((1, 2, 1), -3.0)).number.tolist() == [1, 1]
    assert not hard_cases(np.full((1, 2, 1), -3.0)).several.any()
    assert not hard_cases(np.array([[[-3.0, 0.0]]]), share=0.1).several.any()


def test_equally_hard_cases_keep_their_order():
    first, last = 0.1 + 0.2, 0.3  # the same number but for the order of additions
    assert first > last
    assert hard_cases(np.array([[[first], [last]]])).order.tolist() == [0, 1]
    assert hard_cases(np.array([[[first]]]), threshold=0.3).hard.all()
    assert hard_cases(np.array([[[-1 / 3]]]), threshold=-1 / 3).hard.all()


@given(values=SCORES, case=st.integers(0, 3), method=st.integers(0, 2), by=st.integers(1, 30))
def test_a_worse_signature_never_makes_a_case_easier(values, case, method, by):
    before = hard_cases(values - 2)
    worse = values - 2
    worse[0, case, method] -= by / 10
    after = hard_cases(worse)
    assert (after.hard >= before.hard).all()
    assert (after.number >= before.number).all()
    assert (after.several >= before.several).all()
    assert after.order.tolist().index(case) <= before.order.tolist().index(case)
    others = np.arange(4) != case
    np.testing.assert_array_equal(after.mean[others], before.mean[others])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: signatures(np.zeros((2, 3)), HIGHER), r"values has shape \(2, 3\)"),
        (lambda: signatures(np.zeros((3, 2, 2)), HIGHER), r"higher has shape \(2,\)"),
        (lambda: signatures(np.full((2, 2, 2), -np.inf), HIGHER), "infinite"),
        (lambda: hard_cases(np.zeros((2, 3))), r"signatures has shape \(2, 3\)"),
        (lambda: hard_cases(np.zeros((2, 3, 1)), share=50), "share is 50"),
    ],
)
def test_what_has_no_signature_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
