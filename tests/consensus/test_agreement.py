"""Kappa and alpha: other programs' numbers, textbook tables, pairs counted in fractions, laws."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from segjury.consensus import number_patterns, pack
from segjury.consensus.agreement import SCALES, alpha_of_ratings, fleiss_kappa, krippendorff_alpha
from tests.places import GOLDEN

EXPECTED = json.loads((GOLDEN / "statistics" / "alpha_krippendorff.json").read_text())
FLEISS_TABLE = [  # how many of 14 raters put each of 10 subjects into 5 classes
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def exact_alpha(units):
    """Nominal alpha of (labels, how many) in fractions, by pairs of ratings."""
    units = [([v for v in labels if v >= 0], int(count)) for labels, count in units]
    units = [(labels, count) for labels, count in units if len(labels) > 1 and count]
    totals = {}
    for labels, count in units:
        for label in labels:
            totals[label] = totals.get(label, 0) + count
    n = sum(totals.values())
    expected = Fraction(n * n - sum(t * t for t in totals.values()), n * (n - 1)) if n else 0
    if not expected:
        return math.nan
    observed = sum(
        Fraction(count * sum(a != b for a, b in permutations(labels, 2)), len(labels) - 1)
        for labels, count in units
    )
    return float(1 - observed / n / expected)


def exact_kappa(units):
    """Fleiss' kappa of (labels, how many) in fractions."""
    pairs = [(list(permutations(labels, 2)), int(count)) for labels, count in units]
    voxels = sum(count for _, count in pairs)
    agreed = Fraction(
        sum(count * sum(a == b for a, b in found) for found, count in pairs),
        voxels * len(pairs[0][0]),
    )
    ratings = voxels * len(units[0][0])
    labels = {label for row, count in units if count for label in row}
    chance = sum(
        Fraction(sum(list(row).count(label) * int(count) for row, count in units), ratings) ** 2
        for label in labels
    )
    return float((agreed - chance) / (1 - chance)) if chance != 1 else math.nan


