"""Distance transforms: the nearest one of some points, for every place of a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Floats, Ints, Shape, Triple
from segjury.metrics.geometry.surfaces.points import Points, planes_of


@dataclass(frozen=True)
class Transform:
    """The nearest one of some points for every place of a box, as indices z, y, x in it."""

    nearest: NDArray[np.int32]
    box: Box
    shape: Shape
    spacing: Triple

    @classmethod
    def of(cls, points: Points, box: Box) -> Transform:
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
        for planes, voxels in planes_of(flat_indices, self.box, self.shape):
            slab = np.empty((planes.stop - planes.start, *self.shape[1::-1]))
            slab[:, self.box.y, self.box.x] = self._slab(planes)
            distances[done : done + voxels.size] = slab.reshape(-1)[voxels]
            done += voxels.size
        return distances

    def _slab(self, planes: slice) -> Floats:
        """The distances in some planes; the sum in the order of `lengths`, to the last bit."""
        wide, tall, _ = self.box.shape
        first, last = planes.start - self.box.z.start, planes.stop - self.box.z.start
        z, y, x = self.nearest[:, first:last, :tall, :wide]
        sx, sy, sz = self.spacing
        square = ((x - np.arange(wide)) * sx) ** 2
        square += ((y - np.arange(tall)[:, None]) * sy) ** 2
        square += ((z - np.arange(first, last)[:, None, None]) * sz) ** 2
        return np.asarray(np.sqrt(square))
