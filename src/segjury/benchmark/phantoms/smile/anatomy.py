"""Cerebral arteries grown at random from the ring at the base of the brain.

At every branching the radii obey Murray's law, r³ = r1³ + r2³, and the angles what follows from it
(C. D. Murray, J Gen Physiol 1926). Vessels taper, wander, keep away from each other and seek places
where there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import flat
from segjury.benchmark.phantoms.fields import Points
from segjury.benchmark.phantoms.smile.raster import pieces_of, voxels_of
from segjury.benchmark.phantoms.smile.tree import Vessel, VesselTree
from segjury.benchmark.phantoms.smile.willis import RING_MM, STEP_MM, Root, arteries_at_the_base
from segjury.images.grid import Grid

TAPER = 0.004  # share of the radius lost from branching to branching
LENGTH_MM, LENGTH_PER_RADIUS = 6.5, 10.0  # from branching to branching
BRAIN_CENTRE_MM, BRAIN_SEMI_AXES_MM = (0.0, 6.0, 8.0), (60.0, 80.0, 62.0)

_SIDE_BRANCHES = 0.5  # share of branchings at which a vessel of any size leaves
_TRIES = 12  # ways a vessel could take, of which it takes the best
_WANDER = (0.25, 0.75)  # tangent of the angle by which a vessel leaves its course, for each try
_WAVE_MM = (4.0, 14.0)
_CLEAR_VOXELS = 3.0  # at least this far between the walls of vessels
_CELL_VOXELS = 2  # edge of the cells in which room is taken
_CROWD_MM = 6.0  # edge of the cells in which vessels are counted
_CROWD_COST = 0.015  # of each point in such a cell, in shares of a vessel's length


@dataclass(frozen=True)
class _Tip:
    """A place where vessels begin: radius and angle of each, and how far the place reaches."""

    node: int
    point_mm: Points
    direction: Points
    radius_mm: float
    branches: tuple[tuple[float, float], ...]
    inside_mm: float  # so far along, they may be close to the vessels that meet here


@dataclass(frozen=True)
class _Way:
    """The course of a new vessel, as far as it is free."""

    points_mm: Points
    leaves: bool  # it ends at the border of the field


@dataclass(frozen=True)
class _Room:
    """Where vessels may be, and where they are already."""

    low_mm: Points  # centres of the outermost voxels
    high_mm: Points
    size: float  # of everything: 1, or less in a small field
    clear_mm: float
    cells: Grid
    taken: NDArray[np.bool_]  # cells too near to a vessel
    crowd: NDArray[np.float32]  # points of vessels in larger cells


def grow_tree(grid: Grid, rng: np.random.Generator) -> VesselTree:
    """Arteries in a field of view of cubic voxels, down to vessels one voxel wide."""
    room = _empty_room(grid)
    smallest_mm = grid.spacing_mm[0] / 2
    base = arteries_at_the_base(room.size, float(room.low_mm[2]), smallest_mm, rng)
    vessels, nodes = list(base.vessels), len(base.nodes)
    for vessel in vessels:
        _take(room, vessel)
    order = count()  # of tips with the same radius
    tips = [(-tip.radius_mm, next(order), tip) for tip in map(_first_tip, base.roots)]
    heapify(tips)
    while tips:
        *_, tip = heappop(tips)  # thick ones first, so that thin ones find room between them
        for way, radius_mm in _branch_off(room, tip, rng):
            vessel = _vessel((tip.node, nodes), way, radius_mm, smallest_mm)
            vessels.append(vessel)
            last_mm = float(vessel.radii_mm[-1])
            if not way.leaves and _splits(last_mm, smallest_mm):
                end = _next_tip(vessel, split(last_mm, smallest_mm, rng))
                heappush(tips, (-last_mm, next(order), end))
            nodes += 1
    return VesselTree(tuple(vessels), len(base.vessels))


def split(
    radius_mm: float, smallest_mm: float, rng: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Radius (mm) and angle to the parent (rad) of two branches, none below `smallest_mm`.

    R³ = r1³ + r2³ and cos a1 = (R⁴ + r1⁴ - r2⁴) / (2 R² r1²), a2 likewise.
    """
    equal_mm = radius_mm / 2 ** (1 / 3)
    low_mm = smallest_mm if rng.random() < _SIDE_BRANCHES else max(smallest_mm, 0.7 * equal_mm)
    minor = float(np.exp(rng.uniform(np.log(low_mm), np.log(equal_mm))))
    major = float((radius_mm**3 - minor**3) ** (1 / 3))
    angles = [
        float(np.arccos((radius_mm**4 + a**4 - b**4) / (2 * radius_mm**2 * a**2)))
        for a, b in ((major, minor), (minor, major))
    ]
    return (major, angles[0]), (minor, angles[1])


