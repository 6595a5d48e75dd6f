"""The 26 neighbours of sparse voxels, as bits of one integer per voxel.

Bit `9 (z+1) + 3 (y+1) + (x+1)` stands for the neighbour at the offset (x, y, z); bit 13 is the
voxel itself and never set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Ints, Shape, coordinates, nonzero_voxels
from segjury.metrics.geometry.dimension import three_axes
from segjury.metrics.inputs import as_mask

Codes = NDArray[np.uint32]

CENTRE = 13
OFFSETS: Ints = np.indices((3, 3, 3)).reshape(3, 27).T[:, ::-1] - 1  # (27, 3), x fastest
ORDER: Ints = np.abs(OFFSETS).sum(axis=1)  # 1 across a face, 2 across an edge, 3 across a corner


def bits(chosen: NDArray[np.bool_]) -> np.uint32:
    """The code with the chosen ones of the 27 bits."""
    return np.uint32(sum(1 << int(bit) for bit in np.flatnonzero(chosen)))


def voxels_of(mask: ArrayLike) -> tuple[Ints, Shape]:
    """Flat indices (x fastest, ascending) of the voxels of a mask, and its shape."""
    dense = as_mask(mask, "mask")
    shape = three_axes(dense.shape, "mask")
    return nonzero_voxels(dense), shape


def padded(voxels: Ints, shape: Shape) -> tuple[Ints, Shape]:
    """Flat indices, and the shape, on the grid with one more voxel on every side.

    There, the next voxel is never one on the other side of the image. The order stays.
    """
    x, y, z = coordinates(voxels, shape)
    wide, high, deep = (size + 2 for size in shape)
    return (x + 1) + wide * ((y + 1) + high * (z + 1)), (wide, high, deep)


@dataclass(frozen=True)
class Neighbourhood:
    """Which neighbours every voxel of a set has in the set, and where to find them in it."""

    code: Codes  # (n,)
    first: NDArray[np.int32]  # (9, n), place of the first neighbour in each row along x

    def of(self, members: Ints) -> Iterator[tuple[int, Ints, Ints]]:
        """For every bit, which of the members have that neighbour, and its place in the set."""
        code = self.code[members]
        for row in range(9):
            place = self.first[row, members].astype(np.int64)
            for bit in range(3 * row, 3 * row + 3):
                has = code >> np.uint32(bit) & np.uint32(1) > 0
                if bit != CENTRE:
                    yield bit, np.flatnonzero(has), place[has]
                place += has if bit != CENTRE else 1  # neighbours in a row follow each other


def neighbourhood(voxels: Ints, shape: Shape) -> Neighbourhood:
    """The neighbourhood within a set of voxels, given by flat indices (x fastest, ascending)."""
    place, (wide, high, _) = padded(voxels, shape)
    guarded = np.append(place, np.iinfo(np.int64).max)
    code = np.zeros(len(place), np.uint32)
    first = np.empty((9, len(place)), np.int32)
    for row in range(9):
        x, y, z = OFFSETS[3 * row].tolist()
        wanted = place + (x + wide * (y + high * z))
        position = np.searchsorted(place, wanted)
        first[row] = position
        for bit in range(3 * row, 3 * row + 3):
            hit = guarded[position] == wanted
            code |= hit.astype(np.uint32) << np.uint32(bit)
            position += hit
            wanted += 1
    return Neighbourhood(code & ~np.uint32(1 << CENTRE), first)
