"""Surface metrics: golden numbers, shapes with known answers, and the laws of each metric."""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from functools import partial

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segjury.arrays import nonzero_voxels
from segjury.metrics import READINGS, surface
from segjury.metrics.laws import blob
from segjury.metrics.surface import (
    ASSD,
    HD,
    HD95,
    MASD,
    NSD,
    assd,
    assd_from_distances,
    average_distances_mm,
    hd,
    hd95,
    hd95_from_distances,
    hd_from_distances,
    masd,
    masd_from_distances,
    mask_surface,
    nsd,
    nsd_from_distances,
    surface_distances,
)
from tests.places import GOLDEN

FILES = GOLDEN / "surface"
EXPECTED = json.loads((FILES / "golden.json").read_text())

few = settings(max_examples=5, deadline=None)
seeds = st.integers(0, 10_000)


# ---- golden numbers of independent programs ---------------------------------------------------


def distances_between(reference, prediction, spacing_mm, definition="surfel"):
    return surface_distances(
        *(
            mask_surface(nonzero_voxels(mask), mask.shape, spacing_mm, definition=definition)
            for mask in (reference, prediction)
        )
    )


def all_values(reference, prediction, spacing_mm):
    surfels = distances_between(reference, prediction, spacing_mm)
    edges = distances_between(reference, prediction, spacing_mm, "edge-voxels")
    there, back = average_distances_mm(surfels)
    return {
        "nsd_surfel_1mm": nsd_from_distances(surfels, 1.0),
        "nsd_surfel_2mm": nsd_from_distances(surfels, 2.0),
        "nsd_edge_voxels_1mm": nsd_from_distances(edges, 1.0),
        "nsd_edge_voxels_2mm": nsd_from_distances(edges, 2.0),
        "hd_surfel_mm": hd_from_distances(surfels),
        "hd95_surfel_mm": hd95_from_distances(surfels),
        "asd_surfel_truth_to_pred_mm": there,
        "asd_surfel_pred_to_truth_mm": back,
    }


@pytest.mark.parametrize("pair", EXPECTED)
def test_golden_numbers(pair):
    truth, predicted = (
        np.asanyarray(nib.load(FILES / f"{pair}_{name}.nii.gz").dataobj)
        for name in ("truth", "pred")
    )
    spacing_mm = tuple(EXPECTED[pair]["spacing"])
    assert len(EXPECTED[pair]["labels"]) == 23
    for label, expected in EXPECTED[pair]["labels"].items():
        values = all_values(truth == int(label), predicted == int(label), spacing_mm)
        for name, value in values.items():
            known = expected.get(name)  # not there or null where it is undefined
            known = math.nan if known is None else known
            assert value == pytest.approx(known, abs=1e-9, nan_ok=True), (label, name)


# ---- by hand ----------------------------------------------------------------------------------


def row(*voxels, length=32):
    mask = np.zeros((length, 3, 3), bool)
    mask[list(voxels), 1, 1] = True
    return mask


def test_the_three_conventions_of_hd95():
    bar, with_a_stray = row(*range(10)), row(*range(10), 29)
    # by number: 10 voxels at 0 and the stray at 20; 95 % is half way between the last two
    assert hd95(bar, with_a_stray, convention="edge-voxels") == pytest.approx(10.0)
    # of all 21, the 20th is the 95th percentile
    assert hd95(bar, with_a_stray, convention="edge-voxels-pooled") == 0.0
    # by area: the bar has 18√2 + √3, the stray √3, 6 %; half of that is at 19, half at 20
    assert hd95(bar, with_a_stray) == pytest.approx(19.0)
    assert hd(bar, with_a_stray) == pytest.approx(20.0)


def test_pooled_and_mean_average_distance():
    one, two = row(0), row(0, 3)
    # a voxel has 8 corners of the same area; those of the second are 2 and 3 from the first
    assert assd(one, two) == pytest.approx((0 + 0 + 2.5) / 3)
    assert masd(one, two) == pytest.approx((0 + (0 + 2.5) / 2) / 2)
    assert assd(one, two, definition="edge-voxels") == pytest.approx(3 / 3)
    assert masd(one, two, definition="edge-voxels") == pytest.approx((0 + 3 / 2) / 2)


def test_nsd_by_hand():
    one, two = row(0), row(0, 3)
    assert nsd(one, two, tolerance_mm=2.0) == pytest.approx((1 + 1 + 0.5) / 3)
    assert nsd(one, two, tolerance_mm=3.0) == 1.0
    assert nsd(one, two, tolerance_mm=2.0, definition="edge-voxels") == np.float32(2) / np.float32(
        3
    )


def test_a_distance_equal_to_the_tolerance_is_within_it():
    # 3 x 0.1 is a little more than 0.3 in floating point
    for definition in ("surfel", "edge-voxels"):
        value = nsd(
            row(0), row(3), spacing_mm=(0.1, 1.0, 1.0), tolerance_mm=0.3, definition=definition
        )
        assert value == 1.0


