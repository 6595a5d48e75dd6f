"""The grid of a pair plot: a scale per score, ticks, titles, and the key of the methods.

All cells are in one pair of axes, cell (row, column) about the point (column, row): a hundred axes
would take seconds to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from segjury.analysis.columns import Column
from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.report.figures.drawing.frame import NAME_WIDTH, width_of_names
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    MUTED,
    PAGE_WIDTH_IN,
    method_colours,
    method_markers,
)
from segjury.wording import wrapped

EDGE = 0.47  # where values stand that are off the scale, in widths of a cell from its middle
_ROOM = 0.42  # how far the scale reaches
_CELL_IN = 0.95
_BESIDE_IN = 0.68  # about what ticks and titles take beside the cells
_TITLE_IN = 0.3
_DIGIT_PT, _LINE_PT = 3.6, 8.0
_TICK_PT = 9.0  # from the cells to the end of the shortest tick label


@dataclass(frozen=True)
class Scale:
    """Where the values of a score stand in a cell of width 1 about 0."""

    low: float
    high: float

    def place(self, values: Floats) -> Floats:
        """Places of values; those off the scale are at the edge of the cell."""
        share = (np.asarray(values) - self.low) / (self.high - self.low)
        return np.clip((2 * share - 1) * _ROOM, -EDGE, EDGE)

    def ticks(self, cell_in: float) -> dict[float, str]:
        """Where ticks stand and what is written there: as many as have room beside each other."""
        locator = MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=1)
        ticks = np.asarray(locator.tick_values(self.low, self.high))
        values = ticks[(ticks >= self.low) & (ticks <= self.high)]
        words = [f"{value:.10g}".replace("-", "\N{MINUS SIGN}") for value in values]
        room = _DIGIT_PT * (1 + max(map(len, words), default=0)) / 72
        apart = 2 * _ROOM * cell_in * (ticks[1] - ticks[0]) / (self.high - self.low)
        step = ceil(room / apart)
        return dict(zip(self.place(values[::step]).tolist(), words[::step], strict=True))


@dataclass(frozen=True)
class Grid:
    """Sizes, ticks and titles of a pair plot; ticks are words by their place on the axis."""

    width_in: float
    height_in: float
    cell_in: float
    below: dict[float, str]
    beside: dict[float, str]
    titles: list[str]
    beside_pt: float
    key_columns: int
    key_rows: int
    key_in: float


def grid(columns: Sequence[Column], scales: Sequence[Scale], methods: Sequence[str]) -> Grid:
    """The grid of some scores, with square cells and room for the names of the methods."""
    width = min(PAGE_WIDTH_IN, max(COLUMN_WIDTH_IN, _BESIDE_IN + _CELL_IN * len(columns)))
    cell = (width - _BESIDE_IN) / len(columns)
    titles = [_title(column, width=int(cell / 0.055)) for column in columns]
    ticks = [scale.ticks(cell) for scale in scales]
    beside = {n - at: words for n, each in enumerate(ticks) for at, words in each.items() if n}
    beside_pt = _TICK_PT + _DIGIT_PT * max(map(len, beside.values()), default=0)
    lines_pt = _LINE_PT * (1 + max(title.count("\n") for title in titles))
    key_columns = max(1, int((width - 0.1) / (width_of_names(methods) + 0.17)))
    key_rows = ceil(len(methods) / key_columns)
    name_lines = max(wrapped(name, width=NAME_WIDTH).count("\n") for name in methods)
    key_in = key_rows * (0.13 + 0.09 * name_lines)
    body_in = width - (beside_pt + lines_pt) / 72
    return Grid(
        width_in=width,
        height_in=_TITLE_IN + body_in + (_TICK_PT + lines_pt) / 72 + key_in,
        cell_in=cell,
        below={n + at: words for n, each in enumerate(ticks) for at, words in each.items()},
        beside=beside,
        titles=titles,
        beside_pt=beside_pt,
        key_columns=min(key_columns, len(methods)),
        key_rows=key_rows,
        key_in=key_in,
    )


def _title(column: Column, width: int) -> str:
    """Title, unit and the better end; turned upright the arrow points up for higher values."""
    better = {"higher": "better →", "lower": "← better"}.get(column.direction, "")
    unit = wrapped(column.unit, width=width, lines=1)
    lines = (wrapped(column.full_title, width=width), unit, better)
    return "\n".join(line for line in lines if line)


def draw_titles(axes: Axes, shape: Grid) -> None:
    """Titles below the columns and left of the rows, with ticks at all but the first row."""
    axes.set_xticks(list(shape.below), labels=list(shape.below.values()))
    axes.set_yticks(list(shape.beside), labels=list(shape.beside.values()))
    axes.tick_params(length=2, labelsize=5.5, labelcolor=MUTED)
    for n, title in enumerate(shape.titles):
        look: dict[str, Any] = {
            "text": title,
            "textcoords": "offset points",
            "fontsize": 6.5,
            "linespacing": 1.05,
            "multialignment": "center",
            "parse_math": False,
            "annotation_clip": False,
        }
        axes.annotate(
            xy=(n, 0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, -12),
            ha="center",
            va="top",
            label=f"column {n}",
            **look,
        )
        axes.annotate(
            xy=(0, n),
            xycoords=axes.get_yaxis_transform(),
            xytext=(-shape.beside_pt, 0),
            ha="right",
            va="center",
            rotation=90,
            label=f"row {n}",
            **look,
        )


def draw_key(axes: Axes, study: Study, shape: Grid) -> None:
    """The names of the methods beside their marks, in columns."""
    axes.set_axis_off()
    axes.set_xlim(-0.1, shape.key_columns)
    axes.set_ylim(shape.key_rows - 0.5, -0.5)
    for n, method in enumerate(study.methods):
        column, row = divmod(n, shape.key_rows)
        axes.plot(
            column,
            row,
            marker=method_markers(study.all_methods)[method],
            color=method_colours(study.all_methods)[method],
            markersize=4.5,
            markeredgewidth=0,
            clip_on=False,
            in_layout=False,
            label=f"mark {method}",
        )
        axes.annotate(
            wrapped(method, width=NAME_WIDTH),
            (column, row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            linespacing=1.0,
            parse_math=False,
            in_layout=False,
            label=f"name {method}",
        )
