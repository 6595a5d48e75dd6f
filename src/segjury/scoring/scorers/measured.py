"""How scorers register, what they return, and what those of several families share.

A scorer takes a comparison, what it is of (nothing where the metric's scope is the case; the number
of a label; the name of a structure and the structure), the metric's options and the reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from segjury.benchmark.case import ReferenceCase
from segjury.metrics import Metric, Options, Reading
from segjury.metrics.calibration import RaterHits
from segjury.metrics.confusion import Confusion
from segjury.scoring.comparison import Comparison


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


RATER = "rater "  # begins the items that are a rater's
NO_MARK = Measured(math.nan, "no rater marked anything")

Function = TypeVar("Function", bound=Callable[..., "Measured"])


Sizes = tuple[int, int]  # of what the reference and the prediction have of a label


@dataclass(frozen=True)
class Scorer:
    """How a metric is scored.

    `sizes` says how much of a label the reference and the prediction have for this metric, none
    being empty: voxels, where it is None. `prepare` computes what every method will be compared
    with. `absent` are the values, by reading, where the reference has no such structure; undefined
    where there is none.
    """

    score: Callable[..., Measured]
    sizes: Callable[..., Sizes] | None = None
    prepare: Callable[[ReferenceCase], Any] = lambda _reference: None
    absent: Mapping[Reading, float] = field(default_factory=dict)


SCORERS: dict[str, Scorer] = {}


def scorer(metric: Metric, **about: Any) -> Callable[[Function], Function]:
    """Register a function as the scorer of a metric; `about` are fields of `Scorer`."""

    def register(function: Function) -> Function:
        SCORERS[metric.name] = Scorer(function, **about)
        return function

    return register


def measured_masks(
    value: float,
    reference: int,
    prediction: int,
    parts: tuple[Component, ...] = (),
    *,
    of: str = "",
    perfect: float = 0.0,
) -> Measured:
    """A value of two masks of given sizes, or `of` something of them; why, where undefined.

    Where `perfect`, the value of a prediction that equals the reference, is undefined as well, the
    reference is to blame and not the prediction.
    """
    if not math.isnan(value):
        return Measured(value, parts=parts)
    if not reference:
        return Measured(value, f"the {of}reference is empty", parts)
    if math.isnan(perfect):
        return Measured(value, "not defined for this reference", parts)
    why = "not defined for this prediction" if prediction else f"the {of}prediction is empty"
    return Measured(value, why, parts, fault=True)


def of_masks(
    value: float, comparison: Comparison, label: int, parts: tuple[Component, ...] = ()
) -> Measured:
    """A value of the consensus and the predicted mask of a label."""
    counts = comparison.confusion(label)
    return measured_masks(value, counts.reference, counts.prediction, parts)


def table_scorer(
    measure: Callable[[Confusion], float],
) -> Callable[[Comparison, int, Options, Reading], Measured]:
    """The scorer of a measure of the 2x2 table of consensus and prediction."""

    def score(comparison: Comparison, label: int, _use: Options, _reading: Reading) -> Measured:
        counts = comparison.confusion(label)
        value, perfect = measure(counts), measure(counts.perfect)
        return measured_masks(value, counts.reference, counts.prediction, perfect=perfect)

    return score


def rater_parts(
    quantity: str, reference: ReferenceCase, values: Iterable[float]
) -> tuple[Component, ...]:
    """A number per rater behind a score."""
    items = map(rater_item, reference.rater_names)
    return tuple(Component(quantity, *each) for each in zip(items, map(float, values), strict=True))


def rater_item(name: str) -> str:
    """What a number of a rater is called in the details: `rater 1`."""
    return f"{RATER}{name}"


def common_voxels(counts: Confusion) -> tuple[Component, ...]:
    """The counts behind every measure of overlap."""
    found = {"common": counts.tp, "missed": counts.fn, "added": counts.fp}
    return tuple(Component("voxels", item, float(count)) for item, count in found.items())
