"""P-values of all pairs of methods, of two tests in one matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tests import ScoreTests
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.report.figures.drawing.cells import draw_cells
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    note,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, INK, MUTED, SEQUENTIAL, styled
from segjury.report.figures.kind import Kind, Subject, each_ranked_score
from segjury.wording import NONE, number, plain, plural

FRAME_IN = 0.45
_CELL_IN = 0.275  # the narrowest cell that holds "<.001"
_BESIDE_IN = 0.75  # numbers and marks of the methods, and the scale of shades
_LEAST = 1e-4  # smaller p are as dark
_SHADES = (0.04, 0.22, 0.5)  # of p = 1, just above and just below alpha
_SCALE_IN = 0.07
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
    """A row per cell: the two methods, their numbers, the test and its adjusted p."""
    methods, tests = study.methods, tests_of(study, score)
    wilcoxon = {(pair.a, pair.b): pair.p for pair in tests.wilcoxon}
    return pd.DataFrame(
        [
            {
                "row": a + 1,
                "column": b + 1,
                "method": methods[a],
                "other": methods[b],
                "test": "wilcoxon" if a < b else "conover",
                "p": wilcoxon[a, b] if a < b else tests.conover[a, b],
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
        found = rows[rows["p"] < alpha].sort_values("p", kind="stable")
        named = [
            f"{plain(row.method)} and {plain(row.other)}, {p_words(float(row.p), alpha)}"
            for _, row in found.head(_MOST_NAMED).iterrows()
        ]
        rest = [f"{len(found) - len(named)} more"] if len(found) > len(named) else []
        listed = f": {'; '.join([*named, *rest])}" if named else ""
        said.append(f"{_WORDS[str(test)]}: {len(found)} of {len(rows)} pairs differ{listed}.")
    if tests.friedman.p >= alpha:
        said.append(_UNDECIDED.format("Conover's"))
    return " ".join(said)


def tests_of(study: Study, score: str) -> ScoreTests:
    """The tests of a score that counts."""
    found = study.analysis.scores.get(study.column(score).key)
    if found is None or found.tests is None:
        raise InputError(
            f"nothing was tested on '{score}'",
            "Tests need a score that is ranked, two methods and two cases",
        )
    return found.tests


def tested_scores(study: Study) -> list[Subject]:
    """A figure of each score that was tested."""
    scores = study.analysis.scores
    return [of for of in each_ranked_score(study) if scores[of["score"]].tests is not None]


def p_text(p: float, alpha: float) -> str:
    """P as journals print it: `<.001`, `.004`, `.03`; never rounded up to alpha."""
    least = min(0.001, alpha)
    if p < least:
        return f"<{least:.4g}".replace("0.", ".", 1)
    digits = 3 if p < 0.01 else 2
    if p < alpha <= round(p, digits):
        return f"<{alpha:.4g}".replace("0.", ".", 1)
    if round(p, digits) >= 1:
        return "1" if p == 1 else ">.99"
    return f"{p:.{digits}f}".removeprefix("0")


def p_words(p: float, alpha: float) -> str:
    """P in a sentence: `p < .001`, `p = .03`."""
    text = p_text(p, alpha)
    return f"p {text[0]} {text[1:]}" if text[0] in "<>" else f"p = {text}"


def friedman_words(tests: ScoreTests) -> str:
    """Friedman's result: `Friedman χ²(5) = 15.83, p = .007, 10 cases`."""
    found = tests.friedman
    chi2 = number(found.chi2, 2) if np.isfinite(found.chi2) else NONE
    words = p_words(found.p, tests.alpha)
    return f"Friedman χ²({found.df}) = {chi2}, {words}, {tests.cases} cases"


def matrix_width(methods: Sequence[str]) -> float:
    """How wide a matrix of methods is, in inches, rows with names and columns with numbers."""
    return max(COLUMN_WIDTH_IN, width_of_names(methods) + _BESIDE_IN + _CELL_IN * len(methods))


def number_columns(axes: Axes, count: int) -> None:
    """Number the columns of a matrix, above it, as its rows are."""
    axes.set_xticks(range(count), labels=[str(n) for n in range(1, count + 1)])
    axes.tick_params(
        axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, labelcolor=INK, length=0
    )


def draw_scale(
    figure: Figure, axes: Axes, shades: ScalarMappable, ticks: Mapping[float, str]
) -> None:
    """The scale of shades beside a matrix, with the words at its ticks."""
    aspect = (figure.get_figheight() - FRAME_IN) / _SCALE_IN
    bar = figure.colorbar(shades, ax=axes, aspect=aspect, pad=0.02, fraction=0.08)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.ax.tick_params(length=2, labelsize=5.5, labelcolor=MUTED)
    bar.outline.set_visible(False)


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
    if tests.friedman.p >= tests.alpha:
        said += f" {_UNDECIDED.format('the lower left')}"
    return said + too_few(tests)


def too_few(tests: ScoreTests) -> str:
    """A sentence where so few cases can show no difference at all."""
    if tests.smallest_adjusted < tests.alpha:
        return ""
    least = p_text(tests.smallest_adjusted, tests.alpha)
    return f" With {tests.cases} cases no adjusted p of Wilcoxon's can be below {least}."


P_VALUES = Kind(
    name="pvalues",
    title="P-values of pairs",
    help="Two tests of every two methods, adjusted by Holm: Wilcoxon above the diagonal, Conover "
    "below. The smaller p, the darker; the shade steps at the limit of significance.",
    section="tests",
    draw=p_values,
    data=p_values_data,
    alt=p_values_alt,
    subjects=tested_scores,
    takes=("score",),
)
KINDS = (P_VALUES,)
