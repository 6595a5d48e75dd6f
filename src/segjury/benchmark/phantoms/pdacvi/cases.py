"""A synthetic CURVAS-PDACVI benchmark: CT, five raters, five vessels, simulated methods.

Every five consecutive cases hold one of each degree of ambiguity, from plain to hopeless, and one
of each degree of vessel contact, from none to encasement. In the hopeless ones the raters do not
even agree on where the lesion is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Triple
from segjury.benchmark.phantoms.casting import check_counts
from segjury.benchmark.phantoms.fields import Box, Field, box_between, smooth_noise, subgrid
from segjury.benchmark.phantoms.pdacvi.anatomy import (
    Anatomy,
    Lesion,
    Location,
    decoys,
    lesion_mm,
    make_anatomy,
    pancreas_mm,
    place_lesion,
    vessel_labels,
)
from segjury.benchmark.phantoms.pdacvi.case import PhantomCase, Plan
from segjury.benchmark.phantoms.pdacvi.image import Findings, render
from segjury.benchmark.phantoms.pdacvi.methods import line_up, simulate_method
from segjury.benchmark.phantoms.raters import PANEL, Mask, Noise, draw
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

__all__ = [
    "PhantomCase",
    "Plan",
    "case_grid",
    "make_case",
    "make_plan",
    "method_rng",
    "simulate_method",
    "write_benchmark",
]


FIELD_OF_VIEW_MM = (384.0, 384.0, 240.0)
LARGEST_SPACING_MM = (1.75, 1.75, 2.0)
SMALLEST_SPACING_MM = (0.6, 0.6, 0.8)
CENTRE_MM = (2.0, 2.0, 8.0)
BORDER_VOXELS = 20  # kept around the raters' masks: calibration is scored that far out
OVERDRAWN_MM = 7.0  # how far raters usually go beyond the lesion

AMBIGUITY = ((0.1, 0.28), (0.38, 0.54), (0.62, 0.76), (0.8, 0.92), (0.92, 1.0))
HOPELESS = 4  # the last of them
SMALLEST_SHAPE = 24
SMALLEST_FINDING = 50  # voxels that a finding elsewhere must have in the field of view
CONTACT_DEG = ((-12.0, -5.0), (30.0, 100.0), (110.0, 180.0), (190.0, 270.0), (290.0, 360.0))
CAMPS = ((0, 0, 0, 1, 2), (0, 1, 0, 0, 2), (0, 0, -1, 1, 2), (-1, 0, 1, 0, 2), (1, -1, 0, 0, 2))

_BLOCK, _ANATOMY, _RATERS, _IMAGE, _METHODS = 1, 2, 3, 4, 5  # independent streams of a case


def write_benchmark(
    out: Path,
    *,
    cases: int = 10,
    methods: int = 6,
    seed: int = 0,
    shape: Shape = (112, 96, 64),
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write `out`/reference and `out`/predictions; `progress` hears of each finished case."""
    _check(cases, methods, shape)
    for index in range(cases):
        case = make_case(index, seed=seed, shape=shape)
        _write_reference(out / "reference" / case.name, case)
        for number, character in enumerate(line_up(methods)):
            mask, probability = simulate_method(case, character, method_rng(seed, index, number))
            folder = out / "predictions" / character.name / case.name
            write_volume(folder / "segmentation.nii.gz", Volume(mask, case.grid))
            write_volume(folder / "probability.nii.gz", Volume(probability, case.grid))
        if progress is not None:
            progress(case.name)


def method_rng(seed: int, index: int, number: int) -> np.random.Generator:
    """The random stream of one method on one case."""
    return np.random.default_rng([seed, index, _METHODS, number])


def make_case(index: int, *, seed: int = 0, shape: Shape = (112, 96, 64)) -> PhantomCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    plan = make_plan(index, seed=seed)
    rng = np.random.default_rng([seed, index, _ANATOMY])
    anatomy = make_anatomy(rng)
    lesion = place_lesion(anatomy, plan.location, plan.contact_deg, rng)
    lesions = [lesion, *(decoys(anatomy, lesion, rng) if plan.hopeless else [])]
    grid = case_grid(shape, lesions)
    roi = _region(grid, anatomy, lesions)
    part = subgrid(grid, roi)
    phis = [lesion_mm(part, each, rng) for each in lesions]
    gland = pancreas_mm(part, anatomy, lesions, rng)
    vessels = vessel_labels(grid, anatomy)
    free = vessels[roi] == 0
    drawn = _panel(
        _outside_vessels(phis, free), part, plan, np.random.default_rng([seed, index, _RATERS])
    )
    image = render(
        grid,
        anatomy,
        Findings(roi, gland, _darkness(phis, plan.ambiguity)),
        np.random.default_rng([seed, index, _IMAGE]),
    )
    return PhantomCase(
        name=f"P{index + 1:03d}",
        grid=grid,
        image=image,
        raters=[_whole(mask, grid, roi) for mask in drawn],
        vessels=vessels,
        pancreas=_whole((gland > 0) & free, grid, roi),
        plan=plan,
        roi=roi,
    )


