"""Pictures of one case: what the raters drew, and what each method drew on the same slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy
from numpy.typing import NDArray

from segjury.figures.slices import Mask, Slice, choose_slice, contours, to_lps
from segjury.figures.style import (
    PAGE_WIDTH_IN,
    method_colours,
    method_markers,
    plain,
    styled,
    wrapped,
)
from segjury.volume import IDENTITY, Direction, Triple

WINDOW_HU = (-160.0, 240.0)  # soft tissue: level 40, width 400
RATER_COLOURS = ("#ffffff", "#ffd166", "#7ee0b5", "#8ecbff", "#ff9fb2", "#d9b3ff", "#c9d36b")
VESSEL_COLOURS = {
    "PORTA": "#3d8fd1",
    "SMV": "#33c1ff",
    "AORTA": "#e4572e",
    "CELIAC TRUNK": "#ffa630",
    "SMA": "#ff7bac",
}
PREDICTION_COLOUR = "#fff04d"
_BACKGROUND = "#3a3d42"
_GAP_IN = 0.06
_NAME_IN = 0.17  # room above a tile for a name of one line, and for each line more
_LINE_IN = 0.11
_TITLE_IN = 0.22
_LEGEND_IN = 0.46


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

    ground = _grey(cut(image)) if image is not None else _flat(view)
    drawn = {name: cut(mask).astype(bool) for name, mask in raters.items()}
    tubes = {name: cut(mask).astype(bool) for name, mask in vessels.items()}
    names = sorted({*predictions, *everyone})
    colours, markers = method_colours(names), method_markers(names)
    lines = max((_short(name).count("\n") for name in predictions), default=0)
    layout = _Layout.of(
        len(predictions), name_in=_NAME_IN + lines * _LINE_IN, top_in=_TITLE_IN if title else 0.0
    )
    with styled():
        figure = Figure(figsize=(layout.width_in, layout.height_in))
        _rater_tile(layout.raters(figure), view, ground, tubes, drawn)
        for index, (method, mask) in enumerate(predictions.items()):
            axes = layout.method(figure, index)
            veil = cut(probabilities[method]) if method in (probabilities or {}) else None
            _show(axes, view, _blended(ground, tubes, veil))
            _draw_vessels(axes, view, tubes)
            _draw(axes, view, _majority(drawn), "white", 0.7, "majority of raters", dash=(3, 2))
            _draw(
                axes, view, cut(mask).astype(bool), PREDICTION_COLOUR, 1.3, f"prediction {method}"
            )
            _name(axes, method, colours[method], markers[method])
        _legends(figure, layout, list(raters), tubes)
        if title:
            figure.text(
                0.0, 1.0, plain(title), va="top", fontsize=8, fontweight="bold", parse_math=False
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


# ---- tiles ---------------------------------------------------------------------------------


def _rater_tile(
    axes: Axes,
    view: Slice,
    ground: NDArray[Any],
    tubes: Mapping[str, Mask],
    drawn: Mapping[str, Mask],
) -> None:
    _show(axes, view, ground)
    _draw_vessels(axes, view, tubes)
    for index, (name, mask) in enumerate(drawn.items()):
        _draw(axes, view, mask, rater_colour(index), 1.2, f"rater {name}")
    _orient(axes, view)
    axes.set_title("Raters", loc="left", fontsize=6.5, pad=3)


def rater_colour(index: int) -> str:
    """The colour of the rater at this place."""
    return RATER_COLOURS[index % len(RATER_COLOURS)]


def vessel_colour(name: str, index: int) -> str:
    """The colour of a vessel: fixed for the known ones, by its place for others."""
    return VESSEL_COLOURS.get(name, list(VESSEL_COLOURS.values())[index % len(VESSEL_COLOURS)])


def _grey(slice_hu: NDArray[Any]) -> NDArray[Any]:
    low, high = WINDOW_HU
    level = np.clip((slice_hu.astype(float) - low) / (high - low), 0, 1)
    return np.repeat(np.nan_to_num(level)[..., None], 3, axis=2)


def _flat(view: Slice) -> NDArray[Any]:
    return np.tile(np.array(to_rgb(_BACKGROUND)), (*view.shape, 1))


def _blended(
    ground: NDArray[Any], tubes: Mapping[str, Mask], veil: NDArray[Any] | None
) -> NDArray[Any]:
    """The ground under a veil of probability, with the vessels tinted."""
    picture = ground
    layers = [(PREDICTION_COLOUR, 0.4 * np.clip(veil, 0, 1))] if veil is not None else []
    layers += [
        (vessel_colour(name, i), 0.35 * tube) for i, (name, tube) in enumerate(tubes.items())
    ]
    for colour, opacity in layers:
        weight = opacity[..., None]
        picture = picture * (1 - weight) + np.array(to_rgb(colour)) * weight
    return picture


def _show(axes: Axes, view: Slice, picture: NDArray[Any]) -> None:
    axes.imshow(
        picture.transpose(1, 0, 2), origin="upper", extent=view.extent_mm, aspect="equal",
        interpolation="bilinear",
    )  # fmt: skip
    axes.set_anchor("NW")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _draw_vessels(axes: Axes, view: Slice, tubes: Mapping[str, Mask]) -> None:
    for index, (name, mask) in enumerate(tubes.items()):
        _draw(axes, view, mask, vessel_colour(name, index), 0.9, f"vessel {name}")


def _draw(
    axes: Axes,
    view: Slice,
    mask: Mask,
    colour: str,
    width: float,
    label: str,
    dash: tuple[float, float] | None = None,
) -> None:
    lines = LineCollection(
        contours(view, mask), colors=colour, linewidths=width, label=label,
        linestyles=[(0, dash)] if dash else "solid", joinstyle="round",
    )  # fmt: skip
    axes.add_collection(lines, autolim=False)


def _majority(drawn: Mapping[str, Mask]) -> Mask:
    if not drawn:
        return np.zeros((1, 1), bool)
    share: Mask = np.mean(list(drawn.values()), axis=0)
    return share > 0.5


def _short(method: str) -> str:
    return wrapped(method, width=23)


def _name(axes: Axes, method: str, colour: str, marker: str) -> None:
    """The method's name above its tile, with its colour and marker before it."""
    text = _short(method)
    figure = axes.get_figure(root=True)
    above = offset_copy(axes.transAxes, fig=figure, x=9, y=3, units="points")
    axes.text(
        0, 1, text, transform=above, va="bottom", fontsize=6.5, linespacing=1.0, parse_math=False
    )
    middle = 6.2 + 7.6 * text.count("\n")
    before = offset_copy(axes.transAxes, fig=figure, x=3.5, y=middle, units="points")
    axes.add_artist(
        Line2D(
            [0],
            [1],
            transform=before,
            marker=marker,
            color=colour,
            markersize=4.5,
            markeredgewidth=0,
            linestyle="",
            clip_on=False,
            label=f"mark {method}",
        )  # fmt: skip
    )


