"""The raters against each other: Dice of every pair, and of each with the consensus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats
from segjury.protocols.reference import CONSENSUS
from segjury.report.figures.drawing.cells import TWO_LINES_IN, draw_means
from segjury.report.figures.drawing.frame import finished, sheet
from segjury.report.figures.drawing.rater_labels import label_dice, of_label
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    PAGE_WIDTH_IN,
    SEQUENTIAL,
    styled,
)
from segjury.report.figures.kind import Kind, each_rated_label
from segjury.results.columns import WHOLE
from segjury.wording import number, plural

RATERS = "other raters"  # in place of a partner: all of them
PAIRS = "all pairs"
SOMEBODY = "rater"  # of a panel in which nobody knows who that is
MEAN_WITH_RATERS = "mean with\nraters"
_CELL_IN = 0.43
_NAMES_IN = 0.7
_MARGIN = 1.3  # cells
_FRAME_IN = 0.72
_ALIKE = 0.05


def raters(scores: Scores, structure: str = WHOLE) -> Figure:
    """Mean Dice over the cases of each pair of raters, its SD below; a rater's mean in the margin.

    Of several labels, `all` is the mean.
    """
    study = study_of(scores)
    data = raters_data(study, structure)
    names = [name for name in data["first"].unique() if name != PAIRS]
    wide = len(names) + _MARGIN
    cell_in = min(_CELL_IN, (PAGE_WIDTH_IN - _NAMES_IN) / wide)
    with styled():
        width = max(COLUMN_WIDTH_IN, _NAMES_IN + cell_in * wide)
        figure = sheet(width, _FRAME_IN + cell_in * len(names))
        matrix, margin = figure.subplots(1, 2, width_ratios=(len(names), _MARGIN))
        for axes, columns, label in ((matrix, names, "dice"), (margin, [RATERS], "margin")):
            _draw(axes, data, names, columns, cell_in, label=label)
        _name(matrix, names, names)
        _name(margin, [], [MEAN_WITH_RATERS])
        matrix.set_xlabel(_whole(data), loc="left", fontsize=6.5, labelpad=5)
        return finished(figure, f"Dice between raters{of_label(structure)}")


def _draw(
    axes: Axes,
    data: pd.DataFrame,
    rows: list[str],
    columns: list[str],
    cell_in: float,
    *,
    label: str,
) -> None:
    """Cells with the mean in large type and the SD below it."""
    mean, sd = (_matrix(data, rows, columns, of) for of in ("mean", "sd"))
    palest = max(0.0, math.floor(10 * data["mean"].min() - 1) / 10)
    draw_means(
        axes,
        mean,
        sd,
        SEQUENTIAL,
        (palest, 1.0),
        digits=_digits(data),
        roomy=cell_in >= TWO_LINES_IN,
        label=label,
    )


def _digits(data: pd.DataFrame) -> int:
    """Two, or three where the pairs would look the same."""
    return 2 if data["mean"].max() - data["mean"].min() > _ALIKE else 3


def _matrix(data: pd.DataFrame, rows: list[str], columns: list[str], of: str) -> Floats:
    """Means or SDs of pairs, NaN where there is none: on the diagonal."""
    known = {(row["first"], row["second"]): row[of] for row in data.to_dict("records")}
    both = known | {(second, first): value for (first, second), value in known.items()}
    return np.array([[both.get((row, column), np.nan) for column in columns] for row in rows])


def _name(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_yticks(range(len(rows)), labels=[_title(name) for name in rows])
    axes.set_xticks(range(len(columns)), labels=[_title(name, short=True) for name in columns])
    axes.xaxis.tick_top()
    axes.tick_params(labelcolor=INK, labelsize=6.5, pad=2)
    axes.tick_params(axis="x", labelsize=6)


def _title(name: str, *, short: bool = False) -> str:
    if name in (CONSENSUS, RATERS, PAIRS, SOMEBODY, MEAN_WITH_RATERS):
        return name.capitalize()
    return name if short else f"Rater {name}"


def _whole(data: pd.DataFrame) -> str:
    """The mean over all pairs of raters, in words."""
    row, digits = data[data["first"] == PAIRS].iloc[0], _digits(data)
    cases = plural(row["cases"], "case")
    return f"All pairs of raters {_mean_and_sd(row['mean'], row['sd'], digits)}, {cases}"


def _mean_and_sd(mean: float, sd: float, digits: int) -> str:
    return number(mean, digits) + (f" ± {number(sd, digits)}" if math.isfinite(sd) else "")


def raters_data(study: Study, structure: str = WHOLE) -> pd.DataFrame:
    """Mean, sample SD and number of cases of each pair, of each rater with the others, of all.

    The last two are over cases and pairs together. The raters of an anonymous panel are one, the
    mean of those of each case.
    """
    dice = label_dice(study, structure)
    if study.rules.anonymous:
        dice = _without_names(dice)
    among = dice["second"] != CONSENSUS
    rows = [
        _row(str(first), str(second), own)
        for (first, second), own in dice.groupby(["first", "second"], sort=False)
    ]
    names = dict.fromkeys([*dice["first"], *dice["second"]])
    for name in names:
        kept = among if name != CONSENSUS else ~among
        rows.append(
            _row(name, RATERS, dice[kept & (dice[["first", "second"]] == name).any(axis=1)])
        )
    rows.append(_row(PAIRS, RATERS, dice[among]))
    return pd.DataFrame(rows)


def _without_names(dice: pd.DataFrame) -> pd.DataFrame:
    """A row per case for all pairs of raters, and for the consensus and all raters."""
    second = dice["second"].where(dice["second"] == CONSENSUS, SOMEBODY)
    pooled = dice.assign(first=SOMEBODY, second=second)
    return pooled.groupby(["case", "first", "second"], sort=False)["dsc"].mean().reset_index()


def _row(first: str, second: str, dice: pd.DataFrame) -> dict[str, Any]:
    values, cases = dice["dsc"], len(dice["case"].unique())
    sd = values.std(ddof=1) if cases > 1 else math.nan
    return {"first": first, "second": second, "mean": values.mean(), "sd": sd, "cases": cases}


def raters_alt(study: Study, structure: str = WHOLE) -> str:
    """Every rater's mean with the others, the pairs that agree most and least."""
    data = raters_data(study, structure)
    return " ".join([f"Matrix of Dice between raters{of_label(structure)}.", *_sentences(data)])


def _sentences(data: pd.DataFrame) -> Iterator[str]:
    margin, digits = data[(data["second"] == RATERS) & (data["first"] != PAIRS)], _digits(data)
    each = (
        f"{_title(row['first'])} {_mean_and_sd(row['mean'], row['sd'], digits)}"
        for row in margin.to_dict("records")
    )
    yield f"{_whole(data)}. Mean with the raters: {', '.join(each)}."
    pairs = data[~data["second"].isin([RATERS, CONSENSUS])].sort_values("mean", kind="stable")
    if SOMEBODY in set(pairs["first"]):
        return
    for word, at in (("most", -1), ("least", 0)):
        row = pairs.iloc[at]
        mean = number(row["mean"], digits)
        yield f"Raters {row['first']} and {row['second']} agree {word}, {mean}."


RATER_MATRIX = Kind(
    name="raters",
    title="Agreement of the raters",
    help="Dice of two raters' masks, mean over the cases and its SD; the stronger the shade, the "
    "more alike. The last column is a rater's mean with all other raters.",
    section="raters",
    draw=raters,
    data=raters_data,
    alt=raters_alt,
    subjects=each_rated_label,
    takes=("structure",),
)
KINDS = (RATER_MATRIX,)
