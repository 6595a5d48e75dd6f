"""The volume score as a picture: the raters' distribution, a predicted volume, the area between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.columns import decimals
from segjury.analysis.rater_volumes import (
    METRIC,
    typical_and_disputed,
    volume_labels,
    volume_parts,
    volumes_of,
)
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.frame import (
    column_width,
    finished,
    name_rows,
    rows_height,
    sheet,
)
from segjury.report.figures.drawing.style import (
    INK,
    MUTED,
    NOTHING,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject
from segjury.report.figures.maps.volume_curves import (
    AREA,
    CRPS,
    DENSITY,
    DISTRIBUTION,
    PREDICTED,
    RATER,
    REACH_SD,
    SCORE,
    volume_data,
)
from segjury.results.columns import WHOLE
from segjury.wording import number, plain

_FAR = 4.0  # times the median miss: predictions beyond are cut off at the edge
_DENSITY_IN, _STEPS_IN, _ONE_ROW_IN, _FRAME_IN = 0.5, 0.85, 0.75, 0.75


def volume(
    scores: Scores,
    case: str | None = None,
    method: str | None = None,
    structure: str | None = None,
) -> Figure:
    """The volumes of a case: a Gaussian of the raters', its distribution F, steps H, `(F - H)²`.

    H is 1 from the predicted volume on; the area of `(F - H)²` is the CRPS. Of one method or of
    all, of the typical case and of the first label, unless told.
    """
    study = study_of(scores)
    data = volume_data(study, case, method, structure)
    methods = list(data[data["part"] == SCORE]["of"])
    with styled():
        rows_in = _ONE_ROW_IN if method else rows_height(methods)
        heights = (_DENSITY_IN, _STEPS_IN, rows_in)
        figure = sheet(column_width(methods, 2.3), _FRAME_IN + sum(heights))
        density, steps, rows = figure.subplots(3, 1, sharex=True, height_ratios=heights)
        rows.set_xlim(*_limits(data))
        _draw_density(density, data)
        _draw_steps(steps, study, data, shaded=method is not None)
        name_rows(rows, study, methods)
        for y, name in enumerate(methods):
            _draw_row(rows, study, data, name, y)
        _frame(density, steps, rows)
        return finished(figure, f"Volume and CRPS: {_about(data)}")


def _draw_density(axes: Axes, data: pd.DataFrame) -> None:
    """The Gaussian of the raters' mean and SD, and a tick for each rater."""
    curve, raters = data[data["part"] == DENSITY], data[data["part"] == RATER]
    top = curve["value"].max() if len(curve) else 1.0
    axes.fill_between(curve["volume_cm3"], curve["value"], color=NOTHING, linewidth=0)
    axes.plot(curve["volume_cm3"], curve["value"], color=MUTED, linewidth=1.0, label="density")
    axes.plot(
        raters["volume_cm3"],
        np.full(len(raters), 0.1 * top),
        "|",
        color=INK,
        markersize=7,
        markeredgewidth=1.1,
        label="rater volumes",
    )
    axes.set_ylim(0, 1.15 * top)


def _draw_steps(axes: Axes, study: Study, data: pd.DataFrame, *, shaded: bool) -> None:
    """The distribution function of the raters' volumes, and a step per prediction."""
    curve, steps = data[data["part"] == DISTRIBUTION], data[data["part"] == PREDICTED]
    axes.plot(curve["volume_cm3"], curve["value"], color=INK, zorder=3, label="distribution")
    ends = _limits(data) if shaded else ()  # of several only the rise, as their ends coincide
    for place, (name, x) in enumerate(zip(steps["of"], steps["volume_cm3"], strict=True)):
        look: dict[str, Any] = {
            "color": method_colours(study.all_methods)[name],
            "marker": method_markers(study.all_methods)[name],
        }
        look |= {"markersize": 4, "markeredgewidth": 0}
        rise = [(x, 0.0), (x, 1 - (place + 1) / (len(steps) + 1)), (x, 1.0)]
        points = [(ends[0], 0.0), *rise, (ends[1], 1.0)] if ends else rise
        mark = [points.index(rise[1])]
        axes.plot(*zip(*points, strict=True), **look, markevery=mark, label=f"step {name}")
        if shaded:
            own = data[(data["part"] == AREA) & (data["of"] == name)]
            _shade(axes, own, x, method_colours(study.all_methods)[name])
    axes.set_ylim(-0.05, 1.05)


def _shade(axes: Axes, squares: pd.DataFrame, predicted: float, colour: str) -> None:
    """Between F and H, which differ by the root of the square."""
    points, apart = squares["volume_cm3"].to_numpy(), np.sqrt(squares["value"].to_numpy())
    step = np.arange(points.size) > np.searchsorted(points, predicted)
    between = np.where(step, 1 - apart, apart)
    axes.fill_between(points, between, step, color=colour, alpha=0.18, linewidth=0)


