from __future__ import annotations

import itertools

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

from segjury import images
from segjury.errors import InputError
from segjury.images.grid import Grid, UsualTolerance
from segjury.images.orientation import placed
from segjury.images.volume import Volume

SHAPE = (5, 4, 3)
VALUES = np.arange(60, dtype=np.int16).reshape(SHAPE)
MASK = np.where(VALUES % 7 == 1, 1, np.where(VALUES % 7 == 3, 2, 0)).astype(np.uint8)
ORDERS = [
    (order, signs)
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1, -1), repeat=3)
]
CODES = [
    "".join(code)
    for order in itertools.permutations(("RL", "AP", "SI"))
    for code in itertools.product(*order)
]
# a turn by 10 degrees about z, then by 5 about x
TURN = np.array([[0.98480775, -0.17298739, 0.01513444],
                 [0.17364818, 0.98106026, -0.08583165],
                 [0.0, 0.08715574, 0.9961947]])  # fmt: skip


def oblique_nifti(array):
    affine = np.eye(4)
    affine[:3, :3] = TURN * (0.7, 0.8, 2.5)
    affine[:3, 3] = (10, -20, 30)
    image = nib.Nifti1Image(array, affine)
    image.header.set_qform(affine, code=1)
    image.header.set_sform(affine, code=1)
    return image


def of_itk(array):
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T))
    image.SetSpacing((0.7, 0.8, 2.5))
    image.SetOrigin((10.0, -20.0, 30.0))
    image.SetDirection(TURN.ravel().tolist())
    return image


def as_ornt(order, signs):
    return np.array([*zip(order, signs, strict=True)], float)


def assert_on(read, grid, array):
    np.testing.assert_array_equal(read.array, array)
    assert read.array.flags.f_contiguous
    assert read.grid == grid


# ---- all 48 orders of axes -----------------------------------------------------------------


@pytest.mark.parametrize(("order", "signs"), ORDERS)
def test_nifti_as_nibabel_reorients_it_is_read_back(tmp_path, order, signs):
    image = oblique_nifti(VALUES)
    nib.save(image, tmp_path / "reference.nii")
    nib.save(image.as_reoriented(as_ornt(order, signs)), tmp_path / "v.nii")
    grid = images.read_grid(tmp_path / "reference.nii")
    read = images.read_volume(tmp_path / "v.nii", grid=grid)
    assert_on(read, grid, VALUES)
    straight = (order, signs) == ((0, 1, 2), (1, 1, 1))
    assert [doubt.kind for doubt in read.grid.doubts] == ["reoriented"] * (not straight)


@pytest.mark.parametrize("suffix", [".mha", ".nrrd"])
@pytest.mark.parametrize("code", CODES)
def test_files_as_simpleitk_reorients_them_are_read_back(tmp_path, suffix, code):
    sitk.WriteImage(of_itk(VALUES), str(tmp_path / f"reference{suffix}"))
    sitk.WriteImage(sitk.DICOMOrient(of_itk(VALUES), code), str(tmp_path / f"v{suffix}"))
    grid = images.read_grid(tmp_path / f"reference{suffix}")
    read = images.read_volume(tmp_path / f"v{suffix}", grid=grid)
    assert_on(read, grid, VALUES)
    assert bool(read.grid.doubts) == (code != "LPS")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_axes_as_simpleitk_permutes_them(tmp_path, order):
    sitk.WriteImage(of_itk(VALUES), str(tmp_path / "reference.nrrd"))
    sitk.WriteImage(sitk.PermuteAxes(of_itk(VALUES), order), str(tmp_path / "v.nrrd"))
    grid = images.read_grid(tmp_path / "reference.nrrd")
    assert_on(images.read_volume(tmp_path / "v.nrrd", grid=grid), grid, VALUES)


