"""The cases of CURVAS 2024: a CT whose three organs have more or fewer cysts.

Every three consecutive cases hold one of each group: A with at most 2 cysts, B with 3 to 5, C with
6 to 10 large ones and a pathology, which goes round from one case of group C to the next, first of
all a missing kidney.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Shape
from segjury.benchmark.phantoms.curvas24.anatomy import (
    OrganPart,
    PartName,
    Pathology,
    Patient,
    make_parts,
)
from segjury.benchmark.phantoms.curvas24.image import render
from segjury.benchmark.phantoms.curvas24.patients import make_patient
from segjury.benchmark.phantoms.curvas24.raters import CORRECTORS, DrawnOrgan, draw_part
from segjury.images.grid import Grid

FIELD_OF_VIEW_MM = (344.0, 256.0, 264.0)
CENTRE_MM = (0.0, 4.0, 20.0)

Group = Literal["A", "B", "C"]

CYSTS: dict[Group, tuple[int, int]] = {"A": (0, 2), "B": (3, 5), "C": (6, 10)}
PATHOLOGIES: tuple[Pathology, ...] = (
    "missing kidney",
    "hydronephrosis",
    "liver metastases",
    "adrenal metastasis",
)

_PLAN, _PATIENT, _RATERS, _IMAGE = 1, 2, 3, 4  # independent streams of a case


@dataclass(frozen=True)
class OrganPlan:
    """How complex a case is, in the terms of the study."""

    group: Group
    cysts: int
    pathology: Pathology


@dataclass(frozen=True)
class OrganCase:
    """One case in memory; `image` and `annotations` are on `grid`, parts on regions of it."""

    name: str
    grid: Grid
    plan: OrganPlan
    patient: Patient
    parts: dict[PartName, OrganPart]
    drawn: dict[PartName, DrawnOrgan]
    image: NDArray[np.int16]
    draft: NDArray[np.uint8]
    annotations: list[NDArray[np.uint8]]

    @property
    def roi(self) -> Box:
        """The region that holds all parts."""
        return Box.around([part.box for part in self.parts.values()])


def make_case(index: int, *, seed: int = 0, shape: Shape = (112, 96, 64)) -> OrganCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    plan = make_plan(index, seed=seed)
    grid = case_grid(shape)
    rng = np.random.default_rng([seed, index, _PATIENT])
    patient = make_patient(plan.pathology, plan.cysts, rng)
    parts = make_parts(grid, patient, rng)
    raters_rng = np.random.default_rng([seed, index, _RATERS])
    drawn = {part.name: draw_part(part, patient, raters_rng) for part in parts}
    image_rng = np.random.default_rng([seed, index, _IMAGE])
    whole = [np.zeros(shape, np.uint8, order="F") for _ in range(1 + len(CORRECTORS))]
    for part in parts:
        of_part = drawn[part.name]
        for labels, mask in zip(whole, (of_part.draft, *of_part.raters), strict=True):
            labels[part.box][mask] = part.label
    return OrganCase(
        name=f"P{index + 1:03d}",
        grid=grid,
        plan=plan,
        patient=patient,
        parts={part.name: part for part in parts},
        drawn=drawn,
        image=render(grid, patient, parts, image_rng),
        draft=whole[0],
        annotations=whole[1:],
    )


def make_plan(index: int, *, seed: int = 0) -> OrganPlan:
    """The group of a case, its cysts and pathology."""
    groups = list(CYSTS)
    block, place = divmod(index, len(groups))
    order = np.random.default_rng([seed, block, _PLAN]).permutation(len(groups))
    group = groups[order[place]]
    fewest, most = CYSTS[group]
    cysts = int(np.random.default_rng([seed, index, _PLAN, 0]).integers(fewest, most + 1))
    pathology = PATHOLOGIES[block % len(PATHOLOGIES)] if group == "C" else "none"
    return OrganPlan(group, cysts, pathology)


def case_grid(shape: Shape) -> Grid:
    """Voxels, square on the slice, so large that the field of view holds all organs."""
    wanted = np.divide(FIELD_OF_VIEW_MM, shape)
    in_plane, slices = float(max(wanted[:2]).round(3)), float(wanted[2].round(3))
    spacing = (in_plane, in_plane, slices)
    x, y, z = (
        round(middle - step * (count - 1) / 2, 2)
        for middle, step, count in zip(CENTRE_MM, spacing, shape, strict=True)
    )
    return Grid(shape, spacing, (x, y, z))
