"""NRRD files with their data inside (`.nrrd`), read as ITK does.

The header is lines `field: value`, notes `key:=value` and comments; an empty line ends it, and the
voxels follow. Format: https://teem.sourceforge.net/nrrd/format.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.images.formats.limits import checked_grid, three_dimensions
from segjury.images.formats.text_headers import (
    Header,
    Lines,
    Packing,
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

SUFFIXES = (".nrrd",)
MAGIC = re.compile(r"NRRD(00\.01|000[1-5])")
TYPES = {
    "i1": ("signed char", "int8", "int8_t"),
    "u1": ("uchar", "unsigned char", "uint8", "uint8_t"),
    "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
    "u2": ("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"),
    "i4": ("int", "signed int", "int32", "int32_t"),
    "u4": ("uint", "unsigned int", "uint32", "uint32_t"),
    "i8": (
        *("longlong", "long long", "long long int", "signed long long", "signed long long int"),
        *("int64", "int64_t"),
    ),
    "u8": (*("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"),),
    "f4": ("float",),
    "f8": ("double",),
}
TYPE_OF_NAME = {name: code for code, names in TYPES.items() for name in names}
PACKINGS: dict[str, Packing] = {"raw": "raw", "gzip": "gzip", "gz": "gzip"}
# the signs that turn a space to LPS; those without anatomy stay as they are, as in ITK
SPACES: dict[str, tuple[int, int, int]] = {
    space: signs
    for spaces, signs in (
        (("left-posterior-superior", "lps"), (1, 1, 1)),
        (("right-anterior-superior", "ras"), (-1, -1, 1)),
        (("left-anterior-superior", "las"), (1, -1, 1)),
        (("scanner-xyz", "3d-right-handed", "3d-left-handed"), (1, 1, 1)),
    )
    for space in spaces
}
ONE_VALUE_KINDS = ("domain", "space", "time", "none", "???")
NOT_KNOWN_HERE = ("lineskip", "byteskip", "axismins", "axismaxs")
VECTOR = re.compile(r"\(([^()]*)\)")


def _header(file: BinaryIO) -> Header:
    fields, _ = fields_and_notes(file)
    return header_of(fields)


def header_of(fields: Mapping[str, str]) -> Header:
    """What the lines of a header say of the voxels."""
    if "datafile" in fields:
        raise InputError("keeps its data in another file", "Store it as one file")
    for key in NOT_KNOWN_HERE:
        if any(word not in ("0", "nan") for word in fields.get(key, "").lower().split()):
            raise InputError(f"has a line {key!r} in its header", "Write it without")
    encoding = required(fields, "encoding").lower()
    if encoding not in PACKINGS:
        raise InputError(f"has its data encoded as {shown(encoding)}", "Store them raw or as gzip")
    return Header(_grid(fields), _dtype(fields), PACKINGS[encoding])


def fields_and_notes(file: BinaryIO) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of a header, and its notes.

    Names of lines are without spaces: `space origin` is `spaceorigin`. Of two notes of one name
    the last counts.
    """
    lines, fields, notes = Lines(file), dict[str, str](), dict[str, str]()
    if not MAGIC.fullmatch(lines.next() or ""):
        raise InputError("is not an NRRD file", "Write it again, or give it its true ending")
    while line := lines.next():
        key, colon, value = line.partition(":")
        if line.startswith("#"):
            continue
        if value.startswith("="):
            notes[key] = value.removeprefix("=").strip()
            continue
        if not colon:
            raise InputError(f"has a line {shown(line)} in its header", "Write it again")
        add_field(fields, "".join(key.split()).lower(), value.strip())
    if line is None:
        raise InputError("has no data behind its header", "Store it as one file")
    return fields, notes


def _dtype(fields: Mapping[str, str]) -> np.dtype[np.generic]:
    name = required(fields, "type")
    code = TYPE_OF_NAME.get(" ".join(name.lower().split()))
    if code is None:
        raise InputError(f"has voxels of type {shown(name)}", "Store integers or floats")
    if code.endswith("1"):
        return np.dtype(code)
    order = {"little": "<", "big": ">"}.get(required(fields, "endian").lower())
    if order is None:
        raise InputError(f"says 'endian' is {shown(fields['endian'])}", "Write little or big")
    return np.dtype(order + code)


def _grid(fields: Mapping[str, str]) -> Grid:
    (n,) = whole_numbers(required(fields, "dimension"), 1, "dimension")
    if not 2 <= n <= 16:  # as many as the format allows
        raise InputError(f"has {n} axes", "Store one three-dimensional volume")
    shape = three_dimensions(whole_numbers(required(fields, "sizes"), n, "sizes"))
    kinds = fields.get("kinds", "").lower().split()
    if any(kind not in ONE_VALUE_KINDS for kind in kinds):
        raise InputError("has several values per voxel", "Store one value per voxel")
    for key in ("units", "spaceunits"):
        refuse_other_units(fields.get(key, ""))
    axes, origin = np.eye(3), np.zeros(3)
    if "spacedirections" in fields:
        n_axes, signs = _space(fields)
        if n_axes != n:
            raise InputError(f"has {n} axes in a space of {n_axes}", "Store one volume in space")
        axes[:n, :n] = _vectors(fields["spacedirections"], n, n, "space directions").T[:3, :3]
        if "spaceorigin" in fields:
            origin[:n] = _vectors(fields["spaceorigin"], 1, n, "space origin")[0, :3]
        axes, origin = axes * np.array(signs)[:, None], origin * signs
    elif "spacings" in fields and ("space" in fields or "spacedimension" in fields):
        raise InputError("gives only spacings in a space", "Write it with space directions")
    elif "spacings" in fields:
        axes[:n, :n] = np.diag([_known(length) for length in _spacings(fields, n)])[:3, :3]
    spacing = np.linalg.norm(axes, axis=0)
    return checked_grid(shape, spacing, origin, axes / spacing)


def _spacings(fields: Mapping[str, str], n: int) -> list[float]:
    lengths = numbers(fields["spacings"], n, "spacings")
    if any(length <= 0 for length in lengths):
        raise InputError(f"has spacings {shown(fields['spacings'])}", "Write it again")
    return lengths


def _known(length: float) -> float:
    """A spacing, or 1 where NaN says that it is not known."""
    return 1.0 if np.isnan(length) else length


def _space(fields: Mapping[str, str]) -> tuple[int, tuple[int, int, int]]:
    """How many directions the space has, and the signs that turn it to LPS."""
    if "space" not in fields:
        (n_axes,) = whole_numbers(required(fields, "spacedimension"), 1, "space dimension")
        return n_axes, (1, 1, 1)
    name = fields["space"].lower()
    if name not in SPACES:
        raise InputError(f"is in the space {shown(name)}", f"Use one of {', '.join(SPACES)}")
    return 3, SPACES[name]


def _vectors(text: str, count: int, length: int, key: str) -> Floats:
    """`count` vectors such as `(1,0,0)`."""
    vectors = VECTOR.findall(text)
    if len(vectors) != count or VECTOR.sub("", text).strip():
        raise InputError(
            f"says {key!r} is {shown(text)}, expected {count} vectors", "Write it again"
        )
    return np.array([numbers(inside.replace(",", " "), length, key) for inside in vectors])


read, read_grid, check = readers(_header)