def test_slabs_are_as_far_apart_as_they_were_moved():
    reference, prediction = np.zeros((2, 12, 12, 20), bool)
    reference[:, :, 4:9] = True
    prediction[:, :, 6:11] = True
    spacing_mm = (0.8, 0.8, 1.5)
    score = partial(nsd, reference, prediction, spacing_mm=spacing_mm)
    assert hd(reference, prediction, spacing_mm=spacing_mm) == pytest.approx(3.0)
    assert score(tolerance_mm=3.0) == 1.0
    assert 0 < score(tolerance_mm=2.9) < 1  # the rims of the slabs overlap


def test_concentric_balls():
    x, y, z = np.ogrid[-24:25, -24:25, -24:25]
    distance = np.sqrt(x**2 + y**2 + z**2)
    large, small = distance <= 20, distance <= 15
    for metric in (hd, hd95, assd, masd):
        assert metric(large, small) == pytest.approx(5, abs=0.75)
    assert nsd(large, small, tolerance_mm=6.0) == 1.0
    assert nsd(large, small, tolerance_mm=3.0) == 0.0


def test_two_stray_voxels_do_not_cost_the_box_between_them():
    shape = (450, 450, 695)
    reference = np.array([0, math.prod(shape) - 1])
    prediction = np.array([0])
    mask_surface(prediction, shape, (1.0, 1.0, 1.0))  # the table of areas is made once
    tracemalloc.start()
    distances = surface_distances(
        *(mask_surface(voxels, shape, (1.0, 1.0, 1.0)) for voxels in (reference, prediction))
    )
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 20e6
    assert hd_from_distances(distances) == pytest.approx(math.hypot(449, 449, 694), abs=1e-9)
    assert nsd_from_distances(distances, 2.0) == pytest.approx(2 / 3)


# ---- what is undefined, what is refused -------------------------------------------------------


@pytest.mark.parametrize("definition", ["surfel", "edge-voxels"])
def test_empty_masks(definition):
    something, nothing = row(3), row()
    for pair in ((something, nothing), (nothing, something)):
        assert nsd(*pair, definition=definition) == 0.0
    assert nsd(nothing, nothing, definition=definition) == 1.0
    for pair in ((something, nothing), (nothing, something), (nothing, nothing)):
        for metric in (hd, assd, masd):
            assert math.isnan(metric(*pair, definition=definition))
        for convention in ("surfel", "edge-voxels", "edge-voxels-pooled"):
            assert math.isnan(hd95(*pair, convention=convention))


def test_wrong_arguments_are_refused_by_name():
    mask = row(1)
    with pytest.raises(ValueError, match=r"prediction has shape \(31, 3, 3\)"):
        nsd(mask, row(1, length=31))
    with pytest.raises(ValueError, match="reference has 4 axes"):
        nsd(mask[None], mask[None])
    with pytest.raises(ValueError, match="tolerance_mm is -1"):
        nsd(mask, mask, tolerance_mm=-1.0)
    with pytest.raises(ValueError, match="tolerance_mm is inf"):
        nsd(mask, mask, tolerance_mm=math.inf)
    with pytest.raises(ValueError, match="definition is 'surface'"):
        nsd(mask, mask, definition="surface")
    with pytest.raises(ValueError, match="convention is 'pooled'"):
        hd95(mask, mask, convention="pooled")
    with pytest.raises(ValueError, match="spacing is"):
        hd(mask, mask, spacing_mm=(1.0, 0.0, 1.0))


# ---- laws -------------------------------------------------------------------------------------

SCORES = {
    (NSD, "surfel"): nsd,
    (NSD, "edge-voxels"): partial(nsd, definition="edge-voxels"),
    (HD, "surfel"): hd,
    (HD, "edge-voxels"): partial(hd, definition="edge-voxels"),
    (HD95, "surfel"): hd95,
    (HD95, "edge-voxels"): partial(hd95, convention="edge-voxels"),
    (HD95, "edge-voxels-pooled"): partial(hd95, convention="edge-voxels-pooled"),
    (ASSD, "surfel"): assd,
    (ASSD, "edge-voxels"): partial(assd, definition="edge-voxels"),
    (MASD, "surfel"): masd,
    (MASD, "edge-voxels"): partial(masd, definition="edge-voxels"),
}
each = pytest.mark.parametrize(
    ("metric", "score"),
    [(metric, score) for (metric, _), score in SCORES.items()],
    ids=[f"{metric.name} {name}" for metric, name in SCORES],
)


def two_blobs(seed):
    rng = np.random.default_rng(seed)
    return blob(rng, 0.35), blob(rng, 0.3)


