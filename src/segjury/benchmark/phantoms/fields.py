"""Fields on a grid: signed distances of simple bodies, and smooth noise.

Signed distances are in millimetres, positive inside. Grids have the identity direction, so a
point's coordinates are origin + index * spacing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from segjury.arrays import Box, Triple
from segjury.images.grid import Grid

Field = NDArray[np.float32]
Points = NDArray[np.float64]

_STEP_MM = 3.0  # distance of points on a resampled curve


def axes_mm(grid: Grid) -> tuple[Field, Field, Field]:
    """Coordinates along x, y, z, shaped to broadcast against each other."""
    x, y, z = (
        (origin + step * np.arange(count)).astype(np.float32)
        for origin, step, count in zip(grid.origin_mm, grid.spacing_mm, grid.shape, strict=True)
    )
    return x[:, None, None], y[None, :, None], z[None, None, :]


def box_between(grid: Grid, low_mm: ArrayLike, high_mm: ArrayLike) -> Box:
    """The voxels between two corners, clipped to the grid (possibly none)."""
    spacing, origin = np.array(grid.spacing_mm), np.array(grid.origin_mm)
    start = np.clip(np.floor((np.asarray(low_mm) - origin) / spacing), 0, grid.shape).astype(int)
    stop = np.clip(np.ceil((np.asarray(high_mm) - origin) / spacing) + 1, 0, grid.shape).astype(int)
    return Box(*(slice(int(a), int(max(a, b))) for a, b in zip(start, stop, strict=True)))


def subgrid(grid: Grid, box: Box) -> Grid:
    """The grid of the voxels in a box."""
    origin = tuple(
        start + part.start * step
        for start, step, part in zip(grid.origin_mm, grid.spacing_mm, box, strict=True)
    )
    return Grid(box.shape, grid.spacing_mm, (origin[0], origin[1], origin[2]))


def triple(values: ArrayLike) -> Triple:
    """Three coordinates as floats."""
    x, y, z = np.asarray(values).tolist()
    return float(x), float(y), float(z)


def ellipsoid_mm(grid: Grid, centre_mm: Sequence[float], semi_axes_mm: Sequence[float]) -> Field:
    """Signed distance of an ellipsoid, exact to first order near its surface."""
    offsets = [
        axis - np.float32(middle) for axis, middle in zip(axes_mm(grid), centre_mm, strict=True)
    ]
    semi = np.asarray(semi_axes_mm, np.float32)
    level = np.sqrt(sum((u / a) ** 2 for u, a in zip(offsets, semi, strict=True)))
    slope = np.sqrt(sum((u / a**2) ** 2 for u, a in zip(offsets, semi, strict=True)))
    level = np.maximum(level, 1e-5)
    slope = np.maximum(slope, 1e-5 / semi.min())
    return np.asarray(level * (1 - level) / slope, np.float32)


def tube_mm(grid: Grid, points_mm: Points, radii_mm: Points, *, reach_mm: float) -> Field:
    """Signed distance of a tube along a polyline whose radius changes linearly between points.

    Farther than `reach_mm` outside the value is -reach_mm: only boxes around the segments are
    visited.
    """
    field = np.full(grid.shape, -reach_mm, np.float32, order="F")
    for i in range(len(points_mm) - 1):
        start, end = points_mm[i], points_mm[i + 1]
        margin = max(radii_mm[i], radii_mm[i + 1]) + reach_mm
        box = box_between(grid, np.minimum(start, end) - margin, np.maximum(start, end) + margin)
        if not box.is_empty:
            cone = _segment_mm(subgrid(grid, box), start, end, radii_mm[i], radii_mm[i + 1])
            np.maximum(field[box], cone, out=field[box])
    return field


def _segment_mm(grid: Grid, start: Points, end: Points, first_mm: float, last_mm: float) -> Field:
    x, y, z = (axis - np.float32(origin) for axis, origin in zip(axes_mm(grid), start, strict=True))
    a, b, c = (np.float32(v) for v in end - start)
    squared = np.float32(max(float((end - start) @ (end - start)), 1e-9))
    share = np.clip((x * a + y * b + z * c) / squared, 0, 1)
    distance = np.sqrt((x - share * a) ** 2 + (y - share * b) ** 2 + (z - share * c) ** 2)
    return np.asarray(np.float32(first_mm) + share * np.float32(last_mm - first_mm) - distance)


def curve(control_mm: ArrayLike, radii_mm: ArrayLike) -> tuple[Points, Points]:
    """Points and radii about 3 mm apart on the smooth curve through control points."""
    control = np.asarray(control_mm, float)
    radii = np.broadcast_to(np.asarray(radii_mm, float), len(control))
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(control, axis=0), axis=1))])
    along = np.linspace(0, arc[-1], max(int(np.ceil(arc[-1] / _STEP_MM)) + 1, 2))
    return np.asarray(CubicSpline(arc, control)(along)), np.interp(along, arc, radii)


def smooth_noise(grid: Grid, length_mm: float, rng: np.random.Generator) -> Field:
    """Gaussian noise with mean 0 and SD 1 everywhere, smooth over about `length_mm`.

    Random coefficients of a cubic B-spline whose knots are `length_mm` / 2 apart. The number of
    random values depends on the physical size only, and each axis costs four taps.
    """
    taps = [
        _taps(count, step * 2 / length_mm)
        for count, step in zip(grid.shape, grid.spacing_mm, strict=True)
    ]
    field = rng.standard_normal([int(first[-1]) + 4 for first, _ in taps], dtype=np.float32)
    for axis in (2, 1, 0):
        first, weights = taps[axis]
        shape = [-1 if a == axis else 1 for a in range(3)]
        field = sum(
            np.take(field, first + tap, axis) * weights[tap].reshape(shape) for tap in range(4)
        )
    return field


def _taps(count: int, step: float) -> tuple[NDArray[np.int64], Field]:
    """First knot and the four cubic B-spline weights, scaled to unit norm, at each voxel."""
    position = np.arange(count) * step
    first = np.floor(position).astype(np.int64)
    f = position - first
    weights = np.stack([(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, 3 * f * (1 + f - f**2) + 1, f**3])
    return first, (weights / np.linalg.norm(weights, axis=0)).astype(np.float32)
