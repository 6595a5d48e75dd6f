"""What every metric declares about itself, so that nothing downstream has to guess."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Reading = Literal["released", "published", "corrected"]
Direction = Literal["higher", "lower"]

READINGS: tuple[Reading, ...] = ("released", "published", "corrected")


@dataclass(frozen=True)
class Metric:
    """A metric's name and its laws.

    `direction` says which values are better. `symmetric`: exchanging reference and prediction
    changes nothing. `flip_invariant` lists the readings in which mirroring or exchanging the
    image axes changes nothing. `scales_with` says how the value follows the voxel size.
    `ranked` is whether it counts in a ranking that no protocol spells out.
    """

    name: str
    title: str
    summary: str
    direction: Direction
    bounds: tuple[float, float]
    unit: str
    symmetric: bool
    flip_invariant: tuple[Reading, ...] = READINGS
    scales_with: Literal["nothing", "length", "volume"] = "nothing"
    ranked: bool = True

    @property
    def best(self) -> float:
        """The value of a perfect prediction."""
        return self.bounds[1] if self.direction == "higher" else self.bounds[0]

    @property
    def worst(self) -> float | None:
        """The worst possible value, or None where there is no limit."""
        limit = self.bounds[0] if self.direction == "higher" else self.bounds[1]
        return limit if math.isfinite(limit) else None
