from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import struct
import tracemalloc
import zipfile
import zlib

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segjury import images
from segjury.errors import InputError, MissingInputError
from segjury.images.grid import Grid
from segjury.images.volume import Volume

GRID = Grid((5, 4, 3), (0.7, 0.8, 2.5), (10.0, -20.0, 30.0), ((0, 1, 0), (-1, 0, 0), (0, 0, 1)))
VALUES = np.arange(60, dtype=np.int16).reshape(5, 4, 3)
relaxed = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def save(path, array, *, dtype=None, affine=None):
    nib.save(
        nib.Nifti1Image(
            array.astype(dtype or array.dtype), np.eye(4) if affine is None else affine
        ),
        path,
    )


def peak_of(work):
    """The most memory in use during some work, and what it gives."""
    tracemalloc.start()
    try:
        given = work()
        return tracemalloc.get_traced_memory()[1], given
    finally:
        tracemalloc.stop()


# ---- formats -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", images.WRITTEN)
def test_what_is_written_is_read_back(tmp_path, suffix):
    path = tmp_path / f"volume{suffix}"
    images.write_volume(path, Volume(VALUES, GRID))
    read = images.read_volume(path)
    np.testing.assert_array_equal(read.array, VALUES)
    assert read.array.flags.f_contiguous
    assert read.grid.shape == GRID.shape
    np.testing.assert_allclose(read.grid.spacing_mm, GRID.spacing_mm, rtol=1e-6)
    np.testing.assert_allclose(read.grid.origin_mm, GRID.origin_mm, rtol=1e-6)
    np.testing.assert_allclose(read.grid.direction, GRID.direction, atol=1e-6)


@pytest.mark.parametrize("suffix", images.WRITTEN)
def test_files_mean_the_same_to_simpleitk(tmp_path, suffix):
    path = tmp_path / f"volume{suffix}"
    images.write_volume(path, Volume(VALUES, GRID))
    image = sitk.ReadImage(str(path))
    np.testing.assert_array_equal(sitk.GetArrayFromImage(image), VALUES.T)
    np.testing.assert_allclose(image.GetSpacing(), GRID.spacing_mm, rtol=1e-6)
    np.testing.assert_allclose(image.GetOrigin(), GRID.origin_mm, rtol=1e-6)
    np.testing.assert_allclose(np.reshape(image.GetDirection(), (3, 3)), GRID.direction, atol=1e-6)


@pytest.mark.parametrize("suffix", images.WRITTEN)
def test_files_of_simpleitk_are_read_as_it_reads_them(tmp_path, suffix):
    image = sitk.GetImageFromArray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    image.SetSpacing((1.5, 0.5, 3.0))
    image.SetOrigin((5.0, 6.0, -7.0))
    image.SetDirection((0, -1, 0, 1, 0, 0, 0, 0, 1))
    sitk.WriteImage(image, str(tmp_path / f"v{suffix}"))
    read = images.read_volume(tmp_path / f"v{suffix}")
    np.testing.assert_array_equal(read.array, sitk.GetArrayFromImage(image).T)
    np.testing.assert_allclose(read.grid.spacing_mm, (1.5, 0.5, 3.0), rtol=1e-6)
    np.testing.assert_allclose(read.grid.origin_mm, (5.0, 6.0, -7.0), rtol=1e-6)
    np.testing.assert_allclose(
        np.array(read.grid.direction).ravel(), image.GetDirection(), atol=1e-6
    )


@relaxed
@given(
    array=hnp.arrays(
        st.sampled_from([np.uint8, np.int16, np.int32, np.float32, np.float64, ">i2", ">f4"]),
        hnp.array_shapes(min_dims=3, max_dims=3, max_side=6),
        elements=st.integers(0, 100),
    )
)
def test_nifti_of_nibabel_is_read_value_for_value(tmp_path, array):
    image = nib.Nifti1Image(array.astype(array.dtype.newbyteorder("=")), np.diag([2, 3, 4, 1]))
    image.set_data_dtype(array.dtype)
    nib.save(image, tmp_path / "v.nii.gz")
    read = images.read_volume(tmp_path / "v.nii.gz")
    np.testing.assert_array_equal(read.array, array)
    assert read.grid.spacing_mm == (2.0, 3.0, 4.0)


