"""Contact with vessels: the raters' and the predicted angles with each of them."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.errors import InputError
from segjury.metrics.invasion import FULL_CIRCLE
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject
from segjury.report.figures.maps.invasion_angles import (
    RATER,
    angle_parts,
    chosen_case,
    deciding_angles,
    typical_and_disputed,
)
from segjury.report.figures.maps.invasion_rings import LIMIT, draw_rings
from segjury.wording import number, plain, wrapped

_COLUMN_IN = 1.25  # of a vessel in rows of ticks, with its numbers
_FRAME_IN = 0.8
_MORE_IN = 0.06  # a row has two lines of ticks
_APART = 0.19  # of the two from the middle of the row
_SCORE_X, _PLANE_X, _END_X = 515.0, 590.0, 635.0  # where the numbers stand, right of the circle
_PRINT_WIDTH, _PRINT_IN = 60, 0.11  # characters on a line of small print, and its height


def invasion(scores: Scores, case: str | None = None, method: str | None = None) -> Figure:
    """Contact angles with each vessel: of one method as rings, or of all methods as rows of ticks.

    Raters are outside or above, the prediction at each threshold inside or below; what is shown
    is the plane that decides the score. Of the typical case, unless told.
    """
    study = study_of(scores)
    data = invasion_data(study, case, method)
    touched, free = _vessels(data)
    words = f"Outside: raters. Inside: {plain(method)}. " if method else ""
    words += f"No contact with {', '.join(map(plain, free))}." if touched and free else ""
    lines = textwrap.wrap(words, _PRINT_WIDTH)
    below_in = _PRINT_IN * len(lines)
    with styled():
        if method is None:
            figure = _rows(study, data, touched or free, below_in)
        else:
            look = (
                method_colours(study.all_methods)[method],
                method_markers(study.all_methods)[method],
            )
            figure = draw_rings(data, touched or free, *look, below_in=below_in)
        small: dict[str, Any] = {"fontsize": 6, "color": MUTED, "parse_math": False}
        figure.supxlabel("\n".join(lines), x=0.012, ha="left", **small)
        return finished(figure, f"Contact with vessels: case {data['case'].iloc[0]}")


def _vessels(data: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Those that somebody sees in contact, and the others."""
    largest = data.groupby("structure", sort=False)["angle"].max()
    return list(largest.index[largest > 0]), list(largest.index[~(largest > 0)])


def _rows(study: Study, data: pd.DataFrame, vessels: list[str], below_in: float) -> Figure:
    methods = list(data["method"].unique())
    width = max(COLUMN_WIDTH_IN, 0.4 + width_of_names(methods) + _COLUMN_IN * len(vessels))
    height = _FRAME_IN + rows_height(methods) + _MORE_IN * len(methods) + below_in
    figure = sheet(width, height)
    plots = figure.subplots(1, len(vessels), squeeze=False)[0]
    for place, (axes, vessel) in enumerate(zip(plots, vessels, strict=True)):
        axes.set(ylim=(len(methods) - 0.5, -0.5), yticks=[])
        if place == 0:
            name_rows(axes, study, methods)
        own = data[data["structure"] == vessel]
        rows = own["method"].map({method: y for y, method in enumerate(methods)})
        _draw_angles(axes, study, own.assign(row=rows))
        _write_scores(axes, own.assign(row=rows).drop_duplicates("method"))
        title = wrapped(vessel, width=20)
        axes.set_title(title, fontsize=7, loc="left", linespacing=1.0, parse_math=False)
    return figure


def _draw_angles(axes: Axes, study: Study, data: pd.DataFrame) -> None:
    """In each row the raters' ticks above a line, the prediction's below it, dots at the means."""
    vessel, known = data["structure"].iloc[0], data.dropna(subset="angle")
    angles = known["angle"].clip(upper=FULL_CIRCLE)  # a defect of one reading counts further
    is_rater = known["item"].str.startswith(RATER)
    axes.hlines(data["row"].unique(), 0, FULL_CIRCLE, colors="#e6e9ec", linewidth=0.6, zorder=0)
    for side, inside, shift in (("raters", is_rater, -_APART), ("prediction", ~is_rater, _APART)):
        own, y = angles[inside], known["row"][inside] + shift
        rows = own.groupby(y)
        shades = [
            INK if side == "raters" else method_colours(study.all_methods)[m]
            for m in known["method"][inside]
        ]
        colours = pd.Series(shades, own.index)
        first = list(colours.groupby(y).first())
        axes.hlines(rows.min().index, rows.min(), rows.max(), colors=first, linewidth=0.6)
        marks: dict[str, Any] = {"zorder": 3, "clip_on": False}
        axes.scatter(
            own, y, s=26, c=colours, marker="|", linewidth=0.9, label=f"{side} {vessel}", **marks
        )
        means = rows.mean()
        axes.scatter(
            means, means.index, s=7, c=first, linewidth=0, label=f"{side} mean {vessel}", **marks
        )
    axes.plot([LIMIT] * 2, axes.get_ylim(), color=MUTED, linewidth=0.7, dashes=(3, 2), zorder=1)
    axes.set_xlim(-8, _END_X)
    axes.set_xticks([0, LIMIT, FULL_CIRCLE], labels=["0°", f"{LIMIT:g}°", f"{FULL_CIRCLE:g}°"])
    axes.tick_params(axis="x", labelsize=6, length=2)
    axes.spines[["left", "bottom"]].set_visible(False)


