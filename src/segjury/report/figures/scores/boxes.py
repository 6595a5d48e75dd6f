"""Box plots with a dot per case: how each method's scores are spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.columns import Column
from segjury.analysis.ranking import over_cases
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Bools
from segjury.protocols.ranking import in_words
from segjury.report.figures.drawing.box import Box, box, draw_box, value_label
from segjury.report.figures.drawing.frame import column_width, finished, name_rows, note, sheet
from segjury.report.figures.drawing.style import MUTED, method_colours, method_markers, styled
from segjury.report.figures.kind import Kind, Subject
from segjury.wording import number, plain

_ROW_IN = 0.25
_FRAME_IN = 0.75  # title, axis and its label
_VALUES_IN = 0.55  # the column of values
_SPREAD = 0.27  # half the height over which the dots of one method are spread
_BOX = 0.32  # half the height of a box
_ASIDE_X = 1.05  # where marks that the axis does not reach stand, in widths of the axes
_VALUE_X = 1.10
_STRETCH = 0.6  # how much longer values set by the policy may make the axis
_FEW_CASES, _MANY_CASES = 24, 150  # up to so many have large dots, beyond they are dust
_MANY_DOTS = 3000  # beyond, dots are pixels in vector files too
_HOLLOW = (
    "Hollow: not scored, or not counted. Right of the axis: no value, or one that is off the scale."
)


def boxes(scores: Scores, score: str) -> Figure:
    """A row per method: its cases as dots, their box, and the value that the ranking uses.

    Rows that were not scored, or do not count, are hollow: at the value they have, or beside the
    axis where there is none, or one so far off that it would leave no room for the others.
    """
    study = study_of(scores)
    about, data = study.column(score), boxes_data(study, score)
    methods = [name for name in study.methods if name in set(data["method"])]
    with styled():
        width_in = column_width(methods, 2.2 + _VALUES_IN)
        figure = sheet(width_in, _FRAME_IN + _ROW_IN * max(2, len(methods)))
        axes = figure.add_subplot()
        _draw_frame(axes, about, _reach(data))
        drawn = _placed(data).groupby("method")
        for y, method in enumerate(methods):
            _draw_method(axes, study, drawn.get_group(method), method, y)
        _draw_values(axes, data, about, methods)
        name_rows(axes, study, methods)
        if len(methods) == 1:
            axes.set_ylim(1.0, -1.0)
        remarks = [_HOLLOW] if _hollow(data).any() else []
        absent = len(study.methods) - len(methods)
        remarks += [f"{absent} of {len(study.methods)} methods have no such score."] * (absent > 0)
        if remarks:
            note(figure, " ".join(remarks))
        return finished(figure, f"Scores on the cases: {about.full_title}")


def boxes_data(study: Study, score: str) -> pd.DataFrame:
    """Every value of a score, with the box and the aggregate of its method.

    Values are those that are ranked, with the policy for missing ones applied; `counts` is False
    for a case that does not count. Boxes are of the values that count.
    """
    data = _values(study, score)
    aggregate, values = in_words(study.rules.ranking.aggregate), _aggregates(study, score, data)
    shapes = [
        {
            "method": method,
            **asdict(box(own.loc[own["counts"], "value"].to_numpy(float))),
            "aggregate": aggregate,
            "aggregate_value": values.get(method, np.nan),
        }
        for method, own in data.groupby("method", sort=False)
    ]
    shape = ["low", "q1", "median", "q3", "high"]
    columns = ["method", *shape, "aggregate", "aggregate_value"]
    return data.merge(pd.DataFrame(shapes, columns=columns), on="method")


def _values(study: Study, score: str) -> pd.DataFrame:
    """Method, case, value, status, and whether it counts; methods in order, then cases."""
    panel, rows = study.analysis.panel, study.rows(score)
    rows = rows[rows["method"].isin(study.methods)]
    given = rows.set_index(["method", "case"])[["value", "status"]]
    ranked = pd.Series(dtype=float)
    if score in panel.keys:
        pairs = pd.MultiIndex.from_product([panel.methods, panel.cases], names=["method", "case"])
        ranked = pd.Series(panel.values[panel.keys.index(score)].T.ravel(), index=pairs)
        given = given.reindex(ranked.index.union(given.index, sort=False))
        given["value"] = ranked.reindex(given.index).fillna(given["value"])
        given["status"] = given["status"].fillna("missing")
        given["counts"] = ranked.reindex(given.index).notna()
    else:
        given["counts"] = np.isfinite(given["value"].to_numpy(float))
    rows = given.reset_index()
    cases = pd.Index([*panel.cases, *rows["case"]]).unique()
    places = pd.Index(study.methods).get_indexer(pd.Index(rows["method"])) * len(cases)
    places += cases.get_indexer(pd.Index(rows["case"]))
    return rows.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)


def _aggregates(study: Study, score: str, data: pd.DataFrame) -> pd.Series[float]:
    """What the ranking makes of the cases: of other scores, over the cases every method has."""
    board = study.analysis.board.values
    if score in board.columns:
        return board[score]
    by_case = data.pivot(index="case", columns="method", values="value").dropna(how="any")
    means: pd.Series[float] = by_case.agg(over_cases(study.rules.ranking.aggregate))
    return means


def _hollow(data: pd.DataFrame) -> Bools:
    return ((data["status"] != "ok") | ~data["counts"]).to_numpy(bool)


def _reach(data: pd.DataFrame) -> tuple[float, float]:
    """The values the axis shows: all scored ones, and the policy's if they are not far off."""
    finite = data[np.isfinite(data["value"].to_numpy(float))]
    scored, others = finite[finite["status"] == "ok"]["value"], finite["value"]
    if scored.empty:
        return (float(others.min()), float(others.max())) if len(others) else (0.0, 0.0)
    low, high = float(scored.min()), float(scored.max())
    room = _STRETCH * (high - low) if high > low else abs(high)
    near = others[(others >= low - room) & (others <= high + room)]
    return float(near.min()), float(near.max())


