"""DICOM structure sets: closed contours in slices, filled on the grid of the reference.

A voxel belongs to a structure if its centre is inside an odd number of its contours in the slice,
so that a contour within another is a hole. A centre on a contour is inside on the side of the
smaller indices, outside on the other, so that structures that share a border share no voxel. A
structure's label is its number, or what its name stands for where names are given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.errors import InputError
from segjury.images.formats.channels import Overlaps, unknown_label
from segjury.images.formats.dicom.datasets import count, needed, text
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import MOST_OF_A_VOXEL, Grid
from segjury.images.volume import Volume

CLOSED = ("CLOSED_PLANAR", "CLOSEDPLANAR_XOR", "CLOSED_PLANAR_XOR")
MOST_CONTOURS = 1 << 17
MOST_STEPS = 1 << 31  # to fill contours: voxels around them, and rows that they cross
DECIMALS = 6  # of a voxel, by which a place may be off: that of numbers written as text
FIX = "Draw closed contours on the slices of the reference"


def without_grid() -> InputError:
    """What to say of a structure set where there is no reference to fill it on."""
    return InputError(
        "is a structure set, which has no grid of its own",
        "Store the first rater's mask as an image, such as .nii.gz",
    )


def read(dataset: Any, wanted: Wanted) -> Volume:
    """The structures of a file, filled on the wanted grid."""
    if wanted.grid is None:
        raise without_grid()
    grid, labels = wanted.grid, wanted.labels or frozenset()
    names = {
        count(item, "ROINumber"): text(item, "ROIName")
        for item in needed(dataset, "StructureSetROISequence")
    }
    structures = _structures(dataset, grid)
    axis = _axis_across([contour for each in structures.values() for contour in each])
    overlaps, left = Overlaps(math.prod(grid.shape)), MOST_STEPS
    for number, contours in sorted(structures.items()):
        planes, left = _filled(contours, grid, axis, left)
        if not planes:
            continue
        name = names.get(number, "")
        label = number if wanted.names is None else wanted.names.get(name)
        if label is None or label not in labels:
            raise unknown_label(f"structure {number} ({name[:60]!r})", labels)
        mask = np.zeros(grid.shape, np.uint8, order="F")
        across = np.moveaxis(mask, axis, 2)  # a view: what is written lands in the mask
        for (level, first_u, first_v), plane in planes.items():
            width, height = plane.shape
            across[first_u : first_u + width, first_v : first_v + height, level] = plane
        overlaps.add(label, mask)
    return overlaps.volume(grid)


# ---- contours ------------------------------------------------------------------------------


def _structures(dataset: Any, grid: Grid) -> dict[int, list[Floats]]:
    """By number, the contours of each structure as places in voxels of the grid."""
    found, left = dict[int, list[Floats]](), MOST_CONTOURS
    for item in needed(dataset, "ROIContourSequence"):
        number = count(item, "ReferencedROINumber")
        if number in found:
            raise InputError(f"has structure {number} twice", "Write it again")
        found[number] = []
        for contour in item.get("ContourSequence") or ():
            left -= 1
            if left < 0:
                raise InputError(f"has more than {MOST_CONTOURS} contours", "Store fewer")
            kind = text(contour, "ContourGeometricType")
            if kind not in CLOSED:
                raise InputError(f"has a contour of type {kind[:24]!r}", FIX)
            found[number].append(_in_voxels(_points_mm(contour), grid))
    return found


def _points_mm(contour: Any) -> Floats:
    """The points of a contour, from its text at once: pydicom makes an object of each number."""
    stored = contour.get_item("ContourData")
    if stored is None:
        raise InputError("has a contour without points", FIX)
    value = stored.value
    words = value.split(b"\\") if isinstance(value, bytes) else list(value or ())
    points = np.array(words).astype(float)
    if points.size % 3 or not np.isfinite(points).all():
        raise InputError("has a contour with broken points", "Write it again")
    return np.asarray(points.reshape(-1, 3))


def _in_voxels(points_mm: Floats, grid: Grid) -> Floats:
    """Places as indices along the axes of a grid; its first voxel's centre is 0, 0, 0."""
    off, direction = points_mm - np.array(grid.origin_mm), np.array(grid.direction)
    along = off[:, :1] * direction[0] + off[:, 1:2] * direction[1] + off[:, 2:] * direction[2]
    return np.asarray(np.round(along / grid.spacing_mm, DECIMALS))


