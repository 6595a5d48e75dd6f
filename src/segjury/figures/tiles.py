"""What is drawn on one tile of a case panel: the slice, contours, names, scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy
from numpy.typing import NDArray

from segjury.figures.slices import Mask, Slice, contours
from segjury.figures.style import plain, wrapped

WINDOW_HU = (-160.0, 240.0)  # soft tissue: level 40, width 400
QUIET_COLOUR = "#b8bcc4"
RATER_COLOURS = ("#ffffff", "#ffd166", "#7ee0b5", "#8ecbff", "#ff9fb2", "#d9b3ff", "#c9d36b")
VESSEL_COLOURS = {
    "PORTA": "#3d8fd1",
    "SMV": "#33c1ff",
    "AORTA": "#e4572e",
    "CELIAC TRUNK": "#ffa630",
    "SMA": "#ff7bac",
}
PREDICTION_COLOUR = "#fff04d"
BACKGROUND = "#3a3d42"


def rater_tile(
    axes: Axes,
    view: Slice,
    ground: NDArray[Any],
    tubes: Mapping[str, Mask],
    drawn: Mapping[str, Mask],
) -> None:
    """All raters' contours, larger than the rest, with a scale; vessels dotted in grey."""
    _show(axes, view, ground)
    for name, mask in tubes.items():  # grey here: their colours would be taken for raters'
        _draw(axes, view, mask, QUIET_COLOUR, 0.6, f"vessel {name}", dash=(2, 2))
    for index, (name, mask) in enumerate(drawn.items()):
        _draw(axes, view, mask, rater_colour(index), 1.2, f"rater {name}")
    _orient(axes, view)
    title = "Raters" if len(drawn) > 1 else next(iter(drawn), "")
    axes.set_title(plain(title), loc="left", fontsize=6.5, pad=3, parse_math=False)


def method_tile(
    axes: Axes,
    view: Slice,
    ground: NDArray[Any],
    tubes: Mapping[str, Mask],
    drawn: Mapping[str, Mask],
    prediction: Mask,
    veil: NDArray[Any] | None,
) -> None:
    """One method's contour, the vessels, and the majority of raters dashed."""
    _show(axes, view, _blended(ground, tubes, veil))
    _draw_vessels(axes, view, tubes)
    _draw(axes, view, _majority(drawn), "white", 0.7, "majority of raters", dash=(3, 2))
    _draw(axes, view, prediction, PREDICTION_COLOUR, 1.3, "prediction")


def rater_colour(index: int) -> str:
    """The colour of the rater at this place."""
    return RATER_COLOURS[index % len(RATER_COLOURS)]


def vessel_colour(name: str, index: int) -> str:
    """The colour of a vessel: fixed for the known ones, by its place for others."""
    return VESSEL_COLOURS.get(name, list(VESSEL_COLOURS.values())[index % len(VESSEL_COLOURS)])


def grey(values: NDArray[Any]) -> NDArray[Any]:
    """CT in a soft-tissue window, others up to their brightest, as red, green and blue."""
    is_ct = np.nanmin(values, initial=0) < 0  # air is -1000 HU; other modalities have no negatives
    low, high = WINDOW_HU if is_ct else (0.0, float(np.nanpercentile(values, 99.8)) or 1.0)
    level = np.clip((values.astype(float) - low) / (high - low), 0, 1)
    return np.repeat(np.nan_to_num(level)[..., None], 3, axis=2)


def flat(view: Slice) -> NDArray[Any]:
    """A plain ground, for cases without an image."""
    return np.tile(np.array(to_rgb(BACKGROUND)), (*view.shape, 1))


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
        picture.transpose(1, 0, 2),
        origin="upper",
        extent=view.extent_mm,
        aspect="equal",
        interpolation="bilinear",
    )
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
        contours(view, mask),
        colors=colour,
        linewidths=width,
        label=label,
        linestyles=[(0, dash)] if dash else "solid",
        joinstyle="round",
    )
    axes.add_collection(lines, autolim=False)


def _majority(drawn: Mapping[str, Mask]) -> Mask:
    if not drawn:
        return np.zeros((1, 1), bool)
    share: Mask = np.mean(list(drawn.values()), axis=0)
    return share > 0.5


def short(method: str) -> str:
    """A method's name as it fits above its tile."""
    return wrapped(method, width=23)


def name_tile(axes: Axes, method: str, colour: str, marker: str) -> None:
    """The method's name above its tile, with its colour and marker before it."""
    text = short(method)
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
        )
    )


def _orient(axes: Axes, view: Slice, length_mm: float = 20.0) -> None:
    """A scale bar, and where anterior and the patient's left are."""
    left, right, bottom, top = view.extent_mm
    x, y = left + 0.05 * (right - left), bottom + 0.05 * (top - bottom)
    axes.plot([x, x + length_mm], [y, y], color="white", linewidth=1.6, solid_capstyle="butt")
    axes.text(
        x + length_mm / 2,
        y + 0.015 * (top - bottom),
        f"{length_mm:g} mm",
        color="white",
        ha="center",
        va="bottom",
        fontsize=6,
    )
    white: dict[str, Any] = {"transform": axes.transAxes, "color": "white", "fontsize": 6.5}
    axes.text(0.5, 0.985, "A", ha="center", va="top", **white)
    axes.text(0.985, 0.5, "L", ha="right", va="center", **white)
