"""Benchmarks of images of one slice and of files in 2D, scored through the command line."""

from __future__ import annotations

import math

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import SimpleITK as sitk
from scipy import ndimage

from segjury import metrics
from tests.benchmark_files import evaluate_files

SPACING_MM = (0.5, 2.0)
THICK_MM = 7.0
SHAPE = (40, 30)

PROTOCOL = """
name = "planes"
title = "Vessels in one slice"

[reference]
raters = "annotation"
n_raters = 1
labels = { vessel = 1 }

[prediction]
mask = "segmentation"

[[metrics]]
name = "nsd"
readings = ["corrected"]
tolerance_mm = 1.0

[[metrics]]
name = "hd95"
readings = ["corrected"]
convention = "edge-voxels"
worst = "image-diagonal"

[[metrics]]
name = "assd"
readings = ["corrected"]
worst = "image-diagonal"

[[metrics]]
name = "bavd"
readings = ["corrected"]
unit = "mm"
worst = "image-diagonal"

[[metrics]]
name = "cldice"
readings = ["corrected"]
thinning = "topology-preserving"

[[metrics]]
name = "betti"
readings = ["corrected"]
worst = "empty-prediction"

[[metrics]]
name = "small_recall"
readings = ["corrected"]
"""


def spots(seed):
    return ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=SHAPE), 1.2) > 0.05


REFERENCE, PREDICTION = spots(1), spots(2)


def simpleitk_2d(mask, path):
    image = sitk.GetImageFromArray(np.ascontiguousarray(mask.astype(np.uint8).T))
    image.SetSpacing(SPACING_MM)
    sitk.WriteImage(image, path)


def nifti_2d(mask, path):
    image = nib.Nifti1Image(mask.astype(np.uint8), np.diag([*SPACING_MM, 1.0, 1.0]))
    assert image.header["dim"][0] == 2
    nib.save(image, path)


def nifti_slice(axis):
    def write(mask, path):
        affine = np.diag([*np.insert(SPACING_MM, axis, THICK_MM), 1.0])
        nib.save(nib.Nifti1Image(np.expand_dims(mask.astype(np.uint8), axis), affine), path)

    return write


FILES = {
    "a slice across x": (nifti_slice(0), "nii.gz"),
    "a slice across y": (nifti_slice(1), "nii.gz"),
    "a slice across z": (nifti_slice(2), "nii.gz"),
    "NIfTI in 2D": (nifti_2d, "nii.gz"),
    "MHA in 2D": (simpleitk_2d, "mha"),
    "NRRD in 2D": (simpleitk_2d, "nrrd"),
}


@pytest.mark.parametrize(("write", "ending"), FILES.values(), ids=FILES)
def test_a_benchmark_of_planes_has_the_scores_of_arrays_in_2d(write, ending, tmp_path):
    reference = tmp_path / "reference" / "P1"
    reference.mkdir(parents=True)
    write(REFERENCE, reference / f"annotation.{ending}")
    for method, mask in (("A", PREDICTION), ("Nothing", np.zeros(SHAPE, bool))):
        place = tmp_path / "predictions" / method / "P1"
        place.mkdir(parents=True)
        write(mask, place / f"segmentation.{ending}")
    protocol = tmp_path / "planes.toml"
    protocol.write_text(PROTOCOL)
    table = pd.read_csv(evaluate_files(str(protocol), tmp_path) / "scores.csv")
    scores = table.set_index(["method", "metric"])["value"]
    pair, step = (REFERENCE, PREDICTION), {"spacing_mm": SPACING_MM}
    expected = {
        "nsd": metrics.nsd(*pair, tolerance_mm=1.0, **step),
        "hd95": metrics.hd95(*pair, convention="edge-voxels", **step),
        "assd": metrics.assd(*pair, **step),
        "bavd": metrics.bavd(*pair, **step),
        "cldice": metrics.cldice(*pair, thinning="topology-preserving"),
        "betti": metrics.betti(*pair),
        "small_recall": metrics.small_recall(*pair),
    }
    found = scores["A"]
    assert found.to_dict() == pytest.approx(expected, rel=1e-9)
    diagonal = math.hypot(SHAPE[0] * SPACING_MM[0], SHAPE[1] * SPACING_MM[1])
    assert scores["Nothing", "assd"] == pytest.approx(diagonal)
