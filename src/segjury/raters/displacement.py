"""How far one boundary lies outside another: who draws larger, in mm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from segjury.arrays import Floats, Ints, Shape, Triple, coordinates
from segjury.images.grid import Grid
from segjury.metrics.geometry.dimension import stood_up
from segjury.metrics.geometry.surfaces.outline import corner_grid, corner_patterns
from segjury.metrics.geometry.surfaces.points import contained
from segjury.metrics.geometry.surfaces.surfels import surfel_areas_mm2

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_CORNERS = [(x, y, z) for z, y, x in product((0, 1), repeat=3)]  # voxels around a corner, by bit


def _middle_of_edges(pattern: int) -> list[float]:
    """Mean of the middles between neighbouring voxels in and out of a mask, from the corner."""
    middles = [
        [(a + b) / 2 - 0.5 for a, b in zip(first, second, strict=True)]
        for i, first in enumerate(_CORNERS)
        for j, second in enumerate(_CORNERS)
        if i < j
        and sum(a != b for a, b in zip(first, second, strict=True)) == 1
        and (pattern >> i ^ pattern >> j) & 1
    ]
    return np.mean(middles, axis=0).tolist() if middles else [0.0] * 3


OFFSETS = np.array([_middle_of_edges(pattern) for pattern in range(256)])


@dataclass(frozen=True)
class Boundary:
    """The boundary of a mask as points in mm, one at each voxel corner that it passes.

    A point stands amid the edges of the corner's cell that the boundary cuts (surface nets, Gibson
    1998): corners alone lie up to half a voxel to either side, and the nearest of them is too near.
    """

    corners: Ints  # flat indices on the grid of corners, ascending
    patterns: Ints  # the voxels of the mask around each, as bits
    voxels: Ints
    shape: Shape  # of the image, and its spacing, along the axes of `stood_up`
    spacing_mm: Triple

    @classmethod
    def of(cls, voxels: Ints, grid: Grid) -> Boundary:
        """The boundary of a mask given by flat voxel indices."""
        corners, patterns = corner_patterns(voxels, grid.shape)
        shape, spacing_mm = stood_up(grid.shape, grid.spacing_mm)
        return cls(corners, patterns.astype(np.int64), voxels, shape, spacing_mm)

    @cached_property
    def areas_mm2(self) -> Floats:
        """The area that each point stands for; its length, in 2D."""
        return surfel_areas_mm2(self.spacing_mm)[self.patterns]

    @cached_property
    def points_mm(self) -> Floats:
        """Where the points are."""
        places = np.stack(coordinates(self.corners, corner_grid(self.shape)), axis=1)
        return np.asarray((places + OFFSETS[self.patterns]) * self.spacing_mm)

    @cached_property
    def tree(self) -> cKDTree:
        """For the nearest point, made once however many others are compared with this."""
        from scipy.spatial import cKDTree

        return cKDTree(self.points_mm)

    def filled(self, corners: Ints) -> Ints:
        """How many of the eight voxels around each corner are in the mask."""
        x, y, z = coordinates(corners, corner_grid(self.shape))
        wide, tall, deep = self.shape
        within = (x < wide) & (y < tall) & (z < deep)
        found = np.zeros(corners.size, np.int64)
        voxels = x + wide * (y + tall * z)
        found[within] = 8 * contained(voxels[within], self.voxels)
        here = contained(corners, self.corners)
        at = np.searchsorted(self.corners, corners[here])
        found[here] = np.bitwise_count(self.patterns[at])
        return found


def boundary_mm(first: Boundary, second: Boundary) -> float:
    """Mean signed displacement of the first boundary from the second, positive if it is larger.

    `½ (mean over A of s(a, B) - mean over B of s(b, A))`, means by area, where s is the distance of
    a point of one boundary from the nearest of the other, positive where its own mask reaches
    further. One direction alone is positive for any mask that is only shifted; of both that
    cancels. Concentric spheres of radii R + d and R have d. Antisymmetric. NaN where a mask is
    empty.
    """
    if not (first.corners.size and second.corners.size):
        return math.nan
    return (_mean_signed(first, second) - _mean_signed(second, first)) / 2


def _mean_signed(of: Boundary, other: Boundary) -> float:
    """Mean distance of a boundary from another, by area, negative where it lies within it."""
    away = np.asarray(other.tree.query(of.points_mm)[0])
    further = np.sign(np.bitwise_count(of.patterns).astype(np.int64) - other.filled(of.corners))
    return float(np.average(further * away, weights=of.areas_mm2))
