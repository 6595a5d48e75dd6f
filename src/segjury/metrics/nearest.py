"""Distances from each of a set of grid points to the nearest one of another set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjury.volume import Triple, coordinates

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Shape = tuple[int, int, int]

# A search tree is fast where a neighbour is near, a distance transform where many points have
# none near and the box around all is small. Measured; the distances are the same.
NEAR_VOXELS = 8.0
BOX_VOXELS_PER_FAR_POINT = 250
MOST_BOX_VOXELS = 1 << 24  # 200 MB


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
        return np.stack(coordinates(self.flat, self.shape), axis=1)

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
    indices = points.indices[apart]
    # from whole numbers of voxels, so that the place in the image leaves no rounding error
    offsets = (indices - _nearest(indices, others)) * np.asarray(others.spacing)
    distances[apart] = np.sqrt((offsets**2).sum(axis=1))
    return distances


def contained(values: Ints, others: Ints) -> NDArray[np.bool_]:
    """Which values are among the others; both in ascending order without repetition."""
    if others.size == 0:
        return np.zeros(values.size, bool)
    places = np.searchsorted(others, values)
    return np.asarray(others[np.minimum(places, others.size - 1)] == values)


def _nearest(indices: Ints, others: Points) -> Ints:
    """Indices of the nearest of the others, of which there is at least one."""
    near = NEAR_VOXELS * float(np.mean(others.spacing))
    _, row = others.tree.query(indices * others.spacing, distance_upper_bound=near)
    far = np.flatnonzero(row == others.flat.size)  # the tree's way to say that none is that near
    nearest = others.indices[np.where(row == others.flat.size, 0, row)]
    if far.size:
        nearest[far] = _nearest_of_far(indices[far], others)
    return nearest


def _nearest_of_far(indices: Ints, others: Points) -> Ints:
    from scipy import ndimage

    low = np.minimum(indices.min(axis=0), others.indices.min(axis=0))
    high = np.maximum(indices.max(axis=0), others.indices.max(axis=0))
    box = high - low + 1
    if box.prod() > min(MOST_BOX_VOXELS, BOX_VOXELS_PER_FAR_POINT * len(indices)):
        _, row = others.tree.query(indices * others.spacing)
        return np.asarray(others.indices[row])
    outside = np.ones(box, bool)
    outside[tuple((others.indices - low).T)] = False
    nearest = ndimage.distance_transform_edt(
        outside, sampling=others.spacing, return_distances=False, return_indices=True
    )
    return np.asarray(nearest[:, *(indices - low).T].T + low)
