"""Podium plots: who takes which place on each case, and with which score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import offset_copy

from segjury.analysis.ranking.schemes import ranks_by_case
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.box import value_label
from segjury.report.figures.drawing.frame import finished, note, sheet, width_of_names
from segjury.report.figures.drawing.legend import NUMBER_POINTS, draw_key, key_height
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, each_ranked_score
from segjury.report.figures.scores.podium_columns import OTHERS, Columns
from segjury.wording import plain

_DOTS_IN, _BARS_IN = 1.9, 0.7
_FEET_IN = 0.4  # marks, places and their label
_NUMBERS_IN = 0.1  # numbers under the marks
_FRAME_IN = 0.45
_THREE_DIGITS = 100
_MANY_DOTS = 3000  # beyond, dots are pixels in vector files too
_BAND = "#f2f4f6"
_OTHERS_COLOUR = "#a9b0b8"
_MARKS_Y = -0.13  # of the marks under the bars, in heights of their axes


def podium(scores: Scores, score: str) -> Figure:
    """Each case's scores, sorted by place; within a place a column per method.

    The dots of a case are joined. Below, on how many cases a method has that place. Of many
    methods, a block shows those that have its place most often, with their numbers in the key, and
    the others in one grey column. Equal scores are drawn in the order of the leaderboard. Source:
    challengeR (Wiesenfarth et al., Scientific Reports 2021), after Eugster et al. 2008.
    """
    study = study_of(scores)
    methods, data = study.methods, podium_data(study, score)
    columns = Columns.of(data, methods)
    drawn = _placed(data, columns)
    with styled():
        key_in = width_of_names(methods) + (0.3 if columns.whole else 0.3 + NUMBER_POINTS / 72)
        width_in = max(COLUMN_WIDTH_IN, 0.5 + columns.width_in + key_in)
        feet_in = _FEET_IN if columns.whole else _FEET_IN + _NUMBERS_IN
        plots_in = max(_DOTS_IN + _BARS_IN, key_height(methods) - feet_in)
        figure = sheet(width_in, _FRAME_IN + feet_in + plots_in)
        grid = figure.add_gridspec(
            2,
            2,
            width_ratios=[width_in - 0.5 - key_in, key_in],
            height_ratios=[plots_in - _BARS_IN, _BARS_IN],
        )
        dots = figure.add_subplot(grid[0, 0])
        bars = figure.add_subplot(grid[1, 0], sharex=dots)
        for axes in (dots, bars):
            _draw_blocks(axes, columns)
        _draw_dots(dots, study, drawn, columns)
        dots.set_ylabel(value_label(study.column(score)), parse_math=False)
        _draw_bars(bars, study, drawn, columns)
        key = figure.add_subplot(grid[:, 1])
        draw_key(key, study, plots_in + feet_in, numbered=not columns.whole)
        if remarks := _remarks(data, columns):
            note(figure, remarks)
        return finished(figure, f"Podium: {study.title(score)}")


def podium_data(study: Study, score: str) -> pd.DataFrame:
    """Every method's score, rank and drawn place on every case, and how often it has that place."""
    ranking = study.rules.ranking.model_copy(update={"ties": "average"})
    cases, ranks = ranks_by_case(study.analysis.panel, study.column(score).key, ranking)
    values = study.analysis.scores[score].values
    places = np.argsort(np.argsort(ranks, axis=1, kind="stable"), axis=1, kind="stable") + 1
    data = pd.DataFrame(
        {
            "case": np.repeat(np.array(cases, object), len(study.methods)),
            "method": np.tile(np.array(study.methods, object), len(cases)),
            "value": values.ravel(),
            "rank": ranks.ravel(),
            "place": places.ravel(),
        }
    )
    return data.assign(times=data.groupby(["method", "place"])["case"].transform("size"))


def _placed(data: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """The rows that are drawn, with their column and where it stands."""
    drawn = data[data["place"].isin(columns.places)]
    column = [columns.column(*each) for each in zip(drawn["place"], drawn["method"], strict=True)]
    x = [columns.x(*each) for each in zip(drawn["place"], column, strict=True)]
    return drawn.assign(column=column, x=x)


def _draw_blocks(axes: Axes, columns: Columns) -> None:
    """A light band behind each place, and room for its columns."""
    margin = (columns.step - columns.block + 1) / 2
    for place in columns.places:
        start = columns.start(place)
        axes.axvspan(start - 0.7, start + columns.block - 0.3, color=_BAND, linewidth=0, zorder=0)
    axes.set_xlim(-margin, columns.step * len(columns.places) - margin)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=MUTED)
    axes.grid(axis="y")


def _draw_dots(axes: Axes, study: Study, data: pd.DataFrame, columns: Columns) -> None:
    neighbours = data if columns.whole else data[data["place"] < columns.methods]
    lines = [
        np.column_stack([own["x"], own["value"]])
        for _, own in neighbours.sort_values("place").groupby("case", sort=False)
    ]
    path = np.concatenate([np.vstack([line, [np.nan, np.nan]]) for line in lines])
    pixels = len(data) > _MANY_DOTS
    look: dict[str, Any] = {
        "linewidth": 0.35,
        "alpha": max(0.06, min(0.55, 35 / len(lines))),
        "rasterized": pixels,
    }
    axes.plot(*path.T, color=MUTED, zorder=2, label="lines cases", **look)
    for column in dict.fromkeys(data["column"]):
        own = data[data["column"] == column]
        axes.plot(
            own["x"],
            own["value"],
            markersize=columns.mark_size,
            rasterized=pixels,
            zorder=3,
            label=f"dots {column or 'of others'}",
            **_mark(study, column),
        )
    axes.tick_params(axis="x", length=0, labelbottom=False)


