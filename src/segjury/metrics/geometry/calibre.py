"""The diameter of vessels along their centreline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import LONGEST_SPAN, Floats, Ints, Shape, coordinates
from segjury.errors import InputError
from segjury.metrics.geometry.dimension import real_axes, stood_up, three_spacings
from segjury.metrics.geometry.parts import slabs
from segjury.metrics.geometry.skeleton import link_matrix, links_between

SHORT_CENTRELINE = 100_000  # voxels that are never too many
VOXELS_PER_CENTRELINE_VOXEL = 25  # of an image; there are ten times as many in a bed of capillaries
REACH = 3  # averages reach so many voxels along the centreline, both ways


def calibre_mm(voxels: Ints, centreline: Ints, shape: Shape, *, spacing_mm: ArrayLike) -> Floats:
    """Diameter of the vessel at each voxel of its centreline (flat indices, ascending).

    That of the circle with the area `V / L` of the vessel's section, `2 √(V / (π L))`: V is the
    volume that belongs to a stretch of the centreline of length L. A voxel belongs to the point
    of the centreline with the smallest `d² - ρ²` (power diagram, Aurenhammer 1987), d the
    distance to the point and ρ the point's distance to the background; so the wall of a wide
    vessel never belongs to a narrow one beside it. What lies beyond the ends does not count.
    Within the ball of radius ρ around a point, the diameter is at least that of the ball (local
    thickness, Hildebrand and Rüegsegger 1997); so the lumen of a wide vessel is wide also where
    a narrow one starts in it. A component without length has the diameter of the ball with its
    volume. In 2D it is the width `A / L`, A the area, or the diameter of the circle with the area;
    a line of voxels is one voxel wide.
    `InputError` for a centreline that is longer than that of any vessels.
    """
    shape, stood_mm = stood_up(shape, three_spacings(spacing_mm, shape))
    real = list(real_axes(shape))
    unit_mm = max(stood_mm[axis] for axis in real)
    if len(real) == 1:
        return np.full(centreline.size, unit_mm)
    spacing = np.ones(3)
    spacing[real] = np.array(stood_mm)[real] / unit_mm  # so that no unit of length rounds otherwise
    check_length(centreline, shape)
    points = np.stack(coordinates(centreline, shape), axis=1) * spacing
    if not len(points):
        return np.zeros(0)
    reach = _distances_to_background(voxels, points, shape, spacing)
    volume = _owned(voxels, points, reach, shape, spacing) * spacing.prod()
    links = links_between(centreline, shape)
    diameter = _from_section(volume, points, links, in_plane=len(real) == 2)
    inscribed = 2 * reach - 1  # the wall is half a voxel before the background
    return unit_mm * _at_least_inscribed(diameter, inscribed, points, reach)


def check_length(centreline: Ints, shape: Shape) -> None:
    """Refuse a centreline that is longer than that of any vessels."""
    most = max(SHORT_CENTRELINE, math.prod(shape) // VOXELS_PER_CENTRELINE_VOXEL)
    if centreline.size > most:
        raise InputError(
            f"has a centreline of {centreline.size:,} voxels, expected at most {most:,} "
            f"(1 in {VOXELS_PER_CENTRELINE_VOXEL} of the image): these are no vessels",
            "Remove noise from the mask",
        )


def _distances_to_background(voxels: Ints, points: Floats, shape: Shape, spacing: Floats) -> Floats:
    """Distance of each point to the nearest voxel of the background, centre to centre."""
    from scipy.spatial import cKDTree

    wide, high, deep = (size + 2 for size in shape)
    beside = []
    for slab, (x, y, z) in slabs(voxels, shape):
        near = np.zeros_like(slab)
        for axis in real_axes(shape):
            mask, others = (np.moveaxis(each, 2 - axis, 0) for each in (slab, near))
            others[1:] |= mask[:-1]
            others[:-1] |= mask[1:]
        z_at, y_at, x_at = np.nonzero(near > slab)
        beside.append((x_at + x + 1) + wide * ((y_at + y + 1) + high * (z_at + z + 1)))
    place = np.unique(np.concatenate(beside))  # a plane of two slabs may have come twice
    background = (np.stack(coordinates(place, (wide, high, deep)), axis=1) - 1) * spacing
    return np.asarray(cKDTree(background).query(points)[0])


def _owned(voxels: Ints, points: Floats, reach: Floats, shape: Shape, spacing: Floats) -> Ints:
    """Number of voxels that belong to each point, that with the smallest `d² - reach²`.

    Nearest in a space with one more dimension, in which the points are lifted by what their
    reach lacks to the largest.
    """
    from scipy.spatial import cKDTree

    # A power of one number and of many may differ in their last digit, and so be less than 0.
    lift = np.sqrt(np.maximum(reach.max() ** 2 - reach**2, 0.0))
    tree = cKDTree(np.column_stack([points, lift]))
    owned = np.zeros(len(points), np.int64)
    for start in range(0, voxels.size, LONGEST_SPAN):
        some = voxels[start : start + LONGEST_SPAN]
        place = np.stack(coordinates(some, shape), axis=1) * spacing
        owner = tree.query(np.column_stack([place, np.zeros(len(place))]))[1]
        owned += np.bincount(owner, minlength=len(points))
    return owned


def _from_section(volume: Floats, points: Floats, links: Ints, *, in_plane: bool) -> Floats:
    """Diameters from the volume that belongs to each point, and the length between them.

    In a plane, what belongs to each point is an area.
    """
    count = len(points)
    degree = np.bincount(links.ravel(), minlength=count)
    linked = link_matrix(np.concatenate([links, links[:, ::-1]]), count).astype(float)
    smooth = _smoothed(points, linked, degree)
    half = np.linalg.norm(smooth[links[:, 0]] - smooth[links[:, 1]], axis=1) / 2
    length = np.bincount(links.ravel(), np.repeat(half, 2), count)
    inner = degree > 1
    around = np.stack([volume * inner, length * inner, volume], axis=1)
    for _ in range(REACH):
        around = around + linked @ around
    volume, length, whole = around.T
    if in_plane:
        width = volume / np.where(length > 0, length, 1)
        return np.where(length > 0, width, 2 * np.sqrt(whole / np.pi))
    return np.where(
        length > 0,
        2 * np.sqrt(volume / (np.pi * np.where(length > 0, length, 1))),
        np.cbrt(6 * whole / np.pi),
    )


def _smoothed(points: Floats, linked: Any, degree: Ints) -> Floats:
    """The points without the steps of the grid; ends and junctions stay."""
    smooth = points
    for _ in range(REACH):
        mean = (smooth + linked @ smooth) / (degree + 1)[:, None]
        smooth = np.where((degree == 2)[:, None], mean, points)
    return smooth


def _at_least_inscribed(
    diameter: Floats, inscribed: Floats, points: Floats, reach: Floats
) -> Floats:
    from scipy.spatial import cKDTree

    wide = np.flatnonzero(inscribed > diameter.min())
    if not wide.size:
        return diameter
    tree, at_least = cKDTree(points), diameter.copy()
    near = reach * (1 - 1e-9)
    count = tree.query_ball_point(points[wide], near[wide], return_length=True)
    ends = np.flatnonzero(np.diff(np.cumsum(count) // LONGEST_SPAN)) + 1
    for some in np.split(wide, ends):  # as the members of large balls need much memory
        inside = tree.query_ball_point(points[some], near[some])
        of = np.repeat(inscribed[some], [len(members) for members in inside])
        np.maximum.at(at_least, np.concatenate(inside), of)
    return at_least