def _write_scores(axes: Axes, data: pd.DataFrame) -> None:
    """The scores right of the rows, and the planes that decide them; grey without a prediction."""
    look: dict[str, Any] = {"ha": "right", "va": "center", "in_layout": False}
    for row in data.to_dict("records"):
        shown = isinstance(row["plane"], str)
        axes.text(
            _SCORE_X,
            row["row"],
            number(row["score"], 1),
            fontsize=6.5,
            color=INK if shown else MUTED,
            label=f"vi {row['structure']} {row['method']}",
            **look,
        )
        if shown:
            look_small = look | {"ha": "center", "fontsize": 5.5, "color": MUTED}
            axes.text(_PLANE_X, row["row"], row["plane"], **look_small)
    head: dict[str, Any] = {"fontsize": 5.5, "color": MUTED, "va": "bottom"}
    axes.text(_SCORE_X, -0.5, "VI, °", ha="right", **head)
    axes.text(_PLANE_X, -0.5, "axis", ha="center", **head)


def invasion_data(study: Study, case: str | None = None, method: str | None = None) -> pd.DataFrame:
    """Every angle drawn, per method, vessel and rater or threshold, with distance and score."""
    if method is not None and method not in study.methods:
        raise InputError(f"there is no method '{method}'", f"Try {', '.join(study.methods)}")
    parts = angle_parts(study)
    chosen = chosen_case(study, parts, case)
    data = deciding_angles(study, parts, chosen, [method] if method else study.methods)
    if data["angle"].isna().all():
        raise InputError(f"{method} has no prediction of case {chosen}", "Choose another")
    return data


def invasion_alt(study: Study, case: str | None = None, method: str | None = None) -> str:
    """The raters' angles with each vessel that is touched, and every method's score of it."""
    data = invasion_data(study, case, method)
    touched, free = _vessels(data)
    raters = data[data["item"].str.startswith(RATER, na=False)].groupby("structure")["angle"]
    low, high = raters.min(), raters.max()
    said = "; ".join(f"{plain(v)} {number(low[v], 0)} to {number(high[v], 0)}" for v in touched)
    scores = data.groupby(["method", "structure"], sort=False)["score"].first()
    each = (
        f"{plain(name)} {', '.join(number(scores[name, vessel], 1) for vessel in touched)}"
        for name in data["method"].unique()
    )
    words = [f"Contact angles of case {plain(data['case'].iloc[0])}, in degrees."]
    if touched:
        words.append(f"Raters: {said}. Distances (VI), vessels in this order: {'; '.join(each)}.")
    if free:
        words.append(f"No contact with {', '.join(map(plain, free))}.")
    return " ".join(words)


def invasion_subjects(study: Study) -> list[Subject]:
    """The typical and the most disputed case: of all methods, then of the first one as rings."""
    parts = angle_parts(study)
    cases = typical_and_disputed(study, parts)
    subjects: list[Subject] = [{"case": case} for case in cases]
    for case in cases:
        drawn = set(parts[parts["case"] == case]["method"])
        first = next(method for method in study.methods if method in drawn)
        subjects.append({"case": case, "method": first})
    return subjects


INVASION = Kind(
    name="invasion",
    title="Contact with vessels",
    help="Angles of contact from 0 to 360 degrees: raters above or outside, the prediction at each "
    "threshold below or inside. The number is their distance (VI), in the array axis named.",
    section="maps",
    draw=invasion,
    data=invasion_data,
    alt=invasion_alt,
    subjects=invasion_subjects,
    takes=("case", "method"),
)
KINDS = (INVASION,)