def _orient(axes: Axes, view: Slice, length_mm: float = 20.0) -> None:
    """A scale bar, and where anterior and the patient's left are."""
    left, right, bottom, top = view.extent_mm
    x, y = left + 0.05 * (right - left), bottom + 0.05 * (top - bottom)
    axes.plot([x, x + length_mm], [y, y], color="white", linewidth=1.6, solid_capstyle="butt")
    axes.text(
        x + length_mm / 2, y + 0.015 * (top - bottom), f"{length_mm:g} mm",
        color="white", ha="center", va="bottom", fontsize=6,
    )  # fmt: skip
    axes.text(
        0.5, 0.985, "A", transform=axes.transAxes, color="white", ha="center", va="top",
        fontsize=6.5,
    )  # fmt: skip
    axes.text(
        0.985, 0.5, "L", transform=axes.transAxes, color="white", ha="right", va="center",
        fontsize=6.5,
    )  # fmt: skip


def _legends(
    figure: Figure, layout: _Layout, raters: Sequence[str], tubes: Mapping[str, Mask]
) -> None:
    """Raters below their tile; what the other tiles show right of that."""
    drawn = [(name, rater_colour(i), "-") for i, name in enumerate(raters)]
    seen = [(n, vessel_colour(n, i), "-") for i, (n, t) in enumerate(tubes.items()) if t.any()]
    if not layout.methods:
        _legend(figure, drawn + seen, 0.0, 4)
        return
    others = [("prediction", PREDICTION_COLOUR, "-"), ("majority of raters", "white", "--")]
    middle = 2 * (layout.tile_in + _GAP_IN) / layout.width_in
    _legend(figure, drawn, 0.0, 3)
    _legend(figure, others + seen, middle, 4 if layout.columns > 4 else 3)


def _legend(
    figure: Figure, entries: Sequence[tuple[str, str, str]], left: float, columns: int
) -> None:
    if not entries:
        return
    legend = figure.legend(
        handles=[
            Line2D([], [], color=colour, linestyle=style, linewidth=1.6, label=plain(name))
            for name, colour, style in entries
        ],
        loc="lower left", bbox_to_anchor=(left, 0.0), borderaxespad=0.0,
        ncols=min(columns, len(entries)), fontsize=6.5, handlelength=1.8, columnspacing=1.2,
        facecolor=_BACKGROUND, edgecolor=_BACKGROUND, labelcolor="white", framealpha=1.0,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