def _splits(radius_mm: float, smallest_mm: float) -> bool:
    return radius_mm > smallest_mm * 2 ** (1 / 3)


def _first_tip(root: Root) -> _Tip:
    branches = ((root.radius_mm, 0.0),)
    node, inside_mm = root.node, 3 * root.inside_mm
    return _Tip(node.number, node.point_mm, root.direction, root.radius_mm, branches, inside_mm)


def _next_tip(vessel: Vessel, branches: tuple[tuple[float, float], ...]) -> _Tip:
    before, end = vessel.points_mm[-2:]
    radius_mm = float(vessel.radii_mm[-1])
    course = _unit(end - before)
    return _Tip(vessel.nodes[1], end, course, radius_mm, branches, 3 * radius_mm)


def _vessel(nodes: tuple[int, int], way: _Way, radius_mm: float, smallest_mm: float) -> Vessel:
    """A vessel that tapers a little, or, if it is the last of its kind, to a voxel."""
    last_mm = radius_mm * (1 - TAPER)
    if not _splits(last_mm, smallest_mm):
        last_mm = smallest_mm
    return Vessel(nodes, way.points_mm, np.linspace(radius_mm, last_mm, len(way.points_mm)))


def _branch_off(room: _Room, tip: _Tip, rng: np.random.Generator) -> list[tuple[_Way, float]]:
    """The ways and radii of the vessels that begin at a tip; a single one keeps its radius."""
    branches = []
    for radius_mm, angle in tip.branches:
        way = _way(room, tip, radius_mm, angle, rng)
        if way is not None:
            _take(room, Vessel((0, 0), way.points_mm, np.full(len(way.points_mm), radius_mm)))
            branches.append((way, radius_mm))
    if len(branches) < len(tip.branches):
        return [(way, tip.radius_mm) for way, _ in branches]
    return branches


def _way(
    room: _Room, tip: _Tip, radius_mm: float, angle: float, rng: np.random.Generator
) -> _Way | None:
    """The best of several random ways from a tip; None if it cannot get away from there."""
    inside_mm = tip.inside_mm + 1.5 * room.clear_mm
    length_mm = (room.size * LENGTH_MM + LENGTH_PER_RADIUS * radius_mm) * rng.uniform(0.4, 1.2)
    along = np.arange(0, inside_mm + length_mm + STEP_MM, STEP_MM)
    ways = _random_ways(tip, angle, along, rng)
    free = _in_brain(ways) & (~_taken(room, ways) | (along < inside_mm))
    until_blocked = _count_before(~free)
    until_outside = _count_before(~_in_field(room, ways))
    until = np.minimum(until_blocked, until_outside)
    scores = until / len(along) - _CROWD_COST * _crowd(room, ways).mean(axis=1)
    best = int(np.argmax(scores))
    leaves = bool(until_outside[best] < min(until_blocked[best], len(along)))
    shortest = 2 if leaves else int(inside_mm / STEP_MM) + 2
    if until[best] < shortest:
        return None
    return _Way(ways[best, : until[best]], leaves)


