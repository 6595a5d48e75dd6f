"""Where a mask ends: its edge voxels, and the voxel corners its surface passes.

Masks are flat voxel indices. They are laid out as dense slabs of bounded size, so that a compact
mask costs its box, and two stray voxels far apart cost neither the box nor the time between them.
The outside of the image is background, along the axes that it has: a plane goes on as it is along
an axis of size 1, so that its shapes end in outlines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Ints, Shape, coordinates, flat, nonzero_voxels
from segjury.metrics.geometry.dimension import flat_axes, stood_up, three_axes
from segjury.metrics.geometry.nearest import extent
from segjury.metrics.inputs import as_masks

SLAB_VOXELS = 1 << 20  # stays in the cache


@dataclass(frozen=True)
class _Slab:
    """The mask in some planes, with one more voxel on all sides; `start` is the first inner one."""

    mask: NDArray[np.uint8]
    start: tuple[int, int, int]


def flat_masks(reference: ArrayLike, prediction: ArrayLike) -> tuple[Ints, Ints, Shape]:
    """Flat indices of the voxels of two dense masks, and the shape of their one grid."""
    r, p = as_masks(reference, prediction)
    shape = three_axes(r.shape, "reference")
    return nonzero_voxels(r), nonzero_voxels(p), shape


def edge_voxels(voxels: Ints, shape: Shape) -> Ints:
    """Flat indices of the voxels of a mask with a face neighbour outside it or the image."""
    edges = [np.zeros(0, np.int64)]
    shape, _ = stood_up(shape)
    for slab in _slabs(voxels, shape):
        inside = slab.mask[1:-1, 1:-1, 1:-1]
        interior = slab.mask[:-2, 1:-1, 1:-1] & slab.mask[2:, 1:-1, 1:-1]
        interior &= slab.mask[1:-1, :-2, 1:-1] & slab.mask[1:-1, 2:, 1:-1]
        interior &= slab.mask[1:-1, 1:-1, :-2] & slab.mask[1:-1, 1:-1, 2:]
        edge = inside > interior
        edges.append(_placed(np.flatnonzero(flat(edge)), edge.shape, slab.start, shape))
    return np.concatenate(edges)


def corner_patterns(voxels: Ints, shape: Shape) -> tuple[Ints, NDArray[np.uint8]]:
    """The voxel corners at which voxels in and out of a mask meet, and the pattern there.

    Corner (i, j, k) is the lower corner of voxel (i, j, k) and the upper one of the voxel before;
    corners are flat indices on a grid one longer than the image along each axis. Bit x + 2 y + 4 z
    of the pattern is voxel (i - 1 + x, j - 1 + y, k - 1 + z), along the axes of `stood_up`.
    """
    shape, _ = stood_up(shape)
    once = tuple(slice(0, 1) if axis in flat_axes(shape) else slice(None) for axis in range(3))
    corners, patterns = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    for slab in _slabs(voxels, shape):
        pattern = slab.mask[:-1] | slab.mask[1:] << 1
        pattern = pattern[:, :-1] | pattern[:, 1:] << 2
        pattern = (pattern[:, :, :-2] | pattern[:, :, 1:-1] << 4)[once]
        here = np.flatnonzero(flat((pattern != 0) & (pattern != 255)))
        patterns.append(flat(pattern)[here])
        corners.append(_placed(here, pattern.shape, slab.start, corner_grid(shape)))
    return np.concatenate(corners), np.concatenate(patterns)


def corner_grid(shape: Shape) -> Shape:
    """Shape of the grid of voxel corners of an image, along the axes of `stood_up`."""
    shape, _ = stood_up(shape)
    x, y, z = (size + (axis not in flat_axes(shape)) for axis, size in enumerate(shape))
    return x, y, z


def _placed(here: Ints, within: tuple[int, ...], start: Shape, shape: Shape) -> Ints:
    """Flat indices on a grid of places given by flat indices in a box that starts there."""
    x, y, z = coordinates(here, (within[0], within[1], within[2]))
    return np.asarray((x + start[0]) + shape[0] * ((y + start[1]) + shape[1] * (z + start[2])))


def _slabs(voxels: Ints, shape: Shape) -> Iterator[_Slab]:
    """Slabs across z, each cut to its voxels, that hold every edge and every corner once.

    The shape is one of `stood_up`, so that z is a real axis.

    A slab answers for its inner planes of voxels and for the corners below these. The corners
    above the last plane belong to the next slab, which may have no voxel of its own.
    """
    if voxels.size == 0:
        return
    plane = shape[0] * shape[1]
    low, high = extent(voxels, shape)
    wide, tall, _ = (high - low + 3).tolist()
    lowest, all_planes = int(low[2]), int(high[2] - low[2]) + 2
    slabs = min(-(-wide * tall * all_planes // SLAB_VOXELS), all_planes)
    planes = -(-all_planes // slabs)
    first_voxels = np.searchsorted(voxels, np.arange(lowest, high[2] + 2) * plane)
    above = np.flatnonzero(np.diff(first_voxels))  # planes that hold a voxel
    for number in np.union1d(above // planes, (above + 1) // planes).tolist():
        first = lowest + number * planes
        ends = np.array([first - 1, first + planes + 1]) * plane
        x, y, z = coordinates(voxels[slice(*np.searchsorted(voxels, ends))], shape)
        slab = _slab(x, y, z - first, planes, first)
        for axis in flat_axes(shape):  # the plane goes on as it is
            slab.mask[:] = slab.mask.take([1], axis)
        yield slab


def _slab(x: Ints, y: Ints, z: Ints, planes: int, first: int) -> _Slab:
    start = int(x.min()), int(y.min()), first
    mask = np.zeros((np.ptp(x) + 3, np.ptp(y) + 3, planes + 2), np.uint8, order="F")
    mask[x - start[0] + 1, y - start[1] + 1, z + 1] = 1
    return _Slab(mask, start)