@st.composite
def patterns(draw, *, missing=False, largest=50):
    """Labels of 2 to 5 raters in some patterns, and how many voxels have each."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_patterns, n_raters = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    lowest = -1 if missing else 0
    labels = rng.integers(lowest, draw(st.integers(1, 4)), (n_patterns, n_raters))
    return labels, rng.integers(0, largest, n_patterns)


# ---- other programs and textbooks ----------------------------------------------------------


@pytest.mark.parametrize("matrix", EXPECTED["matrices"], ids=lambda matrix: matrix["name"])
@pytest.mark.parametrize("scale", SCALES)
def test_alpha_of_ratings_is_the_krippendorff_packages(matrix, scale):
    ratings = np.array(matrix["ratings"], float)
    found = alpha_of_ratings(ratings, scale=scale)
    assert found == pytest.approx(matrix["alpha"][scale], abs=1e-12)


def test_alpha_of_krippendorffs_example():
    ratings = np.array(EXPECTED["matrices"][0]["ratings"], float)
    found = [alpha_of_ratings(ratings, scale=scale) for scale in SCALES]
    assert found == pytest.approx([0.743, 0.815, 0.849, 0.797], abs=5e-4)


def test_kappa_of_a_textbook_table():
    labels = [np.repeat(np.arange(5), row) for row in FLEISS_TABLE]
    assert fleiss_kappa(labels, np.ones(10, int)) == pytest.approx(0.210, abs=5e-4)


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_kappa_is_statsmodels(drawn):
    labels, counts = drawn
    assume(np.unique(labels[counts > 0]).size > 1)
    table, _ = inter_rater.aggregate_raters(np.repeat(labels, counts, axis=0))
    expected = inter_rater.fleiss_kappa(table)
    assert fleiss_kappa(labels, counts) == pytest.approx(expected, abs=1e-12)


def test_kappa_and_alpha_of_packed_masks():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, (9, 8, 7))
    wrong = rng.random((4, *truth.shape)) < 0.2
    masks = np.where(wrong, rng.integers(0, 3, wrong.shape), truth)
    by_voxel = masks.reshape(4, -1).T
    table, _ = inter_rater.aggregate_raters(by_voxel)
    kappa = inter_rater.fleiss_kappa(table)
    alpha = alpha_of_ratings(by_voxel.T, scale="nominal")
    packed = pack(masks, n_labels=3)
    everywhere = slice(0, len(by_voxel))
    seen = number_patterns([[(everywhere, labels)] for labels in by_voxel.T], len(by_voxel))
    for found in (packed, seen):
        assert fleiss_kappa(found.labels, found.counts) == pytest.approx(kappa, abs=1e-12)
        assert krippendorff_alpha(found.labels, found.counts) == pytest.approx(alpha, abs=1e-12)
    marked, _ = inter_rater.aggregate_raters(by_voxel[by_voxel.any(axis=1)])
    assert fleiss_kappa(packed.labels, packed.counts, voxels="marked") == pytest.approx(
        inter_rater.fleiss_kappa(marked), abs=1e-12
    )


# ---- fractions, also of more voxels than fit into memory -----------------------------------


@settings(max_examples=80, deadline=None)
@given(patterns(missing=True), st.sampled_from([1, 10**12]))
def test_alpha_in_fractions(drawn, factor):
    labels, counts = drawn
    counts = counts * factor
    expected = exact_alpha(list(zip(labels.tolist(), counts, strict=True)))
    assert krippendorff_alpha(labels, counts) == pytest.approx(expected, abs=1e-13, nan_ok=True)


@settings(max_examples=80, deadline=None)
@given(patterns(), st.sampled_from([1, 10**12]))
def test_kappa_in_fractions(drawn, factor):
    labels, counts = drawn
    assume(counts.any())
    counts = counts * factor
    expected = exact_kappa(list(zip(labels.tolist(), counts, strict=True)))
    assert fleiss_kappa(labels, counts) == pytest.approx(expected, abs=1e-13, nan_ok=True)


def test_a_few_voxels_among_billions():
    labels = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    counts = np.array([5_000_000_000_000, 3, 2, 7])
    units = list(zip(labels.tolist(), counts, strict=True))
    assert fleiss_kappa(labels, counts) == pytest.approx(exact_kappa(units), abs=1e-14)
    assert krippendorff_alpha(labels, counts) == pytest.approx(exact_alpha(units), abs=1e-14)


# ---- laws ----------------------------------------------------------------------------------


def test_much_background_leaves_the_pooled_dice():
    # pairs share 7 + 2, 7 and 7 voxels of masks with 12, 9 and 7
    labels = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    counts = np.array([10**13, 3, 2, 7])
    dice = 2 * (9 + 7 + 7) / (21 + 19 + 16)
    assert fleiss_kappa(labels, counts) == pytest.approx(dice, abs=1e-11)
    assert krippendorff_alpha(labels, counts) == pytest.approx(dice, abs=1e-11)


@pytest.mark.parametrize("counts", [(9, 1, 0, 99), (9, 5, 5, 1), (0, 7, 9, 0), (9, 30, 1, 500)])
def test_two_raters_of_one_structure_are_never_above_0_where_one_marks(counts):
    labels = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    disagreed = (counts[1] + counts[2]) / sum(counts[1:])
    found = fleiss_kappa(labels, counts, voxels="marked")
    assert found == pytest.approx(-disagreed / (2 - disagreed), abs=1e-12)
    assert krippendorff_alpha(labels, counts, voxels="marked") <= 1e-12


@settings(max_examples=60, deadline=None)
@given(patterns(), st.randoms(use_true_random=False))
def test_order_of_raters_and_names_of_labels_change_nothing(drawn, random):
    labels, counts = drawn
    raters = random.sample(range(labels.shape[1]), labels.shape[1])
    names = np.array(random.sample(range(20), 4))
    for measure in (fleiss_kappa, krippendorff_alpha):
        before = measure(labels, counts)
        assert measure(labels[:, raters], counts) == pytest.approx(before, abs=1e-12, nan_ok=True)
        assert measure(names[labels], counts) == pytest.approx(before, abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(patterns(), st.integers(2, 1000))
def test_copies_of_every_unit_change_alpha_by_its_sample_size_only(drawn, copies):
    labels, counts = drawn
    n = counts.sum() * labels.shape[1]
    once, often = (krippendorff_alpha(labels, counts * m) for m in (1, copies))
    assume(not math.isnan(once))
    assert 1 - often == pytest.approx((1 - once) * (copies * n - 1) / (copies * (n - 1)), rel=1e-9)
    assert fleiss_kappa(labels, counts * copies) == pytest.approx(fleiss_kappa(labels, counts))
    assert 1 - once == pytest.approx((1 - fleiss_kappa(labels, counts)) * (n - 1) / n, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(patterns(missing=True))
def test_patterns_and_ratings_give_the_same_alpha(drawn):
    labels, counts = drawn
    ratings = np.repeat(labels, counts, axis=0).T.astype(float)
    ratings[ratings < 0] = np.nan
    expected = alpha_of_ratings(ratings, scale="nominal")
    assert krippendorff_alpha(labels, counts) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_scales_know_what_their_numbers_mean():
    ratings = np.random.default_rng(2).integers(0, 6, (3, 15)).astype(float)
    ratings[1] = ratings[0]
    ratings[0, 3] = np.nan
    for scale, moved in (
        ("ordinal", np.exp(ratings)),
        ("interval", 7 - 3 * ratings),
        ("ratio", 12.5 * ratings),
    ):
        expected = alpha_of_ratings(ratings, scale=scale)
        assert alpha_of_ratings(moved, scale=scale) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_the_last_digits_of_a_rating_do_not_count(scale):
    assert alpha_of_ratings([[0.3, 0.5], [0.1 + 0.2, 0.5]], scale=scale) == 1.0


# ---- undefined, and refused ----------------------------------------------------------------


def test_agreement_without_anything_to_confuse_is_undefined():
    nobody = np.zeros((1, 3), int)
    for measure in (fleiss_kappa, krippendorff_alpha):
        assert math.isnan(measure(nobody, [1000]))
        assert math.isnan(measure(nobody, [0]))
        assert math.isnan(measure(nobody, [1000], voxels="marked"))
    for scale in SCALES:
        assert math.isnan(alpha_of_ratings(np.full((3, 4), 5.0), scale=scale))
        assert math.isnan(alpha_of_ratings([[1, np.nan], [np.nan, 2]], scale=scale))


def test_all_agreeing_on_two_labels_is_1():
    labels = np.array([[0, 0, 0], [1, 1, 1]])
    assert fleiss_kappa(labels, [10**12, 1]) == krippendorff_alpha(labels, [10**12, 1]) == 1.0


@pytest.mark.parametrize(
    ("labels", "counts", "message"),
    [
        ([0, 1], [1, 1], "labels has shape"),
        ([[0], [1]], [1, 1], "at least 2 raters"),
        ([[0.0, 1.0]], [1], "type float64"),
        ([[0, 1]], [1, 1], "counts has shape"),
        ([[0, 1]], [1.0], "counts has shape"),
        ([[0, 1]], [-1], "counts has -1"),
        ([[0, -2]], [1], "labels has -2"),
    ],
)
@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha])
def test_wrong_patterns_are_refused(measure, labels, counts, message):
    with pytest.raises(ValueError, match=message):
        measure(labels, counts)


def test_kappa_refuses_missing_ratings():
    with pytest.raises(ValueError, match="labels has -1"):
        fleiss_kappa([[0, -1]], [1])


def test_unknown_options_and_ratings_are_refused():
    with pytest.raises(ValueError, match="voxels"):
        fleiss_kappa([[0, 1]], [1], voxels="union")
    with pytest.raises(ValueError, match="scale"):
        alpha_of_ratings([[1, 2], [1, 2]], scale="metric")
    with pytest.raises(ValueError, match="at least 2 raters"):
        alpha_of_ratings([[1, 2]], scale="nominal")
    with pytest.raises(ValueError, match="infinite"):
        alpha_of_ratings([[1, np.inf], [1, 2]], scale="nominal")
    with pytest.raises(ValueError, match="at least 0"):
        alpha_of_ratings([[1, -2], [1, 2]], scale="ratio")
