"""A box of values: its quartiles and whiskers, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from segjury.analysis.columns import Column
from segjury.arrays import Floats
from segjury.report.figures.drawing.style import INK


@dataclass(frozen=True)
class Box:
    """Quartiles and Tukey whiskers (the last values within 1.5 IQR of the box)."""

    low: float
    q1: float
    median: float
    q3: float
    high: float


NO_BOX = Box(*[np.nan] * 5)


def box(values: Floats) -> Box:
    """The box of some finite values; all NaN where there are none."""
    if not values.size:
        return NO_BOX
    q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return Box(float(inside.min()), q1, median, q3, float(inside.max()))


def draw_box(
    axes: Axes, shape: Box, y: float, half: float, *, colour: str, fill: float, label: str
) -> None:
    """A lying box `half` to either side of `y`, filled to a share; its median in ink.

    Without quartiles it is a line over the range, with the median.
    """
    boxed = np.isfinite(shape.q1)
    ends = [shape.low, shape.q1, np.nan, shape.q3, shape.high] if boxed else [shape.low, shape.high]
    axes.plot(
        ends,
        [y] * len(ends),
        color=colour,
        linewidth=0.8,
        solid_capstyle="butt",
        label=f"whiskers {label}",
    )
    if boxed:
        axes.add_patch(
            Rectangle(
                (shape.q1, y - half),
                shape.q3 - shape.q1,
                2 * half,
                facecolor=to_rgba(colour, fill),
                edgecolor=colour,
                linewidth=0.8,
                label=f"box {label}",
            )
        )
    axes.plot(
        [shape.median, shape.median],
        [y - half, y + half],
        color=INK,
        linewidth=1.4,
        solid_capstyle="butt",
        zorder=4,
        label=f"median {label}",
    )


def value_label(about: Column) -> str:
    """The words at an axis of values: the unit, and which end is better."""
    better = {"higher": "higher is better →", "lower": "← lower is better"}.get(about.direction, "")
    return "   ".join(part for part in (about.unit, better) if part)
