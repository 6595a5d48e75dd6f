"""Lines of places over every choice that a ranking could have made otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Transform, offset_copy

from segjury.analysis.sensitivity import Sensitivity
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats, Ints
from segjury.protocols.ranking import in_words
from segjury.report.figures.drawing.frame import (
    NAME_WIDTH,
    finished,
    note,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    NOTHING,
    RULE,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, nothing_else
from segjury.wording import number, plain, wrapped

AS_RANKED = "as ranked"
_FRAME_IN = 1.15
_COLUMN_IN = 0.45
_ROW_IN = 0.19
_CHOICE_POINTS = 5.5


def lines(scores: Scores) -> Figure:
    """A line per method from the ranking as it is over every other choice, the first on top.

    Every method has a row of its own in every column; those that share a place are joined by a
    grey bar. Beneath is Kendall's tau with the ranking as it is.
    """
    study = study_of(scores)
    data, methods = lines_data(study), study.methods
    rows_in = max(rows_height(methods), _ROW_IN * len(methods))
    with styled():
        count = data["column"].nunique()
        width_in = 0.6 + _COLUMN_IN * count + 2 * width_of_names(methods)
        figure = sheet(max(COLUMN_WIDTH_IN, width_in), _FRAME_IN + rows_in)
        axes = figure.add_subplot()
        _draw_ties(axes, data)
        for method, own in data.groupby("method", sort=False):
            _draw_line(axes, study, str(method), own)
        _name_ends(axes, data)
        columns = data.drop_duplicates("column")
        _head_columns(axes, columns)
        _write_taus(axes, columns)
        axes.set_xlim(-0.35, count - 0.65)
        axes.spines[:].set_visible(False)
        note(figure, f"As ranked: {_rules(study)}.")
        return finished(figure, "Places under other choices")


def _draw_line(axes: Axes, study: Study, method: str, own: pd.DataFrame) -> None:
    axes.plot(
        own["column"],
        own["row"],
        color=method_colours(study.all_methods)[method],
        marker=method_markers(study.all_methods)[method],
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.4,
        linewidth=1.1,
        zorder=3,
        label=f"line {method}",
    )


def _draw_ties(axes: Axes, data: pd.DataFrame) -> None:
    """A grey bar behind the methods that share a place."""
    for _, tied in data.groupby(["column", "place"]):
        if len(tied) > 1:
            column, place = tied["column"].iloc[0], tied["place"].iloc[0]
            axes.plot(
                [column, column],
                [tied["row"].min(), tied["row"].max()],
                color=NOTHING,
                linewidth=9,
                solid_capstyle="round",
                zorder=1,
                label=f"tie {column} {place}",
            )


def _name_ends(axes: Axes, data: pd.DataFrame) -> None:
    """Names with their places: left as ranked, right under the last choice."""
    first, last = (data[data["column"] == at] for at in (0, data["column"].max()))
    axes.set_yticks(
        range(len(first)),
        labels=[f"{_name(row['method'])}  {row['place']}" for _, row in first.iterrows()],
        parse_math=False,
        linespacing=1.0,
    )
    axes.tick_params(axis="y", length=0, pad=1, labelcolor=INK, labelsize=6.5)
    axes.set_ylim(len(first) - 0.5, -0.5)
    for _, row in last.iterrows():
        axes.annotate(
            _numbered(row["place"], _name(row["method"])),
            (row["column"], row["row"]),
            (7, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            linespacing=1.0,
            parse_math=False,
            annotation_clip=False,
            label=f"end {row['method']}",
        )


def _numbered(place: object, name: str) -> str:
    """A name behind its place; a second line begins under the first (a digit is two spaces)."""
    return f"{place}  {name}".replace("\n", "\n" + "  " * (1 + len(str(place))))


def _name(method: object) -> str:
    return wrapped(method, width=NAME_WIDTH)


def _head_columns(axes: Axes, columns: pd.DataFrame) -> None:
    """Over the columns the choice and its kind, muted where the order is the same."""
    texts = [wrapped(choice, width=10, lines=3) for choice in columns["choice"]]
    axes.set_xticks(columns["column"], labels=texts, parse_math=False, linespacing=1.0)
    axes.tick_params(axis="x", length=0, labeltop=True, labelbottom=False, labelsize=_CHOICE_POINTS)
    same = (columns["same_order"] & (columns["column"] > 0)).tolist()
    for label, muted in zip(axes.get_xticklabels(), same, strict=True):
        label.set(color=MUTED if muted else INK)
    height = 7 + 1.2 * _CHOICE_POINTS * (1 + max(text.count("\n") for text in texts))
    for kind, part in columns.iloc[1:].groupby("kind", sort=False):
        _head_kind(axes, str(kind), part["column"].tolist(), height)


def _write_taus(axes: Axes, columns: pd.DataFrame) -> None:
    """Kendall's tau under each column, and whether the order is the same."""
    at = _above(axes, -3)
    axes.text(
        0,
        0,
        "Kendall's τ",
        transform=at,
        ha="center",
        va="top",
        fontsize=_CHOICE_POINTS,
        color=MUTED,
    )
    for _, about in columns.iloc[1:].iterrows():
        same = about["same_order"]
        axes.text(
            about["column"],
            0,
            tau_text(about["tau"], same=same) + "\nsame" * same,
            transform=at,
            ha="center",
            va="top",
            fontsize=_CHOICE_POINTS,
            color=MUTED if same else INK,
            fontweight="normal" if same else "bold",
            label=f"tau {about['column']}",
        )


