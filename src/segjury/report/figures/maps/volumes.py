"""Predicted against the raters' volumes on all cases, after Bland and Altman."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from segjury.analysis.rater_volumes import (
    chosen_label,
    rater_columns,
    volume_labels,
    volume_parts,
    volumes_of,
)
from segjury.analysis.statistics.bland_altman import LIMIT_SD
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.frame import finished
from segjury.report.figures.drawing.small_multiples import SmallMultiples
from segjury.report.figures.drawing.style import INK, method_colours, method_markers, styled
from segjury.report.figures.kind import Kind, Subject
from segjury.results.columns import WHOLE
from segjury.wording import number, plain

_SHAPE = 0.8  # height of a plot to its width
_WIDE = 20.0  # volumes that differ by more than so many times are on a logarithmic axis
_USUAL = 0.95  # share of the differences that decides how far the axis reaches
_NEAR = 1.5
_LEAST = 135.0  # no difference is below -100 %; the rest is for the words
_FEW_CASES = 24
_TWO_DIGITS = 10.0
_RANGE = "#b9c0c8"
_CORNERS = ((0.97, 0.03), (0.97, 0.97), (0.03, 0.03), (0.03, 0.97))
_WORDS = (0.42, 0.14)  # width and height of what is written in a corner


def volumes(scores: Scores, structure: str | None = None) -> Figure:
    """Predicted minus mean rater volume against that mean: a plot per method, a mark per case.

    In per cent of the raters' mean, so that small volumes are seen too. A grey bar is the range of
    the raters; the lines are the method's mean difference and 1.96 SD to either side. Of the first
    label, unless told.
    """
    study = study_of(scores)
    data = volumes_data(study, structure)
    methods, label = list(data["method"].unique()), data["structure"].iloc[0]
    tiles = SmallMultiples(methods, shape=_SHAPE)
    with styled():
        figure = tiles.figure()
        for index, method in enumerate(methods):
            axes = tiles.plot(figure, index)
            x, y = _set_limits(axes, data)
            _draw(axes, study, data[data["method"] == method])
            tiles.frame(
                axes,
                index,
                x=x,
                y=y,
                x_label="mean of the raters, cm³",
                y_label="difference, %",
            )
            tiles.name(axes, study, index)
        return finished(figure, f"Volumes{'' if label == WHOLE else f', {plain(label)}'}")


def _set_limits(axes: Axes, data: pd.DataFrame) -> tuple[Sequence[float], Sequence[float]]:
    """The same limits for every method, and where their ticks are."""
    low, high = data["mean_cm3"].min(), data["mean_cm3"].max()
    if high > _WIDE * low:
        axes.set_xscale("log")
        axes.set_xlim(0.8 * low, 1.25 * high)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        x = [10.0**power for power in powers]
    else:
        room = 0.06 * (high - low) or 0.1 * low
        axes.set_xlim(low - room, high + room)
        x = _round_numbers(*axes.get_xlim())
    reach = _reach(data)
    axes.set_ylim(-min(reach, _LEAST), reach)
    return x, _round_numbers(*axes.get_ylim())


def _reach(data: pd.DataFrame) -> float:
    """How far the axis goes: over all raters, and all differences but the few far beyond."""
    missed = data["difference_percent"].abs()
    usual = max(data["high_percent"].max(), -data["low_percent"].min(), missed.quantile(_USUAL))
    near = missed[missed <= _NEAR * usual]
    return 1.12 * max([usual, *near]) or 1.0


def _round_numbers(low: float, high: float) -> list[float]:
    return [float(v) for v in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)]


def _draw(axes: Axes, study: Study, data: pd.DataFrame) -> None:
    """The raters' ranges, the method's mean difference and limits, and its marks."""
    method, first = data["method"].iloc[0], data.iloc[0]
    few = len(data) <= _FEW_CASES
    axes.axhline(0, color=INK, linewidth=0.6, zorder=1)
    axes.vlines(
        data["mean_cm3"],
        data["low_percent"],
        data["high_percent"],
        colors=_RANGE,
        linewidth=2.4 if few else 1.2,
        zorder=2,
        label=f"raters {method}",
    )
    lines: dict[str, Any] = {
        "color": method_colours(study.all_methods)[method],
        "linewidth": 0.9,
        "zorder": 3,
    }
    axes.axhline(first["bias_percent"], **lines, label=f"bias {method}")
    for end in ("lower", "upper"):
        if math.isfinite(first[f"{end}_percent"]):
            axes.axhline(first[f"{end}_percent"], **lines, dashes=(3, 2), label=f"{end} {method}")
    _draw_marks(axes, study, data, 4.2 if few else 3.0)
    x, y = _free_corner(axes, data)
    axes.text(
        x,
        y,
        f"mean {_signed(first['bias_percent'])}",
        transform=axes.transAxes,
        ha="right" if x > 0.5 else "left",
        va="top" if y > 0.5 else "bottom",
        fontsize=6,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85},
        zorder=3.5,
        label=f"mean {method}",
    )


def _free_corner(axes: Axes, data: pd.DataFrame) -> tuple[float, float]:
    """The corner of the axes with the fewest marks, the lower right one if it has none."""
    marks = data[["mean_cm3", "difference_percent"]].to_numpy(np.float64)
    places = (axes.transScale + axes.transLimits).transform(marks)
    return min(
        _CORNERS, key=lambda corner: int((np.abs(places - corner) < _WORDS).all(axis=1).sum())
    )


def _draw_marks(axes: Axes, study: Study, data: pd.DataFrame, size: float) -> None:
    """A mark per case; hollow at the edge where the difference is beyond it."""
    method, reach = data["method"].iloc[0], axes.get_ylim()[1]
    x, y = data["mean_cm3"], data["difference_percent"]
    inside = y.abs() <= reach
    look: dict[str, Any] = {
        "linestyle": "",
        "marker": method_markers(study.all_methods)[method],
        "markersize": size,
    }
    look |= {"color": method_colours(study.all_methods)[method], "zorder": 4}
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
    axes.plot(x[inside], y[inside], **look, **edge, label=f"cases {method}")
    if not inside.all():
        look |= {"markerfacecolor": "white", "markeredgewidth": 0.8}
        at = 0.95 * reach * np.sign(y[~inside])
        axes.plot(x[~inside], at, **look, label=f"beyond {method}")


def _signed(percent: float) -> str:
    text = number(percent, 1 if abs(percent) < _TWO_DIGITS else 0)
    return f"{'+' if percent > 0 else ''}{text} %"


def volumes_data(study: Study, structure: str | None = None) -> pd.DataFrame:
    """Mean and range of the raters, prediction and difference of each case, and their summary.

    Per cent are of the raters' mean, which must be above 0. `lower` and `upper` are 1.96 sample SD
    from the mean difference `bias`; empty for one case.
    """
    parts = volume_parts(study)
    label = chosen_label(parts, structure)
    table = volumes_of(parts, label)
    raters = table[rater_columns(table)]
    data = table[["method", "case"]].assign(
        structure=label,
        mean_cm3=raters.mean(axis=1),
        low_cm3=raters.min(axis=1),
        high_cm3=raters.max(axis=1),
        predicted_cm3=table["predicted"],
    )
    data = data[data["mean_cm3"] > 0]
    for name, of in (("low", "low"), ("high", "high"), ("difference", "predicted")):
        data[f"{name}_percent"] = 100 * (data[f"{of}_cm3"] / data["mean_cm3"] - 1)
    by_method = data.groupby("method")["difference_percent"]
    bias, reach = by_method.transform("mean"), LIMIT_SD * by_method.transform("std")
    data = data.assign(bias_percent=bias, lower_percent=bias - reach, upper_percent=bias + reach)
    order = {method: place for place, method in enumerate(study.methods)}
    return data.sort_values(
        "method", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def volumes_alt(study: Study, structure: str | None = None) -> str:
    """Every method's mean difference, and how often it is within the raters' range."""
    data = volumes_data(study, structure)
    inside = data["predicted_cm3"].between(data["low_cm3"], data["high_cm3"])
    each = []
    for method, own in data.groupby("method", sort=False):
        bias = _signed(own["bias_percent"].iloc[0])
        each.append(f"{plain(method)} {bias} ({inside[own.index].sum()} of {len(own)})")
    label = data["structure"].iloc[0]
    return (
        f"Predicted against mean rater volumes{'' if label == WHOLE else f' of {plain(label)}'}, "
        f"a plot per method. Mean difference, and cases within the range of the raters: "
        f"{', '.join(each)}."
    )


def volumes_subjects(study: Study) -> list[Subject]:
    """Each label, if there are several cases."""
    labels = volume_labels(volume_parts(study))
    if len(study.analysis.panel.cases) < 2:
        return []
    return [{} if label == WHOLE else {"structure": label} for label in labels]


VOLUMES = Kind(
    name="volumes",
    title="Volumes",
    help="A mark per case: predicted minus mean rater volume, in per cent of it; the grey bar is "
    "the raters' range, the lines are the mean difference and 1.96 SD. Hollow marks lie beyond.",
    section="maps",
    draw=volumes,
    data=volumes_data,
    alt=volumes_alt,
    subjects=volumes_subjects,
    takes=("structure",),
)
KINDS = (VOLUMES,)
