"""Which labels a mask has, where nobody says which it may have."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from segjury.errors import InputError
from segjury.images import read_label_numbers, write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume


def written(path, values):
    array = np.asfortranarray(np.resize(np.asarray(values), (5, 4, 3)))
    write_volume(path, Volume(array, Grid(array.shape, (1.0, 1.0, 1.0))))
    return path


@pytest.mark.parametrize("ending", [".nii.gz", ".mha", ".nrrd"])
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float64])
def test_the_labels_are_told_without_the_background(tmp_path, ending, kind):
    path = written(tmp_path / f"mask{ending}", np.array([0, 7, 2, 255, 2], kind))
    expected = (2, 7, 255)
    assert read_label_numbers(path) == expected


def test_a_mask_without_a_label_has_none(tmp_path):
    assert read_label_numbers(written(tmp_path / "mask.nii.gz", np.zeros(1, np.uint8))) == ()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([0, 256], np.int16), "has the value 256, labels are numbers from 1 to 255"),
        (np.array([0, -1], np.int16), "has the value -1"),
        (np.array([0, 0.5], np.float32), "is not a mask"),
        (np.array([0, np.nan], np.float32), "is not a mask"),
        (np.array([0, np.inf], np.float32), "is not a mask|has the value inf"),
    ],
)
def test_what_is_no_label_is_refused_with_the_name_of_the_file(tmp_path, values, said):
    with pytest.raises(InputError, match=rf"mask.nii.gz ({said})"):
        read_label_numbers(written(tmp_path / "mask.nii.gz", values))


def test_the_white_of_a_picture_is_label_1(tmp_path):
    array = np.zeros((6, 5), np.uint8)
    array[2:4, 1:3] = 255
    Image.fromarray(array).save(tmp_path / "mask.png")
    assert read_label_numbers(tmp_path / "mask.png") == (1,)


def test_channels_are_labels_by_their_numbers(tmp_path):
    channels = np.zeros((5, 4, 3, 3), np.uint8)
    channels[1:3, 1:3, 1, 0] = channels[2:4, 1:3, 1, 2] = 1
    nib.save(nib.Nifti1Image(channels, np.eye(4)), tmp_path / "mask.nii.gz")
    assert read_label_numbers(tmp_path / "mask.nii.gz") == (1, 3)
