"""MetaImage files with their data inside (`.mha`), read as ITK does.

The header is lines `Key = value`; the last is `ElementDataFile = LOCAL`, and the voxels follow.
Space is LPS. A row of `TransformMatrix` is an axis of the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.images.formats.limits import checked_grid, three_dimensions
from segjury.images.formats.text_headers import (
    Header,
    Lines,
    add_field,
    numbers,
    readers,
    refuse_other_units,
    required,
    shown,
    whole_numbers,
    write,
)
from segjury.images.grid import Grid

__all__ = ["SUFFIXES", "check", "read", "read_grid", "write"]

SUFFIXES = (".mha",)
TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",  # of four bytes on every machine
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
LAST = "ElementDataFile"
# different names of one thing
SPACING = ("ElementSpacing", "ElementSize")
ORIGIN = ("Offset", "Position", "Origin")
AXES = ("TransformMatrix", "Rotation", "Orientation")
MOST_OFF = 0.01  # the length of an axis from 1: what rounding may do
BIG_ENDIAN = ("BinaryDataByteOrderMSB", "ElementByteOrderMSB")
# values that change what the data mean
PLAIN = {
    "ElementNumberOfChannels": "1",
    "HeaderSize": "0",
    "ElementToIntensityFunctionSlope": "1",
    "ElementToIntensityFunctionOffset": "0",
}


def _header(file: BinaryIO) -> Header:
    fields = _fields(file)
    if fields[LAST].lower() != "local":
        raise InputError("keeps its data in another file", "Store it as one file")
    for key, plain in PLAIN.items():
        if key in fields and numbers(fields[key], 1, key) != [float(plain)]:
            raise InputError(f"says {key!r} is {shown(fields[key])}", f"Store it with {plain}")
    if not _flag(fields, ("BinaryData",), default=True):
        raise InputError("keeps its data as text", "Store it as binary data")
    kind = required(fields, "ElementType")
    if kind not in TYPES:
        raise InputError(f"has voxels of type {shown(kind)}", "Store one number per voxel")
    order = ">" if _flag(fields, BIG_ENDIAN, default=False) else "<"
    packed = _flag(fields, ("CompressedData",), default=False)
    return Header(_grid(fields), np.dtype(order + TYPES[kind]), "zlib" if packed else "raw")


def _fields(file: BinaryIO) -> dict[str, str]:
    lines, fields = Lines(file), dict[str, str]()
    while LAST not in fields:
        key, equals, value = (lines.next() or "").partition("=")
        if not equals:
            raise InputError("is not an MHA file", "Write it again, or give it its true ending")
        add_field(fields, key.strip(), value.strip())
    return fields


def _grid(fields: Mapping[str, str]) -> Grid:
    (n,) = whole_numbers(required(fields, "NDims"), 1, "NDims")
    if not 2 <= n <= 10:  # as many as ITK knows
        raise InputError(f"has {n} axes", "Store one three-dimensional volume")
    shape = three_dimensions(whole_numbers(required(fields, "DimSize"), n, "DimSize"))
    refuse_other_units(fields.get("DistanceUnits", ""))
    spacing, origin, direction = np.ones(3), np.zeros(3), np.eye(3)
    if text := _one_of(fields, SPACING):
        spacing[:n] = numbers(text, n, SPACING[0])[:3]
    if text := _one_of(fields, ORIGIN):
        origin[:n] = numbers(text, n, ORIGIN[0])[:3]
    if text := _one_of(fields, AXES):
        axes = np.reshape(numbers(text, n * n, AXES[0]), (n, n))
        direction[:n, :n] = axes.T[:3, :3]
        _refuse_long_axes(direction)
    return checked_grid(shape, spacing, origin, direction)


def _refuse_long_axes(direction: NDArray[Any]) -> None:
    """Refuse axes that would change the spacing; what has no length at all is refused later."""
    lengths = np.linalg.norm(direction, axis=0)
    if (np.abs(lengths - 1) > MOST_OFF).any() and lengths.all():
        shown_lengths = ", ".join(f"{length:g}" for length in lengths)
        raise InputError(f"has axes of lengths {shown_lengths}", "Write axes of length 1")


def _one_of(fields: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The value of a field that has several names, all of which must agree."""
    names_by_value = {fields[name]: name for name in names if name in fields}
    if len(names_by_value) > 1:
        lines = " and ".join(map(repr, names_by_value.values()))
        raise InputError(f"says different things in {lines}", "Write it again")
    return next(iter(names_by_value), None)


def _flag(fields: Mapping[str, str], names: tuple[str, ...], *, default: bool) -> bool:
    text = _one_of(fields, names)
    if text is None:
        return default
    if text.lower() not in ("true", "false", "1", "0"):
        raise InputError(
            f"says {names[0]!r} is {shown(text)}, expected True or False", "Write it again"
        )
    return text.lower() in ("true", "1")


read, read_grid, check = readers(_header)
