"""The scorers by the metrics they are of: each registers itself, with what it needs prepared.

A scorer takes a comparison, what it is of (nothing where the metric's scope is the case; the number
of a label; the name of a structure and the structure), the metric's options and the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from segjury.benchmark.case import ReferenceCase
from segjury.metrics import Metric, Reading
from segjury.scoring.scorers.measured import Measured

Function = TypeVar("Function", bound=Callable[..., Measured])


@dataclass(frozen=True)
class Scorer:
    """How a metric is scored.

    `prepare` computes what every method will be compared with. `absent` are the values, by
    reading, where the reference has no such structure; undefined where there is none.
    """

    score: Callable[..., Measured]
    prepare: Callable[[ReferenceCase], Any] = lambda _reference: None
    absent: Mapping[Reading, float] = field(default_factory=dict)


SCORERS: dict[str, Scorer] = {}


def scorer(metric: Metric, **about: Any) -> Callable[[Function], Function]:
    """Register a function as the scorer of a metric; `about` are fields of `Scorer`."""

    def register(function: Function) -> Function:
        SCORERS[metric.name] = Scorer(function, **about)
        return function

    return register
