"""A CT of the abdomen in the portal venous phase around given organs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Triple
from segjury.benchmark.phantoms.abdomen import CAVA, LIVER_VEINS
from segjury.benchmark.phantoms.ct import (
    CAVA_HU,
    PANCREAS,
    SURROUNDINGS,
    VEIN,
    blend,
    body,
    paint_course,
    paint_vessels,
    with_noise,
)
from segjury.benchmark.phantoms.curvas24.anatomy import Kind, OrganPart, Patient
from segjury.benchmark.phantoms.fields import (
    Field,
    box_between,
    curve,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
)
from segjury.images.grid import Grid

LIVER, CORTEX, MEDULLA, SINUS_FAT, FLUID, BILE = 108, 192, 168, -60, 6, 12
FINDINGS: dict[Kind, float] = {"cyst": 6.0, "metastasis": 62.0, "adrenal metastasis": 78.0}

_CORTEX_MM = 7.0


def render(
    grid: Grid,
    patient: Patient,
    parts: list[OrganPart],
    rng: np.random.Generator,
    *,
    noise_hu: float = 13.0,
) -> NDArray[np.int16]:
    """The CT: body, gut, spine, then the organs with their findings, vessels, noise."""
    image = body(grid, SURROUNDINGS, rng)
    for part in parts:
        _paint_part(image, grid, part, rng)
        if part.name == "liver":
            for vein in LIVER_VEINS:
                paint_course(image, grid, curve(*vein), VEIN)
    _paint_ball(image, grid, *patient.gallbladder, BILE)
    for kidney in patient.kidneys.values():
        _paint_ball(image, grid, *kidney.sinus, FLUID if kidney.widened else SINUS_FAT)
    for finding in patient.findings:
        radius = finding.radius_mm
        _paint_ball(
            image, grid, finding.centre_mm, (radius, radius, radius), FINDINGS[finding.kind]
        )
    paint_course(image, grid, curve(*CAVA), CAVA_HU)
    paint_vessels(image, grid, patient.anatomy)
    return with_noise(image, noise_hu, rng)


def _paint_part(image: Field, grid: Grid, part: OrganPart, rng: np.random.Generator) -> None:
    texture = np.float32(4) * smooth_noise(part.grid, 6.0, rng)
    if part.name == "liver":
        hu = LIVER + texture
    elif part.name == "pancreas":
        hu = PANCREAS + texture
    else:
        depth = np.clip((part.truth_mm - _CORTEX_MM) / 2, 0, 1)
        hu = CORTEX - (CORTEX - MEDULLA) * depth + texture
    blend(image, part.box, grid, part.truth_mm, hu)


def _paint_ball(image: Field, grid: Grid, centre: Triple, semi: Triple, hu: float) -> None:
    box = box_between(grid, np.subtract(centre, semi) - 2, np.add(centre, semi) + 2)
    if not box.is_empty:
        blend(image, box, grid, ellipsoid_mm(subgrid(grid, box), centre, semi), hu)
