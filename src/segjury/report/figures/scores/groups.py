"""Box plots of groups of cases: what is harder for whom."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis import split
from segjury.analysis.columns import Column
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats
from segjury.report.figures.drawing.box import Box, box, draw_box, value_label
from segjury.report.figures.drawing.frame import finished, name_rows, note, sheet, width_of_names
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, MUTED, method_colours, styled
from segjury.report.figures.kind import Kind, Subject, each_ranked_score
from segjury.results.columns import group_columns
from segjury.wording import number, plain, wrapped

MOST_PARTS = 6  # of one column; with more, the boxes of a method no longer stand together
MOST_COLUMNS = 3
FEWEST_FOR_A_BOX = 5
MOST_TOLD = 40  # medians that the words give
REST = "other cases"
_FRAME_IN = 0.85
_BOX_IN = 0.12
_GAP_IN = 0.07  # between methods
_PLOT_IN = 1.9
_NAME_WIDTH = 16  # characters of a group's name
_CHARACTER_PT = 3.3
_DARKEST, _LIGHTEST = 0.75, 0.08


def groups(scores: Scores, score: str) -> Figure:
    """A row per method, a box per group of cases in it, its median beside it; no outliers.

    A panel per column of the table that groups cases. Source: CURVAS 2024, figure 4.
    """
    study = study_of(scores)
    about, data = study.column(score), groups_data(study, score)
    columns = list(dict.fromkeys(data["column"]))
    most = max(data.groupby("column")["part"].nunique(), default=1)
    names_pt = {c: _CHARACTER_PT * max(map(len, _names(data, c))) for c in columns}
    with styled():
        aside_in = sum(names_pt.values()) / 72 + 0.5 * len(columns)
        names_in = width_of_names(study.methods) + 0.35
        rows_in = (_BOX_IN * most + _GAP_IN) * max(2, len(study.methods))
        width_in = max(COLUMN_WIDTH_IN, names_in + _PLOT_IN * len(columns) + aside_in)
        figure = sheet(width_in, _FRAME_IN + rows_in)
        panels = figure.subplots(1, len(columns), squeeze=False, sharex=True)[0]
        for n, (axes, column) in enumerate(zip(panels, columns, strict=True)):
            own = data[data["column"] == column]
            _draw_panel(axes, study, own, about, names_pt[column])
            name_rows(axes, study, study.methods)
            if n:
                axes.tick_params(axis="y", labelleft=False)
            axes.set_title(plain(column), loc="left", fontsize=6.5, color=MUTED, parse_math=False)
        note(figure, _remarks(study, data))
        return finished(figure, f"Groups of cases: {about.full_title}")


def groups_data(study: Study, score: str) -> pd.DataFrame:
    """The box of each method in each group, with the number of its cases."""
    panel = study.analysis.panel
    inside = panel.defined[panel.keys.index(study.column(score).key)]
    cases = pd.Index([case for case, counts in zip(panel.cases, inside, strict=True) if counts])
    values = study.analysis.scores[score].values
    return pd.DataFrame(
        [
            {
                "column": column,
                "part": part,
                "method": method,
                "cases": len(at),
                **asdict(_shape(values[at, m])),
            }
            for column, parts in _shown(study).items()
            for part, names in parts.items()
            if len(at := np.flatnonzero(cases.isin(names)))
            for m, method in enumerate(study.methods)
        ]
    )


def _shape(values: Floats) -> Box:
    """A box; of few values only the range and the median, as their quartiles mean little."""
    if len(values) >= FEWEST_FOR_A_BOX:
        return box(values)
    return Box(float(values.min()), np.nan, float(np.median(values)), np.nan, float(values.max()))


def _groupings(study: Study) -> dict[str, dict[str, list[str]]]:
    """The columns that divide the cases, and the cases of each of their groups.

    Cases that are in none, as most are of a cohort, are a group of their own.
    """
    table = study.scores.drop_duplicates("case")
    table = table[table["case"].isin(study.analysis.panel.cases)]
    table = table[["case", "cohort", *group_columns(table)]].astype(object)
    table = table.where(table.notna(), "")
    groups: dict[str, dict[str, list[str]]] = {}
    for column in ("cohort", *group_columns(table)):
        parts = {name: list(rows["case"]) for name, rows in sorted(split(table, column).items())}
        placed = {case for names in parts.values() for case in names}
        rest = [case for case in table["case"] if case not in placed]
        groups[column] = parts | ({REST: rest} if rest else {})
    return {column: parts for column, parts in groups.items() if len(parts) > 1}


def _shown(study: Study) -> dict[str, dict[str, list[str]]]:
    few = {name: parts for name, parts in _groupings(study).items() if len(parts) <= MOST_PARTS}
    return dict(list(few.items())[:MOST_COLUMNS])


def _names(data: pd.DataFrame, column: str) -> list[str]:
    parts = dict.fromkeys(data[data["column"] == column]["part"])
    return [wrapped(part, width=_NAME_WIDTH, lines=1) for part in parts]


def _draw_panel(
    axes: Axes, study: Study, data: pd.DataFrame, about: Column, names_pt: float
) -> None:
    parts = list(dict.fromkeys(data["part"]))
    step = 1 / (len(parts) + _GAP_IN / _BOX_IN)
    fills = np.linspace(_DARKEST, _LIGHTEST, len(parts))
    for row in data.to_dict("records"):
        part, method = row["part"], row["method"]
        n, y = parts.index(part), study.methods.index(method)
        at = y + (n - (len(parts) - 1) / 2) * step
        label, colour = f"{part} {method}", method_colours(study.all_methods)[method]
        shape = Box(row["low"], row["q1"], row["median"], row["q3"], row["high"])
        draw_box(axes, shape, at, 0.38 * step, colour=colour, fill=fills[n], label=label)
        name = wrapped(part, width=_NAME_WIDTH, lines=1)
        median = number(shape.median, about.digits)
        _beside(axes, at, 3, name, ha="left", color=MUTED, in_layout=y == 0)
        right = names_pt + 30
        _beside(axes, at, right, median, ha="right", in_layout=y == 0, label=f"value {label}")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)
    axes.set_xlabel(value_label(about), parse_math=False)


def _beside(axes: Axes, y: float, right_pt: float, text: str, **look: Any) -> None:
    """Small print so far right of the axis; laying out only that of one row is enough."""
    at = offset_copy(
        axes.get_yaxis_transform(), axes.get_figure(root=True), x=right_pt, units="points"
    )
    look |= {"va": "center_baseline", "fontsize": 5.5, "parse_math": False}
    axes.text(1.0, y, text, transform=at, **look)


def _remarks(study: Study, data: pd.DataFrame) -> str:
    each = data.drop_duplicates(["column", "part"])
    counts = ", ".join(f"{row.part} {row.cases}" for row in each.itertuples())
    said = [f"Cases: {counts}. Numbers are medians; values beyond the whiskers are left out."]
    if (each["cases"] < FEWEST_FOR_A_BOX).any():
        said.append(f"With fewer than {FEWEST_FOR_A_BOX} cases there is only their range.")
    left_out = [name for name in _groupings(study) if name not in set(data["column"])]
    if left_out:
        said.append(f"Not shown, for want of room: {', '.join(left_out)}.")
    return " ".join(said)


def groups_alt(study: Study, score: str) -> str:
    """Every method's median in each group; of many only the best and the worst."""
    data, about = groups_data(study, score), study.column(score)
    said = []
    for (column, part), rows in data.groupby(["column", "part"], sort=False):
        if len(data) > MOST_TOLD:
            rows = rows.sort_values("median", ascending=about.direction == "lower").iloc[[0, -1]]
        medians = (
            f"{plain(row['method'])} {number(row['median'], about.digits)}"
            for row in rows.to_dict("records")
        )
        cases = rows["cases"].iloc[0]
        said.append(f"{plain(column)} {plain(part)} ({cases} cases): {', '.join(medians)}")
    told = "Best and worst median" if len(data) > MOST_TOLD else "Medians"
    return f"Box plot of {study.title(score)} in groups of cases. {told}: {'; '.join(said)}."


def groups_subjects(study: Study) -> list[Subject]:
    """Each score that counts, if the table groups the cases."""
    return each_ranked_score(study) if _shown(study) else []


GROUPS = Kind(
    name="groups",
    title="Groups of cases",
    help="A box per group of cases, from its first to its third quartile with the median in it; "
    "whiskers reach to the last value within 1.5 box lengths, outliers are left out.",
    section="spread",
    draw=groups,
    data=groups_data,
    alt=groups_alt,
    subjects=groups_subjects,
    takes=("score",),
)
KINDS = (GROUPS,)
