"""Bubble charts: how often each method takes each place when the cases are drawn anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patheffects import withStroke

from segjury.analysis.stability import RankDistribution
from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tables import ALL
from segjury.report.figures.drawing.frame import (
    column_width,
    finished,
    name_rows,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.rank_axis import place_axis
from segjury.report.figures.drawing.style import (
    INK,
    MUTED,
    PAGE_WIDTH_IN,
    ROUND,
    method_colours,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, resampled, whole_and_each_score
from segjury.wording import rank, wrapped

_FRAME_IN = 0.95
_CELLS_IN = 2.4  # width of all places together, as long as there are few
_LARGEST_CELL_IN, _SMALLEST_CELL_IN = 0.3, 0.19
_FULL = 0.97  # of a cell is the width of a bubble that holds all resamples
_KEY_POINTS = 5.5
KEY = (0.1, 0.5)  # shares whose bubbles are shown beside the title


def blob(scores: Scores, score: str = ALL) -> Figure:
    """A row per method, a bubble per place: its area is the share of the resamples.

    A bubble of all resamples fills its cell. The cross is the median rank, the line reaches over
    95 % of the resampled ranks.
    """
    study = study_of(scores)
    methods, data = study.methods, blob_data(study, score)
    cell_in, width_in = _cells(methods)
    height_in = max(rows_height(methods), cell_in * len(methods))
    with styled():
        figure = sheet(column_width(methods, width_in), _FRAME_IN + height_in)
        axes = figure.add_subplot()
        bubbles = [
            _row(axes, study, y, own[own["share"] > 0])
            for y, (_, own) in enumerate(data.groupby("method", sort=False))
        ]
        name_rows(axes, study, methods)
        place_axis(axes, len(methods), width_in)
        axes.set_xlabel(f"place in {study.analysis.stability.samples} resamples of the cases")
        key = _key(axes, _ranks(study, score).level, cell_in)
        finished(figure, f"Resampled ranks: {study.title(score)}")
        _fill_cells(figure, bubbles, key)
        return figure


def _cells(methods: Sequence[str]) -> tuple[float, float]:
    """How wide a cell is and how wide all are, in inches: square where a page has the room."""
    row_in = max(_SMALLEST_CELL_IN, rows_height(methods) / len(methods))
    cell_in = max(row_in, min(_LARGEST_CELL_IN, _CELLS_IN / len(methods)))
    most_in = PAGE_WIDTH_IN - 0.35 - width_of_names(methods)
    width_in = min(most_in, max(_CELLS_IN, cell_in * len(methods)))
    return min(cell_in, width_in / len(methods)), width_in


def _row(axes: Axes, study: Study, y: int, own: pd.DataFrame) -> PathCollection:
    """The bubbles of a method, sized by share alone until the cells are known; line and cross."""
    first = own.iloc[0]
    method = str(first["method"])
    axes.plot(
        [first["low"], first["high"]],
        [y, y],
        color=INK,
        linewidth=0.9,
        zorder=2,  # behind the bubbles, or it would hide the small ones
        label=f"interval {method}",
    )
    axes.plot(
        first["median"],
        y,
        "x",
        color=INK,
        markersize=4,
        markeredgewidth=1.1,
        path_effects=[withStroke(linewidth=2.4, foreground="white")],  # seen on dark bubbles too
        zorder=5,
        label=f"median {method}",
    )
    return axes.scatter(
        own["place"],
        np.full(len(own), y),
        s=own["share"],
        marker=MarkerStyle(ROUND),
        color=method_colours(study.all_methods)[method],
        linewidth=0,
        zorder=3,
        label=f"blob {method}",
    )


def _key(axes: Axes, level: float, cell_in: float) -> Legend:
    """What the marks are, over the upper right corner; the bubbles come first."""
    room = 1.15 * 72 * cell_in * max(KEY) ** 0.5 / _KEY_POINTS
    marks = [Line2D([], [], marker="o", linestyle="", color=MUTED, markeredgewidth=0) for _ in KEY]
    marks.append(Line2D([], [], marker="x", linestyle="", color=INK, markersize=4))
    marks.append(Line2D([], [], color=INK, linewidth=0.9))
    shares = [f"{100 * share:g} %" for share in KEY]
    return axes.legend(
        handles=marks,
        labels=[*shares[:-1], f"{shares[-1]} of the resamples", "median", f"{100 * level:g} %"],
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(marks),
        frameon=False,
        fontsize=_KEY_POINTS,
        handlelength=room,
        handletextpad=0.4,
        columnspacing=1.0,
        borderpad=0.0,
        borderaxespad=max(0.3, room / 2 - 0.3),
    )


def _fill_cells(figure: Figure, bubbles: Sequence[PathCollection], key: Legend) -> None:
    """Scale the bubbles so that one of all resamples is as wide as a cell of the finished axes."""
    box = figure.axes[0].get_window_extent()
    full = _FULL * 72 * min(box.width, box.height) / len(bubbles) / figure.dpi
    for bubble in bubbles:
        bubble.set_sizes(bubble.get_sizes() * full**2)
    for mark, share in zip(key.legend_handles, KEY, strict=False):
        if isinstance(mark, Line2D):
            mark.set_markersize(full * share**0.5)


def blob_data(study: Study, score: str = ALL) -> pd.DataFrame:
    """Share of the resamples per method and place, and the method's median and interval."""
    ranks = _ranks(study, score)
    return pd.DataFrame(
        [
            {
                "method": method,
                "place": place + 1,
                "share": share,
                "median": ranks.median[m],
                "low": ranks.low[m],
                "high": ranks.high[m],
            }
            for m, method in enumerate(study.methods)
            for place, share in enumerate(ranks.frequencies[m])
        ]
    )


def blob_alt(study: Study, score: str = ALL) -> str:
    """Every method's median rank and interval."""
    ranks = _ranks(study, score)
    each = (
        f"{wrapped(method, width=30, lines=1)} median {rank(ranks.median[m])}, "
        f"{rank(ranks.low[m])} to {rank(ranks.high[m])}"
        for m, method in enumerate(study.methods)
    )
    return f"Bubble chart of resampled ranks, {study.title(score)}. {'; '.join(each)}."


def _ranks(study: Study, score: str) -> RankDistribution:
    stability = study.analysis.stability
    return stability.overall if score == ALL else stability.scores[study.column(score).key]


def blob_subjects(study: Study) -> list[Subject]:
    """The whole ranking and each score, if resamples say something."""
    return whole_and_each_score(study) if resampled(study) else []


BLOB = Kind(
    name="blob",
    title="Resampled ranks",
    help="The larger the bubble, the more resamples of the cases give the method that place (ties "
    "share the best); the cross is the median rank, the line holds 95 % of the ranks.",
    section="ranks",
    draw=blob,
    data=blob_data,
    alt=blob_alt,
    subjects=blob_subjects,
    takes=("score",),
)
KINDS = (BLOB,)