def tau_text(tau: float, *, same: bool) -> str:
    """Kendall's tau with two digits; not 1 where the order is another."""
    text = number(tau, 2)
    return text if same or text != "1.00" else ">0.99"


def _above(axes: Axes, points: float) -> Transform:
    """Columns along x; y from the bottom of the axes to their top, so many points higher."""
    figure = axes.get_figure(root=True)
    return offset_copy(axes.get_xaxis_transform(), fig=figure, y=points, units="points")


def _head_kind(axes: Axes, kind: str, columns: Sequence[int], height: float) -> None:
    """A kind of choice over its columns, with a rule that spans them."""
    ends, at = [columns[0] - 0.4, columns[-1] + 0.4], _above(axes, height)
    rule = Line2D(ends, [1, 1], transform=at, color=RULE, linewidth=0.8, clip_on=False)
    axes.add_artist(rule)
    middle = float(np.mean(columns))
    axes.text(middle, 1, kind, transform=_above(axes, height + 2), ha="center", va="bottom")


def lines_data(study: Study) -> pd.DataFrame:
    """Place of each method under each choice; `row` is where it is drawn, from the top.

    Methods that tie share the best of their places, and stand in their rows as in the ranking.
    """
    sensitivity, rows = study.analysis.sensitivity, []
    for column, (kind, choice, tau, places) in enumerate(_columns(sensitivity)):
        same = bool(np.array_equal(places, sensitivity.places))
        drawn = _rows(places)
        rows += [
            {
                "column": column,
                "kind": kind,
                "choice": choice,
                "tau": tau,
                "same_order": same,
                "method": method,
                "place": int(places[m]),
                "row": int(drawn[m]),
            }
            for m, method in enumerate(study.methods)
        ]
    return pd.DataFrame(rows)


def _columns(sensitivity: Sensitivity) -> Iterator[tuple[str, str, float, Floats]]:
    """Kind, choice, tau and places: of the ranking as it is, then of every other choice."""
    yield AS_RANKED, AS_RANKED, 1.0, sensitivity.places
    for variant in sensitivity.choices:
        yield variant.kind, variant.choice, variant.tau, variant.places


def _rows(places: Floats) -> Ints:
    """A row for every method: by place, those of one place in the order of the ranking."""
    rows = np.empty(len(places), np.int64)
    rows[np.argsort(places, kind="stable")] = np.arange(len(places))
    return rows


def _rules(study: Study) -> str:
    """The choices of the ranking as it is, in words."""
    ranking = study.analysis.rules.ranking
    return (
        f"reading {plain(study.reading)}, scheme {ranking.scheme}, "
        f"aggregate {in_words(ranking.aggregate)}, ties {ranking.ties}, {ranking.digits} digits"
    )


def lines_alt(study: Study) -> str:
    """Which choices keep the order, and for the others tau and who is first."""
    data = lines_data(study)
    said = []
    for _, own in data[data["column"] > 0].groupby("column"):
        about = own.iloc[0]
        choice = f"{about['kind']} {plain(about['choice'])}"
        if about["same_order"]:
            said.append(f"{choice} same order")
            continue
        first = own[own["place"] == 1]["method"]
        who = wrapped(first.iloc[0], width=30, lines=1) if len(first) == 1 else f"{len(first)} tied"
        said.append(f"{choice} tau {tau_text(about['tau'], same=False)}, first {who}")
    order = ", ".join(wrapped(method, width=24, lines=1) for method in study.methods)
    return f"Places of the methods under other choices. As ranked: {order}. {'; '.join(said)}."


def lines_subjects(study: Study) -> list[Subject]:
    """The whole table, if there are methods to order and something to choose."""
    enough = len(study.methods) > 1 and study.analysis.sensitivity.choices
    return nothing_else(study) if enough else []


LINES = Kind(
    name="lines",
    title="Places under other choices",
    help="Each column ranks again with one choice made otherwise; flat lines keep their place, a "
    "grey bar joins methods that share one. Beneath: Kendall's tau with the ranking.",
    section="choices",
    draw=lines,
    data=lines_data,
    alt=lines_alt,
    subjects=lines_subjects,
)
KINDS = (LINES,)
