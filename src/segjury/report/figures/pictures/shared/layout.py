"""Where the tiles of a picture lie: a large one first, then one per method; a legend below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.report.figures.drawing.style import MUTED, PAGE_WIDTH_IN
from segjury.wording import plain, wrapped

GAP_IN = 0.06
TITLE_IN = 0.22
NAME_WIDTH = 23  # characters of a name on a line
_NAME_IN = 0.17  # room above a tile for a name of one line, and for each line more
_LINE_IN = 0.11
_TITLE_WIDTH = 40  # characters
_TITLE_CHARACTER_IN = 0.074
_NOTE_CHARACTER_IN = 0.058
_LEAST_TITLE = 12  # characters
_ASPECTS = (0.55, 1.7)  # height by width of a tile; beyond, room is left beside the picture


@dataclass(frozen=True)
class Spot:
    """A place for a tile, in inches from the upper left corner of a figure."""

    left_in: float
    top_in: float
    width_in: float
    height_in: float

    def axes(self, figure: Figure) -> Axes:
        """Empty axes there."""
        width, height = figure.get_size_inches()
        bottom_in = height - self.top_in - self.height_in
        axes = figure.add_axes(
            (
                self.left_in / width,
                bottom_in / height,
                self.width_in / width,
                self.height_in / height,
            )
        )
        axes.set(xticks=[], yticks=[])
        return axes


@dataclass(frozen=True)
class Mosaic:
    """A large tile of 2 x 2 places, then small ones: right of it first, then below."""

    methods: int
    columns: int
    rows: int
    aspect: float
    name_in: float
    below_in: float

    @classmethod
    def of(cls, methods: Sequence[str], *, aspect: float, below_in: float = 0.0) -> Mosaic:
        """The places for these methods; `aspect` is height by width, `below_in` for the legend."""
        count = len(methods)
        beside = 2 if count == 1 else min(3, -(-count // 2))
        rest = max(0, count - 2 * beside)
        return cls(
            methods=count,
            columns=2 + beside,
            rows=2 + -(-rest // (2 + beside)),
            aspect=min(max(aspect, _ASPECTS[0]), _ASPECTS[1]),
            name_in=name_height(methods),
            below_in=below_in,
        )

    @property
    def width_in(self) -> float:
        """Width of the picture."""
        return PAGE_WIDTH_IN if self.methods else PAGE_WIDTH_IN / 2

    @property
    def tile_in(self) -> float:
        """Width of a small tile."""
        return (self.width_in - (self.columns - 1) * GAP_IN) / self.columns

    @property
    def height_in(self) -> float:
        """Height of the picture."""
        return TITLE_IN + self.rows * self._row_in + self.below_in

    @property
    def _row_in(self) -> float:
        return self.tile_in * self.aspect + self.name_in

    @property
    def large_in(self) -> float:
        """Width of the large tile."""
        return 2 * self.tile_in + GAP_IN

    def figure(self, title: str, note: str) -> Figure:
        """The empty picture with its title; call it within `styled()`."""
        figure = Figure(figsize=(self.width_in, self.height_in))
        title_picture(figure, title, note)
        return figure

    def large(self, figure: Figure) -> Axes:
        """The first tile."""
        return self._axes(figure, 0, 0, span=2)

    def method(self, figure: Figure, index: int) -> Axes:
        """The tile of a method."""
        if self.methods == 1:
            return self._axes(figure, 0, 2, span=2)
        beside = self.columns - 2
        if index < 2 * beside:
            return self._axes(figure, index // beside, 2 + index % beside, span=1)
        index -= 2 * beside
        return self._axes(figure, 2 + index // self.columns, index % self.columns, span=1)

    @property
    def method_in(self) -> float:
        """Width of a method's tile."""
        return self.large_in if self.methods == 1 else self.tile_in

    @property
    def beside_in(self) -> float:
        """Where the methods' tiles begin, right of the large one."""
        return self.large_in + GAP_IN

    def _axes(self, figure: Figure, row: int, column: int, *, span: int) -> Axes:
        return Spot(
            left_in=column * (self.tile_in + GAP_IN),
            top_in=TITLE_IN + row * self._row_in + self.name_in,
            width_in=span * self.tile_in + (span - 1) * GAP_IN,
            height_in=span * self.tile_in * self.aspect + (span - 1) * self.name_in,
        ).axes(figure)


def name_height(names: Sequence[str], width: int = NAME_WIDTH) -> float:
    """Room for names above tiles, in inches."""
    lines = max((wrapped(name, width=width).count("\n") for name in names), default=0)
    return _NAME_IN + lines * _LINE_IN


def title_picture(figure: Figure, title: str, note: str) -> None:
    """Write the title of a picture, and behind it what is shown; both lose what has no room."""
    width_in, height_in = figure.get_size_inches()
    beside_note_in = width_in - _NOTE_CHARACTER_IN * len(plain(note))
    characters = min(_TITLE_WIDTH, max(_LEAST_TITLE, int(beside_note_in / _TITLE_CHARACTER_IN)))
    name = wrapped(title, width=characters, lines=1)
    title_in = _TITLE_CHARACTER_IN * len(name) + 0.06
    top = 1.0 - 0.02 / height_in
    figure.text(
        0.0, top, name, va="top", fontsize=8, fontweight="bold", parse_math=False, label="title"
    )
    behind = offset_copy(figure.transFigure, fig=figure, x=title_in)
    figure.text(
        0.0,
        top - 0.012 / height_in,  # on the line of the larger type
        wrapped(note, width=int((width_in - title_in) / _NOTE_CHARACTER_IN), lines=1),
        va="top",
        transform=behind,
        fontsize=7,
        color=MUTED,
        parse_math=False,
        label="note",
    )
