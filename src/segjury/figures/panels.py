"""Pictures of one case: what the raters drew, and what each method drew on the same slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from segjury.figures.slices import Mask, choose_slice, to_lps
from segjury.figures.style import PAGE_WIDTH_IN, method_colours, method_markers, plain, styled
from segjury.figures.tiles import (
    BACKGROUND,
    PREDICTION_COLOUR,
    flat,
    grey,
    method_tile,
    name_tile,
    rater_colour,
    rater_tile,
    short,
    vessel_colour,
)
from segjury.volume import IDENTITY, Direction, Triple

_GAP_IN = 0.06
_NAME_IN = 0.17  # room above a tile for a name of one line, and for each line more
_LINE_IN = 0.11
_TITLE_IN = 0.22
_LEGEND_IN = 0.46
_Entry = tuple[str, str, Literal["-", "--"]]  # label, colour and line of a legend


def case_panel(
    image: NDArray[Any] | None,
    raters: Mapping[str, Mask],
    vessels: Mapping[str, Mask],
    predictions: Mapping[str, Mask],
    probabilities: Mapping[str, NDArray[Any]] | None = None,
    *,
    spacing_mm: Triple,
    title: str = "",
    direction: Direction = IDENTITY,
    everyone: Iterable[str] = (),
) -> Figure:
    """One axial slice: the raters' contours on CT, then each method's with the vessels.

    The slice is the one on which the raters differ most (else the largest lesion), seen as usual:
    anterior up, the patient's left on the right. Without an image the ground is grey. Arrays have
    axes x, y, z; `direction` says where these point (columns, LPS). `everyone` names all methods
    of the report, so that a method keeps its colour when only some are shown.
    """
    view = choose_slice(raters, predictions, spacing_mm, direction)

    def cut(array: NDArray[Any]) -> NDArray[Any]:
        return view.cut(to_lps(array, direction))

    ground = grey(cut(image)) if image is not None else flat(view)
    drawn = {name: cut(mask).astype(bool) for name, mask in raters.items()}
    tubes = {name: cut(mask).astype(bool) for name, mask in vessels.items()}
    shares = probabilities or {}
    names = sorted({*predictions, *everyone})
    colours, markers = method_colours(names), method_markers(names)
    lines = max((short(name).count("\n") for name in predictions), default=0)
    layout = _Layout.of(
        len(predictions), name_in=_NAME_IN + lines * _LINE_IN, top_in=_TITLE_IN if title else 0.0
    )
    with styled():
        figure = Figure(figsize=(layout.width_in, layout.height_in))
        rater_tile(layout.raters(figure), view, ground, tubes, drawn)
        for index, (method, mask) in enumerate(predictions.items()):
            axes = layout.method(figure, index)
            veil = cut(shares[method]) if method in shares else None
            method_tile(axes, view, ground, tubes, drawn, cut(mask).astype(bool), veil)
            name_tile(axes, method, colours[method], markers[method])
        _legends(figure, layout, list(raters), tubes)
        if title:
            figure.text(
                0.0, 0.99, plain(title), va="top", fontsize=8, fontweight="bold", parse_math=False
            )
        return figure


@dataclass(frozen=True)
class _Layout:
    """A large tile of 2 x 2 places, then small ones: right of it first, then below."""

    methods: int
    columns: int
    rows: int
    name_in: float
    top_in: float

    @classmethod
    def of(cls, methods: int, *, name_in: float, top_in: float) -> _Layout:
        beside = 2 if methods == 1 else min(3, -(-methods // 2))
        below = max(0, methods - 2 * beside)
        return cls(methods, 2 + beside, 2 + -(-below // (2 + beside)), name_in, top_in)

    @property
    def width_in(self) -> float:
        return PAGE_WIDTH_IN if self.methods else PAGE_WIDTH_IN / 2

    @property
    def tile_in(self) -> float:
        return (self.width_in - (self.columns - 1) * _GAP_IN) / self.columns

    @property
    def height_in(self) -> float:
        return self.top_in + self.rows * (self.tile_in + self.name_in) + _LEGEND_IN

    def raters(self, figure: Figure) -> Axes:
        return self._axes(figure, 0, 0, span=2)

    def method(self, figure: Figure, index: int) -> Axes:
        if self.methods == 1:
            return self._axes(figure, 0, 2, span=2)
        beside = self.columns - 2
        if index < 2 * beside:
            return self._axes(figure, index // beside, 2 + index % beside, span=1)
        index -= 2 * beside
        return self._axes(figure, 2 + index // self.columns, index % self.columns, span=1)

    def _axes(self, figure: Figure, row: int, column: int, *, span: int) -> Axes:
        left = column * (self.tile_in + _GAP_IN)
        top = self.top_in + row * (self.tile_in + self.name_in) + self.name_in
        width = span * self.tile_in + (span - 1) * _GAP_IN
        height = span * self.tile_in + (span - 1) * self.name_in
        return figure.add_axes(
            (
                left / self.width_in,
                1 - (top + height) / self.height_in,
                width / self.width_in,
                height / self.height_in,
            )
        )


def _legends(
    figure: Figure, layout: _Layout, raters: Sequence[str], tubes: Mapping[str, Mask]
) -> None:
    """Raters below their tile; what the other tiles show right of that."""
    drawn: list[_Entry] = [(name, rater_colour(i), "-") for i, name in enumerate(raters)]
    seen: list[_Entry] = [
        (n, vessel_colour(n, i), "-") for i, (n, t) in enumerate(tubes.items()) if t.any()
    ]
    if not layout.methods:
        _legend(figure, drawn + seen, 0.0, 4)
        return
    others: list[_Entry] = [
        ("prediction", PREDICTION_COLOUR, "-"),
        ("majority of raters" if len(raters) > 1 else "reference", "white", "--"),
    ]
    middle = 2 * (layout.tile_in + _GAP_IN) / layout.width_in
    _legend(figure, drawn, 0.0, 3)
    _legend(figure, others + seen, middle, 4 if layout.columns > 4 else 3)


def _legend(figure: Figure, entries: Sequence[_Entry], left: float, columns: int) -> None:
    if not entries:
        return
    handles: list[Artist] = [
        Line2D([], [], color=colour, linestyle=style, linewidth=1.6, label=plain(name))
        for name, colour, style in entries
    ]
    legend = figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(left, 0.0),
        borderaxespad=0.0,
        ncols=min(columns, len(entries)),
        fontsize=6.5,
        handlelength=1.8,
        columnspacing=1.2,
        facecolor=BACKGROUND,
        edgecolor=BACKGROUND,
        labelcolor="white",
        framealpha=1.0,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
