"""Metrics of samples: by hand, by brute force on small arrays, and beside other libraries."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial import distance

from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.metrics import (
    crps_samples,
    dice_match,
    dice_max,
    dice_per_rater,
    dice_soft,
    ged,
    hungarian_iou,
    interval_score,
    volume_coverage,
)
from segjury.metrics.samples import central_interval, crps_voxels, interval_voxels

ALL = [
    *(crps_samples, dice_match, dice_max, dice_per_rater, dice_soft, ged, hungarian_iou),
    *(interval_score, volume_coverage),
]
HIGHER = {dice_match, dice_max, dice_per_rater, dice_soft, hungarian_iou, volume_coverage}
SHAPE = (5, 4, 3)


def rows(*masks):
    """Masks of one row of voxels each, from strings of 0 and 1."""
    return np.array([[int(voxel) for voxel in mask] for mask in masks])[:, None, None, :]


def noise(seed, n, share=0.4, shape=SHAPE):
    return np.random.default_rng(seed).random((n, *shape)) < share


def iou(a, b):
    """IoU as scipy has it; two empty masks agree."""
    return 1 - float(distance.jaccard(a.ravel(), b.ravel()))


def dice(a, b):
    """Dice as scipy has it; two empty masks agree."""
    return 1 - float(distance.dice(a.ravel(), b.ravel())) if (a | b).any() else 1.0


def table(score, raters, samples):
    return np.array([[score(a, b) for b in samples] for a in raters])


sets = st.tuples(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 5))
some = settings(max_examples=15, deadline=None)

# ---- energy distance -----------------------------------------------------------------------


def test_the_energy_distance_by_hand():
    raters, samples = rows("1100", "1110"), rows("1100", "0011")
    # IoU across: 1, 0; 2/3, 1/4. Within raters: 2/3. Within samples: 0.
    across = (0 + 1 + 1 / 3 + 3 / 4) / 4
    assert ged(raters, samples) == pytest.approx(2 * across - 2 / 4 * 1 - 2 / 4 / 3)
    assert ged(raters, samples, estimator="fair") == pytest.approx(2 * across - 1 - 1 / 3)


@some
@given(sets)
def test_the_energy_distance_by_brute_force(given_sets):
    seed, k, n = given_sets
    raters, samples = noise(seed, k), noise(seed + 1, n)
    across = 1 - table(iou, raters, samples)
    within = [1 - table(iou, each, each) for each in (raters, samples)]
    biased = 2 * across.mean() - sum(each.mean() for each in within)
    assert ged(raters, samples) == pytest.approx(biased, abs=1e-12)
    pairs = [each[~np.eye(len(each), dtype=bool)] for each in within]
    fair = 2 * across.mean() - sum(each.mean() for each in pairs if each.size)
    assert ged(raters, samples, estimator="fair") == pytest.approx(fair, abs=1e-12)


def test_the_energy_distance_of_what_is_drawn_from_the_raters_themselves():
    raters = noise(0, 4)
    assert ged(raters, raters) == 0
    assert ged(raters, np.concatenate([raters, raters, raters])) == pytest.approx(0, abs=1e-15)
    assert ged(raters, raters[:3]) > 0.01


def test_the_fair_energy_distance_does_not_depend_on_how_many_samples_are_drawn():
    """Its mean over all draws with replacement; the biased one falls with their number."""
    raters, possible = noise(0, 3), noise(1, 3)

    def mean_of_draws(n, estimator):
        draws = np.stack(np.meshgrid(*[range(3)] * n, indexing="ij"), axis=-1).reshape(-1, n)
        return np.mean([ged(raters, possible[draw], estimator=estimator) for draw in draws])

    assert mean_of_draws(2, "fair") == pytest.approx(mean_of_draws(3, "fair"), abs=1e-12)
    assert mean_of_draws(2, "biased") > mean_of_draws(3, "biased") + 0.05


def test_two_empty_masks_have_no_distance():
    nothing, something = rows("000", "000"), rows("010", "010")
    assert ged(nothing, nothing) == 0
    assert ged(nothing, something) == 2
    assert hungarian_iou(nothing, nothing) == 1
    assert hungarian_iou(nothing, something) == 0


# ---- matchings -----------------------------------------------------------------------------


def test_the_matched_iou_by_hand():
    raters = rows("1100", "0011")
    assert hungarian_iou(raters, rows("0011", "1110")) == pytest.approx((1 + 2 / 3) / 2)
    # Three samples: each rater is there three times, each sample twice. The middle one is shared.
    found = hungarian_iou(raters, rows("0011", "1100", "0110"))
    assert found == pytest.approx((2 * 1 + 2 * 1 + 2 / 3) / 6)


@some
@given(sets)
def test_the_matched_iou_beside_sets_that_are_repeated(given_sets):
    seed, k, n = given_sets
    raters, samples = noise(seed, k), noise(seed + 1, n)
    copies = math.lcm(k, n)
    gain = np.kron(table(iou, raters, samples), np.ones((copies // k, copies // n)))
    best = gain[linear_sum_assignment(gain, maximize=True)].mean()
    assert hungarian_iou(raters, samples) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(3, 16), (7, 20), (4, 30)])
def test_the_matched_iou_of_masks_that_hardly_differ(k, n):
    rng = np.random.default_rng(0)
    base = rng.random((20, 20, 10)) < 0.5
    masks = np.stack([base ^ (rng.random(base.shape) < 0.001) for _ in range(k + n)])
    raters, samples = masks[:k], masks[k:]
    copies = math.lcm(k, n)
    gain = np.kron(table(iou, raters, samples), np.ones((copies // k, copies // n)))
    best = gain[linear_sum_assignment(gain, maximize=True)].mean()
    assert hungarian_iou(raters, samples) == pytest.approx(best, abs=1e-12)


@some
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
def test_the_matched_dice_is_the_best_of_all_matchings(seed, k, n):
    raters, samples = noise(seed, k), noise(seed + 1, n)
    scores = np.zeros((k, max(k, n)))  # raters without a sample have Dice 0
    scores[:, :n] = table(dice, raters, samples)
    best = max(
        sum(scores[rater, sample] for rater, sample in enumerate(order)) / k
        for order in permutations(range(scores.shape[1]), k)
    )
    assert dice_match(raters, samples) == pytest.approx(best, abs=1e-12)


def test_a_rater_without_a_sample_has_no_overlap():
    raters = rows("1100", "0011", "0110")
    assert dice_match(raters, rows("1100")) == pytest.approx(1 / 3)


# ---- Dice ----------------------------------------------------------------------------------


@some
@given(sets)
def test_the_best_dice_by_brute_force(given_sets):
    seed, k, n = given_sets
    raters, samples = noise(seed, k), noise(seed + 1, n)
    scores = table(dice, raters, samples)
    assert dice_max(raters, samples) == pytest.approx(scores.max(axis=1).mean())
    each = dice_max(raters, samples, average="samples")
    assert each == pytest.approx(scores.max(axis=0).mean())


def test_one_right_sample_is_enough_where_the_mean_runs_over_samples():
    raters, samples = rows("1100", "0011"), rows("1100", "1100")
    assert dice_max(raters, samples, average="samples") == 1
    assert dice_max(raters, samples) == 0.5


def test_dice_in_order():
    raters = rows("1100", "0011")
    assert dice_per_rater(raters, raters) == 1
    assert dice_per_rater(raters, raters[::-1]) == 0
    assert dice_per_rater(raters, rows("1100", "0001")) == pytest.approx((1 + 2 / 3) / 2)
    assert math.isnan(dice_per_rater(raters, raters[:1]))
    assert math.isnan(dice_per_rater(raters, np.concatenate([raters, raters])))


@some
@given(sets)
def test_the_soft_dice_by_brute_force(given_sets):
    seed, k, n = given_sets
    raters, samples = noise(seed, k), noise(seed + 1, n)
    cuts = (0.1, 0.3, 0.5, 0.7, 0.9)
    means = raters.mean(axis=0), samples.mean(axis=0)
    expected = np.mean([dice(means[0] > cut, means[1] > cut) for cut in cuts])
    assert dice_soft(raters, samples) == pytest.approx(expected)


def test_a_share_that_equals_a_threshold_does_not_exceed_it():
    """Ten raters; three of them mark the voxel. Even steps of floats miss 0.3 by a little."""
    raters = rows(*["1"] * 3, *["0"] * 7)
    steps = np.linspace(0.1, 0.9, 9)
    assert steps[2] != 0.3
    for cuts in (steps, 1 - steps[::-1]):
        assert dice_soft(raters, rows("1"), thresholds=cuts) == pytest.approx(2 / 9)


# ---- volumes -------------------------------------------------------------------------------

volumes = st.lists(st.integers(0, 10**9), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(reference=volumes, predicted=volumes.filter(lambda given: len(given) > 1))
def test_the_crps_is_that_of_scoringrules(reference, predicted):
    scoringrules = pytest.importorskip("scoringrules")
    y, members = (
        np.array(reference, float),
        np.tile(np.array(predicted, float), (len(reference), 1)),
    )
    size = max(*reference, *predicted, 1)
    for estimator, theirs in (("fair", "fair"), ("biased", "nrg")):
        expected = np.atleast_1d(scoringrules.crps_ensemble(y, members, estimator=theirs))
        found = crps_voxels(reference, predicted, estimator=estimator)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
        assert min(found) >= 0


def test_the_fair_crps_by_hand():
    assert crps_voxels([1, 9], [1, 2, 4]) == pytest.approx([4 / 3 - 1, (8 + 7 + 5) / 3 - 1])
    assert crps_voxels([7], [4]) == crps_voxels([7], [4], estimator="biased") == [3]  # one sample
    raters, samples = rows("1000", "1111"), rows("1100", "1110")
    # |2 - y|, |3 - y|: 3/2 for both raters; half of 1 for the spread
    assert crps_samples(raters, samples) == pytest.approx(1.0 / 1000)
    assert crps_samples(raters, samples, spacing_mm=(2.0, 5.0, 3.0)) == pytest.approx(0.03)


def test_two_samples_fool_the_fair_crps_and_not_the_other():
    assert crps_voxels([10, 500, 999], [0, 1000]) == [0, 0, 0]
    assert crps_voxels([10, 500, 999], [0, 1000], estimator="biased") == [250, 250, 250]


def test_images_bring_the_size_of_their_voxels():
    grid = Grid((1, 1, 4), (2.0, 5.0, 3.0))
    raters, samples = (
        [Volume(mask.astype(np.uint8), grid) for mask in masks]
        for masks in (rows("1000", "1111"), rows("1100", "1110"))
    )
    assert crps_samples(raters, samples) == pytest.approx(0.03)


@settings(max_examples=50, deadline=None)
@given(
    reference=volumes,
    predicted=volumes,
    level=st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_the_interval_is_that_of_numpy_and_its_score_that_of_scoringrules(
    reference, predicted, level
):
    scoringrules = pytest.importorskip("scoringrules")
    ends = [(1 - level) / 2, (1 + level) / 2]
    expected = np.quantile(predicted, ends, method="weibull")
    size = 1e-9 * max(*reference, *predicted, 1)
    assert central_interval(predicted, level) == pytest.approx(expected, rel=1e-9, abs=size)
    scores = scoringrules.interval_score(np.array(reference, float), *expected, 1 - level)
    found = interval_voxels(reference, predicted, level=level)
    assert found == pytest.approx(np.atleast_1d(scores), rel=1e-9, abs=20 * size)


def test_the_interval_by_hand():
    assert central_interval([*range(1, 20)], 0.9) == (1, 19)
    assert central_interval([*range(1, 40)], 0.9) == (2, 38)
    assert central_interval([5, 3], 0.9) == (3, 5)
    assert central_interval([8], 0.9) == (8, 8)
    assert central_interval([0, 10, 20, 30, 40], 0.5) == (5, 35)
    # 8 is 3 above [3, 5], which is 2 wide
    assert interval_voxels([4, 8], [5, 3], level=0.9) == pytest.approx([2, 2 + 3 * 20])


def test_how_many_raters_are_inside():
    raters = rows("1000", "1100", "1111")
    assert volume_coverage(raters, rows("1100", "1110")) == pytest.approx(1 / 3)
    assert volume_coverage(raters, rows("1000", "1111")) == 1  # the ends are inside
    assert interval_score(raters, rows("1100", "1110"), level=0.5) == pytest.approx(
        (3 + 4 * (1 + 0 + 1)) / 3 / 1000
    )


def test_one_more_sample_lies_inside_as_often_as_the_level_says():
    """Of 40 numbers, each in turn beside the interval of the 39 others."""
    numbers = list(range(40))
    inside = 0
    for y in numbers:
        low, high = central_interval([v for v in numbers if v != y], 0.9)
        inside += low <= y <= high
    assert inside / 40 == 0.9


# ---- laws ----------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ALL)
def test_the_order_of_samples_and_raters_changes_nothing(score):
    raters, samples = noise(0, 4), noise(1, 4)
    rng = np.random.default_rng(0)
    found = {score(rng.permutation(raters), rng.permutation(samples)) for _ in range(6)}
    assert (len(found) == 1) == (score is not dice_per_rater)
    order = rng.permutation(4)
    assert score(raters[order], samples[order]) == score(raters, samples)


def tumour(size):
    """A cube and a rim."""
    mask = np.zeros((14, 14, 14), bool)
    mask[2 : 2 + size, 2:10, 2:10] = True
    return mask


@pytest.mark.parametrize("score", ALL)
def test_noise_added_to_perfect_samples_never_helps(score):
    raters = np.stack([tumour(size) for size in (5, 6, 7, 8)])
    rng = np.random.default_rng(0)
    stains = rng.random((4, *raters.shape[1:])) < 0.3
    stains[:, :10] = False  # away from the tumour: false marks, more and more of them
    values = [score(raters, raters | (stains & (np.arange(14) < far))) for far in range(0, 15, 2)]
    steps = np.diff(values)
    assert (steps <= 1e-12 if score in HIGHER else steps >= -1e-12).all()
    assert abs(values[-1] - values[0]) > 0


@pytest.mark.parametrize("score", [dice_max, dice_match, hungarian_iou])
def test_samples_that_are_the_raters_are_perfect(score):
    raters = noise(0, 4)
    assert score(raters, raters) == 1


def test_another_sample_never_makes_the_best_or_the_matched_dice_worse():
    raters, samples = noise(0, 4), noise(1, 9)
    for score in (dice_max, dice_match):
        values = [score(raters, samples[:n]) for n in range(1, 10)]
        assert (np.diff(values) >= 0).all()


# ---- input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raters", "samples", "options", "message"),
    [
        (rows("10"), rows("100"), {}, "each sample has shape"),
        (rows("10"), [], {}, "samples is an empty list"),
        (rows("10"), rows("10") * 0.5 + 0.1, {}, "sample 1 holds"),
        (rows("10"), rows("10"), {"estimator": "best"}, "expected biased or fair"),
    ],
)
def test_what_is_no_set_of_masks_is_refused(raters, samples, options, message):
    with pytest.raises(ValueError, match=message):
        ged(raters, samples, **options)


def test_options_beyond_their_bounds_are_refused():
    mask = rows("10")
    with pytest.raises(ValueError, match="average is"):
        dice_max(mask, mask, average="all")
    for score in (volume_coverage, interval_score):
        with pytest.raises(ValueError, match="level is 1"):
            score(mask, mask, level=1.0)


def test_samples_elsewhere_in_space_are_refused():
    here, there = (
        Volume(np.ones((2, 2, 2), np.uint8), Grid((2, 2, 2), origin_mm=(0.0, 0.0, z)))
        for z in (0.0, 9.0)
    )
    assert ged([here], [here]) == 0
    with pytest.raises(ValueError, match="sample 1 and rater 1 differ"):
        ged([here], [there])
