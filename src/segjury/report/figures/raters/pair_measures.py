"""Raters and consensuses against each other in any measure, from `agreement.csv`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from segjury.arrays import Floats
from segjury.report.figures.drawing.cells import TWO_LINES_IN, draw_means
from segjury.report.figures.drawing.frame import finished, note, sheet
from segjury.report.figures.drawing.rater_labels import rater_name
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    DIVERGING,
    INK,
    PAGE_WIDTH_IN,
    SEQUENTIAL,
    styled,
)
from segjury.report.figures.illustration import Illustration
from segjury.results.columns import WHOLE
from segjury.wording import number, plain, plural

_CELL_IN = 0.46
_NAMES_IN = 0.8
_FRAME_IN = 0.6


@dataclass(frozen=True)
class Look:
    """How a measure is drawn: its title, digits, and whether it has a sign or is a share."""

    title: str
    digits: int
    signed: bool = False
    share: bool = False


LOOKS = {
    "dice": Look("Dice between raters", 2, share=True),
    "nsd": Look("NSD between raters", 2, share=True),
    "boundary_mm": Look("Boundaries of the raters, mm further out", 1, signed=True),
    "volume_percent": Look("Volumes of the raters, % larger", 0, signed=True),
    "contact_angle": Look("Contact angles of the raters, degrees apart", 0),
}
_HELP = {
    "share": "The stronger the shade, the more alike.",
    "signed": "Row minus column: positive where the row draws larger.",
    "apart": "Mean absolute difference: the stronger the shade, the further apart.",
}
_OTHERS = "A rater is compared with the consensus of the other raters, except a given one."


def agreement_matrices(agreement: pd.DataFrame) -> list[Illustration]:
    """A matrix of each measure and label over all cases; of contact, the mean over the vessels."""
    rows = agreement[(agreement["cohort"] == WHOLE) & agreement["measure"].isin(list(LOOKS))]
    rows = rows[rows["vessel"].isin(["", WHOLE])]
    several = len(rows["label"].unique()) > 1
    return [
        _illustration(own, str(measure), [str(label)] * several)
        for (label, measure), own in rows.groupby(["label", "measure"], sort=False)
    ]


def _illustration(own: pd.DataFrame, measure: str, of: list[str]) -> Illustration:
    look = LOOKS[measure]
    title = ", ".join([look.title, *map(plain, of)])
    kind = "share" if look.share else "signed" if look.signed else "apart"
    lead = f"Matrix: {title}. Mean over {plural(int(own['cases'].max()), 'case')}."
    among = own[own["consensus_of"] == ""]
    each = (
        f"{row['first']} and {row['second']} {number(row['mean'], look.digits)}"
        for row in among.to_dict("records")
    )
    return Illustration(
        figure=agreement_matrix(own, look, title, _HELP[kind]),
        name=" ".join(["agreement", measure, *of]),
        title=title,
        caption=f"Mean over the cases and its SD. {_HELP[kind]} {_OTHERS}",
        alt=f"{lead} {', '.join(each)}.",
        data=own,
    )


def agreement_matrix(own: pd.DataFrame, look: Look, title: str, how: str) -> Figure:
    """Means of a measure over the cases, raters first, then every consensus."""
    names = list(dict.fromkeys([*own["first"], *own["second"]]))
    names.sort(key=lambda name: not f"{name} ".startswith("rater "))
    mean, sd = _matrix(own, names, "mean", look), _matrix(own, names, "sd", None)
    cell_in = min(_CELL_IN, (PAGE_WIDTH_IN - _NAMES_IN) / len(names))
    colours, limits = _scale(mean, look)
    with styled():
        width_in = max(COLUMN_WIDTH_IN, _NAMES_IN + cell_in * len(names))
        figure = sheet(width_in, _FRAME_IN + cell_in * len(names))
        axes = figure.add_subplot()
        roomy = cell_in >= TWO_LINES_IN
        draw_means(axes, mean, sd, colours, limits, digits=look.digits, roomy=roomy, label="mean")
        shown = [rater_name(name) for name in names]
        axes.set_yticks(range(len(names)), labels=shown, parse_math=False)
        axes.set_xticks(range(len(names)), labels=_short(shown), parse_math=False)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelcolor=INK, pad=2, labelsize=6.5)
        axes.tick_params(axis="x", labelsize=5.5)
        note(figure, f"{plural(int(own['cases'].max()), 'case')}. {how} {_OTHERS}")
        return finished(figure, title)


def _matrix(own: pd.DataFrame, names: list[str], column: str, look: Look | None) -> Floats:
    """The numbers of all pairs, NaN on the diagonal; what has a sign changes it below."""
    matrix = np.full((len(names), len(names)), np.nan)
    sign = -1.0 if look and look.signed else 1.0
    for first, second, value in zip(own["first"], own["second"], own[column], strict=True):
        i, j = names.index(first), names.index(second)
        matrix[i, j], matrix[j, i] = value, sign * value
    return matrix


def _scale(mean: Floats, look: Look) -> tuple[Colormap, tuple[float, float]]:
    known = mean[np.isfinite(mean)]
    largest = float(np.abs(known).max()) if known.size and np.abs(known).max() > 0 else 1.0
    if look.signed:
        return DIVERGING, (-largest, largest)
    if look.share:
        lowest = float(known.min()) if known.size else 0.0
        return SEQUENTIAL, (max(0.0, math.floor(10 * lowest - 1) / 10), 1.0)
    return SEQUENTIAL, (0.0, largest)


def _short(shown: list[str]) -> list[str]:
    """Names for the columns: raters by their number."""
    return [
        name.removeprefix("Rater ")
        .removeprefix("Rater\n")
        .replace("Intersection", "Inter-\nsection")
        for name in shown
    ]
