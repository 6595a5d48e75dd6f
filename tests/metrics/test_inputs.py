"""Metrics take arrays, tensors and images alike, and refuse what is no mask."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

from segjury import metrics
from segjury.arrays import flat
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.volume import Volume

SPACING_MM = (0.5, 1.0, 2.5)
RNG = np.random.default_rng(3)
REFERENCE = np.zeros((9, 8, 7), bool)
REFERENCE[2:6, 2:6, 0:3] = True
PREDICTION = np.zeros((9, 8, 7), bool)
PREDICTION[3:8, 2:6, 2:6] = PREDICTION[0, 0, 0] = True
MAP = RNG.random((9, 8, 7)).astype(np.float32)


def simpleitk(array, origin=(0.0, 0.0, 0.0)):
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.astype(np.uint8).T))
    image.SetSpacing(SPACING_MM)
    image.SetOrigin(origin)
    return image


def nibabel(array):
    affine = np.diag([-SPACING_MM[0], -SPACING_MM[1], SPACING_MM[2], 1.0])  # the same place in RAS
    return nib.Nifti1Image(array.astype(np.uint8), affine)


def volume(array):
    return Volume(np.asfortranarray(array.astype(np.uint8)), Grid(array.shape, SPACING_MM))


def label_map(array):
    marks = SparseLabels.of(flat(np.asfortranarray(array.astype(np.uint8))))
    return LabelMap(marks, Grid(array.shape, SPACING_MM))


def tensor(array):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array.astype(np.float32)).requires_grad_().to(torch.bfloat16)


def floats(array):
    return (255.0 * array).tolist()


@pytest.mark.parametrize("form", [simpleitk, nibabel, volume, label_map, tensor, floats])
def test_the_same_mask_scores_the_same_in_every_form(form):
    given = form(REFERENCE), form(PREDICTION)
    for name in ("dsc", "jaccard", "kappa", "cldice", "betti", "mahalanobis", "bavd"):
        expected = getattr(metrics, name)(REFERENCE, PREDICTION)
        assert getattr(metrics, name)(*given) == pytest.approx(expected, abs=0), name


@pytest.mark.parametrize("form", [simpleitk, nibabel, volume, label_map])
def test_an_image_brings_its_spacing(form):
    given = form(REFERENCE), form(PREDICTION)
    for measure in (metrics.hd, metrics.assd, metrics.nsd):
        expected = measure(REFERENCE, PREDICTION, spacing_mm=SPACING_MM)
        assert measure(*given) == pytest.approx(expected, rel=1e-12)
        assert expected != measure(REFERENCE, PREDICTION)  # or the spacing would not be tested
        isotropic = measure(*given, spacing_mm=(1.0, 1.0, 1.0))  # what is said counts
        assert isotropic == measure(REFERENCE, PREDICTION)


def test_an_image_in_micrometres_has_its_spacing_in_mm():
    given = nibabel(REFERENCE), nibabel(PREDICTION)
    expected = metrics.hd(*given) / 1000
    for image in given:
        image.header.set_xyzt_units("micron")
    assert metrics.hd(*given) == pytest.approx(expected, rel=1e-12)


def test_a_sheared_image_is_refused_where_lengths_are_measured():
    given = [simpleitk(REFERENCE), simpleitk(PREDICTION)]
    for image in given:
        image.SetDirection((1, 0.6, 0, 0, 0.8, 0, 0, 0, 1))
    assert metrics.dsc(*given) == metrics.dsc(REFERENCE, PREDICTION)
    with pytest.raises(ValueError, match="axes that are not at right angles"):
        metrics.hd(*given)


def test_images_of_different_libraries_lie_on_one_grid():
    assert metrics.dsc(simpleitk(REFERENCE), nibabel(REFERENCE)) == 1.0


def test_raters_may_be_a_list_of_images():
    listed = [simpleitk(REFERENCE), simpleitk(PREDICTION)]
    stacked = np.stack([REFERENCE, PREDICTION])
    assert metrics.thr_dsc(listed, MAP) == metrics.thr_dsc(stacked, MAP)
    assert metrics.mr_ece(listed, MAP) == metrics.mr_ece(stacked, MAP)


def with_nan(array):
    return np.where(array, np.nan, 0.0)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("a mask", "prediction holds text"),
        (None, "prediction holds None"),
        (np.full(REFERENCE.shape, None), "prediction holds None"),
        (np.full(REFERENCE.shape, "1"), "prediction holds text"),
        (np.full(REFERENCE.shape, 1j), "prediction holds complex numbers"),
        ({"mask": 1}, r"prediction holds objects \(dict\)"),
        ([[1, 0], [1]], "prediction is no array: its rows differ in length"),
        (with_nan(REFERENCE), "prediction holds NaN"),
        (MAP, "prediction holds .*, so it is no mask; cut it, as prediction > 0.5"),
        (REFERENCE + 2 * PREDICTION, "prediction has the labels 1, 2, 3, expected one"),
        (REFERENCE[1:], "prediction has shape"),
    ],
)
@pytest.mark.parametrize("name", ["dsc", "jaccard", "rand", "hd", "bavd", "betti", "mahalanobis"])
def test_what_is_no_mask_is_refused(name, wrong, why):
    with pytest.raises(ValueError, match=why):
        getattr(metrics, name)(REFERENCE, wrong)


@pytest.mark.parametrize(
    ("measure", "given", "why"),
    [
        (metrics.thr_dsc, ([], MAP), "raters is an empty list"),
        (metrics.thr_dsc, (np.zeros((0, 9, 8, 7)), MAP), r"raters has shape \(0, 9, 8, 7\)"),
        (metrics.thr_dsc, (REFERENCE[None], MAP[1:]), "probability has shape"),
        (metrics.ece, (None, MAP[None]), "raters holds None"),
        (metrics.crps, ([1.0, None], 2.0), "reference_volumes holds None"),
    ],
)
def test_the_argument_that_is_wrong_is_named(measure, given, why):
    with pytest.raises(ValueError, match=why):
        measure(*given)


def test_images_at_other_places_are_refused():
    moved = simpleitk(REFERENCE, origin=(5.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="prediction and reference differ in spacing, origin"):
        metrics.dsc(simpleitk(REFERENCE), moved)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (2 * MAP, "probability ranges from .* to .*, expected 0 to 1"),
        (np.where(REFERENCE, np.nan, 0.5), "probability holds NaN"),
        (None, "probability holds None"),
    ],
)
def test_what_is_no_map_is_refused(wrong, why):
    for measure in (metrics.thr_dsc, metrics.mr_ece, metrics.confidence):
        with pytest.raises(ValueError, match=why):
            measure(REFERENCE[None], wrong)