@each
@few
@given(seed=seeds)
def test_identity_bounds_and_symmetry(metric, score, seed):
    a, b = two_blobs(seed)
    assert score(a, a, spacing_mm=(0.7, 1.0, 2.5)) == metric.best
    low, high = metric.bounds
    value = score(a, b, spacing_mm=(0.7, 1.0, 2.5))
    assert low <= value <= high
    assert metric.symmetric
    assert score(b, a, spacing_mm=(0.7, 1.0, 2.5)) == pytest.approx(value, abs=1e-12)


@each
def test_flips_and_axis_permutations(metric, score):
    assert metric.flip_invariant == READINGS
    (a, b), spacing_mm = two_blobs(3), (0.7, 1.0, 2.5)
    before = score(a, b, spacing_mm=spacing_mm)
    for axes in itertools.permutations(range(3)):
        turned = tuple(spacing_mm[axis] for axis in axes)
        for flips in ((), (0,), (1, 2), (0, 1, 2)):
            moved = (np.flip(mask.transpose(axes), flips) for mask in (a, b))
            assert score(*moved, spacing_mm=turned) == pytest.approx(before, abs=1e-12)


@each
@few
@given(seed=seeds, factor=st.sampled_from([0.1, 0.5, 3.0]))
def test_scaling(metric, score, seed, factor):
    a, b = two_blobs(seed)
    spacing_mm, scaled_mm = (0.7, 1.0, 2.5), tuple(factor * s for s in (0.7, 1.0, 2.5))
    if metric is NSD:  # the tolerance is a length too
        before = score(a, b, spacing_mm=spacing_mm, tolerance_mm=1.0)
        after = score(a, b, spacing_mm=scaled_mm, tolerance_mm=factor * 1.0)
        assert after == pytest.approx(before, abs=1e-9)
    else:
        assert metric.scales_with == "length"
        before = score(a, b, spacing_mm=spacing_mm)
        assert score(a, b, spacing_mm=scaled_mm) == pytest.approx(factor * before, rel=1e-9)


@few
@given(seed=seeds)
def test_a_larger_tolerance_never_lowers_nsd(seed):
    a, b = two_blobs(seed)
    for definition in ("surfel", "edge-voxels"):
        distances = distances_between(a, b, (0.7, 1.0, 2.5), definition)
        values = [nsd_from_distances(distances, t) for t in np.linspace(0, 30, 40)]
        assert (np.diff(values) >= 0).all()
        assert values[-1] == 1.0


def eroded(mask):
    """The mask losing one layer after the other, down to the last that is not empty."""
    while mask.any():
        yield mask
        mask = ndimage.binary_erosion(mask)


@each
@few
@given(seed=seeds)
def test_a_worse_mask_never_scores_better(metric, score, seed):
    reference = blob(np.random.default_rng(seed), 0.5)
    values = np.array([score(reference, mask) for mask in eroded(reference)])
    assert len(values) >= 4
    steps = np.diff(values) if metric.direction == "higher" else -np.diff(values)
    assert steps.max() <= 1e-9


def test_a_lost_sheet_can_raise_nsd():
    # The sheet's two sides lie beyond the tolerance of 2 mm after one layer; when the next layer
    # takes what is left of the sheet, its wrong surface leaves the sum. True of the formula.
    mask = np.zeros((124, 82, 62), bool)
    mask[1:41, 1:41, 1:61] = True
    mask[43:123, 1:81, 1:4] = True
    once = ndimage.binary_erosion(mask)
    twice = ndimage.binary_erosion(once)
    score = partial(nsd, mask, spacing_mm=(1.0, 1.0, 2.1), tolerance_mm=2.0)
    assert score(twice) > score(once)


@few
@given(seed=seeds)
def test_percentiles_of_many_values_are_those_of_few(seed):
    a, b = two_blobs(seed)
    expected = hd95(a, b, spacing_mm=(0.7, 1.0, 2.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surface, "MANY_VALUES", 0)
        assert hd95(a, b, spacing_mm=(0.7, 1.0, 2.5)) == expected
        assert hd95(a, a) == 0


@few
@given(seed=seeds)
def test_nsd_needs_no_distances(seed):
    a, b = two_blobs(seed)
    for definition in ("surfel", "edge-voxels"):
        distances = distances_between(a, b, (0.7, 1.0, 2.5), definition)
        for t in (0.0, 0.7, 2.0, 2.5, 9.0):
            value = nsd(a, b, spacing_mm=(0.7, 1.0, 2.5), tolerance_mm=t, definition=definition)
            assert value == nsd_from_distances(distances, t)


@few
@given(seed=seeds)
def test_averages_lie_between_the_directed_ones(seed):
    a, b = two_blobs(seed)
    distances = distances_between(a, b, (0.7, 1.0, 2.5))
    low, high = sorted(average_distances_mm(distances))
    assert low <= assd_from_distances(distances) <= high <= hd_from_distances(distances)
    assert masd_from_distances(distances) == pytest.approx((low + high) / 2)
