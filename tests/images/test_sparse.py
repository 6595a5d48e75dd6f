"""Files of many bytes that the disk does not hold: their headers alone decide about them."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import nibabel as nib
import numpy as np
import pytest

from segjury import images
from segjury.benchmark import folders
from segjury.errors import InputError
from segjury.images.grid import Grid

HUGE = 15 << 30
SHAPE = (5, 4, 3)
PIXELS = bytes(range(60))


def nifti(shape=SHAPE, data=PIXELS):
    header = nib.Nifti1Header()
    header.set_data_dtype(np.uint8)
    header.set_data_shape(shape)
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    return header.binaryblock + bytes(4) + data


def text(kind, packing, data):
    if kind == "mha":
        lines = f"NDims = 3\nDimSize = 5 4 3\nElementType = MET_UCHAR\n{packing}"
        return f"{lines}ElementDataFile = LOCAL\n".encode() + data
    lines = f"type: uchar\ndimension: 3\nsizes: 5 4 3\nencoding: {packing}"
    return f"NRRD0004\n{lines}\n\n".encode() + data


def sparse(path, content, size=HUGE):
    """A file that begins with a content, and is zeros up to its size."""
    path.write_bytes(content)
    os.truncate(path, size)
    return path


TAILS = {
    "nifti.nii": nifti(),
    "packed.nii.gz": gzip.compress(nifti()),
    "raw.mha": text("mha", "", PIXELS),
    "raw.nrrd": text("nrrd", "raw", PIXELS),
    "packed.nrrd": text("nrrd", "gzip", gzip.compress(PIXELS)),
}


@pytest.mark.parametrize("name", TAILS)
def test_a_file_far_longer_than_its_header_says_is_refused(tmp_path, name):
    path = sparse(tmp_path / name, TAILS[name])
    with pytest.raises(InputError, match=rf"{name} has 16106127\d+ bytes, its header needs 60"):
        images.read_volume(path)
    with pytest.raises(InputError, match=rf"{name} has 16106127\d+ bytes, its header needs 60"):
        images.check_header(path)


@pytest.mark.parametrize("name", TAILS)
def test_a_few_bytes_behind_the_data_are_left(tmp_path, name):
    path = sparse(tmp_path / name, TAILS[name], len(TAILS[name]) + 1000)
    images.check_header(path)
    assert bytes(images.read_volume(path).array.ravel(order="F")) == PIXELS


def test_a_header_must_come_first(tmp_path):
    path = sparse(tmp_path / "v.nii.gz", gzip.compress(b""))
    for read in (images.read_volume, images.read_grid, images.check_header):
        with pytest.raises(InputError, match="no header in its first 1048576 bytes"):
            read(path)


def test_a_header_may_come_behind_a_long_name(tmp_path):
    packed = gzip.compress(nifti())
    named = packed[:3] + b"\x08" + packed[4:10] + b"n" * 500_000 + b"\0" + packed[10:]
    (tmp_path / "v.nii.gz").write_bytes(named)
    assert images.read_volume(tmp_path / "v.nii.gz").array.shape == SHAPE


def test_an_empty_mask_that_takes_no_room_on_the_disk_is_read(tmp_path):
    shape = (600, 500, 300)
    path = sparse(tmp_path / "v.nii", nifti(shape, b""), 352 + 600 * 500 * 300)
    images.check_header(path, expected_shape=shape)
    assert images.read_mask(path, labels=[1], grid=Grid(shape)).voxels.size == 0


# ---- archives ------------------------------------------------------------------------------


def archive(path, shape, size):
    """An archive of an array that claims a shape, its directory at some place far behind."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    array = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as written:
        written.writestr("probabilities.npy", array + bytes(480))
    content = stream.getvalue()
    at = content.index(b"PK\x01\x02")
    directory = bytearray(content[at:])
    place = directory.index(b"PK\x05\x06") + 16
    directory[place : place + 4] = size.to_bytes(4, "little")
    with path.open("wb") as file:
        file.write(content[:at])
        file.seek(size)
        file.write(directory)
    return path


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3, 4, 5), "bytes, its header needs 480"),
        ((257, 3, 4, 5), "257 classes, at most 256"),
        ((2, 3, 4, 6), "of shape"),
    ],
)
def test_archives_are_refused_by_their_headers_too(tmp_path, shape, message):
    path = archive(tmp_path / "v.npz", shape, size=1 << 31)
    with pytest.raises(InputError, match=message):
        images.check_header(path, expected_shape=SHAPE)
    with pytest.raises(InputError, match=message):
        images.read_nnunet_probability(path, 1, grid=Grid(SHAPE))


# ---- fingerprints --------------------------------------------------------------------------


@pytest.fixture
def unread(monkeypatch):
    """No file is read whole."""

    def refuse(*_):
        raise AssertionError("a file was read whole")

    monkeypatch.setattr(folders.hashlib, "file_digest", refuse)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("name", [*TAILS, "zeros.nii", "zeros.mha", "none.npz"])
def test_what_is_refused_unread_has_a_fingerprint_unread(tmp_path, name):
    path = sparse(tmp_path / name, TAILS.get(name, b""))
    first = folders.content(path, SHAPE)
    assert folders.content(path, SHAPE) == first
    os.truncate(path, HUGE + 1)
    assert name not in TAILS or folders.content(path, SHAPE) != first


@pytest.mark.usefixtures("unread")
def test_another_shape_has_a_fingerprint_unread(tmp_path):
    shape = (500, 500, 500)
    path = sparse(tmp_path / "v.nii", nifti(shape, b""), 352 + 500**3)
    assert folders.content(path, SHAPE) != folders.content(path, (500, 500, 499))


@pytest.mark.usefixtures("unread")
def test_files_that_are_refused_alike_are_not_the_same(tmp_path):
    first, second = (tmp_path / method / "v.nii" for method in "AB")
    for path in (first, second):
        path.parent.mkdir()
        sparse(path, nifti())
    assert folders.content(first, SHAPE) != folders.content(second, SHAPE)
