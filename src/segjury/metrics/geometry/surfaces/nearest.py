"""Distances from each of a set of grid points to the nearest one of another set.

A search tree is fast where points are few or have a neighbour near, a distance transform where
they are many for the box around them. So whatever the points are, the time is bounded by the box.
The distances are the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from segjury.arrays import Box, Floats, Ints, Triple
from segjury.metrics.geometry.surfaces.points import (
    Points,
    box_around,
    contained,
    lengths,
    pieces,
)
from segjury.metrics.geometry.surfaces.transform import Transform

# Measured: where the one or the other is faster.
NEAR_VOXELS, FAR_VOXELS = 8.0, 32.0
BOX_VOXELS_PER_FAR_POINT = 250
OTHERS_PER_VOXEL = 160  # that a tree looks at while a transform does one voxel
BOX_VOXELS_PER_POINT = 8
MANY_POINTS = 1 << 16  # a tree is fast for less, whatever the box
MOST_BOX_VOXELS = 1 << 27  # 2 GB
STEP_VOXELS = 4  # as far as single steps from a point are tried


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
    box, count = box_around(points, others), points.flat.size + others.flat.size
    if count > MANY_POINTS and _is_small(box, BOX_VOXELS_PER_POINT * count):
        return _distances_among_many(points, others)
    distances = np.where(contained(points.flat, others.flat), 0, np.inf)
    if limit < math.inf:
        _search_tree(points, distances, others, 1.01 * limit)
        return distances
    _search_tree(points, distances, others, NEAR_VOXELS * float(np.mean(others.spacing)))
    _search_far(points, distances, others)
    return distances


def _is_small(box: Box, most: int) -> bool:
    return math.prod(box.shape) <= min(MOST_BOX_VOXELS, most)


def _search_tree(points: Points, distances: Floats, others: Points, within: float) -> None:
    """Set the distances that are infinite so far, but for those beyond `within`."""
    for rows in pieces(np.flatnonzero(np.isinf(distances))):
        distances[rows] = _distances_if_near(points.indices(rows), others, within)


def _distances_if_near(indices: Ints, others: Points, within: float) -> Floats:
    """Distance of points from the nearest of the others, infinite where none is near."""
    _, row = others.tree.query(indices * others.spacing, distance_upper_bound=within)
    is_far = row == others.flat.size  # the tree's way to say that none is that near
    distances = lengths(indices - others.indices(np.where(is_far, 0, row)), others.spacing)
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
        box = box_around(far, others)
        if _is_small(box, voxels_per_point * rows.size):
            distances[rows] = Transform.of(others, box).distances(far.flat)
            return
        _search_tree(points, distances, others, within)


def _distances_among_many(points: Points, others: Points) -> Floats:
    """Distances where the points or the others are many; few are looked for nearby first."""
    if points.flat.size > others.flat.size:
        return Transform.of(others, box_around(points, others)).distances(points.flat)
    distances, margin = _distances_by_steps(points, others), STEP_VOXELS
    while (rows := np.flatnonzero(np.isinf(distances))).size:
        margin *= 8
        left = Points(points.flat[rows], points.shape, points.spacing)
        box, whole = box_around(left).grow(margin, left.shape), box_around(left, others)
        if 2 * math.prod(box.shape) > math.prod(whole.shape):
            distances[rows] = Transform.of(others, whole).distances(left.flat)
        elif others.laid_out(box).any():
            found = Transform.of(others, box).distances(left.flat)
            known = found <= margin * min(points.spacing)  # none beyond the box is nearer
            distances[rows[known]] = found[known]
    return distances


def _distances_by_steps(points: Points, others: Points) -> Floats:
    """Distance of points from the nearest of the others, infinite where it is some voxels away.

    At each step from a point it is looked up whether one of the others is there, the shortest
    step first.
    """
    box = box_around(points)
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
    length = lengths(steps, spacing)
    for row in np.argsort(length, kind="stable").tolist():
        if length[row] < (STEP_VOXELS + 1) * min(spacing):
            yield steps[row].tolist(), float(length[row])
