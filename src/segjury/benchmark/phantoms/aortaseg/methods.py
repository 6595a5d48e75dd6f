"""Simulated methods for the aorta: each draws the same tree with failings of its own.

A method sees every vessel's wall through smooth noise, grown or shrunk, and the zone borders
shifted along the centreline. Some forget branches, mix up the sides, leave stray voxels or give
nothing for a case. They illustrate what a score must notice; they are no evidence about real
methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from segjury.benchmark.phantoms.aortaseg.anatomy import LABELS
from segjury.benchmark.phantoms.aortaseg.cases import AortaCase
from segjury.benchmark.phantoms.aortaseg.drawing import DrawnVessels, Labels, label_map
from segjury.benchmark.phantoms.fields import smooth_noise, subgrid
from segjury.images.grid import Grid

_NOISE_LENGTH_MM = 15.0
_SIDES = (
    ("Zone 10 R", "Zone 10 L"),
    ("Right Internal Iliac", "Left Internal Iliac"),
    ("Zone 11 R", "Zone 11 L"),
)


@dataclass(frozen=True)
class Character:
    """How a method errs, and what it costs.

    Lengths are millimetres: the SD of its error at the walls, the SD and the mean of its error
    along the centreline (positive: too far down). `fails_on` is the number of the case, from 0, for
    which it gives nothing. Seconds and gigabytes are means over cases.
    """

    name: str
    wall_mm: float = 0.5
    border_mm: float = 1.0
    shift_mm: float = 0.0
    grown_voxels: float = 0.0
    misses: tuple[str, ...] = ()
    swaps_sides: bool = False
    strays: str | None = None
    fails_on: int | None = None
    time_s: float = 30.0
    memory_gb: float = 8.0


CHARACTERS = (
    Character("Careful", wall_mm=0.3, time_s=95.0, memory_gb=14.0),
    Character("Zone-shifting", border_mm=1.5, shift_mm=6.0, time_s=40.0, memory_gb=9.0),
    Character(
        "Branch-missing",
        wall_mm=0.4,
        misses=("Right Renal", "Left Renal", "Right Internal Iliac", "Left Internal Iliac"),
        time_s=12.0,
        memory_gb=5.0,
    ),
    Character("Side-swapping", wall_mm=0.4, swaps_sides=True, time_s=28.0, memory_gb=7.0),
    Character("Stray-voxels", strays="SMA", time_s=33.0, memory_gb=8.0),
    Character("Failing", wall_mm=0.4, border_mm=1.5, fails_on=1, time_s=60.0, memory_gb=15.0),
    Character("Over-segmenting", grown_voxels=1.0, time_s=22.0, memory_gb=6.0),
)


def simulate_method(case: AortaCase, character: Character, rng: np.random.Generator) -> Labels:
    """The label map that a method of this character gives for a case."""
    seen = [
        _seen(case.grid, vessel, character, rng)
        for vessel in case.vessels
        if vessel.name not in character.misses
    ]
    labels = label_map(case.grid, seen, _shifted(case.tree.cuts_mm, character, rng))
    if character.swaps_sides:
        labels = _with_sides_swapped(labels)
    if character.strays is not None:
        labels[0, 0, 0] = labels[-1, -1, -1] = LABELS[character.strays]
    return labels


def simulate_cost(
    character: Character, rng: np.random.Generator, *, failed: bool
) -> tuple[float, float]:
    """Wall time in seconds and the area under the memory-time curve in GB s of one run.

    A run that fails breaks off early, so that a score which forgets to look would reward it.
    """
    time_s = character.time_s * rng.lognormal(0, 0.12) * (0.2 if failed else 1.0)
    memory_gb = character.memory_gb * rng.lognormal(0, 0.05)
    return float(time_s), float(time_s * memory_gb)


def _seen(
    grid: Grid, vessel: DrawnVessels, character: Character, rng: np.random.Generator
) -> DrawnVessels:
    noise = smooth_noise(subgrid(grid, vessel.box), _NOISE_LENGTH_MM, rng)
    grown = np.float32(character.grown_voxels * max(grid.spacing_mm))
    depth = vessel.depth_mm + np.float32(character.wall_mm) * noise + grown
    return replace(vessel, depth_mm=np.asarray(depth, np.float32))


def _shifted(
    cuts_mm: Sequence[float], character: Character, rng: np.random.Generator
) -> list[float]:
    errors = character.shift_mm + rng.normal(0, character.border_mm, len(cuts_mm))
    return sorted((np.asarray(cuts_mm) + errors).tolist())


def _with_sides_swapped(labels: Labels) -> Labels:
    renamed = np.arange(len(LABELS) + 1, dtype=np.uint8)
    for right, left in _SIDES:
        renamed[[LABELS[right], LABELS[left]]] = LABELS[left], LABELS[right]
    return np.asarray(renamed[labels])
