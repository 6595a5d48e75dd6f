"""Small multiples: the same small plot for every method, on common axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.study import Study
from segjury.report.figures.drawing.marks import draw_mark
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, PAGE_WIDTH_IN
from segjury.wording import wrapped

_LEFT_IN = 0.6
_RIGHT_IN = 0.1
_GAP_IN = 0.14
_TITLE_IN = 0.24
_BOTTOM_IN = 0.4
_LINE_IN = 0.105  # of a name above its plot
_CHARACTER_IN = 0.053
_STRIP_GAP_IN = 0.07
_WIDEST_IN = 2.1
_GRID = "#e6e9ec"


@dataclass(frozen=True)
class SmallMultiples:
    """Where the plots of some methods stand, with a strip beneath each if asked.

    They are placed by hand, and only the outer ones have ticks: laying out and ticking forty axes
    takes longer than all the rest.
    """

    methods: Sequence[str]
    shape: float = 1.0  # height of a plot to its width
    strip_in: float = 0.0

    @property
    def columns(self) -> int:
        """How many stand side by side."""
        count = len(self.methods)
        return count if count <= 4 else 3 if count <= 6 else 4 if count <= 12 else 5

    @property
    def rows(self) -> int:
        """How many stand one below the other."""
        return -(-len(self.methods) // self.columns)

    @property
    def tile_in(self) -> float:
        """The width of a plot."""
        page = COLUMN_WIDTH_IN if self.columns == 1 else PAGE_WIDTH_IN
        room = page - _LEFT_IN - _RIGHT_IN - _GAP_IN * (self.columns - 1)
        return room if self.columns == 1 else min(_WIDEST_IN, room / self.columns)

    @property
    def _plot_in(self) -> float:
        return self.shape * self.tile_in

    @property
    def _name_in(self) -> float:
        return 0.09 + _LINE_IN * max(self._short(m).count("\n") + 1 for m in self.methods)

    @property
    def _row_in(self) -> float:
        strip = _STRIP_GAP_IN + self.strip_in if self.strip_in else 0.0
        return self._name_in + self._plot_in + strip

    @property
    def size_in(self) -> tuple[float, float]:
        """Width and height of the figure."""
        width = _LEFT_IN + self.columns * (self.tile_in + _GAP_IN) - _GAP_IN + _RIGHT_IN
        return width, _TITLE_IN + self.rows * self._row_in + _BOTTOM_IN

    def _short(self, method: str) -> str:
        return wrapped(method, width=int(self.tile_in / _CHARACTER_IN) - 3)

    def figure(self) -> Figure:
        """An empty figure of the right size; call it within `styled()`."""
        return Figure(figsize=self.size_in)

    def plot(self, figure: Figure, index: int) -> Axes:
        """The plot of a method, by its place."""
        return self._axes(figure, index, self._name_in, self._plot_in)

    def strip(self, figure: Figure, index: int) -> Axes:
        """The strip beneath a plot."""
        top_in = self._name_in + self._plot_in + _STRIP_GAP_IN
        return self._axes(figure, index, top_in, self.strip_in)

    def _axes(self, figure: Figure, index: int, top_in: float, height_in: float) -> Axes:
        width, height = self.size_in
        row, column = divmod(index, self.columns)
        left_in = _LEFT_IN + column * (self.tile_in + _GAP_IN)
        bottom_in = height - _TITLE_IN - row * self._row_in - top_in - height_in
        return figure.add_axes(
            (left_in / width, bottom_in / height, self.tile_in / width, height_in / height)
        )

    def is_left(self, index: int) -> bool:
        """Whether a plot begins its row, and so carries the vertical axis."""
        return index % self.columns == 0

    def is_lowest(self, index: int) -> bool:
        """Whether a plot ends its column, and so carries the horizontal axis."""
        return index + self.columns >= len(self.methods)

    def frame(
        self,
        axes: Axes,
        index: int,
        *,
        x: Sequence[float],
        y: Sequence[float],
        x_label: str = "",
        y_label: str = "",
    ) -> None:
        """A grid at the ticks; numbers and words at the outer plots only."""
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        xs, ys = ([v for v in x if left <= v <= right], [v for v in y if low <= v <= high])
        lines = [[(v, low), (v, high)] for v in xs] + [[(left, v), (right, v)] for v in ys]
        axes.add_collection(
            LineCollection(lines, colors=_GRID, linewidths=0.6, zorder=0.5), autolim=False
        )
        shown = xs if self.is_lowest(index) and x_label else []
        axes.set_xticks(shown, labels=[f"{v:g}" for v in shown])
        axes.minorticks_off()
        axes.set_yticks(ys if self.is_left(index) else [])
        self._words(axes, index, x_label, y_label)

    def frame_strip(
        self, axes: Axes, index: int, *, x: Sequence[float], x_label: str, y_label: str
    ) -> None:
        """Numbers and words of a strip, at the outer ones only."""
        left, right = axes.get_xlim()
        axes.set_xticks([v for v in x if left < v <= right] if self.is_lowest(index) else [])
        axes.set_yticks([])
        self._words(axes, index, x_label, y_label)

    def _words(self, axes: Axes, index: int, x_label: str, y_label: str) -> None:
        axes.tick_params(length=2, pad=1.5, labelsize=6)
        if self.is_lowest(index):
            axes.set_xlabel(x_label, labelpad=1)
        if self.is_left(index):
            axes.set_ylabel(y_label, fontsize=6.5)
            axes.yaxis.set_label_coords((0.12 - _LEFT_IN) / self.tile_in, 0.5)

    def name(self, axes: Axes, study: Study, index: int) -> None:
        """The method's name above its plot, its mark before it."""
        method, figure = self.methods[index], axes.get_figure(root=True)
        text = self._short(method)
        above = offset_copy(axes.transAxes, fig=figure, x=9, y=3, units="points")
        axes.text(
            0,
            1,
            text,
            transform=above,
            va="bottom",
            fontsize=6.5,
            linespacing=1.0,
            parse_math=False,
            label=f"name {method}",
        )
        first_line = 6.2 + 7.6 * text.count("\n")
        before = offset_copy(axes.transAxes, fig=figure, x=3.5, y=first_line, units="points")
        draw_mark(axes, study.all_methods, method, (0, 1), before)