def test_big_endian_and_scaled_nifti(tmp_path):
    header = nib.Nifti1Header(endianness=">")
    header.set_data_shape((3, 2, 2))
    header.set_data_dtype(">i2")
    header["scl_slope"], header["scl_inter"] = 0.5, 10
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    values = np.arange(12, dtype=">i2")
    (tmp_path / "v.nii").write_bytes(header.binaryblock + bytes(4) + values.tobytes())
    read = images.read_volume(tmp_path / "v.nii")
    np.testing.assert_array_equal(read.array.ravel(order="F"), np.arange(12) * 0.5 + 10)


def test_nifti_2_and_a_trailing_axis_of_one(tmp_path):
    image = nib.Nifti2Image(VALUES[..., None], np.eye(4))
    nib.save(image, tmp_path / "v.nii.gz")
    np.testing.assert_array_equal(images.read_volume(tmp_path / "v.nii.gz").array, VALUES)


def test_gzip_in_several_members(tmp_path):
    save(tmp_path / "v.nii", VALUES)
    content = (tmp_path / "v.nii").read_bytes()
    pieces = [content[:100], content[100:400], content[400:]]
    (tmp_path / "v.nii.gz").write_bytes(b"".join(gzip.compress(piece) for piece in pieces))
    np.testing.assert_array_equal(images.read_volume(tmp_path / "v.nii.gz").array, VALUES)


def test_nnunet_probabilities(tmp_path):
    p = np.random.default_rng(0).random((2, 3, 4, 5), dtype=np.float32)  # class, z, y, x
    np.savez_compressed(tmp_path / "case.npz", probabilities=p)
    read = images.read_nnunet_probability(tmp_path / "case.npz", 1, grid=Grid((5, 4, 3)))
    np.testing.assert_array_equal(read.array, p[1].T)


# ---- masks and probabilities ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_masks_of_any_type_are_the_same_mask(tmp_path, dtype):
    mask = (VALUES % 3 == 0).astype(dtype)
    save(tmp_path / "m.nii.gz", mask)
    read = images.read_mask(tmp_path / "m.nii.gz", labels=[1])
    np.testing.assert_array_equal(read.voxels, np.flatnonzero(mask.ravel(order="F")))
    assert (read.labels == 1).all()


def test_floats_close_to_whole_numbers_are_rounded(tmp_path):
    save(tmp_path / "m.nii.gz", np.where(VALUES > 30, 0.99999, 1e-7))
    read = images.read_mask(tmp_path / "m.nii.gz", labels=[1])
    assert read.where(1).size == (VALUES > 30).sum()


def test_noise_that_rounds_to_nothing_is_background(tmp_path):
    noisy = np.where(VALUES > 30, 1.0, 2e-4)
    save(tmp_path / "m.nii.gz", noisy, dtype=np.float32)
    read = images.read_mask(tmp_path / "m.nii.gz", labels=[1])
    np.testing.assert_array_equal(read.voxels, np.flatnonzero((VALUES > 30).ravel(order="F")))


@pytest.mark.parametrize("off", [2e-3, 0.02, 0.4])
def test_a_mask_must_be_within_a_thousandth_of_whole_numbers(tmp_path, off):
    save(tmp_path / "m.nii.gz", np.where(VALUES > 30, 1.0 - off, 0.0), dtype=np.float64)
    with pytest.raises(InputError, match="not whole numbers"):
        images.read_mask(tmp_path / "m.nii.gz", labels=[1])


BAD_MASKS = {
    "fractional": (np.where(VALUES > 30, 0.4, 0.0), "not whole numbers, e.g. 0.4"),
    "0-255": (np.where(VALUES > 30, 255, 0), "unknown label 255, expected 0, 1"),
    "NaN": (np.where(VALUES > 30, np.nan, 0.0), "not whole numbers, e.g. nan"),
    "negative": (np.where(VALUES > 30, -1, 0), "unknown label -1"),
}