@pytest.mark.parametrize(("order", "signs"), ORDERS[::5])
def test_masks_and_maps_are_put_in_order_too(tmp_path, order, signs):
    ornt = as_ornt(order, signs)
    nib.save(oblique_nifti(MASK), tmp_path / "reference.nii")
    nib.save(oblique_nifti(MASK).as_reoriented(ornt), tmp_path / "m.nii.gz")
    probabilities = (VALUES / 60).astype(np.float32)
    nib.save(oblique_nifti(probabilities).as_reoriented(ornt), tmp_path / "p.nii.gz")
    grid = images.read_grid(tmp_path / "reference.nii")
    mask = images.read_mask(tmp_path / "m.nii.gz", labels=[1, 2], grid=grid)
    for number in (1, 2):
        np.testing.assert_array_equal(mask.dense(number), number == MASK)
    assert (np.diff(mask.voxels) > 0).all()
    assert_on(images.read_probability(tmp_path / "p.nii.gz", grid=grid), grid, probabilities)


def test_an_almost_empty_mask_of_many_slices_is_put_in_order(tmp_path):
    mask = np.zeros((40, 50, 60), np.uint8)
    mask[3, 5, 31:34] = 1
    flipped = Volume(np.asfortranarray(mask[::-1].transpose(2, 0, 1)), Grid(
        (60, 40, 50), origin_mm=(39.0, 0.0, 0.0), direction=((0, -1, 0), (0, 0, 1), (1, 0, 0))
    ))  # fmt: skip
    images.write_volume(tmp_path / "m.nii.gz", flipped)
    read = images.read_mask(tmp_path / "m.nii.gz", labels=[1], grid=Grid(mask.shape))
    np.testing.assert_array_equal(read.dense(1), mask == 1)
    empty = Volume(np.zeros_like(flipped.array), flipped.grid)
    images.write_volume(tmp_path / "e.nii.gz", empty)
    assert (
        images.read_mask(tmp_path / "e.nii.gz", labels=[1], grid=Grid(mask.shape)).voxels.size == 0
    )


# ---- what is told, and what is left as it is -----------------------------------------------


def flipped_nifti(path, **changes):
    """A file whose axes are y, x and z backwards, of the grid that this returns."""
    grid = Grid(SHAPE, (0.5, 0.75, 2.0), (1.0, 2.0, 3.0))
    stored = Grid((4, 5, 3), (0.75, 0.5, 2.0), (1.0, 2.0, 7.0), ((0, 1, 0), (1, 0, 0), (0, 0, -1)))
    stored = Grid(**{**vars(stored), **changes})
    images.write_volume(
        path, Volume(np.asfortranarray(VALUES.transpose(1, 0, 2)[..., ::-1]), stored)
    )
    return grid


def test_how_the_axes_were_stored_is_told(tmp_path):
    grid = flipped_nifti(tmp_path / "v.nii")
    read = images.read_volume(tmp_path / "v.nii", grid=grid)
    assert_on(read, grid, VALUES)
    (doubt,) = read.grid.doubts
    assert doubt.message == (
        "has its axes stored as y, x, -z; they were put in the order of the reference"
    )
    assert grid.doubts == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"origin_mm": (1.0, 2.0, 7.5)},
        {"origin_mm": (1.02, 2.0, 7.0)},
        {"spacing_mm": (0.75, 0.6, 2.0)},
        {"direction": ((0, 1, 0), (0.8, 0, 0.6), (0.6, 0, -0.8))},
    ],
)
def test_a_grid_that_would_not_be_the_references_is_of_another_shape(tmp_path, changes):
    grid = flipped_nifti(tmp_path / "v.nii", **changes)
    with pytest.raises(InputError, match=r"v.nii has shape \(4, 5, 3\), the reference has \(5, 4"):
        images.read_volume(tmp_path / "v.nii", grid=grid)


def test_a_protocol_that_ignores_directions_has_no_axes_moved(tmp_path):
    grid, ignored = flipped_nifti(tmp_path / "v.nii"), UsualTolerance(direction="ignore")
    with pytest.raises(InputError, match="the reference has"):
        images.read_volume(tmp_path / "v.nii", grid=grid, tolerance=ignored)
    mirrored = Grid(SHAPE, origin_mm=(4.0, 0.0, 0.0), direction=((-1, 0, 0), (0, 1, 0), (0, 0, 1)))
    images.write_volume(tmp_path / "m.nii", Volume(VALUES, mirrored))
    read = images.read_volume(tmp_path / "m.nii", grid=Grid(SHAPE), tolerance=ignored)
    assert_on(read, mirrored, VALUES)


