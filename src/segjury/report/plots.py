"""The report's box plots, each with its title, its caption and its text for the blind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from segjury.figures.boxes import metric_boxes
from segjury.figures.columns import Column
from segjury.figures.illustration import Illustration
from segjury.figures.notation import metric_title, number
from segjury.figures.style import plain
from segjury.ranking import Rules
from segjury.report.content import Content


def plots(
    scores: pd.DataFrame, found: Content, shown: Sequence[Column], rules: Rules
) -> Iterator[Illustration]:
    """A box plot per column, one at a time, so that only one figure is in memory."""
    for column in shown:
        figure = metric_boxes(
            scores,
            column.metric,
            column.structure,
            found.reading,
            methods=found.methods,
            direction=column.direction or None,
            aggregate=rules.ranking.aggregate,
        )
        title = plain(metric_title(column.metric, column.structure))
        yield Illustration(
            figure, f"boxes {column.key}", title, _caption(column), _alt(scores, found, column)
        )


def _caption(column: Column) -> str:
    unit = f"In {column.unit}" if column.unit else ""
    better = f"{column.direction} is better" if column.direction else ""
    words = "; ".join(part for part in (unit, better) if part)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _alt(scores: pd.DataFrame, found: Content, column: Column) -> str:
    rows = scores[
        (scores["metric"] == column.metric)
        & (scores["structure"] == column.structure)
        & (scores["reading"] == found.reading)
    ]
    medians = rows.groupby("method")["value"].median()
    parts = [
        f"{plain(name)} {number(float(medians.get(name, float('nan'))), column.digits)}"
        for name in found.methods
    ]
    title = metric_title(column.metric, column.structure)
    return f"Box plot of {plain(title)}, one row per method. Medians: {', '.join(parts)}."
