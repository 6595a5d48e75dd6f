"""Laws that every declared metric must obey, in every reading, or be listed as an exception."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segjury.metrics import (
    METRICS,
    READINGS,
    betti,
    cldice,
    dsc,
    gce,
    laws,
    lesion_count_error,
    lesion_f1,
    lesion_precision,
    lesion_recall,
    mahalanobis,
    pq,
    small_recall,
    voi,
)
from segjury.metrics.invasion import vi_score
from segjury.metrics.laws import (
    Scene,
    changes_under_moves,
    moves,
    random_scene,
    unanimous_scene,
)
from tests.scenes import (
    MEASURED_ELSEWHERE,
    READINGS_OF,
    SCALES_WITH_LENGTH,
    SCORE,
    declared,
)

CASES = [(name, reading) for name in SCORE for reading in READINGS_OF[name]]
each = pytest.mark.parametrize(("name", "reading"), CASES)
seeds = st.integers(0, 10_000)


def scored(name, reading):
    """How a metric scores a scene in a reading."""
    return lambda scene: SCORE[name](scene, reading)


few = settings(max_examples=5, deadline=None)

# Where a metric breaks "worse mask, never a better score", and why. Each is shown to be real.
WORSE_CAN_SCORE_BETTER = {
    ("vi", "released"): "angles that all agree between grid points count as no contact at all",
    ("vi", "published"): "the same fallbacks for empty densities",
    ("voi", "corrected"): "a mask that vanishes has no information left to differ",
    ("gce", "corrected"): "a tiny mask is almost a refinement of the other one",
    ("mahalanobis", "corrected"): "it sees the centres only",
    ("betti", "corrected"): "a worse mask may have the right number of parts",
}


# Of small masks: one may hold no line of the lattice, or the two may not meet.
MAY_BE_UNDEFINED = {
    *("cldice", "cldice:topology-preserving", "small_recall", "probabilistic_distance")
}


# By how much flips and axis permutations change a score, at least, where they do.
FEELS_A_FLIP = {
    ("vi", "released"): 1.0,  # contact counts towards larger indices only
    ("dsc:agreement", "released"): 1e-4,  # a mean over rows along x
    ("mr_ece", "released"): 1e-4,  # the box ends a voxel earlier at its upper side
    ("mr_ece", "published"): 1e-4,  # the same box
}


def test_every_declared_metric_is_classified_here():
    named = {name.partition(":")[0] for name in SCORE}
    assert named | MEASURED_ELSEWHERE == set(METRICS)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_declarations_are_complete(metric):
    low, high = metric.bounds
    assert low < high
    assert metric.best in metric.bounds
    assert metric.title
    assert metric.summary.endswith(".")
    assert set(metric.flip_invariant) <= set(READINGS)


@each
@few
@given(seed=seeds)
def test_identity_is_best(name, reading, seed):
    value = SCORE[name](unanimous_scene(seed), reading)
    if name == "crps" and reading == "published":
        assert math.isnan(value)  # equal volumes have no Gaussian
    elif name.startswith("uncertainty_ncc"):
        assert math.isnan(value)  # where all agree there is no disagreement to correlate with
    elif name == "mi":
        share = unanimous_scene(seed).raters[0].mean()
        entropy = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
        assert value == pytest.approx(entropy)  # all there is to know of the mask
    else:
        assert not laws.perfect_is_best(declared(name), scored(name, reading), seed)


# Where a false mark has a value and a perfect prediction has none. As published, so it stays.
UNDEFINED_IF_PERFECT = {("dsc:agreement", "published")}


@each
def test_a_perfect_prediction_is_never_beaten(name, reading):
    wrong = laws.perfect_is_never_beaten(declared(name), scored(name, reading), 0)
    assert bool(wrong) == ((name, reading) in UNDEFINED_IF_PERFECT), wrong


@each
@few
@given(seed=seeds)
def test_values_stay_in_bounds(name, reading, seed):
    scene = random_scene(seed)
    value = SCORE[name](scene, reading)
    equal_volumes = np.ptp(scene.raters.sum(axis=(1, 2, 3))) == 0
    if name == "crps" and reading == "published" and equal_volumes:
        assert math.isnan(value)  # there is no Gaussian to compare with
    elif name == "confidence" and not scene.raters.all(axis=0).any():
        assert math.isnan(value)  # there is no foreground to agree on
    else:
        assert name in MAY_BE_UNDEFINED or not math.isnan(value)
        assert not laws.within_bounds(declared(name), scored(name, reading), seed)


@pytest.mark.parametrize(
    ("name", "reading"), [(n, r) for n, r in CASES if not declared(n).needs_probability]
)
@few
@given(seed=seeds)
def test_declared_symmetry(name, reading, seed):
    if (name, reading) != ("dsc:agreement", "released"):  # skips rows without reference
        assert not laws.symmetric(declared(name), scored(name, reading), seed)


@each
def test_flips_and_axis_permutations(name, reading):
    # The contact angle feels a flip by the sampling of the vessel's wall.
    tolerance = {"contact_angle": 20.0}.get(name, 1e-9)
    tolerance = 1e-6 if name == "ece" and reading == "released" else tolerance  # float32 sums
    changes = changes_under_moves(scored(name, reading), seed=1)
    if (name, reading) in FEELS_A_FLIP:
        assert changes.max() > FEELS_A_FLIP[name, reading]  # listed because it does
    else:
        assert changes.max() <= tolerance


def test_metrics_that_feel_a_flip_say_so():
    sensitive = {
        (name, r) for name, m in METRICS.items() for r in READINGS if r not in m.flip_invariant
    }
    centrelines = {(name, r) for name in ("cldice", "small_recall") for r in READINGS}
    boxes = {("mr_ece", "released"), ("mr_ece", "published")}
    assert sensitive == {("vi", "released")} | centrelines | boxes


@pytest.mark.parametrize(
    "metric",
    [partial(cldice, thinning="topology-preserving"), small_recall],
    ids=["cldice", "small_recall"],
)
def test_a_centreline_lies_in_one_half_of_a_vessel_two_voxels_wide(metric):
    vessel, half = np.zeros((2, 6, 6, 14), bool)
    vessel[2:4, 2:3, 1:13] = half[2, 2, 1:13] = True
    scores = {metric(move(vessel), move(half)) for move in moves()}
    assert len(scores) == 2


def plane_scene(seed):
    """A scene in 2D, with spots all over it."""
    rng = np.random.default_rng(seed)
    noise = ndimage.gaussian_filter(rng.normal(size=(33, 27)), 2.5)
    raters = np.stack([noise + rng.normal(0, 0.02) > 0 for _ in range(3)])
    blurred = ndimage.gaussian_filter(np.roll(noise > 0, 1, axis=1).astype(np.float32), 1)
    x, y = np.ogrid[:33, :27]
    return Scene(
        raters,
        vessel=(x - 15) ** 2 + (y - 12) ** 2 <= 20,
        probability=np.clip(blurred, 0, 1),
        lines=(x % 5 == 2) | (y % 5 == 2),
        spacing_mm=(0.7, 1.3, 1.0),
    )


@each
@pytest.mark.parametrize("seed", range(3))
def test_a_plane_counts_the_same_in_2d_and_as_a_slice_across_any_axis(name, reading, seed):
    plane = plane_scene(seed)
    spacings_mm = ((1.0, 0.7, 1.3), (0.7, 1.0, 1.3), (0.7, 1.3, 1.0))
    slices = [
        replace(plane.moved(partial(np.expand_dims, axis=axis)), spacing_mm=spacings_mm[axis])
        for axis in range(3)
    ]
    if (name, reading) == ("dsc:agreement", "released"):  # a mean over rows along the first axis
        slices = slices[2:]
    expected = SCORE[name](plane, reading)
    assert math.isnan(expected) == (name == "contact_angle")
    for moved in slices:
        assert SCORE[name](moved, reading) == pytest.approx(expected, rel=1e-12, nan_ok=True)


@each
@few
@given(seed=seeds)
def test_spacing_scaling(name, reading, seed):
    metric = declared(name)
    metric = replace(metric, scales_with="length") if name in SCALES_WITH_LENGTH else metric
    sampling = 2.0 if name == "contact_angle" else 1e-9  # a ray may meet the next voxel
    score = scored(name, reading)
    assert not laws.follows_voxel_size(metric, score, seed, tolerance=sampling)


@each
@few
@given(seed=seeds)
def test_a_worse_mask_never_scores_better(name, reading, seed):
    if (name, reading) not in WORSE_CAN_SCORE_BETTER:
        assert not laws.worse_is_not_better(declared(name), scored(name, reading), seed)


@pytest.mark.parametrize("reading", ["released", "published"])
def test_invasion_without_contact_can_beat_a_close_one(reading):
    raters = np.full((3, 5), 90.0)
    close = np.tile([80.0, 86.0, 90.0, 90.0, 94.0, 100.0], (3, 1))
    nothing = np.zeros((3, 6))
    assert vi_score(raters, close, reading=reading) == 360.0
    assert vi_score(raters, nothing, reading=reading) == 0.0
    assert vi_score(raters, close, reading="corrected") < 10
    assert vi_score(raters, nothing, reading="corrected") == 90.0


def test_measures_of_partitions_can_favour_a_vanishing_mask():
    reference, half, less, nothing = np.zeros((4, 1000), bool)
    reference[:200], half[:100], less[:20] = True, True, True
    assert gce(reference, less) < gce(reference, half)
    assert voi(reference, nothing) < voi(reference, less)
    assert dsc(reference, nothing) < dsc(reference, less) < dsc(reference, half)


def test_the_mahalanobis_distance_can_favour_the_middle_voxel():
    cube, cut, middle = np.zeros((3, 9, 9, 9), bool)
    cube[1:8, 1:8, 1:8] = cut[1:7, 1:8, 1:8] = middle[4, 4, 4] = True
    assert mahalanobis(cube, middle) == 0 < mahalanobis(cube, cut)


def test_the_betti_error_can_favour_a_mask_that_lost_more():
    two = np.zeros((9, 3, 3), bool)
    two[1:3, 1, 1] = two[6:8, 1, 1] = True
    lost, broken = two.copy(), two.copy()
    lost[6:8] = False  # one part of two
    broken[1] = False  # both parts, shorter
    broken[7] = False
    assert betti(two, broken) == 0 < betti(two, lost)
    assert dsc(two, broken) == dsc(two, lost)


def test_lesion_scores_can_favour_a_mask_that_lost_a_part_of_a_lesion():
    whole = np.zeros((13, 5, 5), bool)
    whole[1:8, 1:4, 1:4] = whole[8:10, 2, 2] = True
    broken, lost = whole.copy(), whole.copy()
    broken[8] = False  # the tip is a lesion of its own, and none that is there
    lost[8:] = False
    for score in (lesion_f1, lesion_precision, pq):
        assert score(whole, broken) < score(whole, lost)
    assert lesion_count_error(whole, broken) > lesion_count_error(whole, lost)
    assert lesion_recall(whole, broken) == lesion_recall(whole, lost)
