"""Vessels as rings: how far around them the raters and a prediction see contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes

from segjury.metrics.invasion import FULL_CIRCLE
from segjury.report.figures.drawing.style import INK, MUTED, RULE
from segjury.report.figures.maps.invasion_angles import RATER
from segjury.wording import number, wrapped

LIMIT = 180.0  # degrees; a vessel with more contact counts as encased
_WALL = 0.74  # radius of the ring
_EDGE = 1.0
_STEPS = 181
_RING_IN, _NAME_IN, _TITLE_IN, _BOTTOM_IN = 1.3, 0.34, 0.2, 0.08
_GAP_IN = 0.14
_MOST_BESIDE = 5


@dataclass(frozen=True)
class Side:
    """Who is drawn where: the radii of the band and of the marks, and their look."""

    name: str
    band: tuple[float, float]
    marks: float
    colour: str
    marker: str


def draw_rings(
    data: pd.DataFrame, vessels: list[str], colour: str, marker: str, *, below_in: float
) -> Figure:
    """A ring per vessel, up to five side by side; raters outside, the prediction inside.

    `below_in` is the room for small print.
    """
    sides = (
        Side("raters", (0.78, 0.88), 0.96, INK, "o"),
        Side("prediction", (0.6, 0.7), 0.51, colour, marker),
    )
    beside = min(len(vessels), _MOST_BESIDE)
    rows = -(-len(vessels) // beside)
    step = _RING_IN + _GAP_IN
    width = max(3.5, _GAP_IN + step * beside)
    height = _TITLE_IN + rows * (_NAME_IN + step) + _BOTTOM_IN + below_in
    figure = Figure(figsize=(width, height))
    for place, vessel in enumerate(vessels):
        row, column = divmod(place, beside)
        top = _TITLE_IN + row * (_NAME_IN + step) + _NAME_IN
        left = (width - step * beside + _GAP_IN) / 2 + column * step
        box = (left / width, 1 - (top + _RING_IN) / height, _RING_IN / width, _RING_IN / height)
        axes = figure.add_axes(box, projection="polar")
        assert isinstance(axes, PolarAxes)  # noqa: S101  (asked for)
        _draw_ring(axes, data[data["structure"] == vessel], sides)
    return figure


def _draw_ring(axes: PolarAxes, data: pd.DataFrame, sides: tuple[Side, Side]) -> None:
    """One vessel: bands over all angles of a side, arcs up to the mean, marks at each angle."""
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    axes.set_axis_off()
    axes.set_ylim(0, _EDGE)
    axes.plot(np.linspace(0, 2 * np.pi, _STEPS), np.full(_STEPS, _WALL), color=RULE, linewidth=0.9)
    axes.plot([np.pi] * 2, [0.42, _EDGE], color=MUTED, linewidth=0.7, dashes=(3, 2))
    small: dict[str, Any] = {"ha": "center", "fontsize": 5.5, "color": MUTED}
    axes.text(np.pi, 1.04, f"{LIMIT:g}°", va="top", **small)
    axes.text(0, 1.04, "0°", va="bottom", **small)
    is_rater = data["item"].str.startswith(RATER, na=False)
    for side, own in zip(sides, (data[is_rater], data[~is_rater]), strict=True):
        if own["angle"].notna().any():
            _draw_side(axes, own["angle"], side, data["structure"].iloc[0])
    _write(axes, data.iloc[0])


def _draw_side(axes: PolarAxes, angles: pd.Series[float], side: Side, vessel: str) -> None:
    theta = np.deg2rad(np.minimum(angles, FULL_CIRCLE))  # a defect of one reading counts further
    inner, outer = side.band
    spread = np.linspace(theta.min(), theta.max(), _STEPS)
    axes.fill_between(spread, inner, outer, color=side.colour, alpha=0.22, linewidth=0)
    axes.plot(
        np.linspace(0, theta.mean(), _STEPS),
        np.full(_STEPS, (inner + outer) / 2),
        color=side.colour,
        linewidth=2.0,
        solid_capstyle="butt",
        label=f"{side.name} mean {vessel}",
    )
    axes.plot(
        theta,
        np.full(len(theta), side.marks),
        side.marker,
        color=side.colour,
        markersize=2.8,
        markeredgewidth=0,
        clip_on=False,
        label=f"{side.name} {vessel}",
    )


def _write(axes: PolarAxes, first: pd.Series[Any]) -> None:
    """The vessel above, the score in the middle, the plane beneath it."""
    look: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "parse_math": False}
    vessel, plane = first["structure"], first["plane"]
    score = f"{number(first['score'], 1)}°"
    axes.text(0.5, 0.51, score, fontsize=8, va="center", **look, label=f"vi {vessel}")
    if isinstance(plane, str):
        axes.text(0.5, 0.42, f"axis {plane}", fontsize=5.5, va="center", color=MUTED, **look)
    name = wrapped(vessel, width=20)
    axes.text(0.5, 1.11, name, fontsize=6.5, va="bottom", linespacing=1.0, **look)
