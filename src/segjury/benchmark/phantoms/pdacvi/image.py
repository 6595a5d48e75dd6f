"""The CT of a case: the abdomen, and in it the gland with its findings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box
from segjury.benchmark.phantoms.abdomen import CAVA, LIVER_VEINS, Anatomy
from segjury.benchmark.phantoms.ct import (
    CAVA_HU,
    PANCREAS,
    SURROUNDINGS,
    VEIN,
    Organ,
    blend,
    body,
    paint_course,
    paint_vessels,
    with_noise,
)
from segjury.benchmark.phantoms.fields import Field, curve, smooth_noise, subgrid
from segjury.images.grid import Grid

LESION = 58

_ORGANS = (
    *SURROUNDINGS,
    Organ((-94, -8, 52), (62, 82, 92), 108, 5.0),  # liver, right and left lobe
    Organ((-22, -62, 66), (58, 30, 46), 108, 4.0),
    Organ((-63, 52, -34), (27, 23, 52), 190, 2.5),  # kidneys: cortex, then medulla and sinus
    Organ((-61, 52, -34), (18, 15, 40), 150, 3.0),
    Organ((-52, 50, -34), (13, 8, 24), -60, 3.0),
    Organ((64, 50, -16), (27, 23, 54), 190, 2.5),
    Organ((62, 50, -16), (18, 15, 42), 150, 3.0),
    Organ((53, 48, -16), (13, 8, 25), -60, 3.0),
    Organ((-62, -44, -6), (14, 21, 26), 10, 2.0),  # gallbladder
)


@dataclass(frozen=True)
class Findings:
    """What the case adds to the normal picture, on a region of the grid."""

    box: Box
    pancreas_mm: Field
    darkness: Field  # 0 gland, 1 lesion


def render(
    grid: Grid,
    anatomy: Anatomy,
    findings: Findings,
    rng: np.random.Generator,
    *,
    noise_hu: float = 13.0,
) -> NDArray[np.int16]:
    """The CT: body, organs, bowel, spine, gland with its findings, vessels, noise."""
    image = body(grid, _ORGANS, rng)
    paint_course(image, grid, curve(*CAVA), CAVA_HU)
    for course in LIVER_VEINS:
        paint_course(image, grid, curve(*course), VEIN)
    _paint_pancreas(image, grid, findings, rng)
    paint_vessels(image, grid, anatomy)
    return with_noise(image, noise_hu, rng)


def _paint_pancreas(image: Field, grid: Grid, findings: Findings, rng: np.random.Generator) -> None:
    part = subgrid(grid, findings.box)
    texture = np.float32(7) * smooth_noise(part, 5.0, rng)
    hu = PANCREAS + texture - (PANCREAS - LESION) * findings.darkness
    blend(image, findings.box, grid, findings.pancreas_mm, hu)
