"""Box plots with a dot per case: how each method's scores are spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from segjury.figures.notation import (
    decimals,
    metric_direction,
    metric_title,
    metric_unit,
    number,
)
from segjury.figures.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    frozen_layout,
    method_colours,
    method_markers,
    plain,
    styled,
    wrapped,
)
from segjury.protocols.ranking import Aggregate, in_words
from segjury.ranking import leaderboard, over_cases

_ROW_IN = 0.25
_FRAME_IN = 0.72  # title, axis and its label
_SPREAD = 0.27  # half the height over which the dots of one method are spread
_BOX = 0.32  # half the height of a box
_ASIDE_X = 1.05  # where marks that the axis does not reach stand, in widths of the axes
_STRETCH = 0.6  # how much longer values set by the policy may make the axis


@dataclass(frozen=True)
class Box:
    """Quartiles and Tukey whiskers (the last values within 1.5 IQR of the box)."""

    low: float
    q1: float
    median: float
    q3: float
    high: float


def box(values: NDArray[Any]) -> Box:
    """The box of at least one finite value."""
    q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return Box(float(inside.min()), q1, median, q3, float(inside.max()))


def metric_boxes(
    scores: pd.DataFrame,
    metric: str,
    structure: str = "all",
    reading: str | None = None,
    *,
    methods: Sequence[str] | None = None,
    direction: str | None = None,
    aggregate: Aggregate = "mean",
) -> Figure:
    """A row per method: its cases as dots, their box, and the value that the ranking uses.

    `methods` sets the order from the top (the leaderboard's unless told), `direction` which end
    is better (as the metric declares unless told). Rows whose status is not `ok` are hollow: at
    the value the policy gave them, or beside the axes where there is none, or one so far off that
    it would leave no room for the others.
    """
    if methods is None or reading is None:
        board = leaderboard(scores, reading=reading)
        methods, reading = methods or [str(name) for name in board.position.index], board.reading
    rows = scores[
        (scores["metric"] == metric)
        & (scores["structure"] == structure)
        & (scores["reading"] == reading)
    ]
    with styled():
        figure = Figure(
            figsize=(_width(methods), _FRAME_IN + _ROW_IN * max(len(methods), 2)),
            layout="constrained",
        )
        axes = figure.add_subplot()
        _draw_methods(axes, rows, methods, sorted(set(scores["method"])))
        _draw_values(axes, rows, metric, methods, aggregate)
        _draw_frame(axes, rows, metric, direction, len(methods))
        figure.suptitle(
            plain(metric_title(metric, structure)),
            x=0.012,
            ha="left",
            fontsize=8,
            fontweight="bold",
            parse_math=False,
        )
        return frozen_layout(figure)


def _width(methods: Sequence[str]) -> float:
    longest = max((len(line) for name in methods for line in wrapped(name).split("\n")), default=0)
    return COLUMN_WIDTH_IN + 0.045 * max(0, longest - 14)


def _draw_methods(
    axes: Axes, rows: pd.DataFrame, methods: Sequence[str], everyone: Sequence[str]
) -> None:
    colours, markers = method_colours(everyone), method_markers(everyone)
    offsets = _offsets(sorted(set(rows["case"])))
    low, high = _reach(rows)
    labels = axes.get_yaxis_transform()
    for y, method in enumerate(methods):
        own = rows[rows["method"] == method]
        values = own["value"].to_numpy(float)
        finite = values[np.isfinite(values)]
        if finite.size:
            _draw_box(axes, method, box(finite), y, colours[method])
        heights = np.array([y + offsets[case] for case in own["case"]], float)
        scored = (own["status"] == "ok").to_numpy(bool)
        aside = ~((values >= low) & (values <= high))
        look = _Look(method, colours[method], markers[method], 12.0 if len(offsets) <= 24 else 5.0)
        _draw_dots(axes, values, heights, scored, aside, look)
        axes.text(
            -0.02,
            y,
            wrapped(method),
            transform=labels,
            ha="right",
            va="center",
            fontsize=6.5,
            linespacing=1.0,
            parse_math=False,
            label=f"name {method}",
        )


def _draw_values(
    axes: Axes, rows: pd.DataFrame, metric: str, methods: Sequence[str], aggregate: Aggregate
) -> None:
    """What the ranking makes of the cases: their mean, over those that every method has."""
    by_case = rows.pivot(index="case", columns="method", values="value")
    values = by_case.dropna(how="any").agg(over_cases(aggregate)).reindex(list(methods))
    name, digits = in_words(aggregate), decimals(metric, rows["value"].astype(float))
    for y, method in enumerate(methods):
        axes.text(
            1.10,
            y,
            number(float(values[method]), digits),
            transform=axes.get_yaxis_transform(),
            ha="left",
            va="center",
            fontsize=6.5,
            label=f"{name} {method}",
        )
    axes.text(1.10, 1.0, name, transform=axes.transAxes, va="bottom", fontsize=6, color=MUTED)


def _draw_box(axes: Axes, method: str, shape: Box, y: int, colour: str) -> None:
    for start, end in ((shape.low, shape.q1), (shape.q3, shape.high)):
        axes.plot([start, end], [y, y], color=colour, linewidth=0.8, solid_capstyle="butt")
    axes.add_patch(
        Rectangle(
            (shape.q1, y - _BOX),
            shape.q3 - shape.q1,
            2 * _BOX,
            facecolor=(*_rgb(colour), 0.16),
            edgecolor=colour,
            linewidth=0.8,
            label=f"box {method}",
        )
    )
    axes.plot(
        [shape.median, shape.median],
        [y - _BOX, y + _BOX],
        color=INK,
        linewidth=1.4,
        solid_capstyle="butt",
        zorder=4,
        label=f"median {method}",
    )


@dataclass(frozen=True)
class _Look:
    method: str
    colour: str
    marker: str
    size: float


def _draw_dots(
    axes: Axes,
    values: NDArray[Any],
    heights: NDArray[Any],
    scored: NDArray[Any],
    aside: NDArray[Any],
    look: _Look,
) -> None:
    full = scored & ~aside
    axes.scatter(
        values[full],
        heights[full],
        s=look.size,
        marker=look.marker,
        facecolor=look.colour,
        edgecolor="white",
        linewidth=0.3,
        zorder=5,
        label=f"cases {look.method}",
    )
    hollow: dict[str, Any] = {
        "s": 16.0,
        "marker": look.marker,
        "facecolor": "white",
        "edgecolor": look.colour,
        "linewidth": 0.9,
        "zorder": 6,
    }
    policy = ~scored & ~aside
    if policy.any():
        axes.scatter(values[policy], heights[policy], label=f"not ok {look.method}", **hollow)
    if aside.any():
        axes.scatter(
            np.full(int(aside.sum()), _ASIDE_X),
            heights[aside],
            clip_on=False,
            transform=axes.get_yaxis_transform(),
            label=f"aside {look.method}",
            **hollow,
        )


def _reach(rows: pd.DataFrame) -> tuple[float, float]:
    """The values the axis shows: all scored ones, and the policy's if they are not far off."""
    values = rows["value"].astype(float)
    scored = values[(rows["status"] == "ok") & np.isfinite(values)]
    others = values[np.isfinite(values)]
    if scored.empty:
        return (float(others.min()), float(others.max())) if len(others) else (0.0, 0.0)
    low, high = float(scored.min()), float(scored.max())
    room = _STRETCH * (high - low) if high > low else abs(high)
    near = others[(others >= low - room) & (others <= high + room)]
    return float(near.min()), float(near.max())


def _draw_frame(
    axes: Axes, rows: pd.DataFrame, metric: str, direction: str | None, count: int
) -> None:
    direction = direction or metric_direction(metric)
    better = {"higher": "higher is better →", "lower": "← lower is better"}.get(direction, "")
    name = plain(metric_unit(metric, rows["unit"]))
    axes.set_ylim((count - 0.5, -0.5) if count > 1 else (1.0, -1.0))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=2.5)
    axes.set_xlabel("   ".join(part for part in (name, better) if part), parse_math=False)
    low, high = _reach(rows)
    _limit(axes, low, high)
    if (rows["status"] != "ok").any() or rows["value"].isna().any():
        axes.annotate(
            "hollow: not scored; right of the axis: no value, or off the scale",
            (1.0, 0.0),
            xycoords="axes fraction",
            xytext=(0, -26),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=5.5,
            color=MUTED,
        )


def _limit(axes: Axes, low: float, high: float) -> None:
    margin = 0.04 * (high - low) if high > low else 0.05 * abs(high) or 0.5
    axes.set_xlim(low - margin, high + margin)


def _offsets(cases: Sequence[str]) -> dict[str, float]:
    """Where in its row each case's dot stands: spread evenly, the same for every method."""
    if len(cases) == 1:
        return {cases[0]: 0.0}
    golden = (np.arange(len(cases)) * 0.6180339887 + 0.5) % 1.0
    return dict(zip(cases, ((2 * golden - 1) * _SPREAD).tolist(), strict=True))


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
