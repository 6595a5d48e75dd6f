"""Where a mask ends: its edge voxels, and the voxel corners its surface passes.

Masks are flat voxel indices. They are laid out as dense slabs of bounded size, so that a compact
mask costs its box, and two stray voxels far apart cost neither the box nor the time between them.
Where a slab would be nearly empty, its voxels are looked at one by one. So the cost is bounded by
the number of voxels. The outside of the image is background, along the axes that it has: a plane
goes on as it is along an axis of size 1, so that its shapes end in outlines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Ints, Shape, coordinates, flat, nonzero_voxels
from segjury.metrics.geometry.dimension import flat_axes, is_volume, stood_up, three_axes
from segjury.metrics.geometry.surfaces.points import contained, loose_box
from segjury.metrics.inputs import as_masks

SLAB_VOXELS = 1 << 20  # stays in the cache
SPARSE = 64  # a slab with fewer voxels than one in so many is not laid out
DENSE = 16  # one with more voxels than one in so many is laid out as wide as the image

Patterns = NDArray[np.uint8]


@dataclass(frozen=True)
class _Slab:
    """The mask in some planes, with one more voxel on all sides; `start` is the first inner one."""

    mask: Patterns
    start: Shape

    def edges(self, shape: Shape) -> Ints:
        """The edge voxels in these planes."""
        mask, inside = self.mask, self.mask[1:-1, 1:-1, 1:-1]
        interior = mask[:-2, 1:-1, 1:-1] & mask[2:, 1:-1, 1:-1]
        interior &= mask[1:-1, :-2, 1:-1] & mask[1:-1, 2:, 1:-1]
        interior &= mask[1:-1, 1:-1, :-2] & mask[1:-1, 1:-1, 2:]
        edge = inside > interior
        return placed(np.flatnonzero(flat(edge)), edge.shape, self.start, shape)

    def corners(self, shape: Shape) -> tuple[Ints, Patterns]:
        """The corners below these planes, and the patterns there."""
        pattern = self.mask[:-1] | self.mask[1:] << 1
        pattern = pattern[:, :-1] | pattern[:, 1:] << 2
        once = tuple(slice(0, 1) if axis in flat_axes(shape) else slice(None) for axis in range(3))
        pattern = (pattern[:, :, :-2] | pattern[:, :, 1:-1] << 4)[once]
        here = np.flatnonzero(flat((pattern != 0) & (pattern != 255)))
        return placed(here, pattern.shape, self.start, corner_grid(shape)), flat(pattern)[here]


@dataclass(frozen=True)
class _Scattered:
    """The voxels of a volume in some planes, and in the planes beside, where these are few."""

    voxels: Ints
    planes: range

    def edges(self, shape: Shape) -> Ints:
        """The edge voxels in these planes."""
        voxels = self.voxels[self._here(self.voxels, shape)]
        interior = np.ones(voxels.size, bool)
        steps = (1, shape[0], shape[0] * shape[1])
        for place, size, step in zip(coordinates(voxels, shape), shape, steps, strict=True):
            interior &= (place > 0) & contained(voxels - step, self.voxels)
            interior &= (place < size - 1) & contained(voxels + step, self.voxels)
        return np.asarray(voxels[~interior])

    def corners(self, shape: Shape) -> tuple[Ints, Patterns]:
        """The corners below these planes, and the patterns there."""
        grid = corner_grid(shape)
        x, y, z = coordinates(self.voxels, shape)
        bits = np.arange(8)  # of the corner that has the voxel there; 7 is its lower corner
        steps = (1 - (bits & 1)) + grid[0] * ((1 - (bits >> 1 & 1)) + grid[1] * (1 - (bits >> 2)))
        lower = x + grid[0] * (y + grid[1] * z)
        keys = np.sort((lower[:, None] + steps) * 8 + bits, axis=None)
        first = np.flatnonzero(np.diff(keys >> 3, prepend=-1))
        patterns = np.bitwise_or.reduceat(np.uint8(1) << (keys & 7).astype(np.uint8), first)
        corners = keys[first] >> 3
        here = self._here(corners, grid)
        meeting = patterns[here] != 255
        return corners[here][meeting], patterns[here][meeting]

    def _here(self, places: Ints, shape: Shape) -> slice:
        """Which of the places on a grid, in ascending order, are in these planes."""
        ends = np.array([self.planes.start, self.planes.stop]) * shape[0] * shape[1]
        start, stop = np.searchsorted(places, ends).tolist()
        return slice(start, stop)


def flat_masks(reference: ArrayLike, prediction: ArrayLike) -> tuple[Ints, Ints, Shape]:
    """Flat indices of the voxels of two dense masks, and the shape of their one grid."""
    r, p = as_masks(reference, prediction)
    shape = three_axes(r.shape, "reference")
    return nonzero_voxels(r), nonzero_voxels(p), shape


def edge_voxels(voxels: Ints, shape: Shape) -> Ints:
    """Flat indices of the voxels of a mask with a face neighbour outside it or the image."""
    shape, _ = stood_up(shape)
    edges = [slab.edges(shape) for slab in _slabs(voxels, shape)]
    return np.concatenate([np.zeros(0, np.int64), *edges])


def corner_patterns(voxels: Ints, shape: Shape) -> tuple[Ints, Patterns]:
    """The voxel corners at which voxels in and out of a mask meet, and the pattern there.

    Corner (i, j, k) is the lower corner of voxel (i, j, k) and the upper one of the voxel before;
    corners are flat indices on a grid one longer than the image along each axis. Bit x + 2 y + 4 z
    of the pattern is voxel (i - 1 + x, j - 1 + y, k - 1 + z), along the axes of `stood_up`.
    """
    shape, _ = stood_up(shape)
    corners, patterns = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    for slab in _slabs(voxels, shape):
        here, found = slab.corners(shape)
        corners.append(here)
        patterns.append(found)
    return np.concatenate(corners), np.concatenate(patterns)


def corner_grid(shape: Shape) -> Shape:
    """Shape of the grid of voxel corners of an image, along the axes of `stood_up`."""
    shape, _ = stood_up(shape)
    x, y, z = (size + (axis not in flat_axes(shape)) for axis, size in enumerate(shape))
    return x, y, z


def placed(here: Ints, within: tuple[int, ...], start: Shape, shape: Shape) -> Ints:
    """Flat indices on a grid of places given by flat indices in a box that starts there."""
    if within[:2] == shape[:2]:
        return here + shape[0] * shape[1] * start[2]
    x, y, z = coordinates(here, (within[0], within[1], within[2]))
    return np.asarray((x + start[0]) + shape[0] * ((y + start[1]) + shape[1] * (z + start[2])))


def _slabs(voxels: Ints, shape: Shape) -> Iterator[_Slab | _Scattered]:
    """Slabs across z, each cut to its voxels, that hold every edge and every corner once.

    The shape is one of `stood_up`, so that z is a real axis.

    A slab answers for its inner planes of voxels and for the corners below these. The corners
    above the last plane belong to the next slab, which may have no voxel of its own.
    """
    box = loose_box(voxels, shape)
    if box is None:
        return
    plane = shape[0] * shape[1]
    wide, tall, _ = (size + 2 for size in box.shape)
    lowest, all_planes = box.z.start, box.shape[2] + 1
    slabs = min(-(-wide * tall * all_planes // SLAB_VOXELS), all_planes)
    planes = -(-all_planes // slabs)
    first_voxels = np.searchsorted(voxels, np.arange(lowest, box.z.stop + 1) * plane)
    above = np.flatnonzero(np.diff(first_voxels))  # planes that hold a voxel
    for number in np.union1d(above // planes, (above + 1) // planes).tolist():
        first = lowest + number * planes
        ends = np.array([first - 1, first + planes + 1]) * plane
        here = voxels[slice(*np.searchsorted(voxels, ends))]
        if here.size > plane * planes // DENSE:
            slab: _Slab | _Scattered = _wide_slab(here, first, planes, shape)
        else:
            slab = _cut_slab(here, first, planes, shape)
        if isinstance(slab, _Slab):
            for axis in flat_axes(shape):  # the plane goes on as it is
                slab.mask[:] = slab.mask.take([1], axis)
        yield slab


def _wide_slab(voxels: Ints, first: int, planes: int, shape: Shape) -> _Slab:
    """The voxels in planes and in those beside, as wide as the image."""
    wide, tall, _ = shape
    inner = np.zeros((wide, tall, planes + 2), np.uint8, order="F")
    flat(inner)[voxels - (first - 1) * wide * tall] = 1
    mask = np.zeros((wide + 2, tall + 2, planes + 2), np.uint8, order="F")
    mask[1:-1, 1:-1] = inner
    return _Slab(mask, (0, 0, first))


def _cut_slab(voxels: Ints, first: int, planes: int, shape: Shape) -> _Slab | _Scattered:
    """The voxels in planes and in those beside, cut to where there are any."""
    x, y, z = coordinates(voxels, shape)
    start = int(x.min()), int(y.min()), first
    size = int(np.ptp(x)) + 3, int(np.ptp(y)) + 3, planes + 2
    if is_volume(shape) and SPARSE * voxels.size < size[0] * size[1] * size[2]:
        return _Scattered(voxels, range(first, first + planes))
    mask = np.zeros(size, np.uint8, order="F")
    mask[x - start[0] + 1, y - start[1] + 1, z - first + 1] = 1
    return _Slab(mask, start)
