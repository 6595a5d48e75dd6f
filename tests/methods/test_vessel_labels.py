"""Automatic labels of vessels: the filter, its thresholds, and that tiles leave no seam."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage import filters, morphology
from skimage.feature import hessian_matrix

from segjury.arrays import Box, flat
from segjury.benchmark.phantoms.smile.cases import make_case
from segjury.errors import InputError
from segjury.images import read_volume, write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.methods.vessel_labels import (
    Choices,
    Filter,
    Setting,
    frangi,
    label_image,
    main_settings,
    plausible_settings,
    responses,
    segmentation,
)
from segjury.methods.vessel_labels.hessian import (
    derivative_kernels,
    eigenvalues,
    hessian,
    is_bright_tube,
)
from segjury.methods.vessel_labels.intensity import brightness, scaled
from segjury.methods.vessel_labels.responses import STEPS, tiles
from segjury.methods.vessel_labels.segmentation import hysteresis, multi_otsu, remove_small
from segjury.metrics import dice
from segjury.metrics.topology import small_recall
from tests.commands import segjury

GAMMA = 0.02
ELEMENTS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of a Hessian


@pytest.fixture(scope="module")
def texture():
    """Smooth noise from 0 to 1."""
    noise = ndimage.gaussian_filter(np.random.default_rng(0).random((44, 41, 46)), 1.2)
    return (noise - noise.min()) / np.ptp(noise)


@pytest.fixture(scope="module")
def case():
    return make_case(1, seed=3, shape=(72, 80, 40))


# ---- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.0, 1.5, 3.0])
def test_derivatives_of_polynomials(sigma):
    """Of 1, x and x² / 2 they are 1, 1 and 1, times σ^order; other orders vanish at 0."""
    for order, kernel in enumerate(derivative_kernels(sigma)):
        x = np.arange(kernel.size) - kernel.size // 2
        found = [abs(kernel @ x**power) / factor for power, factor in ((0, 1), (1, 1), (2, 2))]
        tolerance = 5e-3 if sigma == 1 else 1e-5  # made of kernels of 0.7 voxels
        assert found[order] == pytest.approx(sigma**order, rel=tolerance)
        assert found[:order] == pytest.approx([0] * order, abs=1e-6)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (1.0, 0.5, 2.0)])
def test_a_gaussian_tube_has_the_eigenvalues_of_the_formula(spacing):
    """Of exp(-r² / 2w²), blurred by σ: -σ² w² / (w² + σ²)² twice across, 0 along the tube."""
    width_mm, scale_mm = 3.0, 2.0
    x, y, _ = np.meshgrid(*(np.arange(-20, 21) * side for side in spacing), indexing="ij")
    image = np.exp(-(x**2 + y**2) / (2 * width_mm**2))
    box = Box(*[slice(20, 21)] * 3)
    kind = Filter((scale_mm,), spacing)
    found = np.ravel(eigenvalues(hessian(image, box, kind.sigma_voxels(scale_mm))))
    expected = -(scale_mm**2) * width_mm**2 / (width_mm**2 + scale_mm**2) ** 2
    assert found == pytest.approx([expected, expected, 0], abs=1e-3 * abs(expected))


def test_eigenvalues_are_those_of_lapack():
    rng = np.random.default_rng(1)
    h = rng.normal(size=(2000, 3, 3)) * 10.0 ** rng.integers(-8, 3, (2000, 1, 1))
    h += h.transpose(0, 2, 1)
    axes = np.linalg.qr(h[:500])[0]
    h[:500] = axes @ (np.array([-1.0, -1.0, 0.01])[:, None] * axes.transpose(0, 2, 1))  # tubes
    h[500] = 0
    h[501] = -2 * np.eye(3)
    expected = np.linalg.eigvalsh(h)
    elements = tuple(h[:, i, j] for i, j in ELEMENTS)
    error = np.abs(np.stack(eigenvalues(elements), axis=1) - expected).max(axis=1)
    largest = np.abs(expected).max(axis=1)
    assert (error <= 1e-7 * largest).all()
    assert (error[502:] <= 1e-10 * largest[502:]).all()  # where no two are equal
    by_magnitude = np.take_along_axis(expected, np.abs(expected).argsort(axis=1), 1)
    tube = (by_magnitude[:, 1:] < 0).all(axis=1)
    sure = np.abs(expected[:, 1] + expected[:, 2]) > 1e-9 * largest
    np.testing.assert_array_equal(is_bright_tube(elements)[sure], tube[sure])


# ---- the filter ----------------------------------------------------------------------------


def assert_agrees_with_skimage(image, found, expected, sigma):
    """Equal but near the faces, and where scikit-image sees a tube in a saddle.

    There it sets a positive eigenvalue to -1e-10, and where the smallest one is nearly 0 as well
    the ratio B stays small.
    """
    reach = int(np.ceil(6 * sigma))
    inside = (slice(reach, -reach),) * 3
    elements = hessian_matrix(image, sigma, mode="reflect", use_gaussian_derivatives=True)
    matrix = np.empty((*image.shape, 3, 3))
    for element, (i, j) in zip(elements, ELEMENTS, strict=True):
        matrix[..., i, j] = matrix[..., j, i] = element
    values = np.linalg.eigvalsh(matrix[inside])
    values = np.take_along_axis(values, np.abs(values).argsort(axis=-1), -1)
    saddle = (values[..., 1:] > 0).any(axis=-1) & (np.abs(values[..., 0]) < 1e-5)
    assert saddle.mean() < 1e-2
    np.testing.assert_allclose(found[inside][~saddle], expected[inside][~saddle], atol=5e-7)
    assert (found[inside][saddle] == 0).all()
    assert found[inside].max() > 0.1


@pytest.mark.parametrize("sigma", [1.0, 1.5, 2.5])
def test_the_response_is_that_of_scikit_image(texture, sigma):
    found = frangi(texture, Filter((sigma,)), gamma=GAMMA)
    expected = filters.frangi(texture, [sigma], gamma=GAMMA, black_ridges=False)
    assert_agrees_with_skimage(texture, found, expected, sigma)


def test_scale_normalised_derivatives_are_a_gamma_for_each_scale(texture):
    kind = Filter((2.0,), alpha=0.4, beta=0.7, derivatives="scale-normalised")
    found = frangi(texture, kind, gamma=4 * GAMMA)
    options = {"alpha": 0.4, "beta": 0.7, "gamma": GAMMA, "black_ridges": False}
    assert_agrees_with_skimage(texture, found, filters.frangi(texture, [2], **options), 2)


def test_scales_are_joined_by_their_maximum(texture):
    each = [frangi(texture, Filter((sigma,)), gamma=GAMMA) for sigma in (1.0, 2.0)]
    both = frangi(texture, Filter((1.0, 2.0)), gamma=GAMMA)
    np.testing.assert_array_equal(both, np.maximum(*each))


def test_dark_tubes_plates_and_blobs_respond_less_than_bright_tubes():
    x, y, z = np.indices((31, 31, 31)) - 15
    tube, plate, blob = x**2 + y**2, x**2, x**2 + y**2 + z**2
    images = [sign * np.exp(-r / 8) for r, sign in ((tube, 1), (tube, -1), (plate, 1), (blob, 1))]
    bright, dark, flat_one, round_one = (
        frangi(image, Filter((2.0,)), gamma=GAMMA)[15, 15, 15] for image in images
    )
    assert bright > 0.8
    assert dark == 0
    assert max(flat_one, round_one) < 0.2 * bright


# ---- thresholds ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_those_of_scikit_image(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.zeros(500), rng.beta(1, 9, 4000), rng.beta(6, 2, 300)])
    steps = np.rint(values * STEPS).astype(np.int64)
    expected = filters.threshold_multiotsu(steps.astype(float), classes=3, nbins=256)
    assert multi_otsu(np.bincount(steps, minlength=STEPS + 1)) == tuple(expected)


def test_two_levels_have_no_thresholds():
    assert multi_otsu(np.bincount([0, 0, 0, 7])) is None
    assert multi_otsu(np.bincount([5])) is None


@given(
    arrays(np.uint8, (5, 4, 6), elements=st.integers(0, 9)), st.integers(0, 9), st.integers(0, 9)
)
@settings(max_examples=60, deadline=None)
def test_hysteresis_is_that_of_scikit_image(image, low, above):
    image, high = np.asfortranarray(image), low + above
    found = hysteresis(
        np.flatnonzero(flat(image) > low), np.flatnonzero(flat(image) > high), image.shape
    )
    np.testing.assert_array_equal(found, filters.apply_hysteresis_threshold(image, low, high))


@given(arrays(bool, (6, 5, 4), elements=st.integers(0, 9).map(lambda n: n == 0)), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_small_clusters_are_those_of_scikit_image(mask, smallest):
    expected = morphology.remove_small_objects(mask, max_size=smallest - 1, connectivity=3)
    found = np.asfortranarray(mask)
    remove_small(found, smallest)
    np.testing.assert_array_equal(found, expected)


def test_the_mask_of_a_response(texture):
    """The whole chain on one response, against scikit-image's."""
    kind, chosen = Filter((1.5, 2.5)), [Setting(GAMMA, slice(0, 2), threshold_factor=1.2)]
    found = responses(np.asfortranarray(texture, np.float32), kind, chosen)
    made = segmentation(found, 0, smallest_cluster=3)
    image = np.rint(found.image(0).astype(float) * STEPS)
    low, high = 1.2 * filters.threshold_multiotsu(image)
    expected = filters.apply_hysteresis_threshold(image, low, high)
    before = expected.sum()
    expected = morphology.remove_small_objects(expected, max_size=2, connectivity=3)
    np.testing.assert_array_equal(made.mask, expected)
    assert (made.low, made.high) == pytest.approx((low / STEPS, high / STEPS))
    assert (made.voxels, made.removed_voxels) == (expected.sum(), before - expected.sum())
    exact = frangi(texture.astype(np.float32), kind, gamma=GAMMA)
    np.testing.assert_allclose(found.image(0), exact, atol=0.6 / STEPS)


