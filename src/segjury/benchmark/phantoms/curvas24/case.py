"""One synthetic case of several organs in memory: what was planned, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.phantoms.curvas24.anatomy import OrganPart, PartName, Pathology, Patient
from segjury.benchmark.phantoms.curvas24.raters import DrawnOrgan
from segjury.benchmark.phantoms.fields import Box
from segjury.images.grid import Grid

Group = Literal["A", "B", "C"]


@dataclass(frozen=True)
class OrganPlan:
    """How complex a case is, in the terms of the study."""

    group: Group
    cysts: int
    pathology: Pathology


@dataclass(frozen=True)
class OrganCase:
    """One case in memory; `image` and `annotations` are on `grid`, parts on regions of it."""

    name: str
    grid: Grid
    plan: OrganPlan
    patient: Patient
    parts: dict[PartName, OrganPart]
    drawn: dict[PartName, DrawnOrgan]
    image: NDArray[np.int16]
    draft: NDArray[np.uint8]
    annotations: list[NDArray[np.uint8]]

    @property
    def roi(self) -> Box:
        """The region that holds all parts."""
        boxes = [part.box for part in self.parts.values()]
        x, y, z = (
            slice(min(side.start for side in sides), max(side.stop for side in sides))
            for sides in zip(*boxes, strict=True)
        )
        return x, y, z
