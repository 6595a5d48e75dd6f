"""Significance maps: which method is better than which, and by how much."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tests import ScoreTests
from segjury.report.figures.drawing.cells import draw_cells, ink_on, number_columns
from segjury.report.figures.drawing.frame import finished, name_rows, note, rows_height, sheet
from segjury.report.figures.drawing.method_pairs import (
    FRAME_IN,
    draw_scale,
    matrix_width,
    tests_of,
    too_few,
)
from segjury.report.figures.drawing.style import DIVERGING, RULE, styled
from segjury.report.figures.kind import Kind, tested_scores
from segjury.wording import number, plain, plural

_MARKS = {1: ("^", "significantly better"), -1: ("v", "significantly worse")}
_TICKS = {value: number(value, 1) for value in (-1.0, -0.5, 0.0, 0.5, 1.0)}


def significance(scores: Scores, score: str) -> Figure:
    """A cell for every two methods: whether the row's is significantly better, and how clearly.

    The shade is the rank-biserial correlation of Wilcoxon's signed-rank test; a triangle stands
    where its Holm-adjusted p is below alpha. Source of the form: Wiesenfarth and others 2021.
    """
    study = study_of(scores)
    methods, data, tests = study.methods, significance_data(study, score), tests_of(study, score)
    significant, open_ = data[data["better"] != 0], data[data["better"] == 0]
    effects = np.full((len(methods), len(methods)), np.nan)
    effects[significant["row"] - 1, significant["column"] - 1] = significant["rank_biserial"]
    with styled():
        figure = sheet(matrix_width(methods), FRAME_IN + rows_height(methods, least=5))
        axes = figure.add_subplot()
        mesh = draw_cells(axes, effects, DIVERGING, (-1.0, 1.0), label="significant")
        mesh.set_cmap(DIVERGING.with_extremes(bad="white"))
        axes.scatter(
            open_["column"] - 1,
            open_["row"] - 1,
            c=open_["rank_biserial"],
            s=22.0,
            marker="s",
            cmap=DIVERGING,
            vmin=-1.0,
            vmax=1.0,
            edgecolors=RULE,
            linewidth=0.3,
            label="not significant",
        )
        for better, (marker, label) in _MARKS.items():
            cells = data[data["better"] == better]
            axes.scatter(
                cells["column"] - 1,
                cells["row"] - 1,
                s=16.0,
                marker=marker,
                c=[ink_on(mesh, effect) for effect in cells["rank_biserial"]],
                linewidth=0,
                zorder=4,
                label=label,
            )
        end = len(methods) - 0.5
        axes.plot([-0.5, end], [-0.5, end], color=RULE, linewidth=0.8, zorder=1)
        name_rows(axes, study, methods, numbered=True)
        number_columns(axes, len(methods))
        draw_scale(figure, axes, mesh, _TICKS)
        note(figure, _note(tests))
        return finished(figure, f"Significance map: {study.title(score)}")


def significance_data(study: Study, score: str) -> pd.DataFrame:
    """A row per cell: the two methods, effect, adjusted p, and 1 or -1 where it is significant."""
    methods, tests = study.methods, tests_of(study, score)
    rows = []
    for pair in tests.wilcoxon:
        for a, b, side in ((pair.a, pair.b, 1), (pair.b, pair.a, -1)):
            rows.append(
                {
                    "row": a + 1,
                    "column": b + 1,
                    "method": methods[a],
                    "other": methods[b],
                    "p": pair.p,
                    "rank_biserial": side * pair.effect,
                    "better": side * pair.sign if pair.p < tests.alpha else 0,
                }
            )
    return pd.DataFrame(rows).sort_values(["row", "column"], ignore_index=True)


def significance_alt(study: Study, score: str) -> str:
    """How many methods each one is significantly better and worse than."""
    data, tests = significance_data(study, score), tests_of(study, score)
    differing = int((data["better"] == 1).sum())
    pairs = plural(differing, "pair")
    said = f"Significance map, {study.title(score)}: {pairs} differ ({_test(tests)})."
    if not differing:
        return said + too_few(tests)
    by_method = data.groupby("method", sort=False)["better"]
    each = (
        f"{plain(method)} {(signs == 1).sum()}, {(signs == -1).sum()}"
        for method, signs in by_method
    )
    return f"{said} Methods that each is better, worse than: {'; '.join(each)}."


def _test(tests: ScoreTests) -> str:
    pairs = plural(len(tests.wilcoxon), "pair")
    return f"Wilcoxon, {tests.cases} cases, Holm over {pairs}, p < {tests.alpha:g}"


def _note(tests: ScoreTests) -> str:
    return (
        "▲ the row's method is significantly better than the column's, ▼ worse; small: no "
        f"significant difference ({_test(tests)}). Shade: rank-biserial correlation, 1 where the "
        f"row's method is better on all cases.{too_few(tests)}"
    )


SIGNIFICANCE = Kind(
    name="significance",
    title="Significance map",
    help="A triangle up: the row's method is significantly better than the column's, down: worse. "
    "The shade is the size of the difference, whether it is significant or not.",
    section="tests",
    draw=significance,
    data=significance_data,
    alt=significance_alt,
    subjects=tested_scores,
    takes=("score",),
)
KINDS = (SIGNIFICANCE,)
