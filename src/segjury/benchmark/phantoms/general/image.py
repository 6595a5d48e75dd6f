"""The image of a case: bodies that stand out the less, the more ambiguous the case is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Triple
from segjury.benchmark.phantoms.ct import with_noise
from segjury.benchmark.phantoms.fields import box_between, subgrid
from segjury.benchmark.phantoms.general.anatomy import Part, structure_mm
from segjury.images.grid import Grid

BACKGROUND, BODY, STEP, STRUCTURE = 20.0, 60.0, 45.0, 220.0
_NOISE = 12.0
_SHARPEST, _SOFTEST = 0.03, 0.25  # width of an edge, in radii
_FADED = 0.5  # of the contrast, where the case is hopeless


def render(
    grid: Grid,
    parts: Sequence[Part],
    courses: Sequence[tuple[Triple, float]],
    ambiguity: float,
    rng: np.random.Generator,
) -> NDArray[np.int16]:
    """Each body brighter than what is around it, with an edge as blurred as raters disagree."""
    image = np.full(grid.shape, BACKGROUND, np.float32, order="F")
    contrast = np.float32(1 - _FADED * ambiguity)
    for part in parts:
        edge = (_SHARPEST + (_SOFTEST - _SHARPEST) * ambiguity) * part.radius_mm
        for depth, body in enumerate(part.bodies):
            weight = np.clip(body.phi_mm / np.float32(-edge), -30, 30)
            weight = contrast / (1 + np.exp(weight))
            image[part.box] += np.float32(STEP if depth else BODY) * weight
    for centre, radius in courses:
        reach = np.array([2 * radius, 2 * radius, grid.shape[2] * grid.spacing_mm[2] * 2])
        box = box_between(grid, np.subtract(centre, reach), np.add(centre, reach))
        if not box.is_empty:
            image[box][structure_mm(subgrid(grid, box), centre, radius) > 0] = STRUCTURE
    return with_noise(image, _NOISE, rng)
