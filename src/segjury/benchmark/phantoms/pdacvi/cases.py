"""The cases of CURVAS-PDACVI: a CT with a lesion that is more or less plain to see.

Every five consecutive cases hold one of each degree of ambiguity, from plain to hopeless, and one
of each degree of vessel contact, from none to encasement. In the hopeless ones the raters do not
even agree on where the lesion is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Shape
from segjury.benchmark.phantoms.abdomen import Anatomy, make_anatomy
from segjury.benchmark.phantoms.fields import Field, box_between, subgrid, triple
from segjury.benchmark.phantoms.pdacvi.anatomy import (
    Lesion,
    Location,
    decoys,
    lesion_mm,
    pancreas_mm,
    place_lesion,
    vessel_labels,
)
from segjury.benchmark.phantoms.pdacvi.image import Findings, render
from segjury.benchmark.phantoms.pdacvi.raters import draw_panel, outside_vessels
from segjury.benchmark.phantoms.raters import Mask
from segjury.images.grid import Grid

FIELD_OF_VIEW_MM = (384.0, 384.0, 240.0)
LARGEST_SPACING_MM = (1.75, 1.75, 2.0)
SMALLEST_SPACING_MM = (0.6, 0.6, 0.8)
CENTRE_MM = (2.0, 2.0, 8.0)
BORDER_VOXELS = 20  # kept around the raters' masks: calibration is scored that far out
OVERDRAWN_MM = 7.0  # how far raters usually go beyond the lesion

AMBIGUITY = ((0.1, 0.28), (0.38, 0.54), (0.62, 0.76), (0.8, 0.92), (0.92, 1.0))
HOPELESS = 4  # the last of them
CONTACT_DEG = ((-12.0, -5.0), (30.0, 100.0), (110.0, 180.0), (190.0, 270.0), (290.0, 360.0))

_BLOCK, _ANATOMY, _RATERS, _IMAGE = 1, 2, 3, 4  # independent streams of a case


@dataclass(frozen=True)
class Plan:
    """How hard a case is: ambiguity, vessel contact in degrees (negative: mm away)."""

    ambiguity: float
    hopeless: bool
    contact_deg: float
    location: Location


@dataclass(frozen=True)
class LesionCase:
    """One case in memory; arrays are on `grid`, `roi` is the part of it that holds the gland."""

    name: str
    grid: Grid
    image: NDArray[np.int16]
    raters: list[Mask]
    vessels: NDArray[np.uint8]
    pancreas: Mask
    plan: Plan
    roi: Box

    @property
    def ambiguity(self) -> float:
        """From 0, every edge is clear, to 1, raters draw different findings."""
        return self.plan.ambiguity


def make_case(index: int, *, seed: int = 0, shape: Shape = (112, 96, 64)) -> LesionCase:
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
    drawn = draw_panel(
        outside_vessels(phis, free),
        part,
        plan.ambiguity,
        np.random.default_rng([seed, index, _RATERS]),
        hopeless=plan.hopeless,
    )
    image = render(
        grid,
        anatomy,
        Findings(roi, gland, _darkness(phis, plan.ambiguity)),
        np.random.default_rng([seed, index, _IMAGE]),
    )
    return LesionCase(
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
    return Grid(shape, triple(spacing), triple(origin))


def _region(grid: Grid, anatomy: Anatomy, lesions: list[Lesion]) -> Box:
    points, radii = anatomy.pancreas
    centres = np.array([lesion.centre_mm for lesion in lesions])
    reach = radii.max() + 8
    low = np.minimum(points.min(axis=0) - reach, centres.min(axis=0) - 35)
    high = np.maximum(points.max(axis=0) + reach, centres.max(axis=0) + 35)
    return box_between(grid, low, high)


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
