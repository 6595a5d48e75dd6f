"""A key of methods: their marks and names in order, where they cannot stand at rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.report.figures.drawing.frame import NAME_WIDTH
from segjury.report.figures.drawing.style import method_colours, method_markers
from segjury.wording import wrapped

NUMBER_POINTS = 12  # room for a number before a mark
_ROW_IN, _LINE_IN = 0.155, 0.1  # a name, and each line more that it takes


def key_height(methods: Sequence[str]) -> float:
    """How high the key is, in inches."""
    return float(_heights(methods).sum())


def draw_key(axes: Axes, study: Study, height_in: float, *, numbered: bool = False) -> None:
    """Write the key from the top of axes so high; numbered from 1 if told."""
    heights = _heights(study.methods)
    axes.set_axis_off()
    axes.set_ylim(height_in, 0)
    start, figure = axes.get_yaxis_transform(), axes.get_figure(root=True)
    middles = np.cumsum(heights) - heights / 2
    indent = NUMBER_POINTS if numbered else 0
    for number, (y, method) in enumerate(zip(middles, study.methods, strict=True), 1):
        axes.plot(
            0,
            y,
            marker=method_markers(study.all_methods)[method],
            color=method_colours(study.all_methods)[method],
            markersize=4.5,
            markeredgewidth=0,
            transform=offset_copy(start, figure, x=6 + indent, units="points"),
            clip_on=False,
            label=f"mark {method}",
        )
        if numbered:
            axes.text(
                0,
                y,
                str(number),
                transform=offset_copy(start, figure, x=indent, units="points"),
                ha="right",
                va="center",
                fontsize=6.5,
                in_layout=False,
                label=f"number {method}",
            )
        axes.text(
            0,
            y,
            wrapped(method, width=NAME_WIDTH),
            transform=offset_copy(start, figure, x=12 + indent, units="points"),
            va="center",
            fontsize=6.5,
            linespacing=1.0,
            parse_math=False,
            in_layout=False,
            label=f"name {method}",
        )


def _heights(methods: Sequence[str]) -> Floats:
    more_lines = [wrapped(method, width=NAME_WIDTH).count("\n") for method in methods]
    return np.asarray(_ROW_IN + _LINE_IN * np.array(more_lines))
