"""What every metric declares about itself, so that nothing downstream has to guess."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from segjury.arrays import Floats

Reading = Literal["released", "published", "corrected"]
Direction = Literal["higher", "lower"]
Scope = Literal["case", "label", "structure"]
Failure = Literal["human", "population"]

# From what the raters and what others (the prediction) contribute to a score, arrays (quantities,
# items, structures, cases, methods), to the score when each rater counts so often.
FromRaters = Callable[[Floats, Floats], Callable[[Floats], Floats]]

MOST_DECIMALS = 12
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


class Options(BaseModel):
    """The options of a metric in a protocol file; unknown keys and endless numbers are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    for_labels: ClassVar[tuple[str, ...]] = ()  # options that may have a value for each label

    def remark(self, _reading: Reading) -> str:
        """How a reading measures it, where that is a choice that every table should show."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric's name, what it looks at, and its laws.

    `scope`: one value per case, per scored label (an organ, a vessel class), or per further
    structure of the reference. `needs_probability`: it looks at a probability map, not the mask.
    `needs_raters`: it looks at each rater's mask, not at the consensus alone.
    `needs_samples`: it looks at a set of masks that the method gives as equally likely answers.
    `needs_voxels`: without any voxel in a mask it is undefined.
    `one_label_per_voxel`: it is not defined for labels that overlap.
    `direction` says which values are better. `symmetric`: exchanging reference and prediction
    changes nothing. `flip_invariant` lists the readings in which mirroring or exchanging the
    image axes changes nothing. `scales_with` says how the value follows the voxel size.
    `ranked` is whether it counts in a ranking that no protocol spells out. `decimals` are the
    digits after the point that are printed; four significant ones where it is None.
    `readings` are those it can be computed in, `options` what a protocol may choose.
    `from_raters` says how it follows from numbers per rater. `failure` is the published limit
    beyond which a score fails: the low end of the Dice between raters, or the high end of all
    scores. `measured` elsewhere: it comes from a table, not from images.
    `score` computes it, if it is not segjury's own: see `segjury.metrics.third_party`.
    """

    name: str
    title: str
    summary: str
    direction: Direction
    bounds: tuple[float, float]
    unit: str = ""
    formula: str = ""
    symmetric: bool = False
    flip_invariant: tuple[Reading, ...] = READINGS
    scales_with: Literal["nothing", "length", "volume", "otherwise"] = "nothing"
    ranked: bool = True
    scope: Scope = "label"
    needs_probability: bool = False
    needs_raters: bool = False
    needs_samples: bool = False
    needs_voxels: bool = False
    one_label_per_voxel: bool = False
    decimals: int | None = None
    readings: tuple[Reading, ...] = READINGS
    options: type[Options] = Options
    from_raters: FromRaters | None = None
    failure: Failure | None = None
    measured: Literal["images", "elsewhere"] = "images"
    score: Callable[..., float] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(f"name is {self.name!r}, expected small letters, digits and _")
        if not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"bounds of {self.name} are {self.bounds}, expected low and high")
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals of {self.name} are {self.decimals}, expected 0 to 12")

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be there to compute it, in words."""
        if self.measured == "elsewhere":
            return ("table of costs",)
        return tuple(
            what
            for what, needed in (
                ("mask", not (self.needs_probability or self.needs_samples)),
                ("probability map", self.needs_probability),
                ("samples", self.needs_samples),
                ("raters", self.needs_raters),
                ("structures", self.scope == "structure"),
            )
            if needed
        )

    @property
    def best(self) -> float:
        """The value of a perfect prediction."""
        return self.bounds[1] if self.direction == "higher" else self.bounds[0]

    @property
    def worst(self) -> float | None:
        """The worst possible value, or None where there is no limit."""
        limit = self.bounds[0] if self.direction == "higher" else self.bounds[1]
        return limit if math.isfinite(limit) else None


DECLARED: dict[str, Metric] = {}  # metrics of others that were loaded, or that a run recorded