# ---- tiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [5, 16, 31])
def test_tiles_leave_no_seam(texture, side):
    """Equal to the last bit, also where the filter reaches over several tiles."""
    image = np.asfortranarray(texture[:30, :33, :26], np.float32)
    kind = Filter((0.5, 1.0, 1.7), (0.5, 0.6, 0.9))
    chosen = [*main_settings((0.01,), 3), Setting(0.03, slice(1, 3), 0.9)]
    tiled = responses(image, kind, chosen, tile=side, jobs=2)
    one = responses(image, kind, chosen, tile=64)
    assert len(tiled.parts) > 1 == len(one.parts)
    for number in range(2):
        np.testing.assert_array_equal(tiled.image(number), one.image(number))
        parts = [segmentation(each, number) for each in (tiled, one)]
        np.testing.assert_array_equal(parts[0].mask, parts[1].mask)
        assert parts[0].low == parts[1].low > 0
        assert parts[0].mask.any()


@pytest.mark.parametrize("side", [4, 11])
def test_a_tile_of_the_hessian_is_a_part_of_the_whole(texture, side):
    image = texture[:17, :20, :12]
    one = hessian(image, Box.whole(image.shape), (1.5, 1.0, 2.0))
    for box in tiles(image.shape, side):
        for element, expected in zip(hessian(image, box, (1.5, 1.0, 2.0)), one, strict=True):
            np.testing.assert_array_equal(element, expected[box])