def _axis_across(contours: Sequence[Floats]) -> int:
    """The axis of the grid along which every contour stays in its slice."""
    if not contours:
        return 2
    sizes = np.array([np.ptp(contour, axis=0) for contour in contours if contour.size])
    return int(sizes.max(axis=0).argmin()) if sizes.size else 2


def _filled(
    contours: Sequence[Floats], grid: Grid, axis: int, most_steps: int
) -> tuple[dict[tuple[int, int, int], Bools], int]:
    """What is inside in each slice, by the slice and the first voxel in it, and the steps left."""
    slices: dict[int, list[Floats]] = {}
    for contour in contours:
        if len(contour) >= 3:
            level = _slice_of(contour, grid, axis)
            slices.setdefault(level, []).append(np.delete(contour, axis, axis=1))
    shape = np.delete(grid.shape, axis)
    planes = {}
    for level, polygons in slices.items():
        points = np.concatenate(polygons)
        first = np.floor(points.min(axis=0)).clip(0, shape).astype(int)
        stop = (np.ceil(points.max(axis=0)) + 1).clip(0, shape).astype(int)
        most_steps -= int(np.prod(stop - first))
        plane, crossings = fill([polygon - first for polygon in polygons], stop - first, most_steps)
        most_steps -= crossings
        if plane.any():
            planes[level, int(first[0]), int(first[1])] = plane
    return planes, most_steps


def _slice_of(contour: Floats, grid: Grid, axis: int) -> int:
    """The slice that a contour lies in; refuse one that is in none, or that leaves the image."""
    level = np.rint(contour[0, axis])
    if (np.abs(contour[:, axis] - level) > MOST_OF_A_VOXEL).any():
        raise InputError("has contours that are not on slices of the reference", FIX)
    half = 0.5 + MOST_OF_A_VOXEL
    if (contour < -half).any() or (contour > np.array(grid.shape) - 1 + half).any():
        raise InputError("has contours outside the reference", FIX, kind="other-shape")
    return int(level.clip(0, grid.shape[axis] - 1))


def fill(
    polygons: Sequence[Floats], shape: Sequence[int] | Ints, most_crossings: int
) -> tuple[Bools, int]:
    """Which points with whole coordinates are inside an odd number of polygons.

    Along each row, a point changes sides at every edge that it is not before. Also returns how
    often edges cross rows, and refuses more than are allowed.
    """
    width, height = (int(size) for size in shape)
    changes, crossings = np.zeros((height, width + 1), np.int64), 0
    for polygon in polygons:
        ends = np.roll(polygon, -1, axis=0)
        upward = (polygon[:, 1] <= ends[:, 1])[:, None]
        low, high = np.where(upward, polygon, ends), np.where(upward, ends, polygon)
        first, stop = (np.ceil(end[:, 1]).clip(0, height).astype(np.int64) for end in (low, high))
        counts = stop - first
        crossings += int(counts.sum())
        if crossings > most_crossings:
            raise InputError("has more contours than can be filled", "Store fewer points")
        edges = np.repeat(np.arange(len(counts)), counts)
        starts = np.cumsum(counts) - counts
        rows = np.arange(edges.size) - starts[edges] + first[edges]
        with np.errstate(all="ignore"):  # of edges along a row, which cross none
            slope = (high[:, 0] - low[:, 0]) / (high[:, 1] - low[:, 1])
        places = low[edges, 0] + (rows - low[edges, 1]) * slope[edges]
        columns = np.ceil(np.round(places, DECIMALS)).clip(0, width).astype(np.int64)
        changes += np.bincount(
            rows * (width + 1) + columns, minlength=height * (width + 1)
        ).reshape(height, width + 1)
    inside = np.cumsum(changes, axis=1)[:, :width] % 2 == 1
    return inside.T, crossings
