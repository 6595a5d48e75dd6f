"""A synthetic AortaSeg benchmark: CT angiograms, 23 branches and zones, simulated methods.

Of every four consecutive cases two are dissected and one lacks a branch, so that a class absent
from the reference occurs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segjury.arrays import Shape
from segjury.benchmark.phantoms.aortaseg.anatomy import OCCLUDABLE, Tree, make_tree
from segjury.benchmark.phantoms.aortaseg.drawing import DrawnVessels, Labels, draw, label_map
from segjury.benchmark.phantoms.aortaseg.image import Image, render
from segjury.benchmark.phantoms.aortaseg.methods import (
    Character,
    line_up,
    simulate_cost,
    simulate_method,
)
from segjury.benchmark.phantoms.casting import check_counts
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

FIELD_OF_VIEW_MM = (350.0, 250.0, 695.0)
LARGEST_SPACING_MM = 15.0  # coarser voxels would skip the shortest zones
SMALL_SHAPE: Shape = (88, 64, 174)  # voxels of 4 mm

_BLOCK, _ANATOMY, _IMAGE, _METHODS, _COST = 1, 2, 3, 4, 5  # independent streams of a case


@dataclass(frozen=True)
class Plan:
    """What is special about a case: whether it is dissected, and which branch is occluded."""

    dissected: bool
    absent: str | None


@dataclass(frozen=True)
class AortaCase:
    """One case in memory, but for its image."""

    name: str
    grid: Grid
    plan: Plan
    tree: Tree
    vessels: list[DrawnVessels]
    labels: Labels


def write_benchmark(
    out: Path,
    *,
    cases: int = 10,
    methods: int = 6,
    seed: int = 0,
    shape: Shape = SMALL_SHAPE,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write `out`/reference, `out`/predictions and `out`/efficiency.csv.

    A method that fails on a case writes no file for it; what the failed run cost is listed all the
    same. `progress` hears of each finished case.
    """
    _check(cases, methods, shape)
    facts, costs = [], []
    for index in range(cases):
        case = make_case(index, seed=seed, shape=shape)
        facts.append((case.name, "yes" if case.plan.dissected else "no", case.plan.absent or ""))
        _write_reference(out / "reference" / case.name, case, make_image(case, index, seed=seed))
        for number, character in enumerate(line_up(methods)):
            failed = character.fails_on == index
            time_s, memory_gb_s = simulate_cost(
                character, np.random.default_rng([seed, index, _COST, number]), failed=failed
            )
            costs.append((character.name, case.name, f"{time_s:.2f}", f"{memory_gb_s:.2f}"))
            if not failed:
                labels = answer(case, character, method_rng(seed, index, number))
                folder = out / "predictions" / character.name / case.name
                write_volume(folder / "segmentation.nii.gz", Volume(labels, case.grid))
        if progress is not None:
            progress(case.name)
    _write_table(out / "reference" / "cases.csv", ("case", "dissected", "absent"), facts)
    _write_table(out / "efficiency.csv", ("method", "case", "time_s", "memory_gb_s"), costs)


def method_rng(seed: int, index: int, number: int) -> np.random.Generator:
    """The random stream of one method on one case."""
    return np.random.default_rng([seed, index, _METHODS, number])


def make_case(index: int, *, seed: int = 0, shape: Shape = SMALL_SHAPE) -> AortaCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    plan = make_plan(index, seed=seed)
    grid = case_grid(shape)
    rng = np.random.default_rng([seed, index, _ANATOMY])
    tree = make_tree(rng, dissected=plan.dissected, absent=plan.absent)
    vessels = draw(grid, tree)
    labels = label_map(grid, vessels, tree.cuts_mm)
    return AortaCase(f"A{index + 1:03d}", grid, plan, tree, vessels, labels)


def make_image(case: AortaCase, index: int, *, seed: int = 0) -> Image:
    """The angiogram of a case."""
    rng = np.random.default_rng([seed, index, _IMAGE])
    return render(case.grid, case.tree, case.vessels, rng)


def answer(case: AortaCase, character: Character, rng: np.random.Generator) -> Labels:
    """The label map that a method gives for a case."""
    return simulate_method(case.grid, case.vessels, case.tree.cuts_mm, character, rng)


def make_plan(index: int, *, seed: int = 0) -> Plan:
    """Two dissections and one missing branch in each block of four cases, in random order."""
    block, place = divmod(index, 4)
    order = np.random.default_rng([seed, block, _BLOCK])
    dissected = bool(order.permutation(4)[place] < 2)
    occluded = bool(order.permutation(4)[place] == 0)
    which = OCCLUDABLE[order.integers(len(OCCLUDABLE))]
    return Plan(dissected, which if occluded else None)


def case_grid(shape: Shape) -> Grid:
    """Cubic voxels just large enough for the field of view, which lies in the middle."""
    spacing = float(np.ceil(100 * spacing_mm(shape)) / 100)
    x, y, z = (round(-spacing * (count - 1) / 2, 3) for count in shape)
    return Grid(shape, (spacing, spacing, spacing), (x, y, z))


def spacing_mm(shape: Shape) -> float:
    """Side of the smallest cubic voxels with which a shape holds the field of view."""
    return float(np.divide(FIELD_OF_VIEW_MM, shape).max())


def _write_reference(folder: Path, case: AortaCase, image: Image) -> None:
    write_volume(folder / "image.nii.gz", Volume(image, case.grid))
    write_volume(folder / "annotation_1.nii.gz", Volume(case.labels, case.grid))


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def _check(cases: int, methods: int, shape: Shape) -> None:
    check_counts(cases, methods)
    if min(shape) < 1 or spacing_mm(shape) > LARGEST_SPACING_MM:
        least = [int(np.ceil(size / LARGEST_SPACING_MM)) for size in FIELD_OF_VIEW_MM]
        raise InputError(
            f"a shape of {shape} is too small for the aorta and its branches",
            f"Use at least {tuple(least)} voxels",
        )
