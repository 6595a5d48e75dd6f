"""Methods against the human ceiling: in each score, the range of the raters and every method."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from segjury.analysis.ceiling import ScoreCeiling
from segjury.analysis.columns import Column
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.frame import finished, note, sheet, width_of_names
from segjury.report.figures.drawing.legend import draw_key, key_height
from segjury.report.figures.drawing.style import (
    INK,
    MUTED,
    PAGE_WIDTH_IN,
    RULE,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject
from segjury.wording import number, plural

_ROW_IN = 0.42
_FRAME_IN = 0.55
_BAND = 0.34  # half the height of the raters' range
_NOTE = (
    "Band: from the lowest to the highest rater, each judged against the others; line: their "
    "mean; ticks: raters. Right is better in every row."
)
_NOTE_BY_CASE = (
    "Band: from the lowest to the highest rater of each case, each judged against the others; "
    "line: their mean. Right is better in every row."
)


def ceiling(scores: Scores) -> Figure:
    """A row per score with its own axis, the better end on the right."""
    study = study_of(scores)
    ceilings = study.ceilings
    with styled():
        names_in = width_of_names(study.methods) + 0.35
        height_in = max(_ROW_IN * len(ceilings), key_height(study.methods))
        figure = sheet(max(PAGE_WIDTH_IN, 4.6 + names_in), _FRAME_IN + height_in)
        grid = figure.add_gridspec(len(ceilings), 2, width_ratios=(5.2, names_in))
        for row, (score, each) in enumerate(ceilings.items()):
            _draw(figure.add_subplot(grid[row, 0]), study, study.column(score), each)
        key = figure.add_subplot(grid[:, 1])
        draw_key(key, study, height_in)
        by_case = any(each.of_cases for each in ceilings.values())
        note(figure, f"{_NOTE_BY_CASE if by_case else _NOTE} {_cases(study)}")
        return finished(figure, "Methods and raters")


def _cases(study: Study) -> str:
    counts = sorted({each.cases for each in study.ceilings.values()})
    of = plural(counts[-1], "case")
    return f"Over {of}." if len(counts) == 1 else f"Over {counts[0]} to {of}, the same for both."


def _draw(axes: Axes, study: Study, about: Column, each: ScoreCeiling) -> None:
    """Band, mean and ticks of the raters, and a mark per method."""
    axes.add_patch(
        Rectangle(
            (each.lowest, -_BAND),
            each.highest - each.lowest,
            2 * _BAND,
            facecolor=RULE,
            alpha=0.6,
            label=f"band {about.key}",
        )
    )
    ticks = list(each.raters.values())
    axes.plot(ticks, [0] * len(ticks), "|", color=MUTED, markersize=7, label=f"raters {about.key}")
    axes.plot([each.mean] * 2, [-_BAND, _BAND], color=INK, linewidth=1.2, label=f"mean {about.key}")
    for place, method in enumerate(each.methods):
        axes.plot(
            method.value,
            _offset(place, len(each.methods)),
            marker=method_markers(study.all_methods)[method.method],
            color=method_colours(study.all_methods)[method.method],
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.4,
            clip_on=False,
            zorder=4,
            label=f"{about.key} {method.method}",
        )
    _frame(axes, about, each)


def _offset(place: int, count: int) -> float:
    """Methods stand a little above each other, so that equal ones are all seen."""
    return float(np.linspace(-0.26, 0.26, count)[place]) if count > 1 else 0.0


def _frame(axes: Axes, about: Column, each: ScoreCeiling) -> None:
    values = [each.lowest, each.highest, *(method.value for method in each.methods)]
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    limits = (low - margin, high + margin)
    axes.set_xlim(limits if about.direction != "lower" else limits[::-1])
    axes.set_ylim(0.5, -0.5)
    unit = f"\n{about.unit}" if about.unit else ""
    axes.set_yticks([0], labels=[f"{about.full_title} {about.arrow}{unit}"], parse_math=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=6.5)
    axes.tick_params(axis="x", length=2, pad=1.5, labelsize=5.5)
    if low < high:
        axes.locator_params(axis="x", nbins=6)
    else:
        axes.set_xticks([low])
    axes.spines["left"].set_visible(False)


def ceiling_data(study: Study) -> pd.DataFrame:
    """A line per score and method, with what the raters get."""
    return pd.DataFrame(
        [
            {
                "score": score,
                "method": method.method,
                "value": method.value,
                "standing": method.standing,
                "difference": method.difference,
                "low": method.low,
                "high": method.high,
                "raters_mean": each.mean,
                "raters_lowest": each.lowest,
                "raters_highest": each.highest,
                "cases": each.cases,
            }
            for score, each in study.ceilings.items()
            for method in each.methods
        ]
    )


def ceiling_alt(study: Study) -> str:
    """The range of the raters in each score, and who is beyond it."""
    said = []
    for score, each in study.ceilings.items():
        about = study.column(score)
        low, high = (number(value, about.digits) for value in (each.lowest, each.highest))
        beyond = [
            f"{method.method} {method.standing}"
            for method in each.methods
            if method.standing != "among"
        ]
        rest = f"; beyond them: {', '.join(beyond)}" if beyond else "; all methods among them"
        said.append(f"{about.full_title}: raters {low} to {high}{rest}.")
    return " ".join(["Methods against the range of the raters in each score.", *said])


def _subjects(study: Study) -> list[Subject]:
    return [{}] if study.ceilings else []


CEILING = Kind(
    name="ceiling",
    title="Methods and raters",
    help="The band is the range of the raters, each judged against the others, the line their "
    "mean; marks are methods, on the same cases. Right is better in every row.",
    section="ceiling",
    draw=ceiling,
    data=ceiling_data,
    alt=ceiling_alt,
    subjects=_subjects,
)
KINDS = (CEILING,)