@pytest.mark.parametrize(("array", "message"), BAD_MASKS.values(), ids=BAD_MASKS)
def test_bad_masks_are_refused(tmp_path, array, message):
    save(tmp_path / "m.nii.gz", array, dtype=np.float64 if array.dtype == float else np.int16)
    with pytest.raises(InputError, match=message):
        images.read_mask(tmp_path / "m.nii.gz", labels=[1])


def save_scaled(path, array, slope, intercept):
    """Write stored values and a scaling as they are."""
    header = nib.Nifti1Header()
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    header["scl_slope"], header["scl_inter"] = slope, intercept
    header["vox_offset"], header["magic"] = 352, b"n+1"
    path.write_bytes(header.binaryblock + bytes(4) + array.tobytes(order="F"))


STORED = hnp.arrays(
    st.sampled_from(["u1", "i2", "i8", "u8", "f4", "f8"]).map(np.dtype),
    (2, 3, 2),
    elements=st.sampled_from([0, 0, 1, 2, 3]),
)
ODD = [255, 257, -1, 2**40, 0.4, 1.0004, np.nan, np.inf]


@relaxed
@given(
    array=STORED,
    odd=st.none() | st.sampled_from(ODD),
    scaling=st.sampled_from([(1, 0), (2, 0), (2, -1)]),
)
def test_a_mask_is_the_rounded_array_or_refused(tmp_path, array, odd, scaling):
    if odd is not None and array.dtype.kind == "f":
        array[1, 2, 1] = odd
    elif odd is not None and np.iinfo(array.dtype).min <= odd <= np.iinfo(array.dtype).max:
        array[1, 2, 1] = int(odd)
    path, labels = tmp_path / "m.nii", {1, 2, 3, 5}
    save_scaled(path, array, *scaling)
    values = [scaling[0] * float(value) + scaling[1] for value in array.ravel(order="F")]
    if any(not np.isfinite(value) or abs(value - round(value)) > 1e-3 for value in values):
        with pytest.raises(InputError, match="not whole numbers"):
            images.read_mask(path, labels=labels)
    elif strange := sorted({round(value) for value in values} - {0} - labels):
        with pytest.raises(InputError, match=rf"unknown labels? {re.escape(f'{strange[0]:g}')}\b"):
            images.read_mask(path, labels=labels)
    else:
        found, meant = images.read_mask(path, labels=labels), np.rint(values)
        np.testing.assert_array_equal(found.voxels, np.flatnonzero(meant))
        np.testing.assert_array_equal(found.labels, meant[meant != 0])


@pytest.mark.parametrize("suffix", images.WRITTEN)
def test_a_mask_takes_a_byte_per_voxel_however_it_is_stored(tmp_path, suffix):
    shape = (200, 100, 100)
    images.write_volume(tmp_path / f"m{suffix}", Volume(np.ones(shape, order="F"), Grid(shape)))
    peak, mask = peak_of(lambda: images.read_mask(tmp_path / f"m{suffix}", labels=[1]))
    assert mask.voxels.size == 2_000_000
    assert peak < 2 * 2_000_000 + (1 << 23)


def test_a_scaled_map_takes_no_more_than_its_values(tmp_path):
    array = np.full((200, 100, 100), 255, np.uint8)
    save_scaled(tmp_path / "p.nii", array, 1 / 255, 0)
    peak, read = peak_of(lambda: images.read_probability(tmp_path / "p.nii"))
    assert (read.array == 1).all()  # 255 times the float32 next to 1/255 is more
    assert peak < read.array.nbytes + (1 << 23)


BAD_PROBABILITIES = {
    "NaN": (np.where(VALUES > 30, np.nan, 0.5), "NaN"),
    "0-255": (np.where(VALUES > 30, 255.0, 0.0), "from 0 to 255"),
    "negative": (np.where(VALUES > 30, -0.1, 0.5), "from -0.1 to 0.5"),
    "infinite": (np.where(VALUES > 30, np.inf, 0.5), "inf"),
    "more than rounding": (np.where(VALUES > 30, 1.000002, 0.5), "from 0 to 1.000002"),
}


