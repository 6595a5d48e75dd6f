"""Lesions matched with lesions: by hand, by trying all assignments, and as panoptica does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels
from segjury.metrics import (
    laws,
    lesion_count_error,
    lesion_f1,
    lesion_precision,
    lesion_recall,
    pq,
    small_lesion_recall,
)
from segjury.metrics.lesion_rules import (
    ComponentOptions,
    LesionOptions,
    PqOptions,
    SmallLesionOptions,
    counted_lesions,
)
from segjury.metrics.matching import best_pairs

METRICS = (
    *(lesion_f1, lesion_recall, lesion_precision, pq, small_lesion_recall, lesion_count_error),
)
each = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


def row(drawn):
    """An image of one row: `#` is marked."""
    return np.array([character == "#" for character in drawn])[:, None, None]


# ---- by hand -------------------------------------------------------------------------------

#                  3 lesions; the first is found, the second is found in two parts
REFERENCE = row("  ####   ##########      ##      ")
PREDICTION = row(" ####   #### #####           ##  ")


def test_lesions_found_missed_and_made_up():
    # IoU 3/5, then 3/11 and 5/10, then nothing
    assert lesion_recall(REFERENCE, PREDICTION) == 2 / 3
    assert lesion_precision(REFERENCE, PREDICTION) == 2 / 4
    assert lesion_f1(REFERENCE, PREDICTION) == 4 / 7
    assert lesion_count_error(REFERENCE, PREDICTION) == 1


def test_any_overlap_lets_both_parts_of_a_lesion_find_it():
    options = {"matching": "any-overlap"}
    assert lesion_recall(REFERENCE, PREDICTION, **options) == 2 / 3
    assert lesion_precision(REFERENCE, PREDICTION, **options) == 3 / 4
    assert lesion_f1(REFERENCE, PREDICTION, **options) == pytest.approx(12 / 17)


def test_the_threshold_itself_is_not_above_it():
    assert lesion_recall(REFERENCE, PREDICTION, threshold=0.5) == 1 / 3
    assert lesion_recall(REFERENCE, PREDICTION, threshold=0.499) == 2 / 3
    assert lesion_recall(REFERENCE, PREDICTION, threshold=0.6) == 0
    assert lesion_f1(REFERENCE, PREDICTION, threshold=0.6) == 0


def test_overlap_may_be_dice_or_a_share_of_the_reference():
    one, other = row(" ########## "), row("   ####     ")  # IoU 4/10, Dice 8/14, IoR 4/10
    for overlap, value in (("iou", 0.4), ("dice", 8 / 14), ("ior", 0.4)):
        assert lesion_recall(one, other, overlap=overlap, threshold=value - 1e-9) == 1
        assert lesion_recall(one, other, overlap=overlap, threshold=value) == 0
    assert lesion_recall(other, one, overlap="ior", threshold=0.99) == 1


def test_panoptic_quality_is_recognition_times_segmentation():
    assert pq(REFERENCE, PREDICTION) == pytest.approx(0.6 / 3.5)
    options = {"threshold": 0.1}
    assert pq(REFERENCE, PREDICTION, **options) == pytest.approx((0.6 + 0.5) / 3.5)
    assert pq(REFERENCE, REFERENCE) == 1


def test_a_lesion_that_joins_two_finds_one_or_both():
    two, joined = row(" ####  #### "), row(" ########## ")
    assert lesion_recall(two, joined) == 1 / 2
    assert lesion_recall(two, joined, matching="any-overlap") == 1
    assert lesion_precision(two, joined) == lesion_precision(two, joined, matching="any-overlap")


def test_as_many_match_as_can_even_where_the_best_pair_must_part():
    reference = row("  ####### #### ")  # A and B
    prediction = row(" ### ######    ")  # X, which has 2 voxels of A, and Y, which has 4 of A
    # IoU: A-X 2/8, A-Y 4/9, B-Y 1/9. A takes X, so that B has Y.
    assert lesion_recall(reference, prediction) == 1
    assert pq(reference, prediction, threshold=0.1) == pytest.approx((2 / 8 + 1 / 9) / 2)
    assert pq(reference, prediction, threshold=0.2) == pytest.approx((4 / 9) / 2)


def test_voxels_that_touch_at_a_corner_are_one_lesion_unless_asked():
    diagonal = np.eye(3, dtype=bool)
    assert lesion_count_error(diagonal, np.zeros((3, 3))) == 1
    assert lesion_count_error(diagonal, np.zeros((3, 3)), connectivity="faces") == 3


def test_small_components_are_dropped_on_both_sides():
    options = {"smallest_mm3": 4.0, "spacing_mm": (2.0, 1.0, 1.0)}  # two voxels
    assert lesion_recall(row("### #  ##"), row("### #  # "), **options) == 1 / 2
    assert lesion_precision(row("### #  ##"), row("### #  # "), **options) == 1
    assert math.isnan(lesion_f1(row("#  # "), row("##   "), **options))


def test_a_volume_at_a_limit_is_not_lost_by_rounding():
    one, nothing = row("# "), row("  ")
    assert 0.7 * 0.7 * 0.7 < 0.343  # in floating point
    options = {"spacing_mm": (0.7, 0.7, 0.7)}
    assert lesion_count_error(one, nothing, smallest_mm3=0.343, **options) == 1
    assert lesion_count_error(one, nothing, smallest_mm3=0.3431, **options) == 0


def test_recall_of_small_lesions_looks_at_the_size_in_the_reference():
    reference = row(" ## ##### ##  #")
    prediction = row("#### ####  #   ")
    sizes = {"size_bins_mm3": [2.0]}
    assert small_lesion_recall(reference, prediction, **sizes) == 2 / 3
    assert small_lesion_recall(reference, prediction, size_bins_mm3=[1.0, 7.0]) == 0
    assert small_lesion_recall(reference, prediction, spacing_mm=(2.0, 1.0, 1.0), **sizes) == 0
    assert math.isnan(small_lesion_recall(row("####"), row("####"), **sizes))


def test_images_bring_their_voxel_size():
    grid = Grid((15, 1, 1), (2.0, 1.0, 1.0))

    def image(mask):
        return LabelMap(SparseLabels.of(np.asfortranarray(mask.astype(np.uint8))), grid)

    masks = image(row(" ## ##### ##  #")), image(row("#### ####  #   "))
    assert small_lesion_recall(*masks, size_bins_mm3=[2.0]) == 0
    assert small_lesion_recall(*masks, size_bins_mm3=[4.0]) == 2 / 3


# ---- several raters ------------------------------------------------------------------------

FIVE = [
    row(" ####   ###      ##"),
    row(" ###    ####       "),
    row("  ###              "),
    row("  ##               "),
    row(" ####              "),
]
ALL = row(" ####   ####     ##")


def of_raters(metric, prediction, **options):
    return metric(FIVE, prediction, lesions="union", **options)


def test_a_lesion_that_two_of_five_see_is_neither_hit_nor_miss_nor_false_positive():
    for prediction in (row(" ####              "), row(" ####   ####       ")):
        assert of_raters(lesion_recall, prediction) == 1
        assert of_raters(lesion_precision, prediction) == 1
        assert of_raters(lesion_f1, prediction) == of_raters(pq, prediction) == 1
        assert of_raters(lesion_count_error, prediction) == 0


def test_it_counts_where_two_raters_are_enough():
    options = {"seen_by": 2}
    assert of_raters(lesion_recall, row(" ####              "), **options) == 1 / 2
    assert of_raters(lesion_precision, row(" ####   ####       "), **options) == 1
    assert of_raters(lesion_recall, ALL, seen_by=1) == 1
    assert of_raters(lesion_precision, row(" ####     ####     "), seen_by=5) == 1  # IoU 2/6


def test_what_hardly_meets_a_disputed_lesion_is_a_false_positive():
    grazing = row(" ####      ####    ")  # IoU 1/7 with the lesion that two see
    assert of_raters(lesion_precision, grazing) == 1
    assert of_raters(lesion_precision, grazing, threshold=0.2) == 1 / 2
    assert of_raters(lesion_count_error, grazing) == 0


def test_without_a_lesion_that_counts_nothing_can_be_found():
    raters, one = [row("###    "), row("    ###")], row("###    ")
    for metric in (lesion_f1, lesion_recall, lesion_precision, pq):
        assert math.isnan(metric(raters, one, lesions="union", seen_by=2))
        assert not math.isnan(metric(raters, one, lesions="union", seen_by=1))
    assert lesion_count_error(raters, one, lesions="union", seen_by=2) == 0


def test_at_least_half_of_the_raters_are_asked_for_and_never_more_than_there_are():
    seeing = np.array([0, 1, 2, 3, 4, 5])
    needed = [
        (5, None, 3), (4, None, 2), (3, None, 2), (2, None, 1), (1, None, 1), (5, 4, 4), (2, 4, 2)
    ]  # fmt: skip
    for n_raters, seen_by, least in needed:
        assert counted_lesions(seeing, n_raters, seen_by).tolist() == (seeing >= least).tolist()


def test_what_can_match_a_lesion_that_counts_is_not_ignored():
    raters = [row("###  ###"), row("###     ")]
    joined = row("########")  # IoU 3/8 with both; only the first counts
    options = {"lesions": "union", "seen_by": 2}
    assert lesion_recall(raters, joined, **options) == 1
    assert lesion_precision(raters, joined, **options) == 1


# ---- masks at the edge ---------------------------------------------------------------------


@each
def test_two_empty_masks(metric):
    nothing = np.zeros((3, 4, 5))
    value = metric(nothing, nothing)
    assert value == 0 if metric is lesion_count_error else math.isnan(value)


def test_an_empty_prediction_finds_nothing_and_has_no_precision():
    one, nothing = row(" ## "), row("    ")
    assert lesion_recall(one, nothing) == lesion_f1(one, nothing) == pq(one, nothing) == 0
    assert math.isnan(lesion_precision(one, nothing))


@each
def test_masks_on_two_grids_are_refused(metric):
    with pytest.raises(ValueError, match="prediction has shape"):
        metric(np.ones((3, 3)), np.ones((3, 4)))
    with pytest.raises(ValueError, match="prediction has shape"):
        metric(np.ones((2, 3, 3, 1)), np.ones((3, 4)), lesions="union")


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (ComponentOptions, {"seen_by": 2}, 'needs lesions = "union"'),
        (ComponentOptions, {"seen_by": 0, "lesions": "union"}, "greater than or equal to 1"),
        (ComponentOptions, {"connectivity": "26"}, "'faces', 'edges' or 'corners'"),
        (LesionOptions, {"threshold": 1.0}, "less than 1"),
        (LesionOptions, {"smallest_mm3": math.inf}, "finite"),
        (SmallLesionOptions, {"size_bins_mm3": [2.0, 1.0]}, "must ascend"),
        (SmallLesionOptions, {"size_bins_mm3": [0.0]}, "from above 0"),
        (SmallLesionOptions, {"size_bins_mm3": []}, "at least 1 item"),
    ],
)
def test_options_that_mean_nothing_are_refused(kind, wrong, message):
    with pytest.raises(ValueError, match=message):
        kind(**wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (LesionOptions(), "one-to-one, IoU above 0.1"),
        (LesionOptions(matching="any-overlap", threshold=0), "any-overlap, any common voxel"),
        (PqOptions(smallest_mm3=5), "IoU above 0.5, lesions from 5 mm3"),
        (ComponentOptions(connectivity="faces"), "connected by faces"),
        (ComponentOptions(lesions="union"), "union of the raters, seen by at least half of them"),
        (
            ComponentOptions(lesions="union", seen_by=2),
            "union of the raters, seen by at least 2 of them",
        ),
    ],
)
def test_a_remark_says_how_lesions_match(options, words):
    assert options.remark("corrected") == words


# ---- by trying all assignments -------------------------------------------------------------


def by_trying_all(pairs):
    """The most pairs that can be chosen, and then the largest sum of weights."""
    rows = sorted({i for i, _ in pairs})
    columns = sorted({j for _, j in pairs})
    best = (0, 0.0)
    blanks = [None] * len(rows)
    for choice in set(itertools.permutations(columns + blanks, len(rows))):
        chosen = [(i, j) for i, j in zip(rows, choice, strict=True) if (i, j) in pairs]
        best = max(best, (len(chosen), math.fsum(pairs[pair] for pair in chosen)))
    return best


graphs = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0]) | st.floats(0.01, 1),
    min_size=1,
    max_size=9,
)


@settings(max_examples=100, deadline=None)
@given(pairs=st.dictionaries(st.tuples(*[st.integers(0, 3)] * 2), st.just(0.5), min_size=1))
def test_among_equal_assignments_what_is_rather_chosen_decides(pairs):
    rows, columns = (np.array(ends) for ends in zip(*pairs, strict=True))
    odd = columns % 2
    chosen = best_pairs(rows, columns, np.full(rows.size, 0.5), (odd, rows))
    place = {pair: k for k, pair in enumerate(pairs)}
    best = []
    for choice in itertools.permutations([0, 1, 2, 3, None, None, None, None], 4):
        some = [place[pair] for pair in enumerate(choice) if pair in pairs]
        best.append((len(some), odd[some].sum()))
    assert (chosen.sum(), odd[chosen].sum()) == max(best)


@settings(max_examples=150, deadline=None)
@given(pairs=graphs)
def test_the_assignment_is_the_best_of_all(pairs):
    rows, columns = (np.array(ends) for ends in zip(*pairs, strict=True))
    weights = np.array(list(pairs.values()))
    chosen = best_pairs(rows, columns, weights)
    assert len({*rows[chosen].tolist()}) == len({*columns[chosen].tolist()}) == chosen.sum()
    count, total = by_trying_all(pairs)
    assert chosen.sum() == count
    assert weights[chosen].sum() == pytest.approx(total, abs=1e-9)


def noise(seed, share=0.35, shape=(7, 6, 5)):
    rng = np.random.default_rng(seed)
    return ndimage.uniform_filter(rng.random(shape), 2) < share


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), threshold=st.sampled_from([0.0, 0.05, 0.1, 0.3]))
def test_panoptic_quality_of_noise_is_that_of_the_best_assignment(seed, threshold):
    structure = ndimage.generate_binary_structure(3, 1)
    r, n = ndimage.label(noise(seed), structure)
    p, m = ndimage.label(noise(seed + 1), structure)
    pairs = {}
    for i, j in {*zip(r.ravel().tolist(), p.ravel().tolist(), strict=True)}:
        overlap = ((r == i) & (p == j)).sum() / ((r == i) | (p == j)).sum()
        if i and j and overlap > threshold:
            pairs[i, j] = float(overlap)
    if n == 0 or len(pairs) > 9 or len({i for i, _ in pairs}) > 4:
        return
    count, total = by_trying_all(pairs) if pairs else (0, 0.0)
    options = {"connectivity": "faces", "threshold": threshold}
    assert pq(r > 0, p > 0, **options) == pytest.approx(2 * total / (n + m), abs=1e-9)
    assert lesion_f1(r > 0, p > 0, **options) == 2 * count / (n + m)


def test_of_equal_matches_the_larger_lesion_is_found():
    reference, prediction = row("##   ##########"), row(" ######        ")  # IoU 1/7 with both
    for masks in ((reference, prediction), (reference[::-1], prediction[::-1])):
        assert lesion_recall(*masks) == 1 / 2
        assert small_lesion_recall(*masks, size_bins_mm3=[5.0]) == 0


def test_of_equal_matches_what_is_left_is_rather_ignored_than_wrong():
    one, two = row("     #####    "), row("     ##### ## ")  # a lesion that one of two sees
    prediction = row("   #### ####  ")  # IoU 2/7 on both sides; 1/5 with the disputed one
    for flip in (1, -1):
        raters = [one[::flip], two[::flip]]
        assert lesion_precision(raters, prediction[::flip], lesions="union", seen_by=2) == 1
        assert lesion_precision(one[::flip], prediction[::flip]) == 1 / 2


@each
@pytest.mark.parametrize("seed", range(4))
def test_no_flip_changes_the_last_digit(metric, seed):
    # Many equal overlaps, so that the assignment has many ties.
    options = {"size_bins_mm3": [5.0]} if metric is small_lesion_recall else {}
    if metric is not lesion_count_error:
        options["threshold"] = 0.05
    r, p = noise(seed, 0.3, (12, 11, 10)), noise(seed + 50, 0.3, (12, 11, 10))
    options["connectivity"] = "faces"
    values = {metric(move(r), move(p), **options) for move in laws.moves()}
    assert values == {metric(r, p, **options)}


# ---- as another program does ---------------------------------------------------------------

# What panoptica 2.1.7 printed (PyPI; with cc3d 3.29.0 and numpy 2.2.6) for `boxes(seed)`: with
# MaxBipartiteMatching by IoU, strict_threshold=True, CCABackend.cc3d, rounded to 12 digits.
PANOPTICA = {  # seed, threshold: TP, SQ, RQ
    (0, 0.1): (3, 0.336187711659, 0.857142857143),
    (1, 0.1): (2, 0.289198606272, 0.5),
    (2, 0.1): (3, 0.257751937984, 0.857142857143),
    (3, 0.1): (3, 0.153927273721, 0.857142857143),
    (4, 0.1): (3, 0.570632116215, 0.857142857143),
    (4, 0.5): (2, 0.633333333333, 0.571428571429),
    (5, 0.1): (2, 0.294966063348, 0.5),
    (6, 0.1): (3, 0.241065292096, 0.857142857143),
    (7, 0.1): (2, 0.737762237762, 0.5),
    (7, 0.5): (1, 1.0, 0.25),
}


def boxes(seed, shape=(24, 20, 12)):
    """Seven boxes in the reference, in the prediction a voxel beside, or in one of the two."""
    rng = np.random.default_rng(seed)
    r, p = np.zeros((2, *shape), np.uint8)
    for _ in range(7):
        low = [int(rng.integers(0, size - 5)) for size in shape]
        sides = rng.integers(2, 6, 3).tolist()
        box = tuple(slice(a, a + side) for a, side in zip(low, sides, strict=True))
        kind = int(rng.integers(0, 4))
        if kind != 0:
            r[box] = 1
        moved = zip(low, sides, rng.integers(-1, 2, 3).tolist(), strict=True)
        if kind != 1:
            p[tuple(slice(max(a + by, 0), a + by + side) for a, side, by in moved)] = 1
    return r, p


@pytest.mark.parametrize(("seed", "threshold"), PANOPTICA)
def test_panoptic_quality_is_that_of_panoptica(seed, threshold):
    tp, sq, rq = PANOPTICA[seed, threshold]
    r, p = boxes(seed)
    assert pq(r, p, threshold=threshold) == pytest.approx(sq * rq, abs=1e-11)
    assert lesion_f1(r, p, threshold=threshold) == pytest.approx(rq, abs=1e-11)
    lesions = ndimage.label(r, np.ones((3, 3, 3)))[1]
    assert lesion_recall(r, p, threshold=threshold) == tp / lesions
