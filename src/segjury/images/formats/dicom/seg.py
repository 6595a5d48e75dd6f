"""DICOM segmentations: frames, each a slice of one segment, or of all where these do not overlap.

A segment's label is its number, or what its name stands for where names are given. Frames may be
stored for the marked slices only and in any order: the place of each says which slice it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.images.formats.channels import (
    MOST_SETS,
    Overlaps,
    members_of,
    numbered,
    unknown_label,
)
from segjury.images.formats.dicom.datasets import count, needed, numbers, text
from segjury.images.formats.limits import MAX_VOXELS, checked_grid, refuse_much_more
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import MOST_OF_A_VOXEL, Grid
from segjury.images.orientation import axes_in, place, placed
from segjury.images.volume import Volume

MOST_FRAMES = 1 << 16
BITS = {"BINARY": (1,), "LABELMAP": (8, 16)}
FIX = "Store it as a binary segmentation"


@dataclass(frozen=True)
class _Frames:
    """The frames of a file: size, bits of a pixel, segment and place of each (in mm)."""

    columns: int
    rows: int
    bits: int
    segments: tuple[int, ...]  # 0 where a frame holds all of them
    places_mm: Floats


@dataclass(frozen=True)
class _Stack:
    """The grid from the first slice to the last, and the slice of each frame."""

    grid: Grid
    slices: tuple[int, ...]


def read(dataset: Any, wanted: Wanted) -> Volume:
    """The segments of a file, placed into the wanted grid if there is one."""
    labels, frames = wanted.labels or frozenset(), _frames(dataset)
    stack = _stack(dataset, frames, wanted)
    if wanted.grid:
        place(stack.grid, wanted.grid, wanted.tolerance)  # before memory is taken for it
    names = _names(dataset)
    pixels = np.frombuffer(dataset.PixelData, np.uint8)
    if frames.bits == 1:
        volume = _read_bits(pixels, frames, stack, names, labels, wanted.names)
    else:
        volume = _read_numbers(pixels, frames, stack, names, labels, wanted.names)
    return placed(volume, wanted.grid, wanted.tolerance) if wanted.grid else volume


def read_grid(dataset: Any) -> Grid:
    """The grid from the first slice that is stored to the last."""
    return _stack(dataset, _frames(dataset), Wanted()).grid


def check(dataset: Any) -> None:
    """Refuse what its own description does not fit."""
    _stack(dataset, _frames(dataset), Wanted())


# ---- what is said of the frames ------------------------------------------------------------


def _frames(dataset: Any) -> _Frames:
    kind = text(dataset, "SegmentationType")
    if kind not in BITS:
        raise InputError(f"is a segmentation of type {kind[:16]!r}", FIX)
    columns, rows = count(dataset, "Columns"), count(dataset, "Rows")
    n_frames, bits = count(dataset, "NumberOfFrames"), count(dataset, "BitsAllocated")
    if bits not in BITS[kind]:
        raise InputError(f"has {bits} bits per pixel", FIX)
    if n_frames > MOST_FRAMES:
        raise InputError(f"has {n_frames} frames, at most {MOST_FRAMES}", "Store fewer segments")
    n_bytes, expected = len(needed(dataset, "PixelData")), -(-columns * rows * n_frames * bits // 8)
    if n_bytes < expected:
        raise InputError("is cut short", "Write or copy it again")
    refuse_much_more(n_bytes, expected)
    groups = needed(dataset, "PerFrameFunctionalGroupsSequence")
    if len(groups) != n_frames:
        raise InputError(f"describes {len(groups)} of {n_frames} frames", "Write it again")
    segments = [1] * n_frames if kind == "BINARY" else [0] * n_frames
    places = np.empty((n_frames, 3))
    for k, group in enumerate(groups):
        if kind == "BINARY":
            (about,) = _group(dataset, group, "SegmentIdentificationSequence")
            segments[k] = count(about, "ReferencedSegmentNumber")
        (where,) = _group(dataset, group, "PlanePositionSequence")
        places[k] = numbers(where, "ImagePositionPatient", 3)
    return _Frames(columns, rows, bits, tuple(segments), places)


def _group(dataset: Any, frame: Any, name: str) -> Any:
    """What is said of one frame, or of all of them together."""
    shared = dataset.get("SharedFunctionalGroupsSequence")
    for group in (frame, *(shared or ())):
        if found := group.get(name):
            return found
    fix = "Store a segmentation of slices, which have a place in the patient"
    raise InputError(f"has no {name} for some of its frames", fix)


def _stack(dataset: Any, frames: _Frames, wanted: Wanted) -> _Stack:
    """The grid on which the frames are slices, with the slice of each."""
    axes, side = _plane(dataset)
    normal = np.array(
        [
            axes[1, 0] * axes[2, 1] - axes[2, 0] * axes[1, 1],
            axes[2, 0] * axes[0, 1] - axes[0, 0] * axes[2, 1],
            axes[0, 0] * axes[1, 1] - axes[1, 0] * axes[0, 1],
        ]
    )
    heights = (frames.places_mm * normal).sum(axis=1)
    direction = np.column_stack([axes, normal])
    lowest = int(heights.argmin())
    origin = frames.places_mm[lowest]
    step = _step(dataset, heights, checked_grid((1, 1, 1), (*side, 1.0), origin, direction), wanted)
    slices = np.rint((heights - heights[lowest]) / step)
    apart = frames.places_mm - origin - slices[:, None] * step * normal
    if (np.abs(apart) > MOST_OF_A_VOXEL * min(*side, step)).any():
        raise InputError(
            "has frames that are no slices of one grid",
            "Resample it to the reference grid",
            kind="other-spacing",
        )
    n_slices = slices.max() + 1
    if frames.columns * frames.rows * n_slices > MAX_VOXELS:
        raise InputError(f"reaches over {n_slices:g} slices", "Crop it")
    shape = (frames.columns, frames.rows, int(n_slices))
    grid = checked_grid(shape, (*side, step), origin, direction)
    return _Stack(grid, tuple(int(k) for k in slices))


def _plane(dataset: Any) -> tuple[Floats, tuple[float, float]]:
    """The directions of rows and columns, and the sides of a pixel along them; one for all."""
    found = set()
    for group in needed(dataset, "PerFrameFunctionalGroupsSequence"):
        (turn,) = _group(dataset, group, "PlaneOrientationSequence")
        (size,) = _group(dataset, group, "PixelMeasuresSequence")
        found.add((*numbers(turn, "ImageOrientationPatient", 6), *numbers(size, "PixelSpacing", 2)))
    if len(found) > 1:
        raise InputError("has frames in different directions", "Store slices of one grid")
    *cosines, down, across = found.pop()
    axes = np.reshape(cosines, (2, 3)).T
    lengths = np.sqrt((axes**2).sum(axis=0))
    if not (np.abs(lengths - 1) <= 1e-3).all():
        raise InputError("has a broken orientation in its header", "Write it again")
    return axes / lengths, (across, down)


def _step(dataset: Any, heights: Floats, plane: Grid, wanted: Wanted) -> float:
    """How far slices are apart: as the reference's are, else as the closest two."""
    if wanted.grid and (axes := axes_in(plane, wanted.grid)):
        across = next(k for k, axis in enumerate(axes) if axis.number == 2)
        return wanted.grid.spacing_mm[across]
    gaps = np.diff(np.unique(np.round(heights, 6)))
    if gaps.size:
        return float(gaps.min())
    (group, *_) = needed(dataset, "PerFrameFunctionalGroupsSequence")
    (size,) = _group(dataset, group, "PixelMeasuresSequence")
    for name in ("SpacingBetweenSlices", "SliceThickness"):
        if size.get(name) is not None and float(size.get(name)) > 0:
            return numbers(size, name, 1)[0]
    return 1.0


