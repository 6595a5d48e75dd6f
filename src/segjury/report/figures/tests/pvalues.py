"""P-values of all pairs of methods, of two tests in one matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tests import ScoreTests
from segjury.arrays import Floats
from segjury.report.figures.drawing.cells import draw_cells, number_columns
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    note,
    rows_height,
    sheet,
)
from segjury.report.figures.drawing.method_pairs import (
    FRAME_IN,
    draw_scale,
    friedman_words,
    matrix_width,
    tests_of,
    too_few,
)
from segjury.report.figures.drawing.style import SEQUENTIAL, styled
from segjury.report.figures.kind import Kind, tested_scores
from segjury.wording import p_text, p_words, plain, plural

_LEAST = 1e-4  # smaller p are as dark
_SHADES = (0.04, 0.22, 0.5)  # of p = 1, just above and just below alpha
_MOST_NAMED = 3
_UNDECIDED = "Friedman's test finds no difference, so {} decides nothing."
_WORDS = {"wilcoxon": "Wilcoxon's signed-rank test", "conover": "Conover's test after Friedman's"}


def p_values(scores: Scores, score: str) -> Figure:
    """Holm-adjusted p of all pairs: Wilcoxon above the diagonal, Conover below it.

    The shade is the logarithm of p, with a step at alpha.
    """
    study = study_of(scores)
    methods, data, tests = study.methods, p_values_data(study, score), tests_of(study, score)
    matrix = np.full((len(methods), len(methods)), np.nan)
    matrix[data["row"] - 1, data["column"] - 1] = data["p"]
    with styled():
        figure = sheet(matrix_width(methods), FRAME_IN + rows_height(methods, least=5))
        axes = figure.add_subplot()
        draw_cells(
            axes,
            _shade(matrix, tests.alpha),
            SEQUENTIAL,
            (0.0, 1.0),
            label="shades of p",
            text=lambda i, j: "" if i == j else p_text(float(matrix[i, j]), tests.alpha),
        )
        name_rows(axes, study, methods, numbered=True)
        number_columns(axes, len(methods))
        _draw_scale(figure, axes, tests.alpha)
        note(figure, _note(tests))
        return finished(figure, f"P-values of pairs: {study.title(score)}")


def p_values_data(study: Study, score: str) -> pd.DataFrame:
    """A row per cell: the two methods, their numbers, the test and its adjusted p.

    Conover's p are none below what an exact test of the pair can give.
    """
    methods, tests = study.methods, tests_of(study, score)
    wilcoxon = {(pair.a, pair.b): pair.p for pair in tests.wilcoxon}
    decisive = tests.decisive
    return pd.DataFrame(
        [
            {
                "row": a + 1,
                "column": b + 1,
                "method": methods[a],
                "other": methods[b],
                "test": "wilcoxon" if a < b else "conover",
                "p": wilcoxon[a, b] if a < b else decisive[a, b],
            }
            for a in range(len(methods))
            for b in range(len(methods))
            if a != b
        ]
    )


def p_values_alt(study: Study, score: str) -> str:
    """How many pairs each test tells apart, and which most clearly."""
    data, tests = p_values_data(study, score), tests_of(study, score)
    alpha = tests.alpha
    said = [f"Matrix of adjusted p-values of {len(study.methods)} methods, {study.title(score)}."]
    for test, rows in data.groupby("test", sort=False):
        differing = rows[rows["p"] < alpha].sort_values("p", kind="stable")
        named = [
            f"{plain(row.method)} and {plain(row.other)}, {p_words(float(row.p), alpha)}"
            for _, row in differing.head(_MOST_NAMED).iterrows()
        ]
        rest = [f"{len(differing) - len(named)} more"] if len(differing) > len(named) else []
        listed = f": {'; '.join([*named, *rest])}" if named else ""
        said.append(f"{_WORDS[str(test)]}: {len(differing)} of {len(rows)} pairs differ{listed}.")
    if not tests.found:
        said.append(_UNDECIDED.format("Conover's"))
    return " ".join(said)


def _shade(p: Floats, alpha: float) -> Floats:
    """Growing with -log p from p = 1, with a step where p falls below alpha."""
    least, (light, above, below) = min(_LEAST, alpha / 10), _SHADES
    depth = -np.log10(np.maximum(p, least))
    step, end = -np.log10(alpha), -np.log10(least)
    return np.asarray(
        np.where(
            p < alpha,
            below + (1 - below) * (depth - step) / (end - step),
            light + (above - light) * depth / step,
        )
    )


def _draw_scale(figure: Figure, axes: Axes, alpha: float) -> None:
    """The shades of p, on a logarithmic scale."""
    least = min(_LEAST, alpha / 10)
    colours = ListedColormap(SEQUENTIAL(_shade(np.geomspace(least, 1, 512), alpha)))
    ticks = sorted({least, 0.001, 0.01, alpha, 1.0})
    names = [f"{p:.4g}".removeprefix("0") for p in ticks]
    words = [f"≤{names[0]}", *names[1:]]
    shades = ScalarMappable(Normalize(np.log10(least), 0), colours)
    draw_scale(figure, axes, shades, dict(zip(np.log10(ticks).tolist(), words, strict=True)))


def _note(tests: ScoreTests) -> str:
    said = (
        "Upper right: Wilcoxon's signed-rank test. Lower left: Conover's test, after "
        f"{friedman_words(tests)}. P adjusted by Holm, each test over "
        f"{plural(len(tests.wilcoxon), 'pair')}; the shade steps at {tests.alpha:g}."
    )
    if (tests.conover < tests.smallest).any():
        said += " Conover's p is not shown below what an exact test of the two can give."
    if not tests.found:
        said += f" {_UNDECIDED.format('the lower left')}"
    return said + too_few(tests)


P_VALUES = Kind(
    name="pvalues",
    title="P-values of pairs",
    help="Two tests of every two methods, adjusted by Holm: Wilcoxon above the diagonal, Conover "
    "below. The smaller p, the stronger the shade, which steps at the limit of significance.",
    section="tests",
    draw=p_values,
    data=p_values_data,
    alt=p_values_alt,
    subjects=tested_scores,
    takes=("score",),
)
KINDS = (P_VALUES,)