def test_a_wider_tolerance_is_that_of_the_protocol(tmp_path):
    grid = flipped_nifti(tmp_path / "v.nii", origin_mm=(1.02, 2.0, 7.0))
    read = images.read_volume(tmp_path / "v.nii", grid=grid, tolerance=UsualTolerance(0.03))
    assert_on(read, grid, VALUES)


def test_another_direction_at_the_same_shape_is_left_to_the_caller(tmp_path):
    turned = Grid(SHAPE, direction=((0, -1, 0), (1, 0, 0), (0, 0, 1)))
    images.write_volume(tmp_path / "v.nii", Volume(VALUES, turned))
    read = images.read_volume(tmp_path / "v.nii", grid=Grid(SHAPE))
    assert_on(read, turned, VALUES)


def test_a_file_of_other_order_is_refused_before_its_data_are_read(tmp_path):
    grid = flipped_nifti(tmp_path / "v.nii")
    images.check_header(tmp_path / "v.nii", expected_shape=SHAPE)
    with pytest.raises(InputError, match="the reference has"):
        images.check_header(tmp_path / "v.nii", expected_shape=(5, 4, 4))
    header = (tmp_path / "v.nii").read_bytes()[:352]
    (tmp_path / "v.nii").write_bytes(header)
    with pytest.raises(InputError, match="cut short"):
        images.read_volume(tmp_path / "v.nii", grid=grid)


# ---- parts of an image ---------------------------------------------------------------------

WHOLE = Grid((6, 5, 4), (1.0, 2.0, 3.0), (10.0, 0.0, -5.0))


def test_a_part_is_placed_where_it_belongs():
    part = Volume(np.ones((2, 3, 1), np.uint8), Grid((2, 3, 1), (1.0, 2.0, 3.0), (13.0, 2.0, 1.0)))
    expected = np.zeros(WHOLE.shape)
    expected[3:5, 1:4, 2] = 1
    assert_on(placed(part, WHOLE), WHOLE, expected)


def test_a_part_with_other_axes_is_placed():
    array = np.array([[[1, 2]], [[3, 4]], [[5, 6]]], np.uint8)  # axes y, z, -x
    axes = ((0, 0, -1), (1, 0, 0), (0, 1, 0))
    part = Volume(array, Grid((3, 1, 2), (2.0, 3.0, 1.0), (14.0, 2.0, 1.0), axes))
    expected = np.zeros(WHOLE.shape)
    expected[4, 1:4, 2], expected[3, 1:4, 2] = (1, 3, 5), (2, 4, 6)
    read = placed(part, WHOLE)
    assert_on(read, WHOLE, expected)
    assert "stored as y, z, -x;" in read.grid.doubts[0].message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"origin_mm": (13.5, 2.0, 1.0)}, "between the voxels"),
        ({"origin_mm": (9.0, 2.0, 1.0)}, r"reaches from voxel \[-1.0, 1.0, 2.0\]"),
        ({"origin_mm": (15.0, 2.0, 1.0)}, "reaches from voxel"),
        ({"spacing_mm": (1.0, 2.1, 3.0)}, r"has spacing \[1.0, 2.1, 3.0\], the reference has"),
        ({"direction": ((0.8, -0.6, 0), (0.6, 0.8, 0), (0, 0, 1))}, "other directions"),
    ],
)
def test_a_part_that_is_not_on_the_voxels_of_the_reference_is_refused(changes, message):
    grid = Grid((2, 3, 1), (1.0, 2.0, 3.0), (13.0, 2.0, 1.0))
    part = Volume(np.ones((2, 3, 1), np.uint8), Grid(**{**vars(grid), **changes}))
    with pytest.raises(InputError, match=message):
        placed(part, WHOLE)