@given(st.tuples(*[st.integers(1, 40)] * 3), st.integers(1, 20))
@settings(max_examples=30, deadline=None)
def test_tiles_fill_a_volume_once(shape, side):
    filled = np.zeros(shape, int)
    for box in tiles(shape, side):
        filled[box] += 1
        assert all(part.stop - part.start <= side for part in box)
    assert (filled == 1).all()


# ---- settings ------------------------------------------------------------------------------


def test_variants_are_spread_evenly_and_repeatable():
    first, again = (
        plausible_settings(10, (0.01, 0.02), 4, np.random.default_rng(7)) for _ in range(2)
    )
    assert first == again
    for drawn, low, high in (
        ([each.gamma for each in first], 0.01, 0.04),
        ([each.threshold_factor for each in first], 0.8, 1.25),
    ):
        parts = np.geomspace(low, high, 11)
        assert np.histogram(drawn, parts)[0].tolist() == [1] * 10
    assert sum(each.scales.start for each in first) == 5
    assert sum(4 - each.scales.stop for each in first) == 5
    assert plausible_settings(0, (0.01,), 4, np.random.default_rng(0)) == []


def test_two_scales_are_all_used():
    variants = plausible_settings(6, (0.01,), 2, np.random.default_rng(0))
    assert {(each.scales.start, each.scales.stop) for each in variants} == {(0, 2)}