def _draw_row(axes: Axes, study: Study, data: pd.DataFrame, method: str, y: int) -> None:
    """`(F - H)²` above the row's base line, filled, and its area in numbers.

    A row is 1 high, so that the filled area is the CRPS.
    """
    own = data[data["of"] == method].groupby("part")
    colour, base = method_colours(study.all_methods)[method], y + 0.5
    said = own.get_group(SCORE)["value"].iloc[0]
    digits = decimals(METRIC, [said])
    text, ink = number(said, digits), MUTED
    if AREA in own.groups:
        curve = own.get_group(AREA)
        axes.fill_between(
            curve["volume_cm3"],
            base,
            base - curve["value"],
            facecolor=colour,
            alpha=0.75,
            linewidth=0,
            label=f"area {method}",
        )
        text, ink = number(own.get_group(CRPS)["value"].iloc[0], digits), INK
        _mark_prediction(axes, float(own.get_group(PREDICTED)["volume_cm3"].iloc[0]), y, method)
    else:
        left = axes.get_xlim()[0]
        axes.text(left, y, " no prediction", va="center", fontsize=6, color=MUTED)
    axes.axhline(base, color=NOTHING, linewidth=0.6, zorder=0)
    axes.annotate(
        text,
        (1, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=6.5,
        color=ink,
        label=f"crps {method}",
    )


def _mark_prediction(axes: Axes, place: float, y: int, method: str) -> None:
    """A tick on the base line; an arrow at the edge for a volume beyond it."""
    low, high = axes.get_xlim()
    if low <= place <= high:
        look: dict[str, Any] = {"marker": "|", "color": INK, "markersize": 4, "clip_on": False}
        axes.plot(place, y + 0.5, **look, label=f"prediction {method}")
        return
    right = place > high
    axes.text(
        high if right else low,
        y + 0.05,
        f"{number(place, 1)} →" if right else f"← {number(place, 1)}",
        ha="right" if right else "left",
        va="center",
        fontsize=6,
        label=f"beyond {method}",
    )


def _frame(density: Axes, steps: Axes, rows: Axes) -> None:
    density.set(yticks=[], ylabel="density")
    steps.set(yticks=[0, 1], ylabel="F and H")
    rows.set(xlabel="volume, cm³")
    for axes in (density, steps):
        axes.tick_params(axis="x", length=0)
    density.spines["left"].set_visible(False)
    rows.spines["left"].set_visible(False)
    rows.annotate(
        "CRPS, cm³",
        (1, 1),
        xycoords="axes fraction",
        xytext=(4, 2),
        textcoords="offset points",
        fontsize=6,
        color=MUTED,
    )
    steps.grid(axis="x")
    rows.grid(axis="x")


def _limits(data: pd.DataFrame) -> tuple[float, float]:
    """All of the raters' distribution, and the predictions that are not far off."""
    raters = data[data["part"] == RATER]["volume_cm3"]
    mean, reach = raters.mean(), REACH_SD * raters.std(ddof=0)
    predicted = data[data["part"] == PREDICTED]["volume_cm3"]
    miss = (predicted - mean).abs()
    near = predicted[miss <= max(_FAR * miss.median(), 2 * reach)]
    low, high = min([mean - reach, *near]), max([mean + reach, *near])
    room = 0.04 * (high - low) or 1.0
    return max(low - room, min(0.0, low)), high + room


def _about(data: pd.DataFrame) -> str:
    case, label = data[["case", "structure"]].iloc[0]
    return f"case {plain(case)}" + ("" if label == WHOLE else f", {plain(label)}")


def volume_alt(
    study: Study,
    case: str | None = None,
    method: str | None = None,
    structure: str | None = None,
) -> str:
    """The raters' mean and SD, every predicted volume and its score."""
    data = volume_data(study, case, method, structure)
    raters = data[data["part"] == RATER]["volume_cm3"]
    predicted, area = (
        data[data["part"] == part].set_index("of")[of]
        for part, of in ((PREDICTED, "volume_cm3"), (CRPS, "value"))
    )
    digits = decimals(METRIC, list(area))
    each = (
        f"{plain(name)} {number(predicted[name], 1)} ({number(area[name], digits)})"
        for name in predicted.index
    )
    return (
        f"Volumes of {_about(data)} in cm³. Raters: mean "
        f"{number(raters.mean(), 1)}, SD {number(raters.std(ddof=0), 1)}, from "
        f"{number(raters.min(), 1)} to {number(raters.max(), 1)}. "
        f"Predicted, and CRPS: {', '.join(each)}."
    )


def volume_subjects(study: Study) -> list[Subject]:
    """Of each label, the typical case and the one on which the raters' volumes differ most."""
    parts = volume_parts(study)
    return [
        {"case": case} | ({} if label == WHOLE else {"structure": label})
        for label in volume_labels(parts)
        for case in typical_and_disputed(study, volumes_of(parts, label), label)
    ]


VOLUME = Kind(
    name="volume",
    title="Volume and CRPS",
    help="Ticks are the raters' volumes, F the distribution they make, H a step at the predicted "
    "volume; the filled area, that of their squared difference, is the CRPS, smaller is better.",
    section="maps",
    draw=volume,
    data=volume_data,
    alt=volume_alt,
    subjects=volume_subjects,
    takes=("case", "method", "structure"),
)
KINDS = (VOLUME,)
