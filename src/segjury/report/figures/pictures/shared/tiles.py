"""What is drawn on one tile of a picture: the slice, contours, names, scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke
from matplotlib.transforms import offset_copy
from numpy.typing import NDArray

from segjury.report.figures.drawing.marks import draw_mark
from segjury.report.figures.drawing.style import INK
from segjury.report.figures.pictures.shared.callouts import RIM, Callout, anchor, write_callouts
from segjury.report.figures.pictures.shared.images import CaseImages, Labels
from segjury.report.figures.pictures.shared.layout import NAME_WIDTH
from segjury.report.figures.pictures.shared.slicing import Pair, Slice, contours
from segjury.wording import plain, wrapped

QUIET_COLOUR = "#b8bcc4"
PREDICTION_COLOUR = "#fff04d"
# light, to be seen on a dark image
RATER_COLOURS = ("#ffffff", "#ffd166", "#7ee0b5", "#8ecbff", "#ff9fb2", "#d9b3ff", "#c9d36b")
# a second cue, and where contours coincide those beneath show through
RATER_DASHES: tuple[tuple[float, ...], ...] = (
    (), (4, 1.2), (1.3, 1), (6, 1, 1.3, 1), (2.5, 2), (4, 1, 1, 1, 1, 1), (1, 2),
)  # fmt: skip
VESSEL_COLOURS = {
    "PORTA": "#3d8fd1",
    "SMV": "#33c1ff",
    "AORTA": "#e4572e",
    "CELIAC TRUNK": "#ffa630",
    "SMA": "#ff7bac",
}
# neighbours in the list, which are neighbours in the body, differ in hue and in lightness
LABEL_COLOURS = (
    "#ffd84d", "#3fa7ff", "#ff8f5a", "#7be495", "#c58bff", "#f4f4f4",
    "#ff6fa3", "#c8e64a", "#5b8cff", "#ffc2a1", "#22c3b0", "#e0a6ff",
)  # fmt: skip


def rater_colour(index: int) -> str:
    """The colour of the rater at this place."""
    return RATER_COLOURS[index % len(RATER_COLOURS)]


def rater_dash(index: int) -> tuple[float, ...]:
    """The dashes of the rater at this place, none for the first."""
    rounds = index // len(RATER_COLOURS)  # whose colour comes again has other dashes
    return RATER_DASHES[(index + rounds) % len(RATER_DASHES)]


def vessel_colour(name: str, index: int) -> str:
    """The colour of a vessel: fixed for the known ones, by its place for others."""
    return VESSEL_COLOURS.get(name, list(VESSEL_COLOURS.values())[index % len(VESSEL_COLOURS)])


def label_colour(number: int) -> str:
    """The colour of a label by its number, from 1."""
    return LABEL_COLOURS[(number - 1) % len(LABEL_COLOURS)]


# ---- what is drawn on it -------------------------------------------------------------------


def outline(
    axes: Axes,
    spacing_mm: Pair,
    mask: NDArray[Any],
    colour: str,
    width: float,
    label: str,
    *,
    dash: tuple[float, ...] = (),
    level: float = 0.5,
) -> None:
    """The contours of a mask, or of a map at a level."""
    lines = LineCollection(
        contours(spacing_mm, mask, level),
        colors=colour,
        linewidths=width,
        label=label,
        linestyles=[(0, dash)] if dash else "solid",
        joinstyle="round",
        capstyle="butt",
    )
    axes.add_collection(lines, autolim=False)


def outline_labels(
    axes: Axes,
    images: CaseImages,
    view: Slice,
    labels: Labels,
    width: float,
    name: str,
    *,
    colour: str | None = None,
    dash: tuple[float, ...] = (),
) -> None:
    """The contour of every label on the slice, in its own colour unless one is given.

    The lines are called `name`, and of several labels `name label`.
    """
    shown = view.cut(labels)
    for label, number in images.numbers.items():
        several = len(images.labels) > 1
        outline(
            axes,
            view.spacing_mm,
            shown == number,
            colour or (label_colour(number) if several else PREDICTION_COLOUR),
            width,
            f"{name} {label}" if several else name,
            dash=dash,
        )


def name_labels(axes: Axes, images: CaseImages, view: Slice, shown: Labels) -> None:
    """Write the name of every label in a part of the slice, where there are several."""
    if len(images.labels) == 1:
        return
    callouts = [
        Callout(
            name,
            (column + 0.5) * view.spacing_mm[0],
            (row + 0.5) * view.spacing_mm[1],
            label_colour(number),
        )
        for name, number in images.numbers.items()
        if (shown == number).any()
        for column, row in [anchor(shown == number)]
    ]
    width, height = view.size_mm
    write_callouts(
        axes, callouts, left=0.03 * width, right=0.94 * width, gap=0.045 * height, inside=True
    )


# ---- names, scale and sides ----------------------------------------------------------------


def slice_title(images: CaseImages, view: Slice) -> tuple[str, str]:
    """Title of a picture of a slice, and what goes behind it."""
    if not images.has_sides and images.consensus.shape[2] == 1:
        return f"Case {images.case}", "image of one slice"
    return f"Case {images.case}", f"{images.slice_words(images.slice_number(view.z))}, {view.why}"


def head_tile(axes: Axes, text: str) -> None:
    """A heading above a tile."""
    axes.set_title(plain(text), loc="left", fontsize=6.5, pad=3, parse_math=False)


def name_tile(axes: Axes, images: CaseImages, method: str, *, width: int = NAME_WIDTH) -> None:
    """The method's name above its tile, with its colour and marker before it."""
    text = wrapped(method, width=width)
    figure = axes.get_figure(root=True)
    above = offset_copy(axes.transAxes, fig=figure, x=9, y=3, units="points")
    axes.text(
        0, 1, text, transform=above, va="bottom", fontsize=6.5, linespacing=1.0, parse_math=False
    )
    middle = 6.2 + 7.6 * text.count("\n")
    before = offset_copy(axes.transAxes, fig=figure, x=3.5, y=middle, units="points")
    draw_mark(axes, images.all_methods, method, (0, 1), before)


