"""Files with a channel for each label, which may overlap."""

from __future__ import annotations

import gzip

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury import images
from segjury.arrays import Box
from segjury.errors import InputError
from segjury.images.formats.channels import MOST_SETS, Overlaps
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels

SHAPE = (6, 5, 4)
A, B, C = (np.zeros(SHAPE, np.uint8) for _ in range(3))
A[1:5, 1:4, 1:3] = 1
B[3:6, 2:5, 1:4] = 1
C[2, 2, 2] = C[0, 0, 0] = 1
STACK = np.stack([A, B, C], axis=-1)


def save(path, array, affine=None, **header):
    image = nib.Nifti1Image(array, np.diag([2.0, 3.0, 4.0, 1.0]) if affine is None else affine)
    for name, value in header.items():
        image.header[name] = value
    nib.save(image, path)


def read(path, labels=(1, 2, 3), **options):
    return images.read_mask(path, labels=labels, **options)


def assert_masks(found, *masks):
    for number, mask in enumerate(masks, 1):
        np.testing.assert_array_equal(found.dense(number), mask > 0)


# ---- masks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("top", [1, 255])
def test_each_channel_is_the_mask_of_its_label(tmp_path, dtype, top):
    save(tmp_path / "m.nii.gz", (STACK.astype(dtype) * dtype(top)))
    found = read(tmp_path / "m.nii.gz")
    assert_masks(found, A, B, C)
    assert found.members is not None
    assert found.members[0] == frozenset()
    assert set(found.members) == {
        frozenset(held) for held in [(), (1,), (2,), (3,), (1, 2), (1, 3)]
    }
    sets = np.array([found.members[value] for value in found.marks.painted(A.size)], object)
    expected = [
        frozenset(label for label, mask in enumerate((A, B, C), 1) if mask.ravel(order="F")[v])
        for v in range(A.size)
    ]
    assert sets.tolist() == expected


def test_a_fifth_axis_behind_one_of_a_single_time_is_read_alike(tmp_path):
    save(tmp_path / "m.nii", STACK[..., None, :])
    assert_masks(read(tmp_path / "m.nii"), A, B, C)


def test_a_single_channel_is_a_label_map_as_before(tmp_path):
    save(tmp_path / "m.nii", (2 * A)[..., None])
    found = read(tmp_path / "m.nii")
    assert found.members is None
    np.testing.assert_array_equal(found.where(2), np.flatnonzero(A.ravel(order="F")))


def test_fewer_channels_than_labels_and_empty_channels_of_none(tmp_path):
    save(tmp_path / "m.nii", STACK[..., :2])
    assert_masks(read(tmp_path / "m.nii"), A, B, 0 * C)
    save(tmp_path / "m.nii", np.stack([A, 0 * A, C], axis=-1))
    assert_masks(read(tmp_path / "m.nii", labels=(1, 3)), A, 0 * A, C)


MIXED = STACK.copy()
MIXED[1, 1, 1, 0] = 255
BAD = {
    "more channels than labels": (
        STACK, (1, 2), r"has shape \(6, 5, 4, 3\): 3 channels, but the labels go up to 2",
    ),
    "marks in the channel of no label": (STACK, (1, 3), "marks in channel 2, expected 1, 3"),
    "labels in a channel": (STACK * 2, (1, 2, 3), "channel 1 has unknown label 2, expected 0, 1"),
    "1 and 255 in a channel": (
        MIXED, (1, 2, 3), "channel 1 has unknown label 255",
    ),
    "fractions": (STACK * np.float32(0.5), (1, 2, 3), "channel 1 is not a mask"),
    "two further axes": (np.stack([STACK, STACK], axis=-1), (1, 2, 3), "has shape"),
}  # fmt: skip


@pytest.mark.parametrize(("array", "labels", "message"), BAD.values(), ids=BAD)
def test_channels_that_are_no_masks_of_labels_are_refused(tmp_path, array, labels, message):
    save(tmp_path / "m.nii", array)
    with pytest.raises(InputError, match=rf"m\.nii .*{message}"):
        read(tmp_path / "m.nii", labels=labels)


def test_a_bad_number_of_channels_is_refused_before_they_are_read(tmp_path):
    save(tmp_path / "m.nii", np.stack([A] * 4, axis=-1))
    (tmp_path / "m.nii.gz").write_bytes(gzip.compress((tmp_path / "m.nii").read_bytes()[:352]))
    with pytest.raises(InputError, match="4 channels"):
        read(tmp_path / "m.nii.gz")


def test_channels_that_the_file_cannot_hold_are_refused(tmp_path):
    save(tmp_path / "m.nii", np.stack([A, B], axis=-1))
    content = bytearray((tmp_path / "m.nii").read_bytes())
    content[48:50] = (200).to_bytes(2, "little")
    (tmp_path / "m.nii").write_bytes(bytes(content))
    with pytest.raises(InputError, match="more than the file can hold"):
        read(tmp_path / "m.nii", labels=range(1, 256))


def test_channels_in_another_order_of_axes(tmp_path):
    save(tmp_path / "m.nii", STACK)
    grid = images.read_grid(tmp_path / "m.nii")
    image = nib.load(tmp_path / "m.nii")
    nib.save(image.as_reoriented(np.array([[2, -1], [0, 1], [1, -1]])), tmp_path / "t.nii")
    found = read(tmp_path / "t.nii", grid=grid)
    assert_masks(found, A, B, C)
    assert [doubt.kind for doubt in found.grid.doubts] == ["reoriented"]


