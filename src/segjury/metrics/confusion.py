"""The 2x2 table of two masks, and how a measure of it becomes a measure of the masks.

A measure is written once, as a function of the table: `dice_from(counts)`. `on_masks` makes
`dice(reference, prediction)` of it. All count voxels, so the voxel size does not matter.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol

import numpy as np
from numpy.typing import ArrayLike

from segjury.metrics.inputs import as_masks
from segjury.metrics.metric import Metric

Convention = Literal["standard", "evaluatesegmentation"]
Options = ParamSpec("Options")

CONVENTIONS: tuple[Convention, ...] = ("standard", "evaluatesegmentation")
TOOL_RANGE = 255  # of 8-bit images: EvaluateSegmentation divides by it, though masks are 0 and 1


@dataclass(frozen=True)
class Confusion:
    """How many voxels both masks hold, only the prediction, only the reference, and neither."""

    tp: int
    fp: int
    fn: int
    tn: int

    def __post_init__(self) -> None:
        for name in ("tp", "fp", "fn", "tn"):
            count = operator.index(getattr(self, name))
            if count < 0:
                raise ValueError(f"{name} is {count}, expected a number of voxels")
            # Python's own integers: those of numpy overflow in products of large counts
            object.__setattr__(self, name, count)

    @classmethod
    def of(cls, reference: ArrayLike, prediction: ArrayLike) -> Confusion:
        """The table of two masks on one grid."""
        r, p = as_masks(reference, prediction)
        reference_size, prediction_size, common = (
            int(np.count_nonzero(mask)) for mask in (r, p, r & p)
        )
        return cls.of_sizes(reference_size, prediction_size, common, r.size)

    @classmethod
    def of_sizes(cls, reference: int, prediction: int, common: int, voxels: int) -> Confusion:
        """The table from the sizes of the masks, of their intersection and of the image."""
        neither = voxels - reference - prediction + common
        return cls(common, prediction - common, reference - common, neither)

    @property
    def reference(self) -> int:
        """Voxels of the reference."""
        return self.tp + self.fn

    @property
    def prediction(self) -> int:
        """Voxels of the prediction."""
        return self.tp + self.fp

    @property
    def differing(self) -> int:
        """Voxels of one mask only."""
        return self.fp + self.fn

    @property
    def voxels(self) -> int:
        """Voxels of the image."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def both_masks(self) -> bool:
        """Whether neither mask is empty."""
        return self.reference > 0 and self.prediction > 0

    @property
    def both_empty(self) -> bool:
        """Whether no voxel of the image is in any mask."""
        return self.tn > 0 and self.tn == self.voxels

    @property
    def perfect(self) -> Confusion:
        """The table of a prediction that equals the reference."""
        return Confusion(self.reference, 0, 0, self.voxels - self.reference)


class OnMasks(Protocol[Options]):
    """A measure of two masks on one grid."""

    def __call__(
        self,
        reference: ArrayLike,
        prediction: ArrayLike,
        *args: Options.args,
        **options: Options.kwargs,
    ) -> float:
        """The measure of two masks."""


def on_masks(measure: Callable[Concatenate[Confusion, Options], float]) -> OnMasks[Options]:
    """The function of two masks that belongs to a function of their table, named `*_from`."""

    @wraps(measure)
    def of_masks(
        reference: ArrayLike,
        prediction: ArrayLike,
        *args: Options.args,
        **options: Options.kwargs,
    ) -> float:
        return measure(Confusion.of(reference, prediction), *args, **options)

    of_masks.__name__ = of_masks.__qualname__ = measure.__name__.removesuffix("_from")
    _, *options = inspect.signature(measure).parameters.values()
    masks = inspect.signature(Confusion.of).parameters.values()
    signature = inspect.signature(measure).replace(parameters=[*masks, *options])
    vars(of_masks)["__signature__"] = signature  # what help() shows
    return of_masks


def declared_measures(module: Mapping[str, Any]) -> dict[Metric, Callable[[Confusion], float]]:
    """The metrics that a module declares, each with its function of the table, `<name>_from`."""
    return {
        metric: module[f"{metric.name}_from"]
        for metric in module.values()
        if isinstance(metric, Metric)
    }


def check_convention(convention: str) -> None:
    """Refuse what is no convention, instead of taking it for one."""
    if convention not in CONVENTIONS:
        expected = ", ".join(CONVENTIONS)
        raise ValueError(f"convention is {convention!r}, expected one of {expected}")


def ratio(part: int, whole: int) -> float:
    """The quotient, correctly rounded however large the integers; NaN of nothing."""
    return part / whole if whole else math.nan
