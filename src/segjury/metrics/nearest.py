"""Distances from each of a set of grid points to the nearest one of another set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjury.volume import Floats, Ints, Shape, Triple, coordinates

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

    @cached_property
    def indices(self) -> Ints:
        """Indices x, y, z on the grid, (n, 3)."""
        return _indices(self.flat, self.shape)

    @cached_property
    def tree(self) -> cKDTree:
        """Made once, however many other sets are compared with this one."""
        from scipy.spatial import cKDTree

        return cKDTree(self.indices * self.spacing, balanced_tree=False, compact_nodes=False)


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
    apart = np.flatnonzero(~contained(points.flat, others.flat))
    far = [np.zeros(0, np.int64)]
    for piece in _pieces(apart):
        indices = _indices(points.flat[piece], points.shape)
        nearest, is_far = _nearest_if_near(indices, others)
        distances[piece] = _lengths(indices - nearest, others.spacing)
        far.append(piece[is_far])
    search = _search_for_far(points, np.concatenate(far), others)
    for piece in _pieces(np.concatenate(far)):
        indices = _indices(points.flat[piece], points.shape)
        distances[piece] = _lengths(indices - search(indices), others.spacing)
    return distances


def contained(values: Ints, others: Ints) -> NDArray[np.bool_]:
    """Which values are among the others; both in ascending order without repetition."""
    if others.size == 0:
        return np.zeros(values.size, bool)
    last = others.size - 1
    found = [
        others[np.minimum(np.searchsorted(others, piece), last)] == piece
        for piece in _pieces(values)
    ]
    return np.concatenate([np.zeros(0, bool), *found])


def _pieces(values: Ints) -> Iterator[Ints]:
    for start in range(0, values.size, PIECE):
        yield values[start : start + PIECE]


def _indices(flat_indices: Ints, shape: Shape) -> Ints:
    """Indices x, y, z of points, (n, 3)."""
    return np.stack(coordinates(flat_indices, shape), axis=1)


def _lengths(offsets: Ints, spacing: Triple) -> Floats:
    """Lengths of whole numbers of voxels, so that the place in the image leaves no rounding."""
    return np.asarray(np.sqrt(((offsets * np.asarray(spacing)) ** 2).sum(axis=1)))


def _nearest_if_near(indices: Ints, others: Points) -> tuple[Ints, NDArray[np.bool_]]:
    """Indices of the nearest of the others, and for which points none is near."""
    near = NEAR_VOXELS * float(np.mean(others.spacing))
    _, row = others.tree.query(indices * others.spacing, distance_upper_bound=near)
    is_far = row == others.flat.size  # the tree's way to say that none is that near
    return others.indices[np.where(is_far, 0, row)], is_far


def _search_for_far(points: Points, far: Ints, others: Points) -> Callable[[Ints], Ints]:
    """How to find the nearest of the others for points that have none near."""
    from scipy import ndimage

    if far.size:
        corners = [extent(points.flat[far], points.shape), extent(others.flat, others.shape)]
        low = np.min([low for low, _ in corners], axis=0)
        box = np.max([high for _, high in corners], axis=0) - low + 1
        if box.prod() <= min(MOST_BOX_VOXELS, BOX_VOXELS_PER_FAR_POINT * far.size):
            outside = np.ones(box, bool)
            outside[tuple((others.indices - low).T)] = False
            nearest = ndimage.distance_transform_edt(
                outside, sampling=others.spacing, return_distances=False, return_indices=True
            )
            return lambda indices: np.asarray(nearest[:, *(indices - low).T].T + low)
    return lambda indices: others.indices[others.tree.query(indices * others.spacing)[1]]


def extent(voxels: Ints, shape: Shape) -> tuple[Ints, Ints]:
    """Smallest and largest index along each axis of points given by flat indices."""
    ends = [(i.min(axis=0), i.max(axis=0)) for i in (_indices(p, shape) for p in _pieces(voxels))]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
