"""Which of a set of grid points have one of another set within reach.

Less than the distance is asked, so less is computed: where points are many for the box around
them, the others are widened by all steps that are within reach, a few planes at a time. So time
and memory are bounded by the box, whatever the points are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Floats, Triple
from segjury.metrics.geometry.surfaces.nearest import nearest_distances
from segjury.metrics.geometry.surfaces.points import Points

BOX_VOXELS_PER_POINT = 32  # for fewer points in a box, single searches are faster
MANY_POINTS = 1 << 14
MOST_STEPS = 4000  # for more, distances are faster
SLAB_VOXELS = 1 << 24
BEYOND = 1 << 30  # voxels, more than an image has


def margins_of(limit: float, spacing: Triple) -> tuple[int, int, int]:
    """How many voxels along each axis a limit goes, or a voxel more, or farther than any image."""
    x, y, z = (int(min(limit / size * (1 + 1e-6), BEYOND)) + 1 for size in spacing)
    return x, y, z


@dataclass(frozen=True)
class Reach:
    """The steps on a grid that are within reach: `is_within` tells, of lengths about `limit`."""

    limit: float
    is_within: Callable[[Floats], Bools]
    spacing: Triple

    @property
    def margins(self) -> tuple[int, int, int]:
        """How far it reaches along each axis, in voxels, or a voxel further."""
        return margins_of(self.limit, self.spacing)

    @property
    def widths(self) -> NDArray[np.int64]:
        """How far along x, in voxels, by planes and rows away; -1 where nothing there is."""
        return self.widths_up_to(self.margins)

    def widths_up_to(self, margins: tuple[int, int, int]) -> NDArray[np.int64]:
        """The widths, no farther along each axis than so many voxels."""
        sides = zip(margins, self.spacing, strict=True)
        x, y, z = (np.arange(margin + 1) * size for margin, size in sides)
        square = (x**2 + y[:, None] ** 2) + z[:, None, None] ** 2
        return np.asarray(self.is_within(np.sqrt(square)).sum(axis=2) - 1)


def within_reach(points: Points, others: Points, reach: Reach) -> Bools:
    """Which points have at least one of the others within reach."""
    if not (points.box and others.box):
        return np.zeros(points.flat.size, bool)
    box = points.box & others.box.grow(reach.margins, others.shape)
    if box is None:
        return np.zeros(points.flat.size, bool)
    count = points.flat.size + others.flat.size
    steps = 4 * math.prod(reach.margins[1:])
    is_small = math.prod(box.shape) <= BOX_VOXELS_PER_POINT * count
    if count > MANY_POINTS and is_small and steps <= MOST_STEPS:
        return _by_widening(points, others, reach, box)
    return reach.is_within(nearest_distances(points, others, limit=reach.limit))


def _by_widening(points: Points, others: Points, reach: Reach, box: Box) -> Bools:
    """`within_reach` for the points in a box; no point beyond it is."""
    plane, widths = points.shape[0] * points.shape[1], reach.widths
    found = np.zeros(points.flat.size, bool)
    step = max(reach.margins[2], SLAB_VOXELS // (box.shape[0] * box.shape[1]))
    for first in range(box.z.start, box.z.stop, step):
        inner = Box(box.x, box.y, slice(first, min(first + step, box.z.stop)))
        ends = np.searchsorted(points.flat, [inner.z.start * plane, inner.z.stop * plane])
        if ends[0] == ends[1]:
            continue
        outer = inner.grow(reach.margins, others.shape)
        near = widened(others.laid_out(outer), widths)
        for z in range(inner.z.start, inner.z.stop):
            a, b = np.searchsorted(points.flat, [z * plane, (z + 1) * plane])
            if a == b:
                continue
            row = np.zeros(points.shape[1::-1], bool)
            row[outer.y, outer.x] = np.unpackbits(
                near[z - outer.z.start], axis=-1, count=outer.shape[0]
            )
            found[a:b] = row.reshape(-1)[points.flat[a:b] - z * plane]
    return found


def widened(mask: Bools, widths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """All places within reach of a mask with axes z, y, x; as bits along x."""
    along_x = mask.copy()
    near = np.packbits(np.zeros_like(mask), axis=-1)
    for width in range(int(widths.max()) + 1):
        if width:
            along_x[..., width:] |= mask[..., :-width]
            along_x[..., :-width] |= mask[..., width:]
        bits = np.packbits(along_x, axis=-1)
        for z, y in np.argwhere(widths == width).tolist():
            for a, b in _shifts(z, mask.shape[0]):
                for c, d in _shifts(y, mask.shape[1]):
                    near[a, c] |= bits[b, d]
    return near


def _shifts(step: int, size: int) -> list[tuple[slice, slice]]:
    """Where to and where from, for a step up and one down an axis."""
    if step >= size:
        return []
    upper, lower = slice(step, size), slice(0, size - step)
    return [(upper, lower), (lower, upper)] if step else [(upper, lower)]
