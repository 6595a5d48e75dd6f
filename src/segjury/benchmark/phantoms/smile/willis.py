"""The arteries at the base of the brain: a ring, three vessels that feed it, roots of the trees.

Space is in mm: x to the left, y to the back, z up, the ring around the origin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline

from segjury.arrays import Triple
from segjury.benchmark.phantoms.fields import Points
from segjury.benchmark.phantoms.smile.tree import Vessel

RING_MM = (54.0, 72.0, 24.0)  # the field that the ring needs; in a smaller one it shrinks
STEP_MM = 0.5  # distance of the points on a centreline

_SPREAD_MM = 0.6  # how far a point may be from its usual place
_PERFORATOR_MM = 3.0  # about this far apart, small vessels leave the ring
_PERFORATOR_VOXELS = (1.0, 3.0)  # their diameter


@dataclass(frozen=True)
class Node:
    """A place where vessels meet."""

    number: int
    point_mm: Points


@dataclass(frozen=True)
class Root:
    """The first vessel of a tree: it begins inside an artery of radius `inside_mm`."""

    node: Node
    direction: Points
    radius_mm: float
    inside_mm: float


@dataclass(frozen=True)
class Base:
    """The arteries at the base, and the trees that leave them."""

    size: float  # relative to a head
    smallest_mm: float  # radius
    nodes: list[Node] = field(default_factory=list)
    vessels: list[Vessel] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)


def arteries_at_the_base(
    size: float, low_mm: float, smallest_mm: float, rng: np.random.Generator
) -> Base:
    """The ring and what feeds it, from the lower border of the field up."""
    base = Base(size, smallest_mm)
    low = low_mm / size

    def near(x: float, y: float, z: float) -> Points:
        return np.array([x, y, z]) + rng.uniform(-_SPREAD_MM, _SPREAD_MM, 3)

    def node(x: float, y: float, z: float) -> Node:
        return _node(base, base.size * near(x, y, z))

    def lay(start: Node, via: list[Points], end: Node, first: float, last: float) -> None:
        _lay(base, [start, end], [base.size * point for point in via], (first, last), rng)

    def plant(node: Node, direction: Triple, radius: float, inside: float) -> None:
        _plant(base, node, np.array(direction), base.size * radius, base.size * inside)

    def at_border(x: float, y: float) -> Node:
        return _node(base, base.size * np.array([x, y, low]))

    top = node(0, 12, -0.5)
    lay(at_border(0.5, 15), [near(-0.5, 14, low / 2)], top, 1.7, 1.5)
    fronts = []
    for side in (-1, 1):
        carotid, back = node(side * 10, -4, 0), node(side * 7.5, 9, 0.5)
        front = node(side * 2.4, -13, 2)
        siphon = [near(side * 13, 1, 0.65 * low), near(side * 10, -8, 0.3 * low)]
        lay(at_border(side * 11, 5), siphon, carotid, 2.2, 1.9)
        lay(carotid, [near(side * 6, -9.5, 1.5)], front, 1.1, 1.0)
        lay(carotid, [near(side * 9.5, 3, -0.5)], back, 0.7, 0.65)
        lay(top, [near(side * 4, 11.5, 0.6)], back, 1.1, 1.05)
        plant(carotid, (side, -0.1, 0.25), 1.7, 1.9)  # middle cerebral
        plant(carotid, (side * 0.5, 1.0, 0.5), 0.8, 1.9)  # anterior choroidal
        plant(front, (side * 0.1, -0.5, 0.85), 1.35, 1.0)  # anterior cerebral
        plant(back, (side * 0.55, 0.8, 0.25), 1.35, 1.05)  # posterior cerebral
        plant(top, (side, 0.4, -0.4), 1.0, 1.5)  # superior cerebellar
        fronts.append(front)
    lay(fronts[0], [], fronts[1], 0.8, 0.8)
    return base


def _node(base: Base, point_mm: Points) -> Node:
    base.nodes.append(Node(len(base.nodes), point_mm))
    return base.nodes[-1]


def _plant(base: Base, node: Node, direction: Points, radius_mm: float, inside_mm: float) -> None:
    """Let a tree begin at a node."""
    radius = max(radius_mm, base.smallest_mm)
    base.roots.append(Root(node, direction / np.linalg.norm(direction), radius, inside_mm))


def _lay(
    base: Base,
    ends: list[Node],
    via_mm: list[Points],
    radii_mm: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    """Add an artery, and small vessels that leave it."""
    points = _smooth_line(np.array([ends[0].point_mm, *via_mm, ends[1].point_mm]))
    radii = np.maximum(base.size * np.linspace(*radii_mm, len(points)), base.smallest_mm)
    every = round(_PERFORATOR_MM / STEP_MM)
    inner = range(every, len(points) - every, every)
    nodes = [ends[0], *(_node(base, points[i]) for i in inner), ends[1]]
    for (start, i), (end, j) in pairwise(zip(nodes, [0, *inner, len(points) - 1], strict=True)):
        part = slice(i, j + 1)
        base.vessels.append(Vessel((start.number, end.number), points[part], radii[part]))
    for node, i in zip(nodes[1:-1], inner, strict=True):
        across = np.cross(points[i + 1] - points[i], rng.normal(size=3))
        radius = base.smallest_mm * rng.uniform(*_PERFORATOR_VOXELS)
        _plant(base, node, across, radius, float(radii[i]))


def _smooth_line(control_mm: Points) -> Points:
    """Points on the smooth curve through control points."""
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(control_mm, axis=0), axis=1))])
    along = np.linspace(0, arc[-1], max(int(np.ceil(arc[-1] / STEP_MM)) + 1, 2))
    return np.asarray(CubicSpline(arc, control_mm)(along))
