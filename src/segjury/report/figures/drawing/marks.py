"""The marks of methods: drawn beside their names, and as outlines for pages."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import Transform

from segjury.report.figures.drawing.style import method_colours, method_markers

# SVG paths in a box from -6 to 6, one for each of `style.MARKERS`
MARK_PATHS = {
    "o": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "s": "M-4-4h8v8h-8z",
    "^": "M0-4.5L4.8 4H-4.8z",
    "D": "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "v": "M0 4.5L4.8-4H-4.8z",
    "P": "M-1.7-4.8h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1v-3.4h3.1z",
    "X": "M-4.6-2.3L-2.3-4.6L0-2.3L2.3-4.6L4.6-2.3L2.3 0L4.6 2.3L2.3 4.6L0 2.3L-2.3 4.6L-4.6 2.3"
    "L-2.3 0z",
    "<": "M-4.5 0L4-4.8V4.8z",
    ">": "M4.5 0L-4-4.8V4.8z",
    "p": "M0-5L4.8-1.5L2.9 4H-2.9L-4.8-1.5z",
}


def draw_mark(
    axes: Axes, methods: Sequence[str], method: str, at: tuple[float, float], where: Transform
) -> None:
    """The mark of one of the methods, beside its name."""
    axes.add_artist(
        Line2D(
            [at[0]],
            [at[1]],
            transform=where,
            marker=method_markers(methods)[method],
            color=method_colours(methods)[method],
            markersize=4.5,
            markeredgewidth=0,
            linestyle="",
            clip_on=False,
            label=f"mark {method}",
        )
    )
