"""A score as figures and tables name it: title, direction, unit, digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from segjury.metrics import declared_metric
from segjury.results.columns import WHOLE
from segjury.wording import plain, unit

_ARROWS = {"higher": "↑", "lower": "↓"}


@dataclass(frozen=True)
class Column:
    """One score, a metric of a structure, with how it is written."""

    key: str
    metric: str
    structure: str
    title: str
    direction: str
    unit: str
    digits: int

    @property
    def arrow(self) -> str:
        """Which way is better, as a sign."""
        return _ARROWS.get(self.direction, "")

    @property
    def full_title(self) -> str:
        """The title with its structure: `VI, PORTA`."""
        return self.title if self.structure == WHOLE else f"{self.title}, {plain(self.structure)}"


def score_key(metric: str, structure: str) -> str:
    """The name of a score: `dsc`, or `vi PORTA` for a metric of a structure."""
    return metric if structure == WHOLE else f"{metric} {structure}"


def columns(
    scores: pd.DataFrame, keys: Sequence[str], directions: Mapping[str, str]
) -> tuple[Column, ...]:
    """The scores named, from a table; `directions` add to what metrics declare."""
    pairs = scores[["metric", "structure"]].drop_duplicates()
    known = {score_key(m, s): (m, s) for m, s in pairs.itertuples(index=False)}
    return tuple(column(scores, key, *known.get(key, (key, WHOLE)), directions) for key in keys)


def column(
    scores: pd.DataFrame, key: str, metric: str, structure: str, directions: Mapping[str, str]
) -> Column:
    """A score of a table."""
    rows = scores[scores["metric"] == metric]
    return Column(
        key=key,
        metric=metric,
        structure=structure,
        title=plain(metric_title(metric)),
        direction=directions.get(metric, metric_direction(metric)),
        unit=plain(metric_unit(metric, rows["unit"])),
        digits=decimals(metric, rows["value"].astype(float)),
    )


def decimals(metric: str, values: Iterable[float]) -> int:
    """Digits after the point for a metric; of an unknown one, four significant at the largest.

    Values outside the metric's bounds are of another scale, such as per cent, and so unknown.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    declared = declared_metric(metric)
    if declared and declared.decimals is not None and largest <= declared.bounds[1]:
        return declared.decimals
    if largest == 0:
        return 4
    return min(12, max(0, 3 - math.floor(math.log10(largest))))


def metric_title(metric: str, structure: str = WHOLE) -> str:
    """A metric's declared title, or its name made readable, and the structure it is about."""
    declared = declared_metric(metric)
    title = declared.title if declared else metric.replace("_", " ")
    return title if structure == WHOLE else f"{title}, {structure}"


def metric_unit(metric: str, given: Iterable[object] = ()) -> str:
    """The unit the table gives, else the declared one."""
    named = [text for text in given if isinstance(text, str) and text]
    declared = declared_metric(metric)
    return unit(named[0] if named else declared.unit if declared else "")


def metric_direction(metric: str) -> str:
    """`higher` or `lower`, whichever is better; empty where nobody said."""
    declared = declared_metric(metric)
    return declared.direction if declared else ""
