"""Podium plots: who takes which place on each case, and with which score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from segjury.analysis.ranking.schemes import ranks_by_case
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.box import value_label
from segjury.report.figures.drawing.frame import finished, note, sheet, width_of_names
from segjury.report.figures.drawing.legend import draw_key, key_height
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, each_ranked_score
from segjury.wording import plain

_ALL_COLUMNS = 64  # places x methods, up to which all places are shown
_MOST_COLUMNS = 120
_LEADING = 5  # places shown where not all are
_COLUMN_IN, _LEAST_IN, _MOST_IN = 0.1, 2.2, 5.4
_DOTS_IN, _BARS_IN = 1.9, 0.7
_FEET_IN = 0.4  # marks, places and their label
_FRAME_IN = 0.45 + _FEET_IN
_NUMBERED = 8  # methods up to which bars have room for their number
_MANY_DOTS = 3000  # beyond, dots are pixels in vector files too
_BAND = "#f2f4f6"
_MARKS_Y = -0.13  # of the marks under the bars, in heights of their axes


@dataclass(frozen=True)
class _Columns:
    """Where the columns stand: a block per place that is shown, in it one per method."""

    places: tuple[int, ...]
    methods: int

    @property
    def step(self) -> float:
        return self.methods + max(1.0, 0.12 * self.methods)

    @property
    def width_in(self) -> float:
        return min(_MOST_IN, max(_LEAST_IN, _COLUMN_IN * self.step * len(self.places)))

    @property
    def mark_size(self) -> float:
        pitch = 72 * self.width_in / (self.step * len(self.places))
        return float(np.clip(0.85 * pitch, 1.8, 4.0))

    def x(self, place: int, method: int) -> float:
        return self.places.index(place) * self.step + method

    def middle(self, place: int) -> float:
        return self.x(place, 0) + (self.methods - 1) / 2


def podium(scores: Scores, score: str) -> Figure:
    """Each case's scores, sorted by place; within a place a column per method.

    The dots of a case are joined. Below, on how many cases a method has that place. Equal scores
    are drawn in the order of the leaderboard. Source: challengeR (Wiesenfarth et al., Scientific
    Reports 2021), after Eugster et al. 2008.
    """
    study = study_of(scores)
    methods, data = study.methods, podium_data(study, score)
    columns = _Columns(_places_shown(len(methods)), len(methods))
    drawn = data[data["place"].isin(columns.places)]
    starts = {place: columns.x(place, 0) for place in columns.places}
    drawn = drawn.assign(x=drawn["place"].map(starts) + drawn["method"].map(methods.index))
    with styled():
        key_in = width_of_names(methods) + 0.3
        width_in = max(COLUMN_WIDTH_IN, 0.5 + columns.width_in + key_in)
        plots_in = max(_DOTS_IN + _BARS_IN, key_height(methods) - _FEET_IN)
        figure = sheet(width_in, _FRAME_IN + plots_in)
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
        draw_key(figure.add_subplot(grid[:, 1]), study, plots_in + _FEET_IN)
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


def _places_shown(methods: int) -> tuple[int, ...]:
    """All places, or of many methods the first ones and the last."""
    if methods**2 <= _ALL_COLUMNS:
        return tuple(range(1, methods + 1))
    leading = max(2, min(_LEADING, _MOST_COLUMNS // methods - 1))
    return (*range(1, leading + 1), methods)


def _draw_blocks(axes: Axes, columns: _Columns) -> None:
    """A light band behind each place, and room for its columns."""
    margin = (columns.step - columns.methods + 1) / 2
    for place in columns.places:
        start = columns.x(place, 0)
        axes.axvspan(start - 0.7, start + columns.methods - 0.3, color=_BAND, linewidth=0, zorder=0)
    axes.set_xlim(-margin, columns.step * len(columns.places) - margin)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=MUTED)
    axes.grid(axis="y")


def _draw_dots(axes: Axes, study: Study, data: pd.DataFrame, columns: _Columns) -> None:
    lines = [
        np.column_stack([own["x"], own["value"]])
        for _, own in data.sort_values("x").groupby("case", sort=False)
    ]
    path = np.concatenate([np.vstack([line, [np.nan, np.nan]]) for line in lines])
    pixels = len(data) > _MANY_DOTS
    look: dict[str, Any] = {
        "linewidth": 0.35,
        "alpha": max(0.06, min(0.55, 35 / len(lines))),
        "rasterized": pixels,
    }
    axes.plot(*path.T, color=MUTED, zorder=2, label="lines cases", **look)
    for method in study.methods:
        own = data[data["method"] == method]
        axes.plot(
            own["x"],
            own["value"],
            linestyle="",
            marker=method_markers(study.all_methods)[method],
            color=method_colours(study.all_methods)[method],
            markersize=columns.mark_size,
            markeredgewidth=0,
            rasterized=pixels,
            zorder=3,
            label=f"dots {method}",
        )
    axes.tick_params(axis="x", length=0, labelbottom=False)


def _draw_bars(axes: Axes, study: Study, data: pd.DataFrame, columns: _Columns) -> None:
    counts = data.drop_duplicates(["method", "place"])
    for m, method in enumerate(study.methods):
        own = counts[counts["method"] == method]
        colour = method_colours(study.all_methods)[method]
        axes.bar(own["x"], own["times"], width=0.8, color=colour, zorder=3, label=f"bars {method}")
        if columns.methods <= _NUMBERED:
            for x, times in zip(own["x"], own["times"], strict=True):
                axes.text(x, times, str(times), ha="center", va="bottom", fontsize=5)
        axes.plot(
            [columns.x(place, m) for place in columns.places],
            [_MARKS_Y] * len(columns.places),
            linestyle="",
            marker=method_markers(study.all_methods)[method],
            color=colour,
            markersize=columns.mark_size,
            markeredgewidth=0,
            clip_on=False,
            transform=axes.get_xaxis_transform(),
            label=f"foot {method}",
        )
    axes.margins(y=0.25 if columns.methods <= _NUMBERED else 0.05)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.set_ylabel("cases")
    axes.set_xticks([columns.middle(place) for place in columns.places], map(str, columns.places))
    axes.tick_params(axis="x", length=0, pad=11, labelcolor=INK)
    axes.set_xlabel("place on the case")
    if len(columns.places) < columns.methods:
        *_, before, last = columns.places
        between = (columns.middle(before) + columns.middle(last)) / 2
        at = (between, 0)
        axes.annotate("…", at, xytext=(0, -9), textcoords="offset points", ha="center", va="top")


def _remarks(data: pd.DataFrame, columns: _Columns) -> str:
    *leading, last = columns.places
    said = []
    if len(columns.places) < columns.methods:
        said.append(f"Shown are the places 1 to {leading[-1]} and the last, {last}.")
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
