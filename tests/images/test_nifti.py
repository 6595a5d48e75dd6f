"""The grid of a NIfTI file: its unit of length, and the several places that speak of it."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

from segjury import images
from segjury.errors import InputError

VALUES = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
TURN = np.array([[0, -2, 0, 5], [1, 0, 0, 6], [0, 0, 3, 7], [0, 0, 0, 1.0]])
STRAIGHT = np.array([[1, 0, 0, 15], [0, 2, 0, 16], [0, 0, 3, 17], [0, 0, 0, 1.0]])
SHEARED = np.array([[1, 0.3, 0, 15], *STRAIGHT[1:]])


def write(path, *, sform=None, sform_code=1, qform=None, qform_code=1, pixdim=(1, 2, 3), units=2):
    """A small file with any header, which no library writes."""
    header = nib.Nifti1Header()
    header.set_data_dtype(VALUES.dtype)
    header.set_data_shape(VALUES.shape)
    if sform is not None:
        header.set_sform(sform, code=sform_code)
    if qform is not None:
        header.set_qform(qform, code=qform_code)
    header["pixdim"][1:4] = pixdim
    header["xyzt_units"] = units
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    path.write_bytes(header.binaryblock + bytes(4) + VALUES.tobytes(order="F"))
    return path


def assert_as_simpleitk(path):
    grid, image = images.read_grid(path), sitk.ReadImage(str(path))
    np.testing.assert_allclose(grid.spacing_mm, image.GetSpacing(), rtol=1e-6)
    np.testing.assert_allclose(grid.origin_mm, image.GetOrigin(), rtol=1e-6)
    np.testing.assert_allclose(np.ravel(grid.direction), image.GetDirection(), atol=1e-6)


@pytest.mark.parametrize(
    ("units", "spacing_mm"),
    [
        (0, (300.0, 300.0, 700.0)),  # unknown
        (1, (300000.0, 300000.0, 700000.0)),  # metres
        (2, (300.0, 300.0, 700.0)),
        (3, (0.3, 0.3, 0.7)),  # micrometres
        (3 + 8, (0.3, 0.3, 0.7)),  # and seconds
        (7, (300.0, 300.0, 700.0)),  # no unit of the format
    ],
)
@pytest.mark.parametrize("form", ["sform", "qform", "pixdim"])
def test_lengths_are_turned_to_millimetres(tmp_path, form, units, spacing_mm):
    affine = np.diag([300.0, 300.0, 700.0, 1.0])
    affine[:3, 3] = 1000, 2000, 3000
    forms = {} if form == "pixdim" else {form: affine}
    path = write(tmp_path / "v.nii", **forms, pixdim=(300, 300, 700), units=units)
    assert images.read_grid(path).spacing_mm == spacing_mm
    assert_as_simpleitk(path)


def test_lengths_in_metres_are_those_that_were_meant(tmp_path):
    affine = np.diag([0.0003, 0.0007, 0.0011, 1.0])
    path = write(tmp_path / "v.nii", sform=affine, pixdim=(0.0003, 0.0007, 0.0011), units=1)
    assert images.read_grid(path).spacing_mm == (0.3, 0.7, 1.1)


@pytest.mark.parametrize("qform_code", range(5))
@pytest.mark.parametrize("sform_code", range(5))
def test_sform_or_qform_is_taken_as_simpleitk_does(tmp_path, sform_code, qform_code):
    path = write(
        tmp_path / "v.nii",
        sform=STRAIGHT,
        sform_code=sform_code,
        qform=TURN,
        qform_code=qform_code,
        pixdim=(1, 2, 3),
    )
    assert_as_simpleitk(path)
    assert images.read_grid(path).doubts == ()


def test_an_aligned_sform_close_to_the_qform_is_kept_for_its_digits(tmp_path):
    sform = STRAIGHT + np.array([[0, 0, 0, 1e-6], *[[0] * 4] * 3])
    path = write(tmp_path / "v.nii", sform=sform, sform_code=2, qform=STRAIGHT)
    assert images.read_grid(path).origin_mm[0] == -float(np.float32(sform[0, 3]))


def test_a_sheared_file_is_refused(tmp_path):
    path = write(tmp_path / "v.nii", sform=SHEARED)
    with pytest.raises(InputError, match=r"v\.nii has axes that are not at right angles") as raised:
        images.read_volume(path)
    assert raised.value.kind == "sheared-axes"
    with pytest.raises(RuntimeError, match="only supports orthonormal"):
        sitk.ReadImage(str(path))


def test_a_sheared_sform_leaves_the_qform(tmp_path):
    path = write(tmp_path / "v.nii", sform=SHEARED, qform=TURN)
    assert_as_simpleitk(path)
    (doubt,) = images.read_grid(path).doubts
    assert doubt.kind == "sheared-axes"
    assert "its qform is used" in doubt.message


def test_axes_that_rounding_turned_are_at_right_angles(tmp_path):
    turn = nib.eulerangles.euler2mat(0.1, 0.2, 0.3)
    affine = np.eye(4)
    affine[:3, :3] = turn * (0.4, 0.4, 2.5)  # which are stored as float32
    assert_as_simpleitk(write(tmp_path / "v.nii", sform=affine, pixdim=(0.4, 0.4, 2.5)))
    affine[:3, :3] = np.round(turn, 4) * (0.4, 0.4, 2.5)
    grid = images.read_grid(write(tmp_path / "v.nii", sform=affine, pixdim=(0.4, 0.4, 2.5)))
    np.testing.assert_allclose(grid.spacing_mm, (0.4, 0.4, 2.5), rtol=1e-4)


@pytest.mark.parametrize(
    ("pixdim", "told"),
    [
        ((1, 2, 3), False),
        ((1.0004, 2, 3), False),
        ((1, 2, 3.3), True),
        ((1, -2, 3), False),  # a sign says nothing of a size
        ((0, 2, 3), True),
    ],
)
def test_a_pixdim_that_contradicts_the_sform_is_told(tmp_path, pixdim, told):
    grid = images.read_grid(write(tmp_path / "v.nii", sform=STRAIGHT, pixdim=pixdim))
    assert grid.spacing_mm == (1.0, 2.0, 3.0)
    assert [doubt.kind for doubt in grid.doubts] == ["pixdim-differs"] * told


def test_a_contradiction_names_both_sizes_in_mm(tmp_path):
    affine = np.diag([300.0, 300.0, 500.0, 1.0])
    path = write(tmp_path / "v.nii", sform=affine, pixdim=(300, 300, 700), units=3)
    (doubt,) = images.read_grid(path).doubts
    assert doubt.message == (
        "has voxels of 0.3 x 0.3 x 0.5 mm by its sform, which is used, "
        "and of 0.3 x 0.3 x 0.7 mm by its pixdim"
    )


@pytest.mark.parametrize(
    ("start", "numbers"), [(256, [9, 9, 9]), (80, [-1, -2, -3])], ids=["quaternion", "pixdim"]
)
def test_a_broken_qform_matters_only_where_it_is_needed(tmp_path, start, numbers):
    path = write(tmp_path / "v.nii", sform=STRAIGHT, sform_code=2, qform=TURN)
    content = bytearray(path.read_bytes())
    content[start : start + 12] = np.array(numbers, "<f4").tobytes()
    path.write_bytes(content)
    assert images.read_grid(path).spacing_mm == (1.0, 2.0, 3.0)
    content[254:256] = bytes(2)  # no sform
    path.write_bytes(content)
    with pytest.raises(InputError, match="broken NIfTI header"):
        images.read_grid(path)
