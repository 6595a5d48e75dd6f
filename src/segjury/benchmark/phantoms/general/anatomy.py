"""The bodies of a case: one for each number in the files, inside another where labels overlap.

Numbers whose labels do not overlap lie side by side. One that stands for all labels of another
number and more, as tumour core stands for whole tumour too, lies inside that number's body. Where a
protocol scores lesions, a number has several of different sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from segjury.arrays import Box, Shape, Triple
from segjury.benchmark.phantoms.fields import (
    Field,
    box_between,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
    triple,
    tube_mm,
)
from segjury.images.grid import Grid
from segjury.protocols import Protocol
from segjury.protocols.reference import Reference

FIELD_OF_VIEW_MM = 96.0
CELL_VOXELS = 12  # at least so many along x and y for each body that is inside no other

LESION_METRICS = frozenset(
    (
        *("lesion_f1", "lesion_recall", "lesion_precision", "lesion_count_error"),
        *("pq", "small_lesion_recall", "froc"),
    )
)

# shares of the side of the cell that a body has for itself
ORGAN = ((0.0, 0.0, 0.23),)  # where it lies, and its radius
LESIONS = ((-0.22, -0.22, 0.2), (0.25, -0.25, 0.12), (0.25, 0.25, 0.075), (-0.25, 0.27, 0.05))

_INNER = 0.62  # radius of a body inside another
_WAVES = 0.05  # unevenness, in radii
_MARGIN = 0.45  # room around a body for raters to stray, in radii
_TUBE = 0.35  # radius of a structure, in radii of the body that it touches


@dataclass(frozen=True)
class Body:
    """One number of the files: where it is in its part, and in whose body it lies (0: nobody's)."""

    number: int
    inside: int
    phi_mm: Field


@dataclass(frozen=True)
class Part:
    """A body with all that lies inside it, the outer ones first, on a region of the grid."""

    box: Box
    grid: Grid
    bodies: tuple[Body, ...]
    centre_mm: Triple
    radius_mm: float

    @property
    def outline_mm(self) -> Field:
        """The signed distance of the outermost body."""
        return self.bodies[0].phi_mm

    def within(self, number: int) -> list[int]:
        """The numbers that lie inside the body of a number, and this itself."""
        found = [number]
        for body in self.bodies:  # inner ones come later
            if body.inside in found and body.number not in found:
                found.append(body.number)
        return found


# ---- what the protocol says ----------------------------------------------------------------


def has_lesions(protocol: Protocol) -> bool:
    """Whether a metric counts lesions."""
    return any(use.name in LESION_METRICS for use in protocol.metrics)


def outer_numbers(spec: Reference) -> dict[int, int]:
    """The number in whose body each lies: that with most of its labels but not all; 0 for none."""
    sets = {number: spec.classes[value - 1] for number, value in spec.class_of_number.items()}
    found = {}
    for number, labels in sets.items():
        around = [other for other, some in sets.items() if some < labels]
        found[number] = max(around, key=lambda other: len(sets[other]), default=0)
    return found


def columns_and_rows(spec: Reference) -> tuple[int, int]:
    """How the bodies that are inside no other are set out."""
    count = sum(outer == 0 for outer in outer_numbers(spec).values())
    columns = math.ceil(math.sqrt(count))
    return columns, math.ceil(count / columns)


def smallest_shape(spec: Reference) -> Shape:
    """The fewest voxels in which all bodies have room; one slice is enough."""
    columns, rows = columns_and_rows(spec)
    return CELL_VOXELS * columns, CELL_VOXELS * rows, 1


# ---- bodies --------------------------------------------------------------------------------


def case_grid(shape: Shape) -> Grid:
    """Square pixels, so large that the field of view has its size; one slice is as thick as one."""
    in_plane = round(FIELD_OF_VIEW_MM / max(shape[:2]), 4)
    across = round(FIELD_OF_VIEW_MM / shape[2], 4) if shape[2] > 1 else in_plane
    spacing = (in_plane, in_plane, across)
    x, y, z = (round(-step * (n - 1) / 2, 4) + 0.0 for n, step in zip(shape, spacing, strict=True))
    return Grid(shape, spacing, (x, y, z))


def make_parts(grid: Grid, protocol: Protocol, rng: np.random.Generator) -> list[Part]:
    """The bodies of one case; the same for the same numbers, whatever else the protocol says."""
    spec = protocol.reference
    outer = outer_numbers(spec)
    roots = [number for number, around in outer.items() if not around]
    columns, rows = columns_and_rows(spec)
    extent = np.multiply(grid.shape, grid.spacing_mm)
    cell = np.array([extent[0] / columns, extent[1] / rows])
    side = float(min(cell))
    parts = []
    for k, number in enumerate(roots):
        middle = (np.array([k % columns, k // columns]) + 0.5) * cell - extent[:2] / 2
        places = LESIONS if has_lesions(protocol) else ORGAN
        for x, y, share in places:
            across = 0.1 * extent[2] * rng.uniform(-1, 1) if grid.shape[2] > 1 else 0.0
            shift = side * np.array([x, y]) + 0.03 * side * rng.uniform(-1, 1, 2)
            radius = side * share * rng.uniform(0.9, 1.1)
            centre = triple([*(middle + shift), across])
            parts.append(_part(grid, number, outer, centre, radius, rng))
    return parts


def _part(
    grid: Grid,
    number: int,
    outer: dict[int, int],
    centre_mm: Triple,
    radius_mm: float,
    rng: np.random.Generator,
) -> Part:
    pixel = grid.spacing_mm[0]
    radius = max(radius_mm, 1.5 * pixel)
    reach = np.array([(1.2 + _MARGIN) * radius] * 3) + 2 * np.array(grid.spacing_mm)
    box = box_between(grid, np.subtract(centre_mm, reach), np.add(centre_mm, reach))
    region = subgrid(grid, box)

    def bodies(one: int, centre: Triple, size: float) -> Iterator[Body]:
        yield Body(one, outer[one], _body_mm(region, grid, centre, size, rng))
        inner = [other for other, around in outer.items() if around == one]
        for k, other in enumerate(inner):
            alone = len(inner) == 1
            turn = rng.uniform(0, 2 * math.pi) if alone else 2 * math.pi * k / len(inner)
            away = size * (0.12 if alone else 0.5)
            smaller = size * (_INNER if alone else 0.8 / (1 + len(inner) / 2))
            moved = np.add(centre, [away * math.cos(turn), away * math.sin(turn), 0])
            if smaller >= pixel:
                yield from bodies(other, triple(moved), smaller)

    return Part(box, region, tuple(bodies(number, centre_mm, radius)), centre_mm, radius)


def _body_mm(
    region: Grid, grid: Grid, centre_mm: Triple, radius_mm: float, rng: np.random.Generator
) -> Field:
    """Signed distance of an uneven ellipsoid that does not leave the field of view."""
    semi = radius_mm * rng.uniform(0.88, 1.12, 3)
    if grid.shape[2] > 1:
        semi[2] = min(semi[2], 0.38 * grid.shape[2] * grid.spacing_mm[2])
    phi = ellipsoid_mm(region, centre_mm, semi.tolist())
    waves = smooth_noise(region, grain_mm(region, radius_mm), rng)
    waves *= np.float32(_WAVES * radius_mm)
    phi += waves
    return phi


def grain_mm(grid: Grid, radius_mm: float) -> float:
    """Over what length noise on a body is alike: its radius, but some voxels at least."""
    return max(radius_mm, 3 * max(grid.spacing_mm))


# ---- structures ----------------------------------------------------------------------------


def structure_courses(parts: Sequence[Part], count: int) -> list[tuple[Triple, float]]:
    """Place and radius of the structures, which stand around the first body and touch it."""
    first = parts[0]
    radius = _TUBE * first.radius_mm
    away = first.radius_mm + 0.5 * radius
    turns = [2 * math.pi * k / count for k in range(count)]
    return [
        (triple(np.add(first.centre_mm, [away * math.cos(t), away * math.sin(t), 0])), radius)
        for t in turns
    ]


def structure_mm(grid: Grid, centre_mm: Triple, radius_mm: float) -> Field:
    """Signed distance of a straight tube across all slices."""
    half = grid.shape[2] * grid.spacing_mm[2] * 2 + 2 * radius_mm
    ends = np.array([np.subtract(centre_mm, [0, 0, half]), np.add(centre_mm, [0, 0, half])])
    return tube_mm(grid, ends, np.array([radius_mm, radius_mm]), reach_mm=3 * radius_mm)
