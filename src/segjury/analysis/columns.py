"""A score as figures and tables name it: title, direction, unit, digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from segjury.report.figures.drawing.style import plain
from segjury.report.figures.notation import decimals, metric_direction, metric_title, metric_unit

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
        return self.title if self.structure == "all" else f"{self.title}, {plain(self.structure)}"


def score_key(metric: str, structure: str) -> str:
    """The name of a score: `dsc`, or `vi PORTA` for a metric of a structure."""
    return metric if structure == "all" else f"{metric} {structure}"


def columns(
    scores: pd.DataFrame, keys: Sequence[str], directions: Mapping[str, str]
) -> tuple[Column, ...]:
    """The scores named, from a table; `directions` add to what metrics declare."""
    pairs = scores[["metric", "structure"]].drop_duplicates()
    known = {score_key(m, s): (m, s) for m, s in pairs.itertuples(index=False)}
    return tuple(column(scores, key, *known.get(key, (key, "all")), directions) for key in keys)


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
