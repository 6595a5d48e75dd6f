"""Critical-difference diagrams: mean ranks, and bars over methods that no test tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tests import ScoreTests
from segjury.report.figures.drawing.frame import NAME_WIDTH, finished, note, sheet, width_of_names
from segjury.report.figures.drawing.method_pairs import friedman_words, tests_of, too_few
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, tested_scores
from segjury.wording import plain, wrapped

_FRAME_IN = 0.6  # title, axis and its label
_BAR_IN = 0.08  # between two bars
_NAME_IN = 0.18  # between two names, and what a second line takes more
_LINE_IN = 0.09
_SIDE_IN = 0.52  # mark, mean rank and margin beside a name
_MARK_PT = 5  # from the end of a line to the mark, and to what stands beyond, right and left
_OFFSETS_PT = {
    ("number", True): -11,
    ("number", False): 29,
    ("name", True): -33,
    ("name", False): 34,
}


def cd(scores: Scores, score: str) -> Figure:
    """Mean ranks on an axis, the best on the left, and a bar over each group without a difference.

    Bars come from the decisions on pairs (Conover's test after Friedman's, Holm), not from one
    critical difference. Source of the form: Demsar 2006.
    """
    study = study_of(scores)
    data, tests = cd_data(study, score), tests_of(study, score)
    ranks, bars = data.drop_duplicates("method"), _bars(data)
    shape = _shape(ranks, int(bars["lane"].max()) + 1 if len(bars) else 0)
    with styled():
        figure = sheet(shape.width_in, _FRAME_IN + shape.depth_in)
        axes = figure.add_subplot()
        _draw_axis(axes, shape, tests)
        for n, bar in bars.iterrows():
            axes.plot(
                [bar["low"], bar["high"]],
                [-(bar["lane"] + 1.3) * _BAR_IN] * 2,
                color=INK,
                linewidth=2.2,
                solid_capstyle="projecting",
                zorder=4,
                label=f"bar {n}",
            )
        half = (len(ranks) + 1) // 2
        _draw_side(axes, study, ranks.iloc[:half], shape, left=True)
        _draw_side(axes, study, ranks.iloc[half:][::-1], shape, left=False)
        note(figure, _note(tests))
        return finished(figure, f"Critical differences: {study.title(score)}")


def cd_data(study: Study, score: str) -> pd.DataFrame:
    """Mean ranks, best first, a row for each bar that a method is under; and Friedman's test."""
    tests = tests_of(study, score)
    table = pd.DataFrame({"method": study.methods, "mean_rank": tests.mean_ranks})
    under = [
        {"method": study.methods[m], "bar": n}
        for n, group in enumerate(tests.cliques, 1)
        for m in group
    ]
    bars = pd.DataFrame(under, columns=["method", "bar"]).astype({"bar": "Int64"})
    return (
        table.iloc[tests.order]
        .merge(bars, on="method", how="left")
        .assign(chi2=tests.friedman.chi2, df=tests.friedman.df, p=tests.friedman.p)
    )


def cd_alt(study: Study, score: str) -> str:
    """Friedman's result, the mean ranks, and the groups under bars by their places."""
    tests, data = tests_of(study, score), cd_data(study, score)
    ranks = data.drop_duplicates("method")
    each = (f"{plain(m)} {r:.2f}" for m, r in zip(ranks["method"], ranks["mean_rank"], strict=True))
    place = {method: n for n, method in enumerate(ranks["method"], 1)}
    bars = [
        f"{place[part['method'].iloc[0]]} to {place[part['method'].iloc[-1]]}"
        for _, part in data.groupby("bar")
    ]
    if not tests.found:
        groups = "No difference between methods was found"
    elif tests.smallest_p >= tests.alpha:
        groups = "No pair can be told apart with so few cases"
    else:
        groups = f"Groups without a difference, by place: {'; '.join(bars) or 'none'}"
    return (
        f"Critical-difference diagram, {study.title(score)}. {friedman_words(tests)}. "
        f"Mean ranks: {'; '.join(each)}. {groups}."
    )


@dataclass(frozen=True)
class _Shape:
    """Sizes of a diagram; heights are in inches below the axis, which is at 0."""

    low: int
    high: int
    width_in: float
    first_in: float
    pitch_in: float
    depth_in: float