def _mark(study: Study, column: str) -> dict[str, Any]:
    """How the mark of a method looks, or that of the others."""
    looks = method_markers(study.all_methods), method_colours(study.all_methods)
    marker, colour = ("o", _OTHERS_COLOUR) if column == OTHERS else (each[column] for each in looks)
    return {"linestyle": "", "marker": marker, "color": colour, "markeredgewidth": 0}


def _draw_bars(axes: Axes, study: Study, data: pd.DataFrame, columns: Columns) -> None:
    counts = data.groupby(["column", "place", "x"], sort=False).size().reset_index(name="times")
    small = 4 if counts["times"].max() >= _THREE_DIGITS else 5
    for column in dict.fromkeys(counts["column"]):
        own = counts[counts["column"] == column]
        look, name = _mark(study, column), column or "of others"
        axes.bar(
            own["x"], own["times"], width=0.8, color=look["color"], zorder=3, label=f"bars {name}"
        )
        for x, times in zip(own["x"], own["times"], strict=True):
            axes.text(x, times, str(times), ha="center", va="bottom", fontsize=small)
    _draw_feet(axes, study, data, columns)
    axes.margins(y=0.25)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.set_ylabel("cases")
    axes.set_xticks([columns.middle(place) for place in columns.places], map(str, columns.places))
    pad = 11 if columns.whole else 11 + 72 * _NUMBERS_IN
    axes.tick_params(axis="x", length=0, pad=pad, labelcolor=INK)
    axes.set_xlabel("place on the case")
    if not columns.whole:
        *_, before, last = columns.places
        at = ((columns.middle(before) + columns.middle(last)) / 2, 0)
        axes.annotate("…", at, xytext=(0, -pad), textcoords="offset points", ha="center", va="top")


def _draw_feet(axes: Axes, study: Study, data: pd.DataFrame, columns: Columns) -> None:
    """The mark of each column under it, and of many methods its number in the key."""
    foot = axes.get_xaxis_transform()
    below = offset_copy(foot, axes.get_figure(root=True), y=-3.5, units="points")
    for column in (*study.methods, OTHERS):
        places = [place for place, own in columns.blocks.items() if column in own]
        if not places:
            continue
        axes.plot(
            [columns.x(place, column) for place in places],
            [_MARKS_Y] * len(places),
            markersize=columns.mark_size,
            clip_on=False,
            transform=foot,
            label=f"foot {column or 'of others'}",
            **_mark(study, column),
        )
        for place in [] if columns.whole else places:
            there = data[(data["place"] == place) & (data["column"] == column)]
            others = f"+{there['method'].nunique()}"
            axes.text(
                columns.x(place, column),
                _MARKS_Y,
                others if column == OTHERS else str(study.methods.index(column) + 1),
                ha="center",
                va="top",
                fontsize=4.5,
                transform=below,
                label=f"foot number {place} {column or 'of others'}",
            )


def _remarks(data: pd.DataFrame, columns: Columns) -> str:
    *leading, last = columns.places
    said = []
    if not columns.whole:
        said.append(
            f"Shown are the places 1 to {leading[-1]} and the last, {last}, with the methods that "
            "have them most often; numbers as in the list."
        )
    if any(OTHERS in own for own in columns.blocks.values()):
        said.append("A grey column is of several methods: +3 stands for three more.")
    if (data["rank"] != data["place"]).any():
        said.append("Equal scores are drawn in the order of the leaderboard.")
    return " ".join(said)


def podium_alt(study: Study, score: str) -> str:
    """On how many cases each method is first, second and last."""
    data, last = podium_data(study, score), len(study.methods)
    each = []
    for method, own in data.groupby("method", sort=False):
        times = own["place"].value_counts()
        said = ", ".join(str(times.get(place, 0)) for place in dict.fromkeys((1, 2, last)))
        each.append(f"{plain(method)} {said}")
    places = "first, second and last" if last > 2 else "first and second"
    return (
        f"Podium plot of {study.title(score)} over {data['case'].nunique()} cases. "
        f"Times {places}: {'; '.join(each)}."
    )


def podium_subjects(study: Study) -> list[Subject]:
    """Each score that counts, if there are several methods."""
    return each_ranked_score(study) if len(study.methods) > 1 else []


PODIUM = Kind(
    name="podium",
    title="Podium",
    help="On each case the methods are sorted by score: a dot stands in the block of its place and "
    "the column of its method, a line joins a case; bars count how often a method has the place.",
    section="spread",
    draw=podium,
    data=podium_data,
    alt=podium_alt,
    subjects=podium_subjects,
    takes=("score",),
)
KINDS = (PODIUM,)
