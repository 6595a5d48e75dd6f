"""Rank maps: on how many cases each method takes each place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.ranking.schemes import ranks_by_case
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.cells import draw_cells
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, MUTED, SEQUENTIAL, styled
from segjury.report.figures.kind import Kind, Subject, each_ranked_score
from segjury.wording import plain

_FRAME_IN = 0.7
_CELL_IN = 0.235
_MEAN_IN = 0.4


def rank_map(scores: Scores, score: str) -> Figure:
    """A row per method, a column per place: the number of cases on which it has that place.

    Equal scores share the best of their places. Source: challengeR, ranking heat map (Wiesenfarth
    et al., Scientific Reports 2021).
    """
    study = study_of(scores)
    methods, data = study.methods, rank_map_data(study, score)
    counts = data["cases"].to_numpy(float).reshape(len(methods), -1)
    means = data.drop_duplicates("method")["mean_place"].to_numpy(float)
    with styled():
        cells_in = _CELL_IN * len(methods)
        width_in = max(COLUMN_WIDTH_IN, width_of_names(methods) + 0.4 + cells_in + _MEAN_IN)
        figure = sheet(width_in, _FRAME_IN + rows_height(methods))
        axes = figure.add_subplot()
        text_of = [["" if cell == 0 else f"{cell:.0f}" for cell in row] for row in counts]
        draw_cells(
            axes,
            counts,
            SEQUENTIAL,
            (0.0, float(counts.max())),
            label="cases",
            text=lambda row, column: text_of[row][column],
        )
        axes.spines[:].set_visible(True)  # cells of 0 are white
        name_rows(axes, study, methods)
        axes.set_xticks(range(len(methods)), labels=map(str, range(1, len(methods) + 1)))
        axes.tick_params(axis="x", labelcolor=MUTED)
        axes.set_xlabel(f"place on the case, of {counts[0].sum():.0f} cases")
        aside: dict[str, Any] = {"ha": "left", "transform": axes.get_yaxis_transform()}
        for y, (method, mean) in enumerate(zip(methods, means, strict=True)):
            label = f"mean place {method}"
            axes.text(1.02, y, f"{mean:.2f}", va="center", fontsize=5.5, label=label, **aside)
        axes.text(1.02, -0.6, "mean", va="bottom", fontsize=5.5, color=MUTED, **aside)
        return finished(figure, f"Places on the cases: {study.title(score)}")


def rank_map_data(study: Study, score: str) -> pd.DataFrame:
    """The number of cases per method and place, and the method's mean place."""
    ranking = study.rules.ranking.model_copy(update={"ties": "min"})
    _cases, places = ranks_by_case(study.analysis.panel, study.column(score).key, ranking)
    return pd.DataFrame(
        [
            {
                "method": method,
                "place": place,
                "cases": int(np.count_nonzero(places[:, m] == place)),
                "mean_place": float(places[:, m].mean()),
            }
            for m, method in enumerate(study.methods)
            for place in range(1, len(study.methods) + 1)
        ]
    )


def rank_map_alt(study: Study, score: str) -> str:
    """On how many cases each method is first and last, and its mean place."""
    data = rank_map_data(study, score)
    last = len(study.methods)
    each = []
    for method, rows in data.groupby("method", sort=False):
        cases = rows.set_index("place")["cases"]
        mean = rows["mean_place"].iloc[0]
        each.append(f"{plain(method)} {cases[1]} and {cases[last]}, mean {mean:.2f}")
    return (
        f"Heat map of places on the cases, {study.title(score)}. "
        f"Times first and last: {'; '.join(each)}."
    )


def rank_map_subjects(study: Study) -> list[Subject]:
    """Each score that counts, if there are several methods and cases."""
    several = len(study.methods) > 1 and len(study.analysis.panel.cases) > 1
    return each_ranked_score(study) if several else []


RANK_MAP = Kind(
    name="rank-map",
    title="Places on the cases",
    help="The number in a cell says on how many cases the method has that place; equal scores "
    "share the best of their places. A strong diagonal is a clear order.",
    section="spread",
    draw=rank_map,
    data=rank_map_data,
    alt=rank_map_alt,
    subjects=rank_map_subjects,
    takes=("score",),
)
KINDS = (RANK_MAP,)