def _shape(ranks: pd.DataFrame, lanes: int) -> _Shape:
    """The axis from the whole number below the best to that above the worst; room for names."""
    methods: Sequence[str] = ranks["method"].tolist()
    low, high = floor(ranks["mean_rank"].min()), ceil(ranks["mean_rank"].max())
    if low == high:
        low, high = (low - 1, high) if low == len(methods) else (low, high + 1)
    beside = width_of_names(methods) + _SIDE_IN
    plot = min(4.0, max(1.6, 0.2 * len(methods)))
    lines = max(wrapped(name, width=NAME_WIDTH).count("\n") for name in methods)
    pitch = _NAME_IN + _LINE_IN * lines
    first = (lanes + 1) * _BAR_IN + 0.14 + 0.5 * _LINE_IN * lines
    rows = (len(methods) + 1) // 2
    return _Shape(
        low=low,
        high=high,
        width_in=max(COLUMN_WIDTH_IN, plot + 2 * beside),
        first_in=first,
        pitch_in=pitch,
        depth_in=first + (rows - 1) * pitch + 0.1 + 0.5 * _LINE_IN * lines,
    )


def _draw_axis(axes: Axes, shape: _Shape, tests: ScoreTests) -> None:
    margin = 0.03 * (shape.high - shape.low)
    axes.set_xlim(shape.low - margin, shape.high + margin)
    axes.set_ylim(-shape.depth_in, 0.0)
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set(visible=True, bounds=(shape.low, shape.high), color=INK)
    axes.set_xticks(range(shape.low, shape.high + 1, ceil((shape.high - shape.low) / 10)))
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.tick_params(axis="x", length=2.5, pad=4, color=INK)
    axes.set_xlabel(f"← better     mean rank over {tests.cases} cases", loc="left", labelpad=4)


def _bars(data: pd.DataFrame) -> pd.DataFrame:
    """From where to where each bar reaches, and in which lane, so that none touches another."""
    reach = data.dropna(subset="bar").groupby("bar")["mean_rank"].agg(low="min", high="max")
    gap = 0.04 * (data["mean_rank"].max() - data["mean_rank"].min())
    ends: list[float] = []
    lanes = []
    for low, high in reach.itertuples(index=False):
        free = [lane for lane, end in enumerate(ends) if end + gap < low]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [high]
        lanes.append(lane)
    return pd.DataFrame({**reach, "lane": lanes})


def _draw_side(axes: Axes, study: Study, ranks: pd.DataFrame, shape: _Shape, *, left: bool) -> None:
    """The methods of one side, outermost on top: a line from the mean rank to mark and name."""
    end, side = axes.get_xlim()[0 if left else 1], -1 if left else 1
    outside = offset_copy(
        axes.transData, fig=axes.get_figure(root=True), x=side * _MARK_PT, units="points"
    )
    for n, (method, rank) in enumerate(zip(ranks["method"], ranks["mean_rank"], strict=True)):
        y = -shape.first_in - n * shape.pitch_in
        colour = method_colours(study.all_methods)[method]
        look: dict[str, Any] = {
            "marker": method_markers(study.all_methods)[method],
            "color": colour,
            "markersize": 4.5,
            "markeredgewidth": 0,
            "clip_on": False,
        }
        axes.plot([rank, rank, end], [0, y, y], color=colour, linewidth=0.8, label=f"line {method}")
        axes.plot(rank, 0, zorder=5, label=f"mean rank {method}", **look)
        axes.plot(end, y, transform=outside, label=f"mark {method}", **look)
        texts = {"number": f"{rank:.2f}", "name": wrapped(method, width=NAME_WIDTH)}
        for what, text in texts.items():
            axes.annotate(
                text,
                (end, y),
                xytext=(_OFFSETS_PT[what, left], 0),
                textcoords="offset points",
                ha="right" if left or what == "number" else "left",
                va="center",
                fontsize=6.5,
                color=INK if what == "name" else MUTED,
                linespacing=1.0,
                parse_math=False,
                annotation_clip=False,
                label=f"{what} {method}",
            )


def _note(tests: ScoreTests) -> str:
    if tests.smallest_p >= tests.alpha:
        return f"{friedman_words(tests)}.{too_few(tests)}"
    if not tests.found:
        return (
            f"{friedman_words(tests)}: no difference between the methods at {tests.alpha:g}, so "
            "that no pair is tested and one bar holds all."
        )
    return (
        f"{friedman_words(tests)}. No two methods under a bar differ at {tests.alpha:g} (Conover, "
        "adjusted by Holm; nothing that no exact test of the pair could find)."
    )


CD = Kind(
    name="cd",
    title="Critical differences",
    help="Methods by their mean rank over the cases, the best on the left; methods under the same "
    "bar are not significantly different.",
    section="tests",
    draw=cd,
    data=cd_data,
    alt=cd_alt,
    subjects=tested_scores,
    takes=("score",),
)
KINDS = (CD,)
