"""The cases of AortaSeg: CT angiograms with 23 branches and zones.

Of every four consecutive cases two are dissected and one lacks a branch, so that a class absent
from the reference occurs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.arrays import Shape
from segjury.benchmark.phantoms.aortaseg.anatomy import OCCLUDABLE, Tree, make_tree
from segjury.benchmark.phantoms.aortaseg.drawing import DrawnVessels, Labels, draw, label_map
from segjury.benchmark.phantoms.aortaseg.image import Image, render
from segjury.images.grid import Grid

FIELD_OF_VIEW_MM = (350.0, 250.0, 695.0)
SMALL_SHAPE: Shape = (88, 64, 174)  # voxels of 4 mm

_BLOCK, _ANATOMY, _IMAGE = 1, 2, 3  # independent streams of a case


@dataclass(frozen=True)
class Plan:
    """What is special about a case: whether it is dissected, and which branch is occluded."""

    dissected: bool
    absent: str | None


@dataclass(frozen=True)
class AortaCase:
    """One case in memory, but for its image."""

    seed: int
    index: int
    grid: Grid
    plan: Plan
    tree: Tree
    vessels: list[DrawnVessels]
    labels: Labels

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"A{self.index + 1:03d}"

    @property
    def image(self) -> Image:
        """The angiogram, made when it is asked for."""
        rng = np.random.default_rng([self.seed, self.index, _IMAGE])
        return render(self.grid, self.tree, self.vessels, rng)


def make_case(index: int, *, seed: int = 0, shape: Shape = SMALL_SHAPE) -> AortaCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    plan = make_plan(index, seed=seed)
    grid = case_grid(shape)
    rng = np.random.default_rng([seed, index, _ANATOMY])
    tree = make_tree(rng, dissected=plan.dissected, absent=plan.absent)
    vessels = draw(grid, tree)
    labels = label_map(grid, vessels, tree.cuts_mm)
    return AortaCase(seed, index, grid, plan, tree, vessels, labels)


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
    spacing = float(np.ceil(100 * np.divide(FIELD_OF_VIEW_MM, shape).max()) / 100)
    x, y, z = (round(-spacing * (count - 1) / 2, 3) for count in shape)
    return Grid(shape, (spacing, spacing, spacing), (x, y, z))
