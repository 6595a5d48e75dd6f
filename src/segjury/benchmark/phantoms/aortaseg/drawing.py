"""Arteries on a grid: each vessel in its own box, and the label map that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from segjury.arrays import Box
from segjury.benchmark.phantoms.aortaseg.anatomy import LABELS, ZONES, Course, Tree
from segjury.benchmark.phantoms.fields import (
    Field,
    Points,
    box_between,
    subgrid,
    tube_mm,
)
from segjury.images.grid import Grid

Labels = NDArray[np.uint8]

AORTA = "Aorta"

_AXIS_STEP_MM = 0.2  # distance of the points on a centreline that voxels are assigned to
_THINNEST_MM = 1.0  # depth at which a voxel lies at least when a centreline runs through it
# where vessels overlap, the parent keeps the voxel: millimetres added to its depth
_PRECEDENCE_MM = {AORTA: 200.0, "Zone 10 R": 100.0, "Zone 10 L": 100.0}


@dataclass(frozen=True)
class DrawnVessels:
    """A vessel on the voxels of a box: signed distance, positive inside.

    `along_mm` is the length along the centreline at which a voxel lies, -1 far outside; only the
    aorta has it.
    """

    name: str
    box: Box
    depth_mm: Field
    along_mm: Field | None = None


def draw(grid: Grid, tree: Tree) -> list[DrawnVessels]:
    """The aorta, then its branches, with their surroundings."""
    reach = max(3 * max(grid.spacing_mm), 6.0)  # a method may grow them by a voxel, and err
    aorta = _draw_course(grid, AORTA, tree.aorta, reach)
    branches = [_draw_course(grid, name, each, reach) for name, each in tree.branches.items()]
    return [_with_length(grid, aorta, tree.aorta, reach), *branches]


def label_map(grid: Grid, vessels: Sequence[DrawnVessels], cuts_mm: Sequence[float]) -> Labels:
    """Each voxel's label: that of the vessel it lies deepest in, of the zone in the aorta."""
    region = Box.around([vessel.box for vessel in vessels])
    part = np.zeros(region.shape, np.uint8, order="F")
    deepest = np.zeros(part.shape, np.float32, order="F")
    for vessel in vessels:
        box = vessel.box.inside(region)
        depth = vessel.depth_mm + np.float32(_PRECEDENCE_MM.get(vessel.name, 0.0))
        here = (vessel.depth_mm > 0) & (depth > deepest[box])
        part[box][here] = (
            LABELS[vessel.name]
            if vessel.along_mm is None
            else zones(vessel.along_mm[here], cuts_mm)
        )
        deepest[box][here] = depth[here]
    labels = np.zeros(grid.shape, np.uint8, order="F")
    labels[region] = part
    return labels


def zones(along_mm: Field, cuts_mm: Sequence[float]) -> Labels:
    """Labels of the zones at lengths along the aorta."""
    in_order = np.array([LABELS[zone] for zone in ZONES], np.uint8)
    return np.asarray(in_order[np.searchsorted(cuts_mm, along_mm, side="right")])


def positions_mm(grid: Grid, where: NDArray[np.bool_]) -> Points:
    """Coordinates of the voxels of a mask, one row each."""
    return np.asarray(np.argwhere(where) * np.array(grid.spacing_mm) + grid.origin_mm)


def _draw_course(grid: Grid, name: str, course: Course, reach_mm: float) -> DrawnVessels:
    margin = course.radii_mm.max() + reach_mm
    low, high = course.points_mm.min(axis=0), course.points_mm.max(axis=0)
    box = box_between(grid, low - margin, high + margin)
    part = subgrid(grid, box)
    depth = tube_mm(part, course.points_mm, course.radii_mm, reach_mm=reach_mm)
    axis, _ = course.at(_lengths(course))
    index = np.rint((axis - part.origin_mm) / part.spacing_mm).astype(int)
    x, y, z = index[((index >= 0) & (index < part.shape)).all(axis=1)].T
    depth[x, y, z] = np.maximum(depth[x, y, z], np.float32(_THINNEST_MM))
    return DrawnVessels(name, box, depth)


def _with_length(grid: Grid, aorta: DrawnVessels, course: Course, reach_mm: float) -> DrawnVessels:
    """The aorta with its voxels' lengths, cut off square at the root and at the bifurcation."""
    part = subgrid(grid, aorta.box)
    near = aorta.depth_mm > -reach_mm
    points, lengths = positions_mm(part, near), _lengths(course)
    axis, _ = course.at(lengths)
    _, nearest = KDTree(axis).query(points)
    along = np.full(part.shape, -1, np.float32, order="F")
    along[near] = lengths[nearest]
    depth = aorta.depth_mm[near]
    for end, inward in ((0, axis[1] - axis[0]), (len(axis) - 1, axis[-2] - axis[-1])):
        beyond = nearest == end
        plane = (points[beyond] - axis[end]) @ (inward / np.linalg.norm(inward))
        depth[beyond] = np.minimum(depth[beyond], plane)
    cut = aorta.depth_mm.copy()
    cut[near] = depth
    return DrawnVessels(AORTA, aorta.box, cut, along)


def _lengths(course: Course) -> Points:
    """Lengths a fifth of a millimetre apart or less, from one end of a centreline to the other."""
    whole = float(course.arc_mm[-1])
    return np.linspace(0, whole, int(np.ceil(whole / _AXIS_STEP_MM)) + 1)
