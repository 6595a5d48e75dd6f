"""Distances from each of a set of grid points to the nearest one of another set.

A search tree is fast where points are few or have a neighbour near, a distance transform where
they are many for the box around them. So whatever the points are, the time is bounded by the box.
The distances are the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Floats, Ints, Shape, Triple, bounding_box, coordinates

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


# Measured: where the one or the other is faster.
NEAR_VOXELS, FAR_VOXELS = 8.0, 32.0
BOX_VOXELS_PER_FAR_POINT = 250
OTHERS_PER_VOXEL = 160  # that a tree looks at while a transform does one voxel
BOX_VOXELS_PER_POINT = 8
MANY_POINTS = 1 << 16  # a tree is fast for less, whatever the box
MOST_BOX_VOXELS = 1 << 27  # 2 GB
STEP_VOXELS = 4  # as far as single steps from a point are tried
CLOSE = 32  # numbers with gaps smaller than that are looked up in a list of all
PIECE = 1 << 20  # points that are looked at together, so that a full mask needs little memory


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
        return _indices(self.flat[rows], self.shape)

    @cached_property
    def box(self) -> Box | None:
        """The smallest box around them, or whole planes where they are many; None for none."""
        return loose_box(self.flat, self.shape)

    def laid_out(self, box: Box) -> Bools:
        """The points in a box as a mask, with axes z, y, x."""
        mask = np.zeros(box.shape[::-1], bool)
        for planes, places in _planes(self.flat, box, self.shape):
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
            place[start : start + PIECE] = _indices(some, self.shape) * self.spacing
        return cKDTree(place, balanced_tree=False, compact_nodes=False)


def check_spacing(spacing: Triple) -> None:
    """Refuse what is not three positive lengths."""
    values = np.asarray(spacing, float)
    if values.shape != (3,) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"spacing is {spacing}, expected three positive numbers")


def nearest_distances(points: Points, others: Points, *, limit: float = math.inf) -> Floats:
    """Distance of each point from the nearest of the others; infinite where there are none.

    Beyond the limit, any value beyond it will do.
    """
    if (points.shape, points.spacing) != (others.shape, others.spacing):
        raise ValueError(
            f"points on a grid {points.shape} of {points.spacing} cannot be compared with "
            f"points on a grid {others.shape} of {others.spacing}"
        )
    if not (points.flat.size and others.flat.size):
        return np.full(points.flat.size, np.inf)
    box, count = _box_around(points, others), points.flat.size + others.flat.size
    if count > MANY_POINTS and _is_small(box, BOX_VOXELS_PER_POINT * count):
        return _distances_among_many(points, others)
    distances = np.where(contained(points.flat, others.flat), 0, np.inf)
    if limit < math.inf:
        _search_tree(points, distances, others, 1.01 * limit)
        return distances
    _search_tree(points, distances, others, NEAR_VOXELS * float(np.mean(others.spacing)))
    _search_far(points, distances, others)
    return distances


def contained(values: Ints, others: Ints) -> Bools:
    """Which values are among the others; both in ascending order without repetition."""
    is_among = [_contained(piece, others) for piece in _pieces(values)]
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


def loose_box(places: Ints, shape: Shape) -> Box | None:
    """The smallest box around places, or whole planes where they fill much; None around nothing."""
    wide, tall, _ = shape
    if BOX_VOXELS_PER_POINT * places.size < math.prod(shape):
        return bounding_box(places, shape)
    first, last = (int(places[end]) // (wide * tall) for end in (0, -1))
    return Box(slice(0, wide), slice(0, tall), slice(first, last + 1))


def _pieces(values: Ints) -> Iterator[Ints]:
    for start in range(0, values.size, PIECE):
        yield values[start : start + PIECE]


def _indices(flat_indices: Ints, shape: Shape) -> Ints:
    """Indices x, y, z of points, (n, 3)."""
    return np.stack(coordinates(flat_indices, shape), axis=1)


def _lengths(offsets: Ints, spacing: Triple) -> Floats:
    """Lengths of whole numbers of voxels, so that the place in the image leaves no rounding."""
    return np.asarray(np.sqrt(((offsets * np.asarray(spacing)) ** 2).sum(axis=1)))


def _box_around(*sets: Points) -> Box:
    """The smallest box around some sets of points, of which one is not empty."""
    return Box.around([points.box for points in sets if points.box])


def _is_small(box: Box, most: int) -> bool:
    return math.prod(box.shape) <= min(MOST_BOX_VOXELS, most)


def _search_tree(points: Points, distances: Floats, others: Points, within: float) -> None:
    """Set the distances that are infinite so far, but for those beyond `within`."""
    for start in range(0, distances.size, PIECE):
        rows = start + np.flatnonzero(np.isinf(distances[start : start + PIECE]))
        if rows.size:
            distances[rows] = _distances_if_near(points.indices(rows), others, within)


def _distances_if_near(indices: Ints, others: Points, within: float) -> Floats:
    """Distance of points from the nearest of the others, infinite where none is near."""
    _, row = others.tree.query(indices * others.spacing, distance_upper_bound=within)
    is_far = row == others.flat.size  # the tree's way to say that none is that near
    distances = _lengths(indices - others.indices(np.where(is_far, 0, row)), others.spacing)
    distances[is_far] = np.inf
    return distances


def _search_far(points: Points, distances: Floats, others: Points) -> None:
    """Set the distances that are infinite so far.

    A tree takes long for a point that many others are about as far from, as amid a hollow box:
    in the worst case it looks at all of them. So that decides beyond a reach, or at once where
    the others are by far more, as they are in no usual mask.
    """
    reach, worst = FAR_VOXELS * float(np.mean(others.spacing)), others.flat.size // OTHERS_PER_VOXEL
    many = others.flat.size > 4 * points.flat.size
    usual = max(BOX_VOXELS_PER_FAR_POINT, worst if many else 0)
    for voxels_per_point, within in ((usual, reach), (worst, math.inf)):
        rows = np.flatnonzero(np.isinf(distances))
        if not rows.size:
            return
        far = Points(points.flat[rows], points.shape, points.spacing)
        box = _box_around(far, others)
        if _is_small(box, voxels_per_point * rows.size):
            distances[rows] = _Transform.of(others, box).distances(far.flat)
            return
        _search_tree(points, distances, others, within)


def _distances_among_many(points: Points, others: Points) -> Floats:
    """Distances where the points or the others are many; few are looked for nearby first."""
    if points.flat.size > others.flat.size:
        return _Transform.of(others, _box_around(points, others)).distances(points.flat)
    distances, margin = _distances_by_steps(points, others), STEP_VOXELS
    while (rows := np.flatnonzero(np.isinf(distances))).size:
        margin *= 8
        left = Points(points.flat[rows], points.shape, points.spacing)
        box, whole = _box_around(left).grow(margin, left.shape), _box_around(left, others)
        if 2 * math.prod(box.shape) > math.prod(whole.shape):
            distances[rows] = _Transform.of(others, whole).distances(left.flat)
        elif others.laid_out(box).any():
            found = _Transform.of(others, box).distances(left.flat)
            known = found <= margin * min(points.spacing)  # none beyond the box is nearer
            distances[rows[known]] = found[known]
    return distances


def _distances_by_steps(points: Points, others: Points) -> Floats:
    """Distance of points from the nearest of the others, infinite where it is some voxels away.

    At each step from a point it is looked up whether one of the others is there, the shortest
    step first.
    """
    box = _box_around(points)
    around = box.grow(STEP_VOXELS, points.shape)
    wide, tall, deep = (side + 2 * STEP_VOXELS for side in box.shape)
    there = np.zeros((deep, tall, wide), bool)  # the box with the same margin on all sides
    z, y, x = (
        slice(a.start - b.start + STEP_VOXELS, a.stop - b.start + STEP_VOXELS)
        for a, b in zip(around[::-1], box[::-1], strict=True)
    )
    there[z, y, x] = others.laid_out(around)
    x_at, y_at, z_at = (place + STEP_VOXELS for place in box.places(points.flat, points.shape))
    at = x_at + wide * (y_at + tall * z_at)
    distances, left = np.full(points.flat.size, np.inf), np.arange(points.flat.size)
    for (dx, dy, dz), length in _shortest_steps(points.spacing):
        hit = there.reshape(-1)[at + (dx + wide * (dy + tall * dz))]
        distances[left[hit]] = length
        left, at = left[~hit], at[~hit]
        if not left.size:
            break
    return distances


def _shortest_steps(spacing: Triple) -> Iterator[tuple[list[int], float]]:
    """Steps of few voxels and their lengths, the shortest first; no other step is shorter."""
    reach = range(-STEP_VOXELS, STEP_VOXELS + 1)
    steps = np.array(list(itertools.product(reach, repeat=3)))
    lengths = _lengths(steps, spacing)
    for row in np.argsort(lengths, kind="stable").tolist():
        if lengths[row] < (STEP_VOXELS + 1) * min(spacing):
            yield steps[row].tolist(), float(lengths[row])


@dataclass(frozen=True)
class _Transform:
    """The nearest one of some points for every place of a box, as indices z, y, x in it."""

    nearest: NDArray[np.int32]
    box: Box
    shape: Shape
    spacing: Triple

    @classmethod
    def of(cls, points: Points, box: Box) -> _Transform:
        """The transform of the points in a box, at least one."""
        from scipy import ndimage

        # Odd sizes, as rows a power of two apart would share a few lines of the cache.
        outside = np.ones([size | 1 for size in box.shape[::-1]], bool)
        wide, tall, deep = box.shape
        outside[:deep, :tall, :wide] = ~points.laid_out(box)
        nearest = ndimage.distance_transform_edt(
            outside, sampling=points.spacing[::-1], return_distances=False, return_indices=True
        )
        return cls(nearest, box, points.shape, points.spacing)

    def distances(self, flat_indices: Ints) -> Floats:
        """Distance of places in the box, in ascending order, from the nearest of the points."""
        distances, done = np.empty(flat_indices.size), 0
        for planes, voxels in _planes(flat_indices, self.box, self.shape):
            slab = np.empty((planes.stop - planes.start, *self.shape[1::-1]))
            slab[:, self.box.y, self.box.x] = self._slab(planes)
            distances[done : done + voxels.size] = slab.reshape(-1)[voxels]
            done += voxels.size
        return distances

    def _slab(self, planes: slice) -> Floats:
        """The distances in some planes; the sum in the order of `_lengths`, to the last bit."""
        wide, tall, _ = self.box.shape
        first, last = planes.start - self.box.z.start, planes.stop - self.box.z.start
        z, y, x = self.nearest[:, first:last, :tall, :wide]
        sx, sy, sz = self.spacing
        square = ((x - np.arange(wide)) * sx) ** 2
        square += ((y - np.arange(tall)[:, None]) * sy) ** 2
        square += ((z - np.arange(first, last)[:, None, None]) * sz) ** 2
        return np.asarray(np.sqrt(square))


def _planes(flat_indices: Ints, box: Box, shape: Shape) -> Iterator[tuple[slice, Ints]]:
    """A few planes of a box at a time, and the points there, counted from the first plane on."""
    size = shape[0] * shape[1]
    step = max(1, PIECE // size)
    for first in range(box.z.start, box.z.stop, step):
        planes = slice(first, min(first + step, box.z.stop))
        ends = np.searchsorted(flat_indices, [planes.start * size, planes.stop * size])
        if ends[0] < ends[1]:
            yield planes, flat_indices[slice(*ends)] - planes.start * size