@pytest.mark.parametrize(("array", "message"), BAD_PROBABILITIES.values(), ids=BAD_PROBABILITIES)
def test_bad_probabilities_are_refused(tmp_path, array, message):
    save(tmp_path / "p.nii.gz", array, dtype=np.float32)
    with pytest.raises(InputError, match=message):
        images.read_probability(tmp_path / "p.nii.gz")


@pytest.mark.parametrize(("stored", "meant"), [(1 + 1e-6, 1), (-1e-6, 0)])
def test_rounding_past_0_and_1_is_taken_back(tmp_path, stored, meant):
    save(tmp_path / "p.nii.gz", np.where(VALUES > 30, stored, 0.5), dtype=np.float64)
    read = images.read_probability(tmp_path / "p.nii.gz")
    np.testing.assert_array_equal(read.array, np.where(VALUES > 30, meant, 0.5))


# ---- broken and lying files ----------------------------------------------------------------


def nifti_claiming(shape, content=b""):
    header = nib.Nifti1Header()
    header.set_data_dtype(np.uint8)
    header["dim"] = [len(shape), *shape, *[1] * (7 - len(shape))]
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    return header.binaryblock + bytes(4) + content


BROKEN = {
    "empty.nii.gz": (b"", "empty file"),
    "text.nii.gz": (b"this is not an image\n" * 50, "not a gzip file"),
    "hello.nii.gz": (b"hello", "not a gzip file"),
    "bare.nii.gz": (b"\x1f\x8b", "cut short"),
    "odd.nii.gz": (b"\x1f\x8b" + b"odd" * 50, "cannot be read"),
    "text.nii": (b"this is not an image\n" * 50, "not a NIfTI file"),
    "short.nii": (b"abc", "cut short"),
    "text.mha": (b"this is not an image\n" * 50, "not an MHA file"),
    "text.nrrd": (b"this is not an image\n" * 50, "not an NRRD file"),
    "huge.nii": (nifti_claiming((30000, 30000, 30000)), "more than"),
    "lying.nii": (nifti_claiming((100, 100, 100), bytes(10)), "more than the file can hold"),
    "lying.nii.gz": (gzip.compress(nifti_claiming((1000, 1000, 1000))), "more than the file"),
    "cut.nii.gz": (gzip.compress(nifti_claiming((40, 40, 4), bytes(100))), "cut short"),
    "negative.nii": (nifti_claiming((-5, 4, 3), bytes(100)), "has shape"),
    "four.nii": (nifti_claiming((2, 2, 2, 3), bytes(24)), "has shape"),
    "half.nii.gz": (gzip.compress(nifti_claiming((9, 9, 9), os.urandom(729)))[:-300], "cut short"),
    "elsewhere.mha": (
        b"ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n"
        b"ElementDataFile = /etc/passwd\n",
        "another file",
    ),
    "elsewhere.nrrd": (
        b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\n"
        b"data file: /etc/passwd\n\n",
        "another file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_in_words(tmp_path, name):
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        images.read_volume(tmp_path / name)


def test_a_flipped_bit_is_noticed(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (9, 9, 9), dtype=np.uint8)
    save(tmp_path / "v.nii.gz", noise)
    content = bytearray((tmp_path / "v.nii.gz").read_bytes())
    content[-100] ^= 4
    (tmp_path / "v.nii.gz").write_bytes(bytes(content))
    with pytest.raises(InputError, match="cannot be read"):
        images.read_volume(tmp_path / "v.nii.gz")


def test_another_shape_is_refused_before_the_data_are_read(tmp_path):
    (tmp_path / "v.nii.gz").write_bytes(gzip.compress(nifti_claiming((4, 4, 4))))  # no data at all
    with pytest.raises(InputError, match=r"has shape \(4, 4, 4\), the reference has \(5, 5, 5\)"):
        images.read_volume(tmp_path / "v.nii.gz", grid=Grid((5, 5, 5)))


def test_missing_and_ambiguous_files(tmp_path):
    with pytest.raises(MissingInputError, match=r"mask\.nii\.gz is missing"):
        images.find(tmp_path, "mask")
    for suffix in (".nii.gz", ".mha"):
        (tmp_path / f"mask{suffix}").touch()
    with pytest.raises(InputError, match="Keep one of them"):
        images.find(tmp_path, "mask")


class Surprise:
    def __reduce__(self):
        return os.system, ("touch /tmp/segjury-was-here",)


BAD_ARCHIVES = {
    "pickle": ({"probabilities": np.array([Surprise()], dtype=object)}, "Export|stored"),
    "no key": ({"softmax": np.zeros((2, 3, 4, 5), np.float32)}, "no array 'probabilities'"),
    "shape": ({"probabilities": np.zeros((2, 3, 4, 4), np.float32)}, "of shape"),
    "one class": ({"probabilities": np.zeros((1, 3, 4, 5), np.float32)}, "at least 2 classes"),
    "integers": ({"probabilities": np.zeros((2, 3, 4, 5), np.int64)}, "stored as '<i8'"),
    "range": ({"probabilities": np.full((2, 3, 4, 5), 7, np.float32)}, "from 0 to 7"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES)
def test_bad_archives_are_refused(tmp_path, arrays, message):
    np.savez_compressed(tmp_path / "case.npz", **arrays)
    with pytest.raises(InputError, match=message):
        images.read_nnunet_probability(tmp_path / "case.npz", 1, grid=Grid((5, 4, 3)))


def test_an_archive_compressed_in_an_unknown_way(tmp_path):
    np.savez_compressed(tmp_path / "case.npz", probabilities=np.zeros((2, 3, 4, 5), np.float32))
    content = bytearray((tmp_path / "case.npz").read_bytes())
    content[8] = 77  # the method, in the local header and in the directory
    content[content.rindex(b"PK\x01\x02") + 10] = 77
    (tmp_path / "case.npz").write_bytes(bytes(content))
    with pytest.raises(InputError, match="cannot be read"):
        images.read_nnunet_probability(tmp_path / "case.npz", 1, grid=Grid((5, 4, 3)))


def test_an_archive_that_is_none(tmp_path):
    (tmp_path / "case.npz").write_bytes(b"PK\x03\x04 but not really")
    with pytest.raises(InputError, match="cannot be read"):
        images.read_nnunet_probability(tmp_path / "case.npz", 1, grid=Grid((5, 4, 3)))


@relaxed
@given(st.binary(max_size=600), st.sampled_from(images.SUFFIXES))
def test_any_bytes_give_a_volume_or_an_input_error(tmp_path, content, suffix):
    path = tmp_path / f"fuzz{suffix}"
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        images.read_volume(path)


@relaxed
@given(st.data())
def test_any_damage_to_a_header_gives_a_volume_or_an_input_error(tmp_path, data):
    content = bytearray(nifti_claiming((5, 4, 3), bytes(60)))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, 351))] = data.draw(st.integers(0, 255))
    for name, stored in (("d.nii", bytes(content)), ("d.nii.gz", gzip.compress(bytes(content)))):
        (tmp_path / name).write_bytes(stored)
        with contextlib.suppress(InputError):
            images.read_volume(tmp_path / name)


