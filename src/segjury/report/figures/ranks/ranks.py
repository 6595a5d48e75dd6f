"""The leaderboard as a picture: mean ranks, how sure each place is, and who is tied with whom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.rank_axis import place_axis
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, nothing_else, resampled
from segjury.wording import rank, wrapped

_FRAME_IN = 0.85
_PANEL_IN = 1.7
_ROW_IN = 0.2
_LETTER_IN = 0.11
_SCORE_GREY = "#a3abb4"
LETTER = re.compile(r"[a-z]\d*")


def ranks(scores: Scores) -> Figure:
    """A row per method: mean rank and the ranks it is the mean of, place with interval, group.

    The interval is that of the place in resamples of the cases; under it, thinner, that in
    resamples of cases and raters. Methods joined under a letter are not told apart. Of too few
    cases only the mean ranks are drawn.
    """
    study = study_of(scores)
    data, methods = ranks_data(study), study.methods
    each = data.drop_duplicates("method")
    groups = _groups(each) if resampled(study) else {}
    lanes = len(set(_lanes(groups).values()))
    widths = [_PANEL_IN, _PANEL_IN, _LETTER_IN * max(2, lanes)] if groups else [_PANEL_IN]
    rows_in = max(rows_height(methods), _ROW_IN * len(methods))
    with styled():
        width_in = max(COLUMN_WIDTH_IN, 0.75 + width_of_names(methods) + sum(widths))
        figure = sheet(width_in, _FRAME_IN + rows_in)
        panels = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
        _draw_mean_ranks(panels[0], study, data)
        name_rows(panels[0], study, methods)
        if groups:
            _draw_places(panels[1], study, each)
            _draw_groups(panels[2], groups)
        return finished(figure, "Leaderboard")


def _draw_mean_ranks(axes: Axes, study: Study, data: pd.DataFrame) -> None:
    """Ranks per score in grey, their mean in the method's look and as a number."""
    numbers = axes.get_yaxis_transform()
    for y, (name, own) in enumerate(data.groupby("method", sort=False)):
        method, mean = str(name), float(own["mean_rank"].iloc[0])
        axes.plot(
            own["rank"],
            y + spread_equal(own["rank"].to_numpy()),
            "o",
            color=_SCORE_GREY,
            markersize=2,
            markeredgewidth=0,
            label=f"scores {method}",
        )
        _mark(axes, study, method, mean, y, label=f"mean rank {method}")
        axes.text(1.02, y, f"{mean:.2f}", transform=numbers, va="center", fontsize=6)
    _head(axes, "mean", 1.02)
    place_axis(axes, len(study.methods), _PANEL_IN)
    axes.set_xlabel("mean rank; dots: ranks per score" if len(study.ranked) > 1 else "mean rank")


def spread_equal(values: Floats) -> Floats:
    """Offsets within a row, so that equal values stand over each other and all are seen."""
    offsets = np.zeros(len(values))
    for value in np.unique(values):
        at = np.flatnonzero(values == value)
        step = min(0.16, 0.72 / max(1, len(at) - 1))
        offsets[at] = step * (np.arange(len(at)) - (len(at) - 1) / 2)
    return offsets


def _draw_places(axes: Axes, study: Study, each: pd.DataFrame) -> None:
    """The place of each method, and the intervals of it in resamples."""
    drawn = "raters_low" in each.columns
    for y, (_, row) in enumerate(each.iterrows()):
        method = str(row["method"])
        axes.plot(
            [row["low"], row["high"]],
            [y, y],
            color=method_colours(study.all_methods)[method],
            linewidth=2.2,
            solid_capstyle="butt",
            label=f"interval {method}",
        )
        if drawn:
            axes.plot(
                [row["raters_low"], row["raters_high"]],
                [y + 0.32] * 2,
                color=INK,
                linewidth=0.7,
                marker="|",
                markersize=2.5,
                markeredgewidth=0.7,
                label=f"raters {method}",
            )
        _mark(axes, study, method, float(row["resampled_from"]), y, label=f"place {method}")
    axes.set_yticks(range(len(each)), labels=[str(place) for place in each["place"]])
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=6)
    axes.set_ylim(len(each) - 0.5, -0.5)
    _head(axes, "place", -0.13)
    place_axis(axes, len(each), _PANEL_IN)
    level, stability = study.analysis.settings.level, study.analysis.stability
    what = "thick: cases, thin: cases and raters" if drawn else "of the cases"
    axes.set_xlabel(f"place; {100 * level:g} % of {stability.samples} resamples\n{what}")