def _random_ways(tip: _Tip, angle: float, along: Points, rng: np.random.Generator) -> Points:
    """Wandering lines (try, point, axis) that leave a tip under an angle."""
    across = rng.normal(size=(_TRIES, 3))
    across -= np.outer(across @ tip.direction, tip.direction)
    course = np.cos(angle) * tip.direction + np.sin(angle) * _unit(across)
    tangents = np.repeat(course[:, None], len(along) - 1, axis=1)
    wander = np.broadcast_to(np.linspace(*_WANDER, _TRIES)[:, None, None], (_TRIES, 1, 3))
    for _ in range(2):
        waves_mm = rng.uniform(*_WAVE_MM, (_TRIES, 1, 1))
        phase = rng.uniform(0, 2 * np.pi, (_TRIES, 1, 3))
        size = rng.normal(0, wander)
        turn = 2 * np.pi * along[None, :-1, None] / waves_mm
        tangents += size * (np.sin(turn + phase) - np.sin(phase))
    steps = np.concatenate([np.zeros((_TRIES, 1, 3)), _unit(tangents) * STEP_MM], axis=1)
    return np.asarray(tip.point_mm + np.cumsum(steps, axis=1))


# ---- room ----------------------------------------------------------------------------------


def _empty_room(grid: Grid) -> _Room:
    low = np.array(grid.origin_mm)
    size = (np.array(grid.shape) - 1) * grid.spacing_mm
    cell_mm = _CELL_VOXELS * grid.spacing_mm[0]
    x, y, z = (np.ceil(size / cell_mm) + 1).astype(int).tolist()
    return _Room(
        low_mm=low,
        high_mm=low + size,
        size=min(1.0, *(size / RING_MM).tolist()),
        clear_mm=_CLEAR_VOXELS * grid.spacing_mm[0],
        cells=Grid((x, y, z), (cell_mm, cell_mm, cell_mm), grid.origin_mm),
        taken=np.zeros((x, y, z), bool, order="F"),
        crowd=np.zeros((np.ceil(size / _CROWD_MM) + 1).astype(int), np.float32),
    )


def _take(room: _Room, vessel: Vessel) -> None:
    """Mark the room that a vessel and the walls of those to come, no thicker, need."""
    needed_mm = 2 * vessel.radii_mm + room.clear_mm
    pieces = pieces_of([vessel], room.cells, radii_mm=lambda _: needed_mm)
    for cells in voxels_of(pieces, room.cells.shape):
        flat(room.taken)[cells] = True
    np.add.at(room.crowd, _cell(vessel.points_mm, room.low_mm, _CROWD_MM, room.crowd.shape), 1)


def _taken(room: _Room, points: Points) -> NDArray[np.bool_]:
    where = _cell(points, room.low_mm, room.cells.spacing_mm[0], room.taken.shape)
    return np.asarray(room.taken[where])


def _crowd(room: _Room, points: Points) -> NDArray[np.float32]:
    return np.asarray(room.crowd[_cell(points, room.low_mm, _CROWD_MM, room.crowd.shape)])


def _cell(
    points: Points, low_mm: Points, cell_mm: float, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], ...]:
    """Index of the nearest cell of each point, the outermost for points outside."""
    index = np.floor((points - low_mm) / cell_mm + 0.5).astype(np.int64)
    return tuple(np.moveaxis(np.clip(index, 0, np.array(shape) - 1), -1, 0))


def _in_brain(points: Points) -> NDArray[np.bool_]:
    level = ((points - BRAIN_CENTRE_MM) / BRAIN_SEMI_AXES_MM) ** 2
    return np.asarray(level.sum(axis=-1) < 1)


def _in_field(room: _Room, points: Points) -> NDArray[np.bool_]:
    return np.asarray(((points >= room.low_mm) & (points <= room.high_mm)).all(axis=-1))


def _count_before(stop: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many values in each row come before the first that is true."""
    return np.asarray(np.where(stop.any(axis=1), np.argmax(stop, axis=1), stop.shape[1]))


def _unit(vectors: Points) -> Points:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