def test_data_may_begin_later(tmp_path):
    content = bytearray(nifti_claiming((5, 4, 3), bytes(48) + bytes(range(60))))
    content[108:112] = struct.pack("<f", 400)
    (tmp_path / "v.nii").write_bytes(bytes(content))
    read = images.read_volume(tmp_path / "v.nii").array
    np.testing.assert_array_equal(read.ravel(order="F"), np.arange(60))


@pytest.mark.parametrize("offset", [1e12, float("nan"), float("inf")])
def test_an_offset_past_the_end_is_refused(tmp_path, offset):
    content = bytearray(nifti_claiming((5, 4, 3), bytes(60)))
    content[108:112] = struct.pack("<f", offset)
    (tmp_path / "v.nii").write_bytes(bytes(content))
    with pytest.raises(InputError, match="past its end"):
        images.read_volume(tmp_path / "v.nii")


# ---- what the fuzzers found ----------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -5, -8, 8, 30000])
def test_a_nifti_with_an_odd_number_of_axes(tmp_path, n):
    content = bytearray(nifti_claiming((5, 4, 3), bytes(60)))
    content[40:42] = struct.pack("<h", n)
    (tmp_path / "v.nii").write_bytes(bytes(content))
    for read in (images.read_volume, images.read_grid):
        with pytest.raises(InputError, match=r"has -?\d+ axes"):
            read(tmp_path / "v.nii")


