"""What a scorer returns: a value, why it is undefined or doubtful, and what it was made from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from segjury.metrics.calibration import RaterHits

NO_LABEL = "the reference has no such class"


@dataclass(frozen=True)
class Component:
    """A number that a score was made from, such as one rater's ECE or one angle."""

    quantity: str
    item: str
    value: float


@dataclass(frozen=True)
class Measured:
    """A metric's value; NaN is undefined, and `note` says why or warns.

    `fault`: it is undefined because of the prediction, which must not gain by that. `calibration`
    are the counts per confidence bin that a calibration error was made from.
    """

    value: float
    note: str = ""
    parts: tuple[Component, ...] = ()
    fault: bool = False
    calibration: RaterHits | None = None


def measured_masks(
    value: float,
    reference: int,
    prediction: int,
    parts: tuple[Component, ...] = (),
    *,
    of: str = "",
) -> Measured:
    """A value of two masks of given sizes, or `of` something of them; why, where undefined."""
    if not math.isnan(value):
        return Measured(value, parts=parts)
    if not reference:
        return Measured(value, f"the {of}reference is empty", parts)
    why = "not defined for this prediction" if prediction else f"the {of}prediction is empty"
    return Measured(value, why, parts, fault=True)
