"""Distances from each of a set of grid points to the nearest one of another set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Floats, Ints, Shape, Triple, coordinates

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


# A search tree is fast where a neighbour is near, a distance transform where many points have
# none near and the box around all is small. Measured; the distances are the same.
NEAR_VOXELS = 8.0
BOX_VOXELS_PER_FAR_POINT = 250
MOST_BOX_VOXELS = 1 << 27  # 1.6 GB
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


def nearest_distances(points: Points, others: Points) -> Floats:
    """Distance of each point from the nearest of the others; infinite where there are none."""
    if (points.shape, points.spacing) != (others.shape, others.spacing):
        raise ValueError(
            f"points on a grid {points.shape} of {points.spacing} cannot be compared with "
            f"points on a grid {others.shape} of {others.spacing}"
        )
    if others.flat.size == 0:
        return np.full(points.flat.size, np.inf)
    distances = np.zeros(points.flat.size)
    for start in range(0, distances.size, PIECE):
        piece = points.flat[start : start + PIECE]
        apart = np.flatnonzero(~contained(piece, others.flat))
        if apart.size:
            indices = _indices(piece[apart], points.shape)
            distances[start + apart] = _distances_if_near(indices, others)
    search = _search_for_far(points, distances, others)
    for start in range(0, distances.size, PIECE):
        far = start + np.flatnonzero(np.isinf(distances[start : start + PIECE]))
        if far.size:
            indices = points.indices(far)
            distances[far] = _lengths(indices - search(indices), others.spacing)
    return distances


def contained(values: Ints, others: Ints) -> NDArray[np.bool_]:
    """Which values are among the others; both in ascending order without repetition."""
    if others.size == 0:
        return np.zeros(values.size, bool)
    last = others.size - 1
    is_among = [
        others[np.minimum(np.searchsorted(others, piece), last)] == piece
        for piece in _pieces(values)
    ]
    return np.concatenate([np.zeros(0, bool), *is_among])


def _pieces(values: Ints) -> Iterator[Ints]:
    for start in range(0, values.size, PIECE):
        yield values[start : start + PIECE]


def _indices(flat_indices: Ints, shape: Shape) -> Ints:
    """Indices x, y, z of points, (n, 3)."""
    return np.stack(coordinates(flat_indices, shape), axis=1)


def _lengths(offsets: Ints, spacing: Triple) -> Floats:
    """Lengths of whole numbers of voxels, so that the place in the image leaves no rounding."""
    return np.asarray(np.sqrt(((offsets * np.asarray(spacing)) ** 2).sum(axis=1)))


def _distances_if_near(indices: Ints, others: Points) -> Floats:
    """Distance of points from the nearest of the others, infinite where none is near."""
    near = NEAR_VOXELS * float(np.mean(others.spacing))
    _, row = others.tree.query(indices * others.spacing, distance_upper_bound=near)
    is_far = row == others.flat.size  # the tree's way to say that none is that near
    distances = _lengths(indices - others.indices(np.where(is_far, 0, row)), others.spacing)
    distances[is_far] = np.inf
    return distances


def _search_for_far(points: Points, distances: Floats, others: Points) -> Callable[[Ints], Ints]:
    """How to find the nearest of the others for the points whose distance is infinite so far."""
    from scipy import ndimage

    corners, count = [], 0
    for start in range(0, distances.size, PIECE):
        is_far = np.isinf(distances[start : start + PIECE])
        if is_far.any():
            count += int(np.count_nonzero(is_far))
            corners.append(extent(points.flat[start : start + PIECE][is_far], points.shape))
    if count:
        corners.append(extent(others.flat, others.shape))
        low = np.min([low for low, _ in corners], axis=0)
        box = np.max([high for _, high in corners], axis=0) - low + 1
        if box.prod() <= min(MOST_BOX_VOXELS, BOX_VOXELS_PER_FAR_POINT * count):
            outside = np.ones(box, bool)
            for piece in _pieces(others.flat):
                outside[tuple((_indices(piece, others.shape) - low).T)] = False
            nearest = ndimage.distance_transform_edt(
                outside, sampling=others.spacing, return_distances=False, return_indices=True
            )
            return lambda indices: np.asarray(nearest[:, *(indices - low).T].T + low)
    return lambda indices: others.indices(
        np.asarray(others.tree.query(indices * others.spacing)[1], np.int64)
    )


def extent(voxels: Ints, shape: Shape) -> tuple[Ints, Ints]:
    """Smallest and largest index along each axis of points given by flat indices."""
    ends = [(i.min(axis=0), i.max(axis=0)) for i in (_indices(p, shape) for p in _pieces(voxels))]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