@pytest.mark.parametrize(("code", "bits"), [("<u4", 0x7FA00000), ("<u8", 0x7FF4 << 48)])
def test_a_signalling_nan_is_refused_without_a_warning(tmp_path, code, bits):
    values = np.full(VALUES.shape, bits, code).view(code.replace("u", "f"))
    save(tmp_path / "v.nii", values)
    with pytest.raises(InputError, match=r"not whole numbers, e\.g\. nan"):
        images.read_mask(tmp_path / "v.nii", labels=[1])
    with pytest.raises(InputError, match="has NaN"):
        images.read_probability(tmp_path / "v.nii")


def test_an_infinite_place_is_refused_without_a_warning(tmp_path):
    content = bytearray(nifti_claiming((5, 4, 3), bytes(60)))
    content[254:256] = struct.pack("<h", 1)
    content[280:328] = struct.pack("<12f", *[np.inf, 0, 0, np.nan] * 3)
    (tmp_path / "v.nii").write_bytes(bytes(content))
    with pytest.raises(InputError, match="broken orientation"):
        images.read_grid(tmp_path / "v.nii")


@pytest.mark.parametrize("shape", ["(2, 3 4, 5)", "(,)", "()", "(2,, 3)", f"({'9' * 30},)"])
def test_the_shape_of_an_array_must_be_whole_numbers(tmp_path, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(480)
    with zipfile.ZipFile(tmp_path / "case.npz", "w") as archive:
        archive.writestr("probabilities.npy", content)
    with pytest.raises(InputError, match="broken array header"):
        images.read_nnunet_probability(tmp_path / "case.npz", 1, grid=Grid((5, 4, 3)))


# ---- bombs ---------------------------------------------------------------------------------

CLAIMED, BEHIND = bytes(range(60)), bytes(1 << 26)  # 64 MB of zeros behind what a header claims
PROBABILITIES = np.zeros((2, 3, 4, 5), np.float32)
MHA_HEAD = (
    b"NDims = 3\nDimSize = 5 4 3\nElementType = MET_UCHAR\nCompressedData = True\n"
    b"ElementDataFile = LOCAL\n"
)
NRRD_HEAD = b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 5 4 3\nencoding: gzip\n\n"


def written(tmp_path, suffix):
    path = tmp_path / f"bomb{suffix}"
    if suffix == ".nii.gz":
        path.write_bytes(gzip.compress(nifti_claiming((5, 4, 3), CLAIMED) + BEHIND))
    elif suffix == ".mha":
        path.write_bytes(MHA_HEAD + zlib.compress(CLAIMED + BEHIND))
    elif suffix == ".nrrd":
        path.write_bytes(NRRD_HEAD + gzip.compress(CLAIMED) + gzip.compress(BEHIND))
    else:
        stream = io.BytesIO()
        np.save(stream, PROBABILITIES)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("probabilities.npy", stream.getvalue() + BEHIND)
    return path


@pytest.mark.parametrize("suffix", [".nii.gz", ".mha", ".nrrd", ".npz"])
def test_a_bomb_costs_no_memory(tmp_path, suffix):
    path = written(tmp_path, suffix)
    assert path.stat().st_size < 1 << 18
    if suffix == ".npz":
        grid = Grid((5, 4, 3))
        peak, read = peak_of(lambda: images.read_nnunet_probability(path, 1, grid=grid))
        assert not read.array.any()
    else:
        peak, read = peak_of(lambda: images.read_volume(path))
        np.testing.assert_array_equal(read.array.ravel(order="F"), np.arange(60))
    assert peak < 1 << 23