def _draw_frame(axes: Axes, about: Column, reach: tuple[float, float]) -> None:
    low, high = reach
    margin = 0.04 * (high - low) if high > low else 0.05 * abs(high) or 0.5
    axes.set_xlim(low - margin, high + margin)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)
    axes.set_xlabel(value_label(about), parse_math=False)


def _placed(data: pd.DataFrame) -> pd.DataFrame:
    """The data with how each dot is drawn: hollow, beside the axis, how far from its row."""
    low, high = _reach(data)
    offsets = _offsets(list(data["case"].unique()))
    return data.assign(
        hollow=_hollow(data),
        aside=~data["value"].between(low, high),
        offset=data["case"].map(offsets),
        size=3.5 if len(offsets) <= _FEW_CASES else 2.3,
        dust=len(offsets) > _MANY_CASES,
        rasterized=len(data) > _MANY_DOTS,
    )


def _draw_method(axes: Axes, study: Study, own: pd.DataFrame, method: str, y: int) -> None:
    first, colour = own.iloc[0], method_colours(study.all_methods)[method]
    shape = Box(first["low"], first["q1"], first["median"], first["q3"], first["high"])
    if own["counts"].sum() > 1:
        draw_box(axes, shape, y, _BOX, colour=colour, fill=0.16, label=method)
    full, policy = own[~own["hollow"] & ~own["aside"]], own[own["hollow"] & ~own["aside"]]
    look: dict[str, Any] = {"linestyle": "", "marker": method_markers(study.all_methods)[method]}
    axes.plot(
        full["value"],
        y + full["offset"],
        **look,
        markersize=1.2 if first["dust"] else first["size"],
        color=colour,
        alpha=0.35 if first["dust"] else 1.0,
        markeredgecolor="white",
        markeredgewidth=0.0 if first["dust"] else 0.3,
        rasterized=bool(first["rasterized"]),
        zorder=0 if first["dust"] else 5,
        label=f"cases {method}",
    )
    look |= {"markersize": 3.8, "color": "white", "markeredgecolor": colour}
    look |= {"markeredgewidth": 0.9, "zorder": 6, "clip_on": False}
    if len(policy):
        axes.plot(policy["value"], y + policy["offset"], **look, label=f"not ok {method}")
    aside = own[own["aside"]]
    if len(aside):
        look |= {"transform": axes.get_yaxis_transform(), "label": f"aside {method}"}
        axes.plot([_ASIDE_X] * len(aside), y + aside["offset"], **look)


def _draw_values(axes: Axes, data: pd.DataFrame, about: Column, methods: Sequence[str]) -> None:
    values = data.drop_duplicates("method").set_index("method")["aggregate_value"]
    name = data["aggregate"].iloc[0] if len(data) else ""
    for y, method in enumerate(methods):
        axes.text(
            _VALUE_X,
            y,
            number(float(values[method]), about.digits),
            transform=axes.get_yaxis_transform(),
            ha="left",
            va="center",
            fontsize=6.5,
            label=f"{name} {method}",
        )
    axes.text(_VALUE_X, 1.0, name, transform=axes.transAxes, va="bottom", fontsize=6, color=MUTED)


def _offsets(cases: Sequence[str]) -> dict[str, float]:
    """Where in its row each case's dot stands: spread evenly, the same for every method."""
    if len(cases) == 1:
        return {cases[0]: 0.0}
    golden = (np.arange(len(cases)) * 0.6180339887 + 0.5) % 1.0
    return dict(zip(cases, ((2 * golden - 1) * _SPREAD).tolist(), strict=True))


def boxes_alt(study: Study, score: str) -> str:
    """Every method's median, and the middle half of its values."""
    digits, data = study.column(score).digits, boxes_data(study, score)
    each = (
        f"{plain(row['method'])} {number(row['median'], digits)} "
        f"({number(row['q1'], digits)} to {number(row['q3'], digits)})"
        for _, row in data.drop_duplicates("method").iterrows()
    )
    title = study.title(score)
    return f"Box plot of {title}, one row per method. Medians: {', '.join(each)}."


def boxes_subjects(study: Study) -> list[Subject]:
    """Each score that counts, then each of the others."""
    columns = (*study.ranked, *study.unranked)
    there = [c for c in columns if study.rows(c.key)["method"].isin(study.methods).any()]
    return [{"score": column.key} for column in there]


BOXES = Kind(
    name="boxes",
    title="Scores on the cases",
    help="A dot per case; the box holds the middle half of them, the line in it is the median, the "
    "whiskers reach to the last value within 1.5 box lengths; the number sums the cases up.",
    section="spread",
    draw=boxes,
    data=boxes_data,
    alt=boxes_alt,
    subjects=boxes_subjects,
    takes=("score",),
)
KINDS = (BOXES,)
