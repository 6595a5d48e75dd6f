"""Names of regions, written beside a picture with a line to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from segjury.arrays import Bools
from segjury.report.figures.drawing.style import INK, MUTED
from segjury.wording import wrapped

RIM = withStroke(linewidth=1.6, foreground="black")  # of light letters on an image


@dataclass(frozen=True)
class Callout:
    """A name, the place it belongs to (in the units of the axes) and its colour."""

    name: str
    x: float
    y: float
    colour: str


def anchor(mask: Bools) -> tuple[float, float]:
    """A pixel of a region near its middle: a centre of mass may lie outside it."""
    where = np.argwhere(mask)
    nearest = np.abs(where - where.mean(axis=0)).sum(axis=1).argmin()
    return float(where[nearest, 0]), float(where[nearest, 1])


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places in the order of those wanted, near them, at least `gap` apart, within limits.

    Where the limits are too narrow for that, they are shared evenly.
    """
    if (len(wanted) - 1) * gap > high - low:
        return [float(place) for place in np.linspace(low, high, len(wanted))]
    places = []
    floor = low
    for want in wanted:
        places.append(max(want, floor))
        floor = places[-1] + gap
    ceiling = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], ceiling)
        ceiling = places[i] - gap
    return places


def write_callouts(
    axes: Axes,
    callouts: Sequence[Callout],
    *,
    left: float,
    right: float,
    gap: float,
    inside: bool,
    size: float = 6.0,
    characters: int = 30,
) -> None:
    """Write each name at the nearer of two sides, no two over each other.

    `left` and `right` are where names begin and end; `inside` the picture they grow towards its
    middle and have a dark rim, outside they grow away from it. `gap` is the height of a line.
    A name longer than so many `characters` loses its middle.
    """
    bottom, top = sorted(axes.get_ylim())
    middle = sum(axes.get_xlim()) / 2
    for x, far in ((left, False), (right, True)):
        side = sorted((c for c in callouts if (c.x > middle) == far), key=lambda c: c.y)
        rows = spread([c.y for c in side], gap, bottom + gap, top - gap)
        for callout, y in zip(side, rows, strict=True):
            axes.annotate(
                wrapped(callout.name, width=characters, lines=1),
                (callout.x, callout.y),
                (x, y),
                ha="left" if far != inside else "right",
                va="center",
                fontsize=size,
                color=callout.colour if inside else INK,
                zorder=5,
                label=f"name {callout.name}",
                path_effects=[RIM] if inside else None,
                arrowprops={
                    "arrowstyle": "-",
                    "color": callout.colour if inside else MUTED,
                    "linewidth": 0.5,
                    "shrinkA": 1.0,
                    "shrinkB": 0.0,
                    "relpos": (0.0 if far else 1.0, 0.5),  # from the end towards the picture
                },
                annotation_clip=False,
                parse_math=False,
            )
