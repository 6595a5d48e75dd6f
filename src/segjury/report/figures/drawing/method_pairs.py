"""What figures of tests share: the tests of a score, in words, and a matrix of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from segjury.analysis.study import Study
from segjury.analysis.tests import ScoreTests
from segjury.errors import InputError
from segjury.report.figures.drawing.frame import width_of_names
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, MUTED
from segjury.wording import number, p_text, p_words

FRAME_IN = 0.45
_CELL_IN = 0.275  # the narrowest cell that holds "<.001"
_BESIDE_IN = 0.75  # numbers and marks of the methods, and the scale of shades
_SCALE_IN = 0.07


def tests_of(study: Study, score: str) -> ScoreTests:
    """The tests of a score that counts."""
    analysed = study.analysis.scores.get(study.column(score).key)
    if analysed is None or analysed.tests is None:
        raise InputError(
            f"nothing was tested on '{score}'",
            "Tests need a score that is ranked, two methods and two cases",
        )
    return analysed.tests


def friedman_words(tests: ScoreTests) -> str:
    """Friedman's result: `Friedman χ²(5) = 15.83, p = .007, 10 cases`."""
    friedman = tests.friedman
    words = f"{number(friedman.chi2, 2)}, {p_words(friedman.p, tests.alpha)}"
    return f"Friedman χ²({friedman.df}) = {words}, {tests.cases} cases"


def too_few(tests: ScoreTests) -> str:
    """A sentence where so few cases can show no difference at all."""
    if tests.smallest_adjusted < tests.alpha:
        return ""
    if tests.smallest_p >= tests.alpha:
        least = p_text(tests.smallest_p, tests.alpha)
        return (
            f" With {tests.cases} cases no exact test of two methods gives a p below {least}: no "
            "pair can be told apart."
        )
    least = p_text(tests.smallest_adjusted, tests.alpha)
    return f" With {tests.cases} cases no adjusted p of Wilcoxon's can be below {least}."


def matrix_width(methods: Sequence[str]) -> float:
    """How wide a matrix of methods is, in inches, rows with names and columns with numbers."""
    return max(COLUMN_WIDTH_IN, width_of_names(methods) + _BESIDE_IN + _CELL_IN * len(methods))


def draw_scale(
    figure: Figure, axes: Axes, shades: ScalarMappable, ticks: Mapping[float, str]
) -> None:
    """The scale of shades beside a matrix, with the words at its ticks."""
    aspect = (figure.get_figheight() - FRAME_IN) / _SCALE_IN
    bar = figure.colorbar(shades, ax=axes, aspect=aspect, pad=0.02, fraction=0.08)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.ax.tick_params(length=2, labelsize=5.5, labelcolor=MUTED)
    bar.outline.set_visible(False)