def make_plan(index: int, *, seed: int = 0) -> Plan:
    """The difficulty of a case: each block of five cases has all five degrees in random order."""
    block, place = divmod(index, len(AMBIGUITY))
    order = np.random.default_rng([seed, block, _BLOCK])
    degree, contact = order.permutation(5)[place], order.permutation(5)[place]
    rng = np.random.default_rng([seed, index, _BLOCK, 0])
    contact_deg = float(rng.uniform(*CONTACT_DEG[contact]))
    head, body = 0.6, 0.85 if contact_deg < 0 else 1.0
    where = rng.random()
    location: Location = "head" if where < head else "body" if where < body else "tail"
    ambiguity = float(rng.uniform(*AMBIGUITY[degree]))
    return Plan(ambiguity, bool(degree == HOPELESS), contact_deg, location)


def case_grid(shape: Shape, lesions: list[Lesion]) -> Grid:
    """Voxels as fine as the field of view asks, never coarse; cropped around the lesions."""
    spacing = np.clip(
        np.divide(FIELD_OF_VIEW_MM, shape), SMALLEST_SPACING_MM, LARGEST_SPACING_MM
    ).round(3)
    size = spacing * shape
    centre = np.array(CENTRE_MM)
    for group in (lesions, lesions[:1]):  # all of them if they fit, the first in any case
        low = np.min([np.subtract(g.centre_mm, g.semi_axes_mm) for g in group], axis=0)
        high = np.max([np.add(g.centre_mm, g.semi_axes_mm) for g in group], axis=0)
        border = BORDER_VOXELS * spacing + OVERDRAWN_MM
        low, high = low - border, high + border
        first, last = high - size / 2, low + size / 2
        middle = (low + high) / 2
        centre = np.where(first > last, middle, np.clip(centre, first, np.maximum(first, last)))
    origin = (centre - size / 2).round(2)
    return Grid(shape, _triple(spacing), _triple(origin))


def _region(grid: Grid, anatomy: Anatomy, lesions: list[Lesion]) -> Box:
    points, radii = anatomy.pancreas
    centres = np.array([lesion.centre_mm for lesion in lesions])
    reach = radii.max() + 8
    low = np.minimum(points.min(axis=0) - reach, centres.min(axis=0) - 35)
    high = np.maximum(points.max(axis=0) + reach, centres.max(axis=0) + 35)
    return box_between(grid, low, high)


def _outside_vessels(phis: list[Field], free: Mask) -> list[Field]:
    """The findings without the vessels, which nobody draws in; none that the crop has cut off."""
    seen = [np.where(free, phi, np.float32(-99)) for phi in phis]
    return [seen[0], *(phi for phi in seen[1:] if np.count_nonzero(phi > 0) >= SMALLEST_FINDING)]


def _panel(phis: list[Field], part: Grid, plan: Plan, rng: np.random.Generator) -> list[Mask]:
    """What the five raters draw; in a hopeless case they fall into camps.

    A camp is the number of the finding its raters take for the lesion; -1 takes the first two.
    """
    seen = [phis[0]] * len(PANEL)
    if plan.hopeless:
        camps = CAMPS[rng.integers(len(CAMPS))]
        both = np.maximum(phis[0], phis[min(1, len(phis) - 1)])
        seen = [both if camp < 0 else phis[min(camp, len(phis) - 1)] for camp in camps]
    shared = smooth_noise(part, Noise.length_mm, rng)
    return [
        draw(phi, part, rater, ambiguity=plan.ambiguity, shared=shared, rng=rng)
        for phi, rater in zip(seen, PANEL, strict=True)
    ]


def _darkness(phis: list[Field], ambiguity: float) -> Field:
    """How dark the findings are: ambiguity blurs their edge and fades them, decoys most."""
    edge_mm = np.float32(0.6 + 3.0 * ambiguity)
    contrast = 1 - 0.6 * ambiguity
    shares = [contrast] + [0.85 * contrast] * (len(phis) - 1)
    dark = [
        share / (1 + np.exp(np.clip(-phi / edge_mm, -30, 30)))
        for share, phi in zip(shares, phis, strict=True)
    ]
    return np.asarray(np.maximum.reduce(dark), np.float32)


def _whole(mask: Mask, grid: Grid, roi: Box) -> Mask:
    whole = np.zeros(grid.shape, bool, order="F")
    whole[roi] = mask
    return whole


def _write_reference(folder: Path, case: PhantomCase) -> None:
    first = np.where(case.pancreas, np.uint8(2), np.uint8(0))
    first[case.raters[0]] = 1
    files = {"image": case.image, "annotation_1": first, "annotation_vascular": case.vessels}
    files |= {f"annotation_{k}": mask for k, mask in enumerate(case.raters[1:], start=2)}
    for stem, array in files.items():
        write_volume(folder / f"{stem}.nii.gz", Volume(array, case.grid))


def _check(cases: int, methods: int, shape: Shape) -> None:
    check_counts(cases, methods)
    if min(shape) < SMALLEST_SHAPE:
        raise InputError(
            f"a shape of {shape} is too small for a lesion and its surroundings",
            f"Use at least {SMALLEST_SHAPE} voxels along each axis",
        )


def _triple(values: NDArray[np.float64]) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])
