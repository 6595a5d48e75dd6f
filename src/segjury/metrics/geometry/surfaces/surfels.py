"""Surface elements: the piece of surface between eight neighbouring voxels, and its area.

Eight voxels around a common corner have one of 256 patterns. Their surface runs through the
midpoints of those edges of the cube that join an inside voxel to an outside one, as in marching
cubes. Where a face has its two inside voxels on a diagonal, the voxels of the minority (inside or
outside) are kept apart. Pieces that are not flat are cut into triangles from the one midpoint
that gives the largest area in the unit cube. With these two choices the areas of all patterns
are those of DeepMind's surface-distance, and mirrored or turned patterns have the same area.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from segjury.arrays import Floats, Ints, Triple

Corner = tuple[int, int, int]
Edge = frozenset[Corner]  # the two ends of an edge of the cube

CORNERS: tuple[Corner, ...] = tuple((x, y, z) for z, y, x in product((0, 1), repeat=3))
PATTERNS = 1 << len(CORNERS)  # corner number x + 2 y + 4 z is that bit of a pattern


def surfel_areas_mm2(spacing_mm: Triple) -> Floats:
    """Area of the surface inside each of the 256 patterns, for voxels of a given size."""
    patterns, normals = _triangles()
    face_mm2 = np.prod(spacing_mm) / np.asarray(spacing_mm, float)
    areas = np.linalg.norm(normals * face_mm2, axis=1)
    return np.asarray(np.bincount(patterns, areas, minlength=PATTERNS), float)


@cache
def _triangles() -> tuple[Ints, Floats]:
    """All triangles in the unit cube: their pattern, and their normal as long as their area."""
    patterns, normals = [], []
    for pattern in range(PATTERNS):
        for loop in _loops(_minority(pattern)):
            fan = _widest_fan(np.array([np.mean(list(edge), axis=0) for edge in loop]))
            patterns += [pattern] * len(fan)
            normals.append(fan)
    return np.array(patterns), np.concatenate(normals)


def _minority(pattern: int) -> frozenset[Corner]:
    """The inside corners or, where they are more than half, the outside ones."""
    inside = frozenset(corner for bit, corner in enumerate(CORNERS) if pattern >> bit & 1)
    return inside if len(inside) <= 4 else frozenset(CORNERS) - inside


def _loops(corners: frozenset[Corner]) -> list[list[Edge]]:
    """The closed lines around the corners, as the edges whose midpoints they run through."""
    following: dict[Edge, Edge] = {}
    for ring in _faces():
        around = [corner in corners for corner in ring]
        for first in range(4):
            if around[first] and not around[first - 1]:  # a run of corners begins
                last = next(k for k in range(first, first + 4) if not around[(k + 1) % 4])
                enter = frozenset((ring[first - 1], ring[first]))
                following[enter] = frozenset((ring[last % 4], ring[(last + 1) % 4]))
    loops = []
    while following:
        loop = [next(iter(following))]
        while (edge := following.pop(loop[-1])) != loop[0]:
            loop.append(edge)
        loops.append(loop)
    return loops


@cache
def _faces() -> list[list[Corner]]:
    """The six faces of the cube, their corners in the same sense as seen from outside.

    Two faces pass their common edge in opposite directions, so that a line which leaves one face
    through it enters the other.
    """
    faces = []
    for axis, side in product(range(3), (0, 1)):
        around = ((0, 0), (1, 0), (1, 1), (0, 1)) if side else ((0, 0), (0, 1), (1, 1), (1, 0))
        faces.append([_corner(axis, side, *place) for place in around])
    return faces


def _corner(axis: int, side: int, second: int, third: int) -> Corner:
    x, y, z = np.roll([side, second, third], axis).tolist()
    return x, y, z


def _widest_fan(loop: Floats) -> Floats:
    """Normals of the triangles from one point of a loop to all others, at the best point."""
    fans = []
    for first in range(len(loop)):
        spokes = np.roll(loop, -first, axis=0)[1:] - loop[first]
        fans.append(np.cross(spokes[:-1], spokes[1:]) / 2)
    return max(fans, key=lambda fan: round(float(np.linalg.norm(fan, axis=1).sum()), 9))
