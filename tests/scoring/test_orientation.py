"""Files with their axes in another order: the same scores to the last digit, and a warning."""

from __future__ import annotations

import shutil

import pytest
import SimpleITK as sitk

from segjury.scoring.run import score_benchmark
from tests.small_benchmarks import write_benchmark

PROTOCOL = "curvas-pdacvi-2025"


def turn(path):
    """Store an image with its axes as z, x and y backwards, as its header says."""
    image = sitk.PermuteAxes(sitk.ReadImage(path), (2, 0, 1))
    sitk.WriteImage(sitk.Flip(image, (False, False, True)), path)


def scored(folder):
    scores = score_benchmark(
        PROTOCOL, reference=folder / "reference", predictions=folder / "predictions"
    ).scores
    key = ["method", "case", "metric", "structure", "reading"]
    return scores.set_index(key).sort_index()


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    write_benchmark(PROTOCOL, folder)
    return folder, scored(folder)


def test_scores_do_not_depend_on_the_order_of_axes(tmp_path, straight):
    folder, expected = straight
    shutil.copytree(folder, tmp_path / "turned")
    for name in ("annotation_2", "annotation_vascular"):
        turn(tmp_path / "turned" / "reference" / "P1" / f"{name}.nii.gz")
    for name in ("segmentation", "probability"):
        turn(tmp_path / "turned" / "predictions" / "A" / "P2" / f"{name}.nii.gz")
    found = scored(tmp_path / "turned")
    assert found["value"].equals(expected["value"])
    assert set(found["status"]) == {"ok"}
    told = "has its axes stored as z, x, -y; they were put in the order of the reference"
    of_reference = found.xs("P1", level="case")["detail"]
    assert of_reference.str.contains(f"annotation_2.nii.gz {told}").all()
    assert of_reference.str.contains(f"annotation_vascular.nii.gz {told}").all()
    of_prediction = found.xs(("A", "P2"), level=("method", "case"))["detail"]
    assert of_prediction.str.contains(f"probability.nii.gz {told}").all()
    assert not found.xs("P3", level="case")["detail"].str.contains("stored as").any()
