"""Connected parts and Euler characteristic of a mask, counted slab by slab.

Slabs have a bounded size, whatever the mask is like. Each begins with the last plane of the one
before, so that any two neighbours lie together in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints, Shape, bounding_box, coordinates

Slab = NDArray[np.uint8]  # (z, y, x), 1 in the mask

SLAB_VOXELS = 1 << 22


def slabs(voxels: Ints, shape: Shape) -> Iterator[tuple[Slab, Shape]]:
    """A mask, given by flat voxel indices (ascending), in slabs across z.

    With each, the indices x, y, z of its first voxel, which may lie before the image: on all sides
    of the mask there is one voxel of background.
    """
    box = bounding_box(voxels, shape)
    if box is None:
        return
    wide, high, deep = (size + 2 for size in box.shape)
    planes = max(2, SLAB_VOXELS // (wide * high))
    plane = shape[0] * shape[1]
    for first in range(0, deep - 1, planes - 1):
        last = min(first + planes, deep)
        slab = np.zeros((last - first, high, wide), np.uint8)
        lowest = box.z.start - 1 + first
        ends = np.array([lowest, lowest + last - first]) * plane
        x, y, z = coordinates(voxels[slice(*np.searchsorted(voxels, ends))], shape)
        slab[z - lowest, y - box.y.start + 1, x - box.x.start + 1] = 1
        yield slab, (box.x.start - 1, box.y.start - 1, lowest)


class PartCount:
    """The number of connected parts of a mask that comes in slabs.

    Voxels hang together across faces; with `reach` 2 also across edges, with 3 across corners.
    """

    def __init__(self, reach: int) -> None:
        from scipy import ndimage

        self._structure = ndimage.generate_binary_structure(3, reach)
        self._plane: Ints | None = None  # the last one so far: number of each voxel's part
        self.count = 0

    def add(self, slab: Slab) -> None:
        """Count the parts of the next slab, those that go on from the slab before once."""
        from scipy import ndimage

        labels = np.empty(slab.shape, np.int32)
        count = int(ndimage.label(slab, self._structure, output=labels))
        part = np.arange(count + 1)
        if self._plane is None:
            self.count += count
        else:
            part, joined = _joined(self._plane, labels[0], count)
            self.count += count - joined
        self._plane = part[labels[-1]]


def _joined(before: Ints, labels: NDArray[np.int32], count: int) -> tuple[Ints, int]:
    """New numbers for the labels of a slab, whose first plane shows what they are part of.

    Also, by how many the parts so far and the new ones together are fewer than each for itself.
    """
    from scipy.sparse import coo_array, csgraph

    inside = labels > 0
    known, old = np.unique(before[inside], return_inverse=True)
    nodes = 1 + count + known.size  # the background, the labels, the parts so far
    links = (np.ones(old.size, bool), (labels[inside], old + 1 + count))
    parts, number = csgraph.connected_components(coo_array(links, (nodes, nodes)), directed=False)
    return number[: count + 1].astype(np.int64), nodes - int(parts)


def _corner_parts() -> Ints:
    """Eight times the Euler characteristic at a corner, for each pattern of the voxels around it.

    A corner counts, with a half of the edges, a quarter of the faces and an eighth of the cubes
    that meet there.
    """
    patterns, total = np.arange(256), np.zeros(256, np.int64)
    for cell in product(((0,), (1,), (0, 1)), repeat=3):  # the sides that its cubes lie on
        order = sum(len(sides) == 1 for sides in cell)
        cubes = sum(1 << x + 2 * y + 4 * z for x, y, z in product(*cell))
        total += (-1) ** order * (8 >> order) * (patterns & cubes > 0)
    return total


CORNER_PARTS = _corner_parts()


def eightfold_euler(slab: Slab) -> int:
    """Eight times what a slab adds to the Euler characteristic of the mask, of closed cubes."""
    pattern = slab[:, :, :-1] | slab[:, :, 1:] << 1
    pattern = pattern[:, :-1] | pattern[:, 1:] << 2
    pattern = pattern[:-1] | pattern[1:] << 4
    return int(np.bincount(pattern.ravel(), minlength=256) @ CORNER_PARTS)
