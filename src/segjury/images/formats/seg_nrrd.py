"""Segmentations of 3D Slicer (`.seg.nrrd`): NRRD with segments, which may overlap in layers.

Notes such as `Segment0_LabelValue:=1` say which value in which layer is a segment; layers are a
further axis of kind `list`. A segment's label is what its name stands for where names are given;
else its value, where all segments have different ones, and its place in the order, from 1, where
not. The image may be cut to what is marked: the place of its first voxel says where it belongs,
and `Segmentation_ReferenceImageExtentOffset` says the same once more, in voxels of an image that
the file does not describe.

Format: https://slicer.readthedocs.io/en/latest/developer_guide/modules/segmentations.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints
from segjury.errors import InputError
from segjury.images.formats import nrrd
from segjury.images.formats.channels import (
    MOST_SETS,
    Overlaps,
    Sets,
    label_twice,
    members_of,
    numbered,
    unknown_label,
)
from segjury.images.formats.streams import PIECE_BYTES, Change, as_stored, read_values
from segjury.images.formats.text_headers import (
    Header,
    check_claims,
    required,
    shown,
    unpacked,
    whole_numbers,
)
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Grid
from segjury.images.orientation import place, placed
from segjury.images.volume import Volume

SUFFIXES = (".seg.nrrd",)
NOTE = re.compile(r"Segment(\d{1,4})_(Name|LabelValue|Layer|ID)", re.ASCII)
MOST_SEGMENTS = MOST_SETS
BINARY = "binary labelmap"
KEY_COLUMNS = 5  # of a byte each that a number of 8 bytes takes up beside one of 20 bits


@dataclass(frozen=True)
class Segment:
    """A segment: its name, the value in a layer that marks it, and the label that it stands for.

    None is no label; whether it marks anything is seen when the voxels are read.
    """

    name: str
    value: int
    layer: int
    label: int | None = None


@dataclass(frozen=True)
class _Layers:
    """What a header says: the grid of a layer, how many there are, and the segments in them.

    Of several layers, the voxels of a place follow each other where they are `side_by_side`.
    """

    header: Header
    count: int
    side_by_side: bool
    segments: tuple[Segment, ...]


def read(path: Path, wanted: Wanted, change: Change = as_stored) -> Volume:
    """The segments in a file; where no mask is wanted, the volume of its only layer."""
    if wanted.labels is None:
        return nrrd.read(path, wanted, change)
    with path.open("rb") as file:
        layers = _layers(file, wanted.names)
        check_claims(file, layers.header, Wanted(), channels=layers.count)
        if math.prod(layers.header.grid.shape) == 1:  # which stands for no image at all
            grid = replace(wanted.grid or layers.header.grid, doubts=())
            return Volume(np.zeros(grid.shape, np.uint8, order="F"), grid, (), (frozenset(),))
        if wanted.grid:
            place(layers.header.grid, wanted.grid, wanted.tolerance)  # before memory is taken
        several = _read_side_by_side if layers.side_by_side else _read_in_turn
        volume = (several if layers.count > 1 else _read_single)(file, layers, wanted.labels)
    return placed(volume, wanted.grid, wanted.tolerance) if wanted.grid else volume


def read_grid(path: Path) -> Grid:
    """The grid of what is stored, which may be a part of the image."""
    with path.open("rb") as file:
        return _layers(file, None).header.grid


def check(path: Path, wanted: Wanted) -> None:
    """Refuse a file by its header and its size; a part of an image may have any shape."""
    with path.open("rb") as file:
        layers = _layers(file, wanted.names)
        check_claims(file, layers.header, Wanted(), channels=layers.count)


# ---- the header ----------------------------------------------------------------------------


def _layers(file: BinaryIO, names: Mapping[str, int] | None) -> _Layers:
    fields, notes = nrrd.fields_and_notes(file)
    kind = notes.get("Segmentation_SourceRepresentation") or notes.get(
        "Segmentation_MasterRepresentation", BINARY
    )
    if kind.lower() != BINARY:
        raise InputError(f"holds a {shown(kind)}", "Export it as a binary labelmap")
    count, side_by_side = _take_list_axis(fields)
    header = nrrd.header_of(fields)
    if header.dtype.kind not in "iu":
        raise InputError(f"has segments stored as {header.dtype}", "Export it as a labelmap")
    return _Layers(header, count, side_by_side, _segments(notes, count, names))


def _take_list_axis(fields: dict[str, str]) -> tuple[int, bool]:
    """Take the axis of layers out of the lines of a header: its size, and whether it is first."""
    if required(fields, "dimension") != "4":
        return 1, True
    kinds = fields.get("kinds", "").split()
    if len(kinds) != 4 or kinds.count("list") != 1 or kinds.index("list") not in (0, 3):
        raise InputError("has four axes and no list of layers first or last", "Export it again")
    at = kinds.index("list")
    sizes = whole_numbers(required(fields, "sizes"), 4, "sizes")
    if not 1 <= sizes[at] <= MOST_SEGMENTS:
        raise InputError(f"has {sizes[at]} layers, at most {MOST_SEGMENTS}", "Export fewer")
    directions = required(fields, "spacedirections")
    rest = directions.removeprefix("none") if at == 0 else directions.removesuffix("none")
    del kinds[at]
    fields |= {
        "dimension": "3",
        "sizes": " ".join(str(size) for k, size in enumerate(sizes) if k != at),
        "kinds": " ".join(kinds),
        "spacedirections": rest.strip(),
    }
    return sizes[at], at == 0


def _segments(
    notes: Mapping[str, str], n_layers: int, names: Mapping[str, int] | None
) -> tuple[Segment, ...]:
    """The segments in their order, each with its label."""
    about: dict[int, dict[str, str]] = {}
    for key, text in notes.items():
        if match := NOTE.fullmatch(key):
            about.setdefault(int(match[1]), {})[match[2]] = text
    if not about:
        raise InputError("describes no segments", "Store a plain label map as .nrrd")
    if len(about) > MOST_SEGMENTS:
        raise InputError(f"has {len(about)} segments, at most {MOST_SEGMENTS}", "Export fewer")
    found = []
    for k, said in sorted(about.items()):
        (value,) = whole_numbers(said.get("LabelValue", "1"), 1, f"Segment{k}_LabelValue")
        # files of older versions have a layer for each segment
        (layer,) = whole_numbers(said.get("Layer", str(k)), 1, f"Segment{k}_Layer")
        if value == 0 or not 0 <= layer < n_layers:
            raise InputError(
                f"has segment {k} as value {value} of layer {layer}", "Export it again"
            )
        found.append(Segment(said.get("Name", said.get("ID", "")), value, layer))
    if len({(segment.layer, segment.value) for segment in found}) < len(found):
        raise InputError("has two segments with one value in one layer", "Export it again")
    return _labelled(found, names)


def _labelled(segments: Sequence[Segment], names: Mapping[str, int] | None) -> tuple[Segment, ...]:
    """The segments with their labels: by name, else by value, else by order."""
    apart = len({segment.value for segment in segments}) == len(segments)

    def label(order: int, segment: Segment) -> int | None:
        if names is not None:
            return names.get(segment.name)
        return segment.value if apart else order

    found = [label(order, segment) for order, segment in enumerate(segments, 1)]
    for number in found:
        if number is not None and found.count(number) > 1:
            raise label_twice(number)
    return tuple(
        replace(segment, label=number) for segment, number in zip(segments, found, strict=True)
    )


# ---- the voxels ----------------------------------------------------------------------------


def _read_single(file: BinaryIO, layers: _Layers, labels: Collection[int]) -> Volume:
    """The segments of the only layer, which cannot overlap."""
    grid = layers.header.grid
    with unpacked(file, layers.header.packing) as stream:
        values, spans = read_values(
            stream, math.prod(grid.shape), layers.header.dtype, _numbered(layers.segments, 0)
        )
    counts = np.zeros(256, np.int64)
    for start, stop in spans:
        counts += np.bincount(values[start:stop], minlength=256)
    held = [
        _known(segment, labels) if count else None
        for segment, count in zip(layers.segments, counts[1:].tolist(), strict=False)
    ]
    return Volume(values.reshape(grid.shape, order="F"), grid, spans, members_of(held))


def _numbered(segments: Sequence[Segment], layer: int) -> Change:
    return numbered([segment.value for segment in segments], f"layer {layer}")


def _read_in_turn(file: BinaryIO, layers: _Layers, labels: Collection[int]) -> Volume:
    """The segments of layers that follow each other."""
    grid = layers.header.grid
    size = math.prod(grid.shape)
    overlaps = Overlaps(size)
    with unpacked(file, layers.header.packing) as stream:
        for layer in range(layers.count):
            inside = [segment for segment in layers.segments if segment.layer == layer]
            change = _numbered(inside, layer)
            values, spans = read_values(stream, size, layers.header.dtype, change)
            for number, segment in enumerate(inside, 1):
                parts = [span for span in spans if (values[slice(*span)] == number).any()]
                if parts:
                    overlaps.add(_known(segment, labels), values == number, parts)
    return overlaps.volume(grid)


def _read_side_by_side(file: BinaryIO, layers: _Layers, labels: Collection[int]) -> Volume:
    """The segments of layers whose voxels follow each other place by place."""
    grid, dtype, n = layers.header.grid, layers.header.dtype, layers.count
    inside = [[segment for segment in layers.segments if segment.layer == k] for k in range(n)]
    changes = [_numbered(segments, k) for k, segments in enumerate(inside)]
    values, sets = np.zeros(math.prod(grid.shape), np.uint8), Sets()

    def number_of(row: Sequence[int]) -> int:
        """The number of the set of labels that the segments at one place stand for."""
        here = [inside[layer][number - 1] for layer, number in enumerate(row) if number]
        return sets.number(_known(segment, labels) for segment in here)

    step = max(1, PIECE_BYTES // (n * dtype.itemsize))
    with unpacked(file, layers.header.packing) as stream:
        for start in range(0, values.size, step):
            count = min(step, values.size - start)
            piece, spans = read_values(stream, count * n, dtype)
            for first, stop in spans:  # which may begin and end within a place
                rows = piece.reshape(count, n)[first // n : -(-stop // n)]
                marked = np.flatnonzero(rows.any(axis=1))
                numbers = np.stack([changes[k](rows[marked, k]) for k in range(n)], axis=1)
                examples, which = _different(numbers)
                table = np.array([number_of(row) for row in examples.tolist()], np.uint8)
                values[start + first // n + marked] = table[which]
    return Volume(values.reshape(grid.shape, order="F"), grid, members=sets.members)


def _different(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Ints]:
    """The rows that differ, and for each row which of them it is."""
    keys = np.zeros(len(rows), np.int64)
    for k, column in enumerate(rows.T, 1):
        keys = keys * 256 + column
        if k % KEY_COLUMNS == 0:  # before the key gets too long
            keys = np.unique(keys, return_inverse=True)[1]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], which


def _known(segment: Segment, labels: Collection[int]) -> int:
    """The label of a segment that marks something."""
    if segment.label is None or segment.label not in labels:
        number = "" if segment.label is None else f" (label {segment.label})"
        raise unknown_label(f"the segment {shown(segment.name)}{number}", labels)
    return segment.label