def test_where_labels_must_not_overlap_the_map_has_one_for_each_voxel(tmp_path):
    save(tmp_path / "m.nii", STACK)
    with pytest.raises(InputError, match=r"m\.nii has voxels with several labels: 1, 2"):
        read(tmp_path / "m.nii", overlap=False)
    apart = np.stack([A, B * (1 - A), C * 0], axis=-1)
    save(tmp_path / "m.nii", apart)
    found = read(tmp_path / "m.nii", overlap=False)
    assert found.members is None
    np.testing.assert_array_equal(
        found.marks.painted(A.size).reshape(SHAPE, order="F"), A + 2 * B * (1 - A)
    )


def test_images_and_maps_of_several_channels_have_another_shape(tmp_path):
    save(tmp_path / "m.nii", STACK)
    for reader in (images.read_volume, images.read_probability):
        with pytest.raises(InputError, match=r"has shape \(6, 5, 4, 3\)"):
            reader(tmp_path / "m.nii")


# ---- maps ----------------------------------------------------------------------------------


def test_one_channel_of_probabilities_is_the_map_of_its_label(tmp_path):
    maps = np.random.default_rng(0).random((*SHAPE, 3), dtype=np.float32)
    save(tmp_path / "p.nii.gz", maps)
    save(tmp_path / "t.nii.gz", maps[..., None, :])
    for channel in (1, 2, 3):
        for name in ("p", "t"):
            found = images.read_probability(tmp_path / f"{name}.nii.gz", channel=channel)
            np.testing.assert_array_equal(found.array, maps[..., channel - 1])
    for channel in (0, 4, -1):
        with pytest.raises(InputError, match=f"expected a volume with channel {channel}"):
            images.read_probability(tmp_path / "p.nii.gz", channel=channel)


def test_the_only_channel_of_other_formats_is_the_first(tmp_path):
    save(tmp_path / "p.nii", A)
    images.write_volume(tmp_path / "p.mha", images.read_volume(tmp_path / "p.nii"))
    images.read_probability(tmp_path / "p.mha", channel=1)
    with pytest.raises(InputError, match="expected channel 2"):
        images.read_probability(tmp_path / "p.mha", channel=2)


# ---- the values that stand for sets --------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_labels=st.integers(1, 6))
def test_overlaps_number_just_the_sets_that_occur(seed, n_labels):
    rng = np.random.default_rng(seed)
    masks = rng.random((n_labels, 80)) < rng.choice([0, 0.1, 0.5, 1], (n_labels, 1))
    overlaps = Overlaps(80)
    for label, mask in enumerate(masks, 1):
        overlaps.add(label, mask)
    volume = overlaps.volume(Grid((80, 1, 1)))
    expected = [frozenset(np.flatnonzero(column) + 1) for column in masks.T]
    assert [volume.members[value] for value in volume.array.ravel()] == expected
    assert sorted(map(sorted, volume.members)) == sorted(map(sorted, {frozenset(), *expected}))


def test_more_sets_than_a_byte_tells_apart_are_refused():
    numbers = np.arange(MOST_SETS + 2)
    overlaps = Overlaps(numbers.size)
    for bit in range(8):
        overlaps.add(bit + 1, numbers >> bit & 1)
    with pytest.raises(InputError, match="more than 255 different sets"):
        overlaps.add(9, numbers >> 8 & 1)
    overlaps = Overlaps(MOST_SETS + 1)
    for bit in range(8):
        overlaps.add(bit + 1, numbers[:-1] >> bit & 1)
    assert len(overlaps.volume(Grid((256, 1, 1))).members) == 256


MEMBERS = (frozenset(), frozenset({1}), frozenset({1, 2}), frozenset({4}))


@pytest.mark.parametrize("share", [0.02, 0.6], ids=["few", "many"])
def test_a_map_with_members_tells_where_each_label_is(share):
    rng = np.random.default_rng(0)
    values = np.where(rng.random((20, 30, 10)) < share, rng.integers(1, 4, (20, 30, 10)), 0)
    grid = Grid(values.shape)
    found = LabelMap(SparseLabels.of(np.asfortranarray(values, np.uint8)), grid, MEMBERS)
    for label, holding in ((1, (1, 2)), (2, (2,)), (3, ()), (4, (3,))):
        mask = np.isin(values, holding)
        np.testing.assert_array_equal(found.where(label), np.flatnonzero(mask.ravel(order="F")))
        np.testing.assert_array_equal(found.dense(label), mask)
        np.testing.assert_array_equal(found.crop(label, Box.whole(values.shape)), mask)
    np.testing.assert_array_equal(found.dense(), values > 0)
    np.testing.assert_array_equal(
        found.where(2, 4), np.flatnonzero(np.isin(values, (2, 3)).ravel(order="F"))
    )
    assert found.present == {1, 2, 4}
    plain = LabelMap(found.marks, grid)
    assert plain.present == {1, 2, 3}
    np.testing.assert_array_equal(
        plain.where(1, 3), np.flatnonzero(np.isin(values, (1, 3)).ravel(order="F"))
    )


def test_the_background_has_no_label():
    with pytest.raises(ValueError, match="stands for no label"):
        LabelMap(SparseLabels.of(A), Grid(SHAPE), (frozenset({1}),))
