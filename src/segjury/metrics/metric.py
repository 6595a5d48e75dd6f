"""What every metric declares about itself, so that nothing downstream has to guess."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

Reading = Literal["released", "published", "corrected"]
Direction = Literal["higher", "lower"]
Scope = Literal["case", "label", "structure"]

READINGS: tuple[Reading, ...] = ("released", "published", "corrected")


def check_reading(reading: str) -> None:
    """Refuse what is no reading, instead of taking it for one."""
    if reading not in READINGS:
        raise ValueError(f"reading is {reading!r}, expected one of {', '.join(READINGS)}")


def check_shapes(raters: NDArray[Any], **others: NDArray[Any]) -> None:
    """Refuse arrays that do not lie on the grid of the raters, (raters, x, y, z)."""
    for name, array in others.items():
        if array.shape != raters.shape[1:]:
            raise ValueError(f"{name} has shape {array.shape}, each rater has {raters.shape[1:]}")


@dataclass(frozen=True)
class Metric:
    """A metric's name, what it looks at, and its laws.

    `scope`: one value per case, per scored label (an organ, a vessel class), or per further
    structure of the reference. `needs_probability`: it looks at a probability map, not the mask.
    `needs_voxels`: without any voxel in a mask it is undefined.
    `direction` says which values are better. `symmetric`: exchanging reference and prediction
    changes nothing. `flip_invariant` lists the readings in which mirroring or exchanging the
    image axes changes nothing. `scales_with` says how the value follows the voxel size.
    `ranked` is whether it counts in a ranking that no protocol spells out. `decimals` are the
    digits after the point that are printed; four significant ones where it is None.
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
    scope: Scope = "label"
    needs_probability: bool = False
    needs_voxels: bool = False
    decimals: int | None = None

    @property
    def best(self) -> float:
        """The value of a perfect prediction."""
        return self.bounds[1] if self.direction == "higher" else self.bounds[0]

    @property
    def worst(self) -> float | None:
        """The worst possible value, or None where there is no limit."""
        limit = self.bounds[0] if self.direction == "higher" else self.bounds[1]
        return limit if math.isfinite(limit) else None
