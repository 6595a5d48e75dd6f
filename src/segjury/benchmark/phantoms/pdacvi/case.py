"""One synthetic case in memory: what was planned, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.phantoms.fields import Box
from segjury.benchmark.phantoms.pdacvi.anatomy import Location
from segjury.benchmark.phantoms.raters import Mask
from segjury.images.grid import Grid


@dataclass(frozen=True)
class Plan:
    """How hard a case is: ambiguity, vessel contact in degrees (negative: mm away)."""

    ambiguity: float
    hopeless: bool
    contact_deg: float
    location: Location


@dataclass(frozen=True)
class PhantomCase:
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