def _mark(axes: Axes, study: Study, method: str, x: float, y: float, *, label: str) -> None:
    axes.plot(
        x,
        y,
        marker=method_markers(study.all_methods)[method],
        color=method_colours(study.all_methods)[method],
        markersize=5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=4,
        label=label,
    )


def _draw_groups(axes: Axes, groups: Mapping[str, Sequence[int]]) -> None:
    """A line from the first to the last method of each group, its letter at every method."""
    lanes = _lanes(groups)
    rows = 1 + max(row for group in groups.values() for row in group)
    for letter, group in groups.items():
        axes.plot(
            [lanes[letter]] * len(group),
            group,
            color=MUTED,
            linewidth=1,
            marker="o",
            markersize=7,
            markeredgewidth=0,
            markerfacecolor="white",  # so that the line stops at the letters
            label=f"group {letter}",
        )
        for y in group:
            axes.text(lanes[letter], y, letter, ha="center", va="center_baseline", fontsize=6)
    axes.set_xlim(-0.5, max(lanes.values()) + 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.axis("off")
    _head(axes, "group", 0.0)


def _lanes(groups: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The column of each group: the first that is free from the group's first row on."""
    ends: list[int] = []
    lanes = {}
    for letter, group in groups.items():
        free = [lane for lane, end in enumerate(ends) if end < group[0]]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [group[-1]]
        lanes[letter] = lane
    return lanes


def _groups(each: pd.DataFrame) -> dict[str, list[int]]:
    """The rows of the methods under each letter, the best group first."""
    rows: dict[str, list[int]] = {}
    for row, letters in enumerate(each["group"]):
        for letter in LETTER.findall(letters):
            rows.setdefault(letter, []).append(row)
    return rows


def _head(axes: Axes, text: str, x: float) -> None:
    """What a column of numbers or letters is, over its first row."""
    at = axes.get_yaxis_transform()
    axes.text(x, -0.55, text, transform=at, va="bottom", fontsize=5.5, color=MUTED)


def ranks_data(study: Study) -> pd.DataFrame:
    """Rank per method and score; the method's mean rank, place, intervals and group with it.

    `resampled_from` is the place of all cases in the form that is resampled: ties share the mean.
    """
    analysis = study.analysis
    board, rows = analysis.board, []
    for m, method in enumerate(study.methods):
        about = {"place": int(board.position[method]), "mean_rank": float(board.mean_rank[method])}
        sure: dict[str, float | str] = {}
        if resampled(study):
            ranks = analysis.stability.overall
            sure = {
                "resampled_from": float(ranks.rank[m]),
                "low": float(ranks.low[m]),
                "high": float(ranks.high[m]),
                "group": ranks.groups[m],
            }
            if analysis.with_raters is not None:
                both = analysis.with_raters.overall
                sure |= {"raters_low": float(both.low[m]), "raters_high": float(both.high[m])}
        rows += [
            {"method": method, **about, **sure, "score": key, "rank": board.ranks[key][method]}
            for key in board.ranks.columns
        ]
    return pd.DataFrame(rows)


def ranks_alt(study: Study) -> str:
    """Place, mean rank, interval and group of every method."""
    each = ranks_data(study).drop_duplicates("method")
    told = []
    for _, row in each.iterrows():
        said = f"{row['place']} {wrapped(row['method'], width=30, lines=1)} {row['mean_rank']:.2f}"
        if "group" in each.columns:
            said += f", {rank(row['low'])} to {rank(row['high'])}, {row['group']}"
        told.append(said)
    what = "mean rank, interval of the place, group" if "group" in each.columns else "mean rank"
    return f"Leaderboard: place, method, {what}. {'; '.join(told)}."


def ranks_subjects(study: Study) -> list[Subject]:
    """The whole table, if there is anybody to compare with."""
    return nothing_else(study) if len(study.methods) > 1 else []


RANKS = Kind(
    name="ranks",
    title="Leaderboard",
    help="Mean rank, in grey the ranks it is the mean of. Beside it, where there are cases enough, "
    "the place with its interval in resamples; methods joined under a letter are not told apart.",
    section="ranks",
    draw=ranks,
    data=ranks_data,
    alt=ranks_alt,
    subjects=ranks_subjects,
)
KINDS = (RANKS,)
