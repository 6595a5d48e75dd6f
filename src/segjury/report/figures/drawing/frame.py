"""What figures of methods share: the sheet, its title, and rows that carry a method's name."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.study import Study
from segjury.report.figures.drawing.marks import draw_mark
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, INK, MUTED, frozen_layout
from segjury.wording import plain, wrapped

_ROW_IN = 0.17  # a row with a name of one line, and what each line more takes
_LINE_IN = 0.1
NAME_WIDTH = 24  # characters of a name on a line
_CHARACTER_IN = 0.052
_TITLE_CHARACTER_IN = 0.079
_TITLE_LINE_IN = 0.14
_TITLE_PAD_IN = 0.042  # above the title, as the layout engine has it
_SMALL_PRINT = 5.5  # points
_SMALL_CHARACTER_IN = 0.043


def sheet(width_in: float, height_in: float) -> Figure:
    """An empty figure, laid out when it is `finished`; call it within `styled()`."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def finished(figure: Figure, title: str) -> Figure:
    """The figure with its title, laid out for good; for a long title it grows by its lines."""
    width_in, height_in = figure.get_size_inches()
    lines = textwrap.wrap(plain(title), int((width_in - 0.1) / _TITLE_CHARACTER_IN))
    figure.set_size_inches(width_in, height_in + _TITLE_LINE_IN * max(0, len(lines) - 1))
    text = figure.suptitle(
        "\n".join(lines), x=0.012, ha="left", fontsize=8, fontweight="bold", parse_math=False
    )
    if figure.get_layout_engine() is None:
        text.set_y(1 - _TITLE_PAD_IN / figure.get_figheight())
    return frozen_layout(figure)


def note(figure: Figure, text: str) -> None:
    """Write small print under the figure, wrapped to its width; the figure grows by its lines."""
    width_in, height_in = figure.get_size_inches()
    characters = int((width_in - 0.1) / _SMALL_CHARACTER_IN)
    lines = textwrap.wrap(plain(text), characters, break_on_hyphens=False)
    figure.set_size_inches(width_in, height_in + _LINE_IN * len(lines))
    figure.supxlabel(
        "\n".join(lines),
        x=0.012,
        ha="left",
        fontsize=_SMALL_PRINT,
        color=MUTED,
        parse_math=False,
    )


def width_of_names(methods: Sequence[str]) -> float:
    """How wide the names of methods are, in inches."""
    lines = [line for name in methods for line in wrapped(name, width=NAME_WIDTH).split("\n")]
    return _CHARACTER_IN * max(map(len, lines), default=0)


def rows_height(methods: Sequence[str], least: int = 2) -> float:
    """How high rows are that carry these names, in inches; at least as many as told."""
    lines = max((wrapped(name, width=NAME_WIDTH).count("\n") for name in methods), default=0)
    return (_ROW_IN + _LINE_IN * lines) * max(least, len(methods))


def column_width(methods: Sequence[str], plot_in: float = 2.4) -> float:
    """A paper's column, wider where long names would leave the plot less than `plot_in`."""
    return max(COLUMN_WIDTH_IN, plot_in + 0.35 + width_of_names(methods))


def name_rows(axes: Axes, study: Study, methods: Sequence[str], *, numbered: bool = False) -> None:
    """Write each method and its mark left of its row; the first is on top."""
    names = [wrapped(method, width=NAME_WIDTH) for method in methods]
    if numbered:
        names = [f"{name}  {n}" for n, name in enumerate(names, 1)]
    axes.set_yticks(range(len(methods)), labels=names, parse_math=False, linespacing=1.0)
    axes.tick_params(axis="y", length=0, pad=11, labelcolor=INK, labelsize=6.5)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    before = offset_copy(
        axes.get_yaxis_transform(), fig=axes.get_figure(root=True), x=-6, units="points"
    )
    for y, method in enumerate(methods):
        draw_mark(axes, study.all_methods, method, (0, y), before)


def title_rows(axes: Axes, titles: Sequence[str], *, numbered: bool = False) -> None:
    """Write the title of a score left of its row; the first is on top."""
    names = [wrapped(title, width=NAME_WIDTH) for title in titles]
    if numbered:
        names = [f"{name}  {n}" for n, name in enumerate(names, 1)]
    axes.set_yticks(range(len(names)), labels=names, parse_math=False, linespacing=1.0)
    axes.tick_params(axis="y", length=0, pad=4, labelcolor=INK, labelsize=6.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
