"""Headers of text before the voxels, as MHA and NRRD have: their lines, and what follows them."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from isal import igzip

from segjury.errors import InputError
from segjury.images.formats.limits import check_size
from segjury.images.formats.streams import (
    Change,
    Inflated,
    as_stored,
    read_values,
    refuse_broken_data,
)
from segjury.images.formats.values import storable
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Grid
from segjury.images.volume import Volume

HEADER_BYTES = 1 << 20
# one way to match each text: two would take time with the square of its length
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan", re.ASCII | re.IGNORECASE)
WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
Packing = Literal["raw", "zlib", "gzip"]
# of lengths, but for mm; ITK takes their numbers for mm all the same
OTHER_UNITS = re.compile(
    r"[nuc\u00b5\u03bc]?m|in|inch(es)?|microns?|(nano|micro|centi)?met(er|re)s?", re.IGNORECASE
)


@dataclass(frozen=True)
class Header:
    """What a header says of the voxels behind it."""

    grid: Grid
    dtype: np.dtype[Any]
    packing: Packing


class Lines:
    """The lines of a header, up to a limit."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = HEADER_BYTES

    def next(self) -> str | None:
        """The next line, without its end; None where there is none."""
        line = self._file.readline(self._left)
        self._left -= len(line)
        if self._left <= 0:
            raise InputError(
                f"has a header of more than {HEADER_BYTES} bytes", "Write it without its extras"
            )
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def add_field(fields: dict[str, str], key: str, value: str) -> None:
    """Add a line to the fields of a header; refuse two of one kind, which could mean two things."""
    if key in fields:
        raise InputError(f"has two lines {key!r} in its header", "Write it again")
    fields[key] = value


def required(fields: Mapping[str, str], key: str) -> str:
    """The value of a line that must be there."""
    if key not in fields:
        raise InputError(f"has no line {key!r} in its header", "Write it again")
    return fields[key]


def numbers(text: str, count: int, key: str) -> list[float]:
    """`count` numbers in a line."""
    return [float(word) for word in _words(text, count, key, NUMBER)]


def whole_numbers(text: str, count: int, key: str) -> list[int]:
    """`count` whole numbers in a line."""
    return [int(word) for word in _words(text, count, key, WHOLE_NUMBER)]


def _words(text: str, count: int, key: str, pattern: re.Pattern[str]) -> list[str]:
    words = text.split()
    if len(words) != count or not all(pattern.fullmatch(word) for word in words):
        many = "1 number" if count == 1 else f"{count} numbers"
        raise InputError(f"says {key!r} is {shown(text)}, expected {many}", "Write it again")
    return words


def refuse_other_units(text: str) -> None:
    """Refuse lengths in another unit than mm, which programs read differently."""
    for word in text.replace('"', " ").split():
        if OTHER_UNITS.fullmatch(word):
            raise InputError(f"has lengths in {shown(word)}", "Write it in mm")


def shown(text: str) -> str:
    """A text of a header for a message: quoted, escaped and not long."""
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def readers(
    read_header: Callable[[BinaryIO], Header],
) -> tuple[Callable[..., Volume], Callable[[Path], Grid], Callable[[Path, Wanted], None]]:
    """The functions `read`, `read_grid` and `check` of a format, from the one for its header."""

    def read(path: Path, wanted: Wanted, change: Change = as_stored) -> Volume:
        """The volume in a file, its voxels changed as they are read."""
        with path.open("rb") as file:
            header = read_header(file)
            check_claims(file, header, wanted)
            return _read_voxels(file, header, change)

    def read_grid(path: Path) -> Grid:
        """The grid of the volume in a file."""
        with path.open("rb") as file:
            return read_header(file).grid

    def check(path: Path, wanted: Wanted) -> None:
        """Refuse a file by its header and its size, without reading its voxels."""
        with path.open("rb") as file:
            check_claims(file, read_header(file), wanted)

    return read, read_grid, check


def check_claims(file: BinaryIO, header: Header, wanted: Wanted, *, channels: int = 1) -> None:
    """Compare what a header claims with what follows it in the file."""
    shape, itemsize = header.grid.shape, header.dtype.itemsize
    n_bytes = os.fstat(file.fileno()).st_size - file.tell()
    packed = header.packing != "raw"
    check_size(
        shape,
        itemsize,
        n_bytes,
        wanted,
        grid=lambda: header.grid,
        packed=packed,
        channels=channels,
    )


def _read_voxels(file: BinaryIO, header: Header, change: Change) -> Volume:
    """The voxels that begin where `file` stands, changed as they are read."""
    grid, dtype = header.grid, header.dtype
    with unpacked(file, header.packing) as stream:
        values, spans = read_values(stream, math.prod(grid.shape), dtype, change)
    return Volume(values.reshape(grid.shape, order="F"), grid, spans)


@contextlib.contextmanager
def unpacked(file: BinaryIO, packing: Packing) -> Iterator[Any]:
    """The voxels that begin where `file` stands, as a stream."""
    with refuse_broken_data(), contextlib.ExitStack() as opened:
        stream: Any = file
        if packing == "zlib":
            stream = Inflated(file)
        elif packing == "gzip":
            stream = opened.enter_context(igzip.IGzipFile(fileobj=file, mode="rb"))
        yield stream
        stream.read(1)  # lets the checksum behind the data be compared


def write(path: Path, volume: Volume) -> None:
    """Write a volume with SimpleITK, compressed."""
    import SimpleITK as sitk

    array = storable(volume.array)
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T))
    image.SetSpacing(volume.grid.spacing_mm)
    image.SetOrigin(volume.grid.origin_mm)
    image.SetDirection(np.array(volume.grid.direction).reshape(-1).tolist())
    sitk.WriteImage(image, str(path), useCompression=True)
