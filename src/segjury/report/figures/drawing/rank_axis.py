"""The axis of places, from first to last, that figures of ranks share."""

from __future__ import annotations

from matplotlib.axes import Axes

from segjury.report.figures.drawing.style import MUTED

_DIGIT_IN = 0.06
_STEPS = (1, 2, 5, 10, 20, 50, 100)


def place_axis(axes: Axes, places: int, width_in: float) -> None:
    """Places along x, best left, each in a cell of its own; `width_in` is that of the axes."""
    axes.set_xlim(0.5, places + 0.5)
    axes.set_xticks(place_ticks(places, width_in))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)


def place_ticks(places: int, width_in: float) -> list[int]:
    """The places whose numbers are written: all, or as many as stand apart, the first always."""
    needed_in = _DIGIT_IN * (len(str(places)) + 0.5)
    apart = (step for step in _STEPS if step * width_in / places >= needed_in)
    step = next(apart, _STEPS[-1])
    if step <= 2:
        return list(range(1, places + 1, step))
    return [1, *range(step, places + 1, step)]
