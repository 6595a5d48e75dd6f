"""Probabilities as nnU-Net saves them (`.npz`): an array of float in a zip archive.

The directory of the archive is read with zipfile, all else here: sizes are compared before memory
is taken, and no part of the file is ever unpickled or evaluated.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from isal import isal_zlib

from segjury.arrays import Shape
from segjury.errors import InputError
from segjury.images.formats.limits import DEFLATE_LIMIT, refuse_much_more
from segjury.images.formats.streams import (
    Inflated,
    read_exactly,
    read_values,
    refuse_broken_data,
    skip,
)
from segjury.images.formats.values import Probabilities
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Grid
from segjury.images.volume import Volume

MEMBER = "probabilities.npy"
DIRECTORY_BYTES = 1 << 20
HEADER_BYTES = 4096  # of the array: numpy writes 118
MOST_CLASSES = 256  # as many as there are labels
ENCRYPTED = 1
LOCAL_HEADER = struct.Struct("<4s22xHH")
NPY = b"\x93NUMPY"
DESCRIPTION = re.compile(r"""['"]descr['"]\s*:\s*['"]([^'"]*)['"]""")
FORTRAN_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,]*)\)""", re.ASCII)
SIZE = re.compile(r"\s*\d{1,18}\s*", re.ASCII)
FLOATS = re.compile(r"[<>=]?f[248]")


class _Summed(io.RawIOBase):
    """A stream with the checksum of all that was read from it."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self.count = self.checksum = 0

    def readinto(self, memory: Any) -> int:
        count: int = self._stream.readinto(memory)
        self.checksum = isal_zlib.crc32(memoryview(memory)[:count], self.checksum)
        self.count += count
        return count


class _ShortReads(io.FileIO):
    """A file that gives no more than the largest directory at once."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > DIRECTORY_BYTES:
            raise InputError("claims a directory that is too long", "Export it again")
        return super().read(size)


def read_nnunet_probability(path: Path, channel: int, *, grid: Grid) -> Volume:
    """Read one class of nnU-Net's `.npz` (key `probabilities`, axes class, z, y, x) on a grid.

    Pickled content is never loaded; channels before the wanted one are skipped, not kept.
    """
    try:
        with refuse_broken_data(), np.errstate(all="ignore"):
            member = _member(path)
            with path.open("rb") as file:
                return _read_channel(file, member, channel, grid)
    except InputError as error:
        raise error.about(path.name) from None


def _member(path: Path) -> zipfile.ZipInfo:
    """The entry of the array in the directory."""
    try:
        with _ShortReads(path) as file, zipfile.ZipFile(file) as archive:
            member = archive.getinfo(MEMBER)
    except KeyError:
        raise InputError("has no array 'probabilities'", "Export it again") from None
    except (ValueError, NotImplementedError, OverflowError, struct.error, zipfile.BadZipFile) as e:
        raise InputError(f"cannot be read ({e})", "Export it again") from None
    if member.flag_bits & ENCRYPTED:
        raise InputError("cannot be read (it is encrypted)", "Export it again")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"cannot be read (compressed in way {member.compress_type})", "Export it again"
        )
    return member


def check(path: Path, wanted: Wanted) -> None:
    """Refuse an archive by its headers and its size, without reading its values."""
    with refuse_broken_data(), path.open("rb") as file:
        _open_array(file, _member(path), wanted.shape)


def _open_array(
    file: BinaryIO, member: zipfile.ZipInfo, expected_shape: Shape | None, *, channel: int = 0
) -> tuple[_Summed, tuple[int, ...], np.dtype[Any]]:
    """The array of an archive as a stream, its shape and type, if they can hold a channel."""
    _go_to_data(file, member)
    packed = member.compress_type == zipfile.ZIP_DEFLATED
    stream = _Summed(Inflated(file, bare=True) if packed else file)
    shape, dtype = _array_header(stream)
    wanted = expected_shape[::-1] if expected_shape else shape[1:]
    if len(shape) != 4 or shape[1:] != wanted or channel >= shape[0]:
        sizes = ", ".join(map(str, wanted))
        raise InputError(
            f"holds probabilities of shape {shape}, expected (classes, {sizes}) "
            f"with at least {channel + 1} classes",
            "Export them on the reference grid",
            kind="other-shape",
        )
    if shape[0] > MOST_CLASSES:
        raise InputError(f"holds {shape[0]} classes, at most {MOST_CLASSES}", "Export fewer")
    refuse_much_more(os.fstat(file.fileno()).st_size, math.prod(shape) * dtype.itemsize)
    return stream, shape, dtype


def _read_channel(file: BinaryIO, member: zipfile.ZipInfo, channel: int, grid: Grid) -> Volume:
    stream, shape, dtype = _open_array(file, member, grid.shape, channel=channel)
    wanted = shape[1:]
    size = math.prod(wanted) * dtype.itemsize
    packed = member.compress_type == zipfile.ZIP_DEFLATED
    if (channel + 1) * size > member.compress_size * (DEFLATE_LIMIT if packed else 1):
        raise InputError(f"claims shape {shape}, more than the file can hold", "Export it again")
    skip(stream, channel * size)
    check_range = Probabilities()
    values, spans = read_values(stream, math.prod(wanted), dtype, check_range)
    if stream.count == member.file_size and stream.checksum != member.CRC:
        raise InputError("cannot be read (wrong checksum)", "Export it again")
    check_range.check()
    own = replace(grid, doubts=())  # the doubts are those of another file
    return Volume(values.reshape(wanted).T, own, spans)


def _go_to_data(file: BinaryIO, member: zipfile.ZipInfo) -> None:
    nothing = InputError("cannot be read (its directory points to nothing)", "Export it again")
    if not 0 <= member.header_offset < os.fstat(file.fileno()).st_size:
        raise nothing
    file.seek(member.header_offset)
    magic, name, extra = LOCAL_HEADER.unpack(read_exactly(file, LOCAL_HEADER.size))
    if magic != b"PK\x03\x04":
        raise nothing
    file.seek(name + extra, io.SEEK_CUR)


def _array_header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array; its header looks like Python, but is only compared."""
    magic, version = read_exactly(stream, 6), read_exactly(stream, 2)[0]
    if magic != NPY or version not in (1, 2, 3):
        raise InputError("holds no array of numpy", "Export it again")
    length = int.from_bytes(read_exactly(stream, 2 if version == 1 else 4), "little")
    if length > HEADER_BYTES:
        raise InputError(f"has an array with a header of {length} bytes", "Export it again")
    text = read_exactly(stream, length).decode("latin-1")
    fields = [pattern.search(text) for pattern in (DESCRIPTION, FORTRAN_ORDER, SHAPE)]
    if None in fields:
        raise InputError("has a broken array header", "Export it again")
    described, fortran_order, shape = (match.group(1) for match in fields if match)
    if not FLOATS.fullmatch(described) or fortran_order == "True":
        kind = "objects" if "O" in described else described[:20]
        order = " in Fortran order" if fortran_order == "True" else ""
        raise InputError(f"holds probabilities stored as {kind!r}{order}", "Store plain float32")
    sizes = shape.rstrip().removesuffix(",").split(",")
    if not all(SIZE.fullmatch(size) for size in sizes):
        raise InputError("has a broken array header", "Export it again")
    return tuple(map(int, sizes)), np.dtype(described)