# ---- images --------------------------------------------------------------------------------


def labelled(image, tmp_path, *, spacing=(0.3, 0.3, 0.3), **changed):
    path, out = tmp_path / "image.nii.gz", tmp_path / "out"
    write_volume(path, Volume(image, Grid(image.shape, spacing)))
    labels, notes = label_image(path, out, Choices(**({"variants": 0} | changed)))
    masks = {label.file: read_volume(out / label.file).array > 0 for label in labels}
    return masks, notes, json.loads((out / "label.json").read_text())


def test_vessels_are_found_where_no_threshold_does(case, tmp_path):
    """In noise and under a bias field: a better Dice than Otsu's or any other threshold's."""
    rng, bias = np.random.default_rng(0), np.linspace(0.4, 1.4, case.image.shape[0])
    noise = rng.normal(0, 20, case.image.shape)
    image = np.asfortranarray((case.image.T * bias + noise.T).T.astype(np.float32))
    true = case.annotation.astype(bool)
    mask = labelled(image, tmp_path)[0]["label.nii.gz"]
    thresholds = [filters.threshold_otsu(image), *np.percentile(image, range(80, 100))]
    assert dice(true, mask) > max(dice(true, image > each) for each in thresholds) + 0.02
    assert small_recall(true, mask) > 0.7


def test_labels_do_not_depend_on_the_units_of_the_image(case, tmp_path):
    one = labelled(case.image, tmp_path / "one")[0]
    other = labelled(case.image.astype(np.int16) * 3 - 700, tmp_path / "other")[0]
    assert one.keys() == other.keys() == {"label.nii.gz", "label_gamma_0.01.nii.gz"}
    for name, mask in one.items():
        assert dice(mask, other[name]) > 0.9999  # but for rounding
    assert one["label.nii.gz"].sum() < one["label_gamma_0.01.nii.gz"].sum()  # less sensitive


def test_scales_in_mm_are_those_in_voxels(case, tmp_path):
    voxels = labelled(case.image, tmp_path / "voxels", scales=(1.25, 2.5))[0]
    mm = labelled(case.image, tmp_path / "mm", scales=(0.375, 0.75), unit="mm")[0]
    for name, mask in voxels.items():
        np.testing.assert_array_equal(mask, mm[name])


def test_an_image_of_one_value_has_no_vessels(tmp_path):
    masks, notes, said = labelled(np.full((9, 8, 7), 5, np.int16, order="F"), tmp_path)
    assert not any(mask.any() for mask in masks.values())
    assert notes == said["notes"] == [notes[0]]
    assert "same value" in notes[0]
    assert said["labels"][0]["low"] is None


def test_an_image_smaller_than_the_filter(tmp_path):
    image = np.zeros((2, 5, 30), np.float32, order="F")
    image[:, 2] = 1
    masks, _, _ = labelled(image, tmp_path, brightest_percent=100)
    assert masks["label.nii.gz"].shape == image.shape


