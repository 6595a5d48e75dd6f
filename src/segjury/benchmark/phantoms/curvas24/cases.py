"""A synthetic CURVAS 2024 benchmark: CT, three raters of three organs, simulated methods.

Every three consecutive cases hold one of each group: A with at most 2 cysts, B with 3 to 5, C with
6 to 10 large ones and a pathology, which goes round from one case of group C to the next, first of
all a missing kidney.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape
from segjury.benchmark.phantoms.casting import check_counts
from segjury.benchmark.phantoms.curvas24.anatomy import Pathology, make_parts
from segjury.benchmark.phantoms.curvas24.case import Group, OrganCase, OrganPlan
from segjury.benchmark.phantoms.curvas24.image import render_organs
from segjury.benchmark.phantoms.curvas24.methods import line_up, simulate_method
from segjury.benchmark.phantoms.curvas24.patients import make_patient
from segjury.benchmark.phantoms.curvas24.raters import CORRECTORS, draw_part
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

__all__ = [
    "OrganCase",
    "OrganPlan",
    "case_grid",
    "make_case",
    "make_plan",
    "method_rng",
    "simulate_method",
    "write_benchmark",
]


FIELD_OF_VIEW_MM = (344.0, 256.0, 264.0)
CENTRE_MM = (0.0, 4.0, 20.0)
SMALLEST_SHAPE = 24

CYSTS: dict[Group, tuple[int, int]] = {"A": (0, 2), "B": (3, 5), "C": (6, 10)}
PATHOLOGIES: tuple[Pathology, ...] = (
    "missing kidney",
    "hydronephrosis",
    "liver metastases",
    "adrenal metastasis",
)

_PLAN, _PATIENT, _RATERS, _IMAGE, _METHODS = 1, 2, 3, 4, 5  # independent streams of a case


def write_benchmark(
    out: Path,
    *,
    cases: int = 6,
    methods: int = 7,
    seed: int = 0,
    shape: Shape = (112, 96, 64),
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write `out`/reference and `out`/predictions; `progress` hears of each finished case."""
    _check(cases, methods, shape)
    _write_case_table(out / "reference" / "cases.csv", cases, seed)
    for index in range(cases):
        case = make_case(index, seed=seed, shape=shape)
        _write_reference(out / "reference" / case.name, case)
        for number, character in enumerate(line_up(methods)):
            answer = simulate_method(case, character, method_rng(seed, index, number))
            folder = out / "predictions" / character.name / case.name
            write_volume(folder / "segmentation.nii.gz", Volume(answer.labels, case.grid))
            for organ, probability in answer.probabilities.items():
                path = folder / f"probability_{organ}.nii.gz"
                write_volume(path, Volume(probability, case.grid))
        if progress is not None:
            progress(case.name)


def method_rng(seed: int, index: int, number: int) -> np.random.Generator:
    """The random stream of one method on one case."""
    return np.random.default_rng([seed, index, _METHODS, number])


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
        name=_name(index),
        grid=grid,
        plan=plan,
        patient=patient,
        parts={part.name: part for part in parts},
        drawn=drawn,
        image=render_organs(grid, patient, parts, image_rng),
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


def _write_case_table(path: Path, cases: int, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", "group", "cysts", "pathology"])
        for index in range(cases):
            plan = make_plan(index, seed=seed)
            table.writerow([_name(index), plan.group, plan.cysts, plan.pathology])


def _write_reference(folder: Path, case: OrganCase) -> None:
    files: dict[str, NDArray[np.int16] | NDArray[np.uint8]] = {"image": case.image}
    files |= {f"annotation_{k}": labels for k, labels in enumerate(case.annotations, start=1)}
    for stem, array in files.items():
        write_volume(folder / f"{stem}.nii.gz", Volume(array, case.grid))


def _name(index: int) -> str:
    return f"P{index + 1:03d}"


def _check(cases: int, methods: int, shape: Shape) -> None:
    check_counts(cases, methods)
    if min(shape) < SMALLEST_SHAPE:
        raise InputError(
            f"a shape of {shape} is too small to show the organs",
            f"Use at least {SMALLEST_SHAPE} voxels along each axis",
        )
