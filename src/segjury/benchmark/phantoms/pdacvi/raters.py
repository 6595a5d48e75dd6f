"""The five raters of a case, who fall into camps where nobody can tell where the lesion is."""

from __future__ import annotations

import numpy as np

from segjury.benchmark.phantoms.fields import Field, smooth_noise
from segjury.benchmark.phantoms.raters import Mask, Noise, Rater, draw
from segjury.images.grid import Grid

SMALLEST_FINDING = 50  # voxels that a finding elsewhere must have in the field of view
CAMPS = ((0, 0, 0, 1, 2), (0, 1, 0, 0, 2), (0, 0, -1, 1, 2), (-1, 0, 1, 0, 2), (1, -1, 0, 0, 2))

PANEL = (
    Rater(bias_mm=0.4, error_mm=2.9, miss_rate=0.15),
    Rater(bias_mm=-0.9, error_mm=3.2, miss_rate=0.25),
    Rater(bias_mm=0.1, error_mm=2.6, miss_rate=0.10),
    Rater(bias_mm=-0.1, error_mm=2.4, miss_rate=0.10),
    Rater(bias_mm=1.1, error_mm=4.6, miss_rate=0.35),
)
"""Five raters like those of CURVAS-PDACVI; the last one is the junior."""


def outside_vessels(phis: list[Field], free: Mask) -> list[Field]:
    """The findings without the vessels, which nobody draws in; none that the crop has cut off."""
    seen = [np.where(free, phi, np.float32(-99)) for phi in phis]
    return [seen[0], *(phi for phi in seen[1:] if np.count_nonzero(phi > 0) >= SMALLEST_FINDING)]


def draw_panel(
    phis: list[Field], part: Grid, ambiguity: float, rng: np.random.Generator, *, hopeless: bool
) -> list[Mask]:
    """What the five raters draw; in a hopeless case they fall into camps.

    A camp is the number of the finding its raters take for the lesion; -1 takes the first two.
    """
    seen = [phis[0]] * len(PANEL)
    if hopeless:
        camps = CAMPS[rng.integers(len(CAMPS))]
        both = np.maximum(phis[0], phis[min(1, len(phis) - 1)])
        seen = [both if camp < 0 else phis[min(camp, len(phis) - 1)] for camp in camps]
    shared = smooth_noise(part, Noise.length_mm, rng)
    return [
        draw(phi, part, rater, ambiguity=ambiguity, shared=shared, rng=rng)
        for phi, rater in zip(seen, PANEL, strict=True)
    ]
