"""Shapes with known answers, as boolean arrays.

Axes are x, y, z; the centre of voxel (i, j, k) lies at (i, j, k) * spacing_mm, and a voxel belongs
to a shape when its centre does. The formulas in the docstrings are those of the ideal shape; the
voxel count times the voxel volume tends to them as the spacing shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Shape, Triple

Mask = NDArray[np.bool_]
Array = NDArray[np.float64]


def sphere(shape: Shape, spacing_mm: Triple, centre_mm: Triple, radius_mm: float) -> Mask:
    """Ball: volume 4/3 π r³.

    Two spheres are |c1 - c2| - r1 - r2 apart; the Hausdorff distance of two concentric ones is
    |r1 - r2|, of two equal ones |c1 - c2|.
    """
    return ellipsoid(shape, spacing_mm, centre_mm, (radius_mm, radius_mm, radius_mm))


def ellipsoid(shape: Shape, spacing_mm: Triple, centre_mm: Triple, semi_axes_mm: Triple) -> Mask:
    """Ellipsoid with axes along x, y, z: volume 4/3 π a b c."""
    offsets = _offsets_mm(shape, spacing_mm, centre_mm)
    level = sum((offset / axis) ** 2 for offset, axis in zip(offsets, semi_axes_mm, strict=True))
    return np.asarray(level <= 1)


def cylinder(
    shape: Shape,
    spacing_mm: Triple,
    centre_mm: Triple,
    axis: Triple,
    radius_mm: float,
    *,
    length_mm: float = np.inf,
) -> Mask:
    """Circular cylinder around `axis` (any direction and length of vector): volume π r² L.

    It reaches `length_mm` / 2 to both sides of its centre, or to the border of the array.
    """
    along, radial, _ = _around(shape, spacing_mm, centre_mm, axis)
    return (radial <= radius_mm) & (np.abs(along) <= length_mm / 2)


def tube(shape: Shape, spacing_mm: Triple, points_mm: ArrayLike, radius_mm: float) -> Mask:
    """Everything within `radius_mm` of a polyline with rounded ends.

    A line of length L that bends more gently than its radius has volume π r² L + 4/3 π r³.
    """
    points = np.asarray(points_mm, float)
    mask = np.zeros(shape, bool)
    for start, end in pairwise(points):
        mask |= _near_segment(shape, spacing_mm, start, end, radius_mm)
    return mask


def annular_sector(
    shape: Shape,
    spacing_mm: Triple,
    centre_mm: Triple,
    axis: Triple,
    inner_radius_mm: float,
    outer_radius_mm: float,
    angle_deg: float,
    *,
    start_deg: float = 0.0,
    length_mm: float = np.inf,
) -> Mask:
    """Part of a ring around a cylinder: covers exactly `angle_deg` of its circumference.

    Radii lie in (inner, outer], so that the cylinder of the inner radius and the sector touch
    without overlap. The volume is angle/360 π (R² - r²) L. Angles are counted right-handed about
    `axis` from the coordinate axis most perpendicular to it (from x about z).
    """
    along, radial, turn_deg = _around(shape, spacing_mm, centre_mm, axis)
    ring = (radial > inner_radius_mm) & (radial <= outer_radius_mm)
    sector = np.mod(turn_deg - start_deg, 360) < angle_deg
    return ring & sector & (np.abs(along) <= length_mm / 2)


def _offsets_mm(shape: Shape, spacing_mm: Triple, centre_mm: Sequence[float]) -> list[Array]:
    """Distance from the centre along each axis, shaped to broadcast against the others."""
    axes = [
        np.asarray(np.arange(count) * step - middle, np.float64)
        for count, step, middle in zip(shape, spacing_mm, centre_mm, strict=True)
    ]
    return [axes[0][:, None, None], axes[1][None, :, None], axes[2][None, None, :]]


def _around(
    shape: Shape, spacing_mm: Triple, centre_mm: Triple, axis: Triple
) -> tuple[Array, Array, Array]:
    """Cylinder coordinates of all voxels: along the axis (mm), from it (mm), around it (deg)."""
    direction = np.asarray(axis, float) / np.linalg.norm(axis)
    nearest = np.zeros(3)
    nearest[np.argmin(np.abs(direction))] = 1
    first = nearest - (nearest @ direction) * direction
    first /= np.linalg.norm(first)
    second = np.cross(direction, first)
    offsets = _offsets_mm(shape, spacing_mm, centre_mm)
    along, u, v = (
        offsets[0] * unit[0] + offsets[1] * unit[1] + offsets[2] * unit[2]
        for unit in (direction, first, second)
    )
    return along, np.hypot(u, v), np.degrees(np.arctan2(v, u))


def _near_segment(
    shape: Shape, spacing_mm: Triple, start: Array, end: Array, radius_mm: float
) -> Mask:
    step = end - start
    x, y, z = _offsets_mm(shape, spacing_mm, start.tolist())
    squared = float(step @ step) or 1.0
    share = np.clip((x * step[0] + y * step[1] + z * step[2]) / squared, 0, 1)
    distance = (x - share * step[0]) ** 2 + (y - share * step[1]) ** 2 + (z - share * step[2]) ** 2
    return np.asarray(distance <= radius_mm**2)