def test_coarse_slices_are_told(tmp_path, texture):
    image = np.asfortranarray(texture[:20, :20, :20], np.float32)
    assert "along one axis" in labelled(image, tmp_path, spacing=(0.3, 0.3, 2))[1][0]


@pytest.mark.parametrize(
    ("image", "changed", "said"),
    [
        (np.full((4, 4, 4), np.nan), {}, "image.nii.gz has 64 voxels that are NaN or infinite"),
        (np.zeros((4, 4, 1)), {}, "image.nii.gz has shape (4, 4, 1)"),
        (np.array([0, 3e307, -1.7e308, 1.7e308]).repeat(16), {}, "Scale them down"),
        (np.eye(64)[0], {"brightest_percent": 90}, "has its lowest value, 0, in 90 %"),
        (np.eye(64)[0], {"scales": (1, 70)}, "a scale is 21 mm, the image 1.2 mm"),
        (np.eye(64)[0], {"scales": (1, -2)}, "`scales` is '1,-2'"),
        (np.eye(64)[0], {"gammas": (0.01, 0.01)}, "`gammas` is '0.01,0.01'. Give each number once"),
        (np.eye(64)[0], {"gammas": (float("nan"),)}, "`gammas` is 'nan'"),
        (np.eye(64)[0], {"variants": 100}, "`variants` is 100"),
        (np.eye(64)[0], {"alpha": 0.0}, "`alpha` is 0"),
        (np.eye(64)[0], {"brightest_percent": 101.0}, "`brightest_percent` is 101"),
    ],
)
def test_bad_input_is_refused(image, changed, said, tmp_path):
    image = image if image.ndim == 3 else image.reshape(4, 4, 4)
    with pytest.raises(InputError) as refused:
        labelled(image, tmp_path, **changed)
    assert said in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "out", "said"),
    [
        ("label.nii.gz", ".", "label.nii.gz would be written over"),
        ("image.nii.gz", "image.nii.gz", "image.nii.gz is a file"),
    ],
)
def test_the_image_is_never_written_over(name, out, said, tmp_path):
    path = tmp_path / name
    write_volume(path, Volume(np.zeros((4, 4, 4)), Grid((4, 4, 4))))
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        label_image(path, tmp_path / out, Choices(variants=0))
    assert path.read_bytes() == before


def test_brightness_is_from_the_lowest_value_to_the_percentile():
    image = np.arange(1000, dtype=np.int16).reshape(10, 10, 10) - 500
    found = brightness(image, percent=90)
    assert (found.lowest, found.brightest) == (-500, pytest.approx(399.1))
    low, high = scaled(image, found).flat[[0, -1]]
    assert (low, high) == pytest.approx((0, 999 / 899.1))


def test_the_command(case, tmp_path):
    path, out = tmp_path / "image.nii.gz", tmp_path / "labels"
    write_volume(path, Volume(case.image[:40, :40, :24], Grid((40, 40, 24), (0.3, 0.3, 0.3))))
    done = segjury("vessels", "label", path, "--out", out, "--variants", 3, "--response")
    assert done.returncode == 0, done.stderr
    said = json.loads((out / "label.json").read_text())
    names = [label["file"] for label in said["labels"]]
    assert names == ["label.nii.gz", "label_gamma_0.01.nii.gz"] + [
        f"plausible_{n:02d}.nii.gz" for n in (1, 2, 3)
    ]
    for label in said["labels"]:
        volume = read_volume(out / label["file"])
        assert volume.grid.spacing_mm == (0.3, 0.3, 0.3)
        assert volume.array.sum() == label["voxels"] > 0
        assert label["file"] in done.stdout
    response = read_volume(out / "response.nii.gz").array
    mask = read_volume(out / "label.nii.gz").array > 0
    assert response[mask].min() > said["labels"][0]["low"]
    assert response.max() <= 1
    again = segjury("vessels", "label", path, "--out", out, "--variants", 2, "--response")
    assert again.returncode == 2
    assert "has plausible_03.nii.gz, which would not be written now" in again.stderr
    assert "Example" in segjury("vessels", "label", "--help").stdout
