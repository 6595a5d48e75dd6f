"""FROC, against a curve that is made by trying every confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segjury.metrics import froc, laws
from segjury.metrics.detection import FALSE_POSITIVES, FrocOptions


def row(*values):
    """An image of one row; a number stands for so many tenths."""
    return np.array(values, float)[:, None, None] / 10


#               two lesions; the candidates are, from the left: 0.9 right, 0.7 wrong, 0.4 right
REFERENCE = row(0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0) > 0
PROBABILITY = row(0, 9, 8, 0, 7, 6, 0, 4, 3, 0, 0, 0)


def test_the_second_lesion_costs_a_false_positive():
    assert froc(REFERENCE, PROBABILITY, false_positives=[0]) == 1 / 2
    assert froc(REFERENCE, PROBABILITY, false_positives=[0.5]) == 1 / 2
    assert froc(REFERENCE, PROBABILITY, false_positives=[1]) == 1
    assert froc(REFERENCE, PROBABILITY) == pytest.approx((3 * 0.5 + 4 * 1) / 7)


def test_equal_confidence_counts_together():
    tied = np.where(PROBABILITY == 0.7, 0.9, PROBABILITY)
    assert froc(REFERENCE, tied, false_positives=[0]) == 0
    assert froc(REFERENCE, tied, false_positives=[1]) == 1


def test_the_confidence_may_be_the_mean_of_a_candidate():
    wide = row(0, 9, 1.5, 0, 7, 6, 0, 4, 3, 0, 0, 0)  # 0.525 in the mean, below 0.65
    assert froc(REFERENCE, wide, false_positives=[0]) == 1 / 2
    assert froc(REFERENCE, wide, confidence="mean", false_positives=[0]) == 0
    assert froc(REFERENCE, wide, confidence="mean", false_positives=[1]) == 1


def test_a_second_candidate_of_a_lesion_is_no_false_positive():
    long = row(1, 1, 1, 1, 1, 1, 0, 0) > 0
    twice = row(9, 9, 0, 0, 8, 8, 0, 0)
    assert froc(long, twice, false_positives=[0]) == 1


def test_candidates_are_what_exceeds_the_threshold():
    assert froc(REFERENCE, PROBABILITY, candidate_threshold=0.4, false_positives=[5]) == 1 / 2
    assert froc(REFERENCE, PROBABILITY, candidate_threshold=0.39, false_positives=[5]) == 1
    in_float32 = row(0, 1, 1, 0).astype(np.float32)  # 0.1 is a little more there
    assert froc(row(0, 1, 1, 0) > 0, in_float32) == 1
    assert froc(row(0, 1, 1, 0) > 0, row(0, 1, 1, 0)) == 0


def test_what_overlaps_too_little_is_a_false_positive():
    longer = row(0, 9, 9, 9, 9, 9, 0, 0)
    one = row(0, 1, 0, 0, 0, 0, 0, 0) > 0  # IoU 1/5
    assert froc(one, longer) == 1
    assert froc(one, longer, threshold=0.2) == 0
    assert froc(one, longer, threshold=0.2, overlap="ior") == 1


def test_a_disputed_lesion_costs_nothing():
    raters = [REFERENCE, REFERENCE, REFERENCE | (PROBABILITY > 0.5)]  # the third sees 0.7 as well
    assert froc(raters, PROBABILITY, lesions="union", false_positives=[0]) == 1
    assert froc(raters, PROBABILITY, lesions="union", seen_by=1, false_positives=[0]) == 1
    missed = np.where(PROBABILITY == 0.9, 0, PROBABILITY)
    assert froc(raters, missed, lesions="union", false_positives=[0]) == 1


def test_without_lesions_it_is_undefined_and_without_candidates_0():
    assert math.isnan(froc(np.zeros((3, 3)), np.ones((3, 3))))
    assert math.isnan(froc(REFERENCE, PROBABILITY, smallest_mm3=3))
    assert froc(REFERENCE, np.zeros(REFERENCE.shape)) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"false_positives": [2.0, 1.0]}, "must ascend"),
        ({"false_positives": [-1.0]}, "from 0"),
        ({"false_positives": [1e9]}, "to 1000"),
        ({"candidate_threshold": 1.0}, "less than 1"),
        ({"confidence": "median"}, "'max' or 'mean'"),
    ],
)
def test_options_that_mean_nothing_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        FrocOptions(**wrong)


def test_a_remark_says_what_a_candidate_is():
    words = "candidates above 0.1 by max, IoU above 0.1"
    assert FrocOptions().remark("corrected") == words


# ---- by trying every confidence ------------------------------------------------------------


def scene(seed, shape=(8, 7, 6)):
    rng = np.random.default_rng(seed)
    reference = ndimage.uniform_filter(rng.random(shape), 2) < 0.35
    return reference, np.round(ndimage.uniform_filter(rng.random(shape), 2), 1)


def by_trying_all(reference, probability, confidence):
    """The mean over the rates of the best sensitivity at a confidence that they allow."""
    lesions, n = ndimage.label(reference, ndimage.generate_binary_structure(3, 1))
    candidates, m = ndimage.label(probability > 0.5, ndimage.generate_binary_structure(3, 1))
    of = np.max if confidence == "max" else np.mean
    rows = []
    for j in range(1, m + 1):
        here = candidates == j
        found = {
            i
            for i in range(1, n + 1)
            if (here & (lesions == i)).sum() / (here | (lesions == i)).sum() > 0.1
        }
        rows.append((round(float(of(probability[here])), 9), found))
    best = []
    for rate in FALSE_POSITIVES:
        allowed = [0.0]
        for level in {value for value, _ in rows}:
            chosen = [found for value, found in rows if value >= level]
            if sum(not found for found in chosen) <= rate:
                allowed.append(len(set().union(*chosen)) / n)
        best.append(max(allowed))
    return float(np.mean(best))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), confidence=st.sampled_from(["max", "mean"]))
def test_froc_is_the_best_that_any_confidence_allows(seed, confidence):
    reference, probability = scene(seed)
    if not reference.any():
        return
    found = froc(
        reference,
        probability,
        connectivity="faces",
        candidate_threshold=0.5,
        confidence=confidence,
    )
    assert found == pytest.approx(by_trying_all(reference, probability, confidence), abs=1e-12)


@pytest.mark.parametrize("confidence", ["max", "mean"])
@pytest.mark.parametrize("seed", range(3))
def test_no_flip_changes_the_last_digit(confidence, seed):
    reference, probability = scene(seed, (14, 13, 12))
    probability = (probability / 3 + 1 / 3).astype(np.float32)
    options = {"connectivity": "faces", "candidate_threshold": 0.5, "confidence": confidence}
    values = {froc(move(reference), move(probability), **options) for move in laws.moves()}
    assert values == {froc(reference, probability, **options)}
