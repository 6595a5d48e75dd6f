"""Points of a grid, as flat indices: where they are, and how long the way between them is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from segjury.arrays import Bools, Box, Floats, Ints, Shape, Triple, bounding_box, coordinates

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

PIECE = 1 << 20  # points that are looked at together, so that a full mask needs little memory
CLOSE = 32  # numbers with gaps smaller than that are looked up in a list of all
CROWDED = 8  # where one place in so many is a point, the smallest box is not looked for


@dataclass(frozen=True)
class Points:
    """Points of a grid with that shape, as flat indices (x fastest) in ascending order.

    Distances are in the unit of `spacing`: mm, or voxels where it is 1.
    """

    flat: Ints
    shape: Shape
    spacing: Triple

    def indices(self, rows: Ints) -> Ints:
        """Indices x, y, z on the grid of some of the points, (n, 3)."""
        return indices_of(self.flat[rows], self.shape)

    @cached_property
    def box(self) -> Box | None:
        """The smallest box around them, or whole planes where they are many; None for none."""
        return loose_box(self.flat, self.shape)

    def laid_out(self, box: Box) -> Bools:
        """The points in a box as a mask, with axes z, y, x."""
        mask = np.zeros(box.shape[::-1], bool)
        for planes, places in planes_of(self.flat, box, self.shape):
            slab = np.zeros((planes.stop - planes.start, *self.shape[1::-1]), bool)
            slab.reshape(-1)[places] = True
            mask[planes.start - box.z.start : planes.stop - box.z.start] = slab[:, box.y, box.x]
        return mask

    @cached_property
    def tree(self) -> cKDTree:
        """The search tree of the points, made once however many sets are compared with it."""
        from scipy.spatial import cKDTree

        place = np.empty((self.flat.size, 3))
        for start in range(0, len(place), PIECE):
            some = self.flat[start : start + PIECE]
            place[start : start + PIECE] = indices_of(some, self.shape) * self.spacing
        return cKDTree(place, balanced_tree=False, compact_nodes=False)


def check_spacing(spacing: Triple) -> None:
    """Refuse what is not three positive lengths."""
    values = np.asarray(spacing, float)
    if values.shape != (3,) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"spacing is {spacing}, expected three positive numbers")


def box_around(*sets: Points) -> Box:
    """A box around some sets of points, of which one is not empty."""
    return Box.around([points.box for points in sets if points.box])


def loose_box(places: Ints, shape: Shape) -> Box | None:
    """The smallest box around places, or whole planes where they fill much; None around nothing."""
    wide, tall, _ = shape
    if CROWDED * places.size < math.prod(shape):
        return bounding_box(places, shape)
    first, last = (int(places[end]) // (wide * tall) for end in (0, -1))
    return Box(slice(0, wide), slice(0, tall), slice(first, last + 1))


def contained(values: Ints, others: Ints) -> Bools:
    """Which values are among the others; both in ascending order without repetition."""
    is_among = [_contained(piece, others) for piece in pieces(values)]
    return np.concatenate([np.zeros(0, bool), *is_among])


def _contained(values: Ints, others: Ints) -> Bools:
    low, high = int(values[0]), int(values[-1])
    others = others[slice(*np.searchsorted(others, [low, high + 1]))]
    if not others.size:
        return np.zeros(values.size, bool)
    if high - low < CLOSE * values.size:
        among = np.zeros(high - low + 1, bool)
        among[others - low] = True
        return among[values - low]
    return np.asarray(
        others[np.minimum(np.searchsorted(others, values), others.size - 1)] == values
    )


def pieces(values: Ints) -> Iterator[Ints]:
    """The values, some at a time."""
    for start in range(0, values.size, PIECE):
        yield values[start : start + PIECE]


def planes_of(flat_indices: Ints, box: Box, shape: Shape) -> Iterator[tuple[slice, Ints]]:
    """A few planes of a box at a time, and the points there, counted from the first plane on."""
    size = shape[0] * shape[1]
    step = max(1, PIECE // size)
    for first in range(box.z.start, box.z.stop, step):
        planes = slice(first, min(first + step, box.z.stop))
        ends = np.searchsorted(flat_indices, [planes.start * size, planes.stop * size])
        if ends[0] < ends[1]:
            yield planes, flat_indices[slice(*ends)] - planes.start * size


def indices_of(flat_indices: Ints, shape: Shape) -> Ints:
    """Indices x, y, z of points, (n, 3)."""
    return np.stack(coordinates(flat_indices, shape), axis=1)


def lengths(offsets: Ints, spacing: Triple) -> Floats:
    """Lengths of whole numbers of voxels, so that the place in the image leaves no rounding."""
    return np.asarray(np.sqrt(((offsets * np.asarray(spacing)) ** 2).sum(axis=1)))