def scale_bar(axes: Axes, size_mm: Pair) -> None:
    """A bar of a round length, about a fifth of the width."""
    width, height = size_mm
    length = _round_length(width / 5)
    x, y = 0.05 * width, 0.95 * height
    axes.plot(
        [x, x + length],
        [y, y],
        color="white",
        linewidth=1.6,
        solid_capstyle="butt",
        path_effects=[withStroke(linewidth=2.6, foreground="black")],
    )
    axes.text(
        x,
        y - 0.015 * height,
        f"{length:g} mm",
        color="white",
        ha="left",
        va="bottom",
        fontsize=6,
        path_effects=[RIM],
    )


def _round_length(about_mm: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above."""
    power = 10.0 ** np.floor(np.log10(about_mm))
    return float(max(step * power for step in (1, 2, 5) if step * power <= about_mm))


def say_sides(axes: Axes, up: str, right: str) -> None:
    """Where the upper and the right edge of a picture are in the body."""
    at: dict[str, Any] = {"transform": axes.transAxes, "color": "white", "fontsize": 6.5}
    at["path_effects"] = [RIM]
    axes.text(0.5, 0.985, up, ha="center", va="top", **at)
    axes.text(0.985, 0.5, right, ha="right", va="center", **at)


def number_tile(axes: Axes, text: str) -> None:
    """Numbers along the lower edge of a tile."""
    axes.text(
        0.03,
        0.02,
        plain(text),
        transform=axes.transAxes,
        ha="left",
        va="bottom",
        fontsize=5.5,
        color="white",
        bbox={"facecolor": INK, "alpha": 0.65, "linewidth": 0, "pad": 1.0},
        parse_math=False,
    )
