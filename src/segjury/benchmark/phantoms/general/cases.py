"""The cases of any protocol: bodies, and what the raters of the case make of them.

Of every three consecutive cases one is clear, one doubtful and one hard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Triple, flat
from segjury.benchmark.case import ReferenceCase
from segjury.benchmark.loading import with_weights, without_ignored
from segjury.benchmark.phantoms.fields import (
    Field,
    axes_mm,
    box_between,
    ellipsoid_mm,
    subgrid,
)
from segjury.benchmark.phantoms.general.anatomy import (
    Part,
    case_grid,
    make_parts,
    structure_courses,
    structure_mm,
)
from segjury.benchmark.phantoms.general.image import render
from segjury.benchmark.phantoms.general.raters import (
    Labels,
    draw_parts,
    present,
    read_again,
    shared_noise,
    styles_of,
)
from segjury.consensus import pack_marks
from segjury.images.grid import Grid
from segjury.images.labels import Classes, SparseLabels
from segjury.protocols import Protocol

AMBIGUITY = ((0.1, 0.25), (0.4, 0.55), (0.7, 0.9))

_PLAN, _ANATOMY, _RATERS, _IMAGE, _READS = 1, 2, 3, 4, 6  # independent streams of a case
_RIND = 0.35  # how far a label that does not count reaches around a body, in radii
_CLOSED_MM = -99.0  # signed distance that no rater's error makes up for
_IGNORED = 0.35  # radius of what is not scored, in radii of the body that it cuts


@dataclass(frozen=True)
class GeneralCase:
    """One case in memory: its bodies, and the numbers that each rater gives each voxel of them."""

    protocol: Protocol
    index: int
    seed: int
    grid: Grid
    ambiguity: float
    parts: list[Part]
    courses: list[tuple[Triple, float]]  # of the structures, in their order
    shared: list[Field]
    drawn: dict[str, list[Labels]]  # by rater, for each part
    read_again: dict[str, list[Labels]]  # by the name of the second read

    @property
    def name(self) -> str:
        """What the case is called."""
        return f"P{self.index + 1:03d}"

    def image(self) -> NDArray[np.int16]:
        """The image."""
        rng = np.random.default_rng([self.seed, self.index, _IMAGE])
        return render(self.grid, self.parts, self.courses, self.ambiguity, rng)

    def painted(self, drawn: Sequence[Labels]) -> Labels:
        """What was drawn of each part, on the grid of the case; of two numbers the later stays."""
        whole = np.zeros(self.grid.shape, np.uint8, order="F")
        for part, labels in zip(self.parts, drawn, strict=True):
            marked = labels > 0
            whole[part.box][marked] = labels[marked]
        return whole

    def mask(self, name: str) -> Labels:
        """The file of a rater or a second read; the first rater's also has what is not scored."""
        whole = self.painted(self.drawn[name] if name in self.drawn else self.read_again[name])
        spec = self.protocol.reference
        if name == next(iter(self.drawn)):
            for k, number in enumerate(spec.other_labels.values()):
                part = self.parts[k % len(self.parts)]
                region = whole[part.box]
                around = part.outline_mm > -_RIND * part.radius_mm
                region[around & (region == 0)] = number
            if spec.ignore:
                whole[self.ignored] = spec.ignore
        return whole

    @property
    def ignored(self) -> NDArray[np.bool_]:
        """Voxels that the first rater leaves out of the scoring."""
        first = self.parts[0]
        beside = np.add(first.centre_mm, [first.radius_mm, 0, 0])
        ball = ellipsoid_mm(self.grid, beside.tolist(), [_IGNORED * first.radius_mm] * 3)
        return np.asarray(ball > 0)

    def structures(self) -> Labels:
        """The label map of structures."""
        spec = self.protocol.reference.structures
        whole = np.zeros(self.grid.shape, np.uint8, order="F")
        for (centre, radius), number in zip(
            self.courses, spec.labels.values() if spec else (), strict=True
        ):
            box = box_between(self.grid, *_around(self.grid, centre, radius))
            if not box.is_empty:
                inside = structure_mm(subgrid(self.grid, box), centre, radius) > 0
                region = whole[box]
                region[inside & (region == 0)] = number
        return whole

    @cached_property
    def reference(self) -> ReferenceCase:
        """What scoring makes of the raters' files."""
        spec = self.protocol.reference
        classes = Classes(spec.classes)
        values = np.zeros(256, np.uint8)
        for number, value in spec.class_of_number.items():
            values[number] = value
        marks = (SparseLabels.of(values[self.painted(each)]) for each in self.drawn.values())
        patterns = pack_marks(
            marks, self.grid.shape, n_raters=len(self.drawn), n_labels=len(classes.sets) + 1
        )
        if spec.ignore:
            patterns = without_ignored(patterns, np.flatnonzero(flat(self.ignored)))
        patterns = with_weights(spec, self.drawn, patterns)
        patterns = replace(patterns, classes=None if classes.is_plain else classes)
        return ReferenceCase(self.grid, patterns, tuple(spec.labels), {}, raters=tuple(self.drawn))


def make_case(protocol: Protocol, index: int, *, seed: int = 0, shape: Shape) -> GeneralCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    spec = protocol.reference
    grid = case_grid(shape)
    parts = make_parts(grid, protocol, np.random.default_rng([seed, index, _ANATOMY]))
    courses = structure_courses(parts, len(protocol.structure_names))
    parts = [_outside(part, courses) for part in parts]
    rng = np.random.default_rng([seed, index, _RATERS])
    shared = shared_noise(parts, rng)
    ambiguity = make_ambiguity(index, seed=seed)
    styles = styles_of(spec, rng)
    names = present(spec, rng)
    overlooks = len(names) > 1  # what a lone rater does not see is not there
    drawn = {
        name: draw_parts(
            parts, styles[name], shared, ambiguity=ambiguity, overlooks=overlooks, rng=rng
        )
        for name in names
    }
    rng = np.random.default_rng([seed, index, _READS])
    again = {
        name: read_again(parts, drawn[rater], rng)
        for name, rater in spec.repeats.items()
        if rater in drawn
    }
    return GeneralCase(protocol, index, seed, grid, ambiguity, parts, courses, shared, drawn, again)


def make_ambiguity(index: int, *, seed: int = 0) -> float:
    """How far raters disagree: each block of three cases has all degrees, in random order."""
    block, place = divmod(index, len(AMBIGUITY))
    order = np.random.default_rng([seed, block, _PLAN]).permutation(len(AMBIGUITY))
    rng = np.random.default_rng([seed, index, _PLAN, 0])
    return float(rng.uniform(*AMBIGUITY[order[place]]))


def _outside(part: Part, courses: Iterable[tuple[Triple, float]]) -> Part:
    """The part without the structures, in which nobody draws."""
    for centre, radius in courses:
        free = structure_mm(part.grid, centre, radius) <= 0
        bodies = tuple(
            replace(body, phi_mm=np.where(free, body.phi_mm, np.float32(_CLOSED_MM)))
            for body in part.bodies
        )
        part = replace(part, bodies=bodies)
    return part


def _around(
    grid: Grid, centre_mm: Triple, radius_mm: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of the region of a structure: all slices."""
    z = axes_mm(grid)[2]
    x, y = centre_mm[:2]
    low = np.array([x - 2 * radius_mm, y - 2 * radius_mm, float(z.min())])
    high = np.array([x + 2 * radius_mm, y + 2 * radius_mm, float(z.max())])
    return low, high