def _names(dataset: Any) -> dict[int, str]:
    """The names of the segments by their numbers; a label map may name its background, 0."""
    segments = needed(dataset, "SegmentSequence")
    found = {
        int(needed(segment, "SegmentNumber")): text(segment, "SegmentLabel") for segment in segments
    }
    if len(found) < len(segments):
        raise InputError("has two segments with one number", "Write it again")
    return found


# ---- pixels --------------------------------------------------------------------------------


def _read_bits(
    pixels: NDArray[np.uint8],
    frames: _Frames,
    stack: _Stack,
    names: Mapping[int, str],
    labels: Collection[int],
    label_of: Mapping[str, int] | None,
) -> Volume:
    """The segments, each in frames of its own."""
    overlaps, size = Overlaps(math.prod(stack.grid.shape)), frames.columns * frames.rows
    of_segment: dict[int, dict[int, int]] = {}  # the frame of each slice
    for k, (number, level) in enumerate(zip(frames.segments, stack.slices, strict=True)):
        if number not in names:
            raise InputError(f"has frames of segment {number}, which it lacks", "Write it again")
        if of_segment.setdefault(number, {}).setdefault(level, k) != k:
            raise InputError(f"has a slice of segment {number} twice", "Write it again")
    for number, frame_of in sorted(of_segment.items()):
        mask, spans = np.zeros(stack.grid.shape, np.uint8, order="F"), []
        for level, k in sorted(frame_of.items()):
            first = k * size  # bit, as frames follow each other without a gap
            packed = pixels[first // 8 : -(-(first + size) // 8)]
            bits = np.unpackbits(packed, bitorder="little")[first % 8 :][:size]
            mask[:, :, level] = bits.reshape(frames.rows, frames.columns).T
            if bits.any():
                spans.append((level * size, (level + 1) * size))
        if spans:
            overlaps.add(_label(number, names, labels, label_of), mask, spans)
    return overlaps.volume(stack.grid)


def _read_numbers(
    pixels: NDArray[np.uint8],
    frames: _Frames,
    stack: _Stack,
    names: Mapping[int, str],
    labels: Collection[int],
    label_of: Mapping[str, int] | None,
) -> Volume:
    """The segments by their numbers in frames of all of them."""
    if len(set(stack.slices)) < len(stack.slices):
        raise InputError("has a slice twice", "Write it again")
    known = [number for number in names if number]
    if len(known) > MOST_SETS:
        raise InputError(f"has {len(known)} segments, at most {MOST_SETS}", "Store fewer")
    number_them, values = numbered(known, "a frame"), pixels.view(f"<u{frames.bits // 8}")
    size, counts = frames.columns * frames.rows, np.zeros(256, np.int64)
    array = np.zeros(stack.grid.shape, np.uint8, order="F")
    for k, level in enumerate(stack.slices):
        frame = number_them(values[k * size : (k + 1) * size])
        counts += np.bincount(frame, minlength=256)
        array[:, :, level] = frame.reshape(frames.rows, frames.columns).T
    held = [
        _label(number, names, labels, label_of) if marked else None
        for number, marked in zip(known, counts[1:].tolist(), strict=False)
    ]
    return Volume(array, stack.grid, members=members_of(held))


def _label(
    number: int,
    names: Mapping[int, str],
    labels: Collection[int],
    label_of: Mapping[str, int] | None,
) -> int:
    """The label of a segment that marks something."""
    label = number if label_of is None else label_of.get(names[number])
    if label is None or label not in labels:
        raise unknown_label(f"segment {number} ({names[number][:60]!r})", labels)
    return label
