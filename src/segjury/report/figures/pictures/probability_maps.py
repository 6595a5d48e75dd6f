"""Probability maps: the share of the raters, then each method's map, all on one scale."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from segjury.report.figures.drawing.style import MUTED, styled
from segjury.report.figures.illustration import Picture, brief
from segjury.report.figures.pictures.shared.background import HEAT, ground, show
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.layout import Mosaic, Spot
from segjury.report.figures.pictures.shared.slicing import Slice, choose_slice, disputed
from segjury.report.figures.pictures.shared.tiles import (
    head_tile,
    name_tile,
    outline,
    say_sides,
    scale_bar,
    slice_title,
)
from segjury.wording import plain

RATERS = ""  # no method has no name
_MIDDLE = 0.5
_LEAST = 0.01  # a smaller probability is not shown
_BELOW_IN = 0.48
_BAR_IN = 0.1


def probability_maps(images: CaseImages) -> Figure:
    """One axial slice: the share of the raters as a heat map, then each method's probability.

    Contours are at the protocol's first and last threshold and at 0.5. Of several labels, the one
    that the raters dispute most is shown.
    """
    images = _one_label(images).upright
    view = choose_slice(images)
    width, height = view.size_mm
    methods = [method for method in images.predictions if method in images.probabilities]
    mosaic = Mosaic.of(methods, aspect=height / width, below_in=_BELOW_IN)
    title, note = slice_title(images, view)
    with styled():
        figure = mosaic.figure(title, f"{brief(images.labels[0])}, {note}")
        axes = mosaic.large(figure)
        _tile(axes, images, view, RATERS)
        scale_bar(axes, view.size_mm)
        if images.has_sides:
            say_sides(axes, "A", "L")
        head_tile(axes, "Share of the raters" if images.several_raters else "Reference")
        for index, method in enumerate(methods):
            axes = mosaic.method(figure, index)
            _tile(axes, images, view, method)
            name_tile(axes, images, method)
        _colour_bar(figure, mosaic, contour_levels(images))
        return figure


def contour_levels(images: CaseImages) -> list[float]:
    """The thresholds drawn: the first, 0.5 and the last."""
    return sorted({min(images.thresholds), _MIDDLE, max(images.thresholds)})


def _one_label(images: CaseImages) -> CaseImages:
    """The images with the label alone that is shown."""
    if len(images.labels) == 1:
        return images
    return images.kept.once(("label",), lambda: images.only(most_disputed_label(images)))


def most_disputed_label(images: CaseImages) -> str:
    """The label of which the raters dispute the largest part; without dispute the first."""
    shares = {}
    for label, number in images.numbers.items():
        drawn = np.zeros(images.consensus.shape, bool, order="F")
        for mask in images.raters.values():
            drawn |= mask == number
        shares[label] = disputed(images, number).sum() / max(drawn.sum(), 1)
    return max(shares, key=lambda label: shares[label])


def _map(images: CaseImages, view: Slice, who: str) -> NDArray[np.float64]:
    """What a tile shows: the share of the raters, or a method's probability, on the slice."""
    if who == RATERS:
        return np.asarray(np.mean([view.cut(mask) != 0 for mask in images.raters.values()], axis=0))
    return np.asarray(view.cut(images.probabilities[who][images.labels[0]]), float)


def _tile(axes: Axes, images: CaseImages, view: Slice, who: str) -> None:
    values = _map(images, view, who)
    heat = HEAT(values)
    heat[..., 3] = values >= _LEAST
    show(axes, view.size_mm, ground(images, view))
    show(axes, view.size_mm, heat, f"map {who or 'raters'}", smooth=False)
    for level in contour_levels(images):
        outline(
            axes,
            view.spacing_mm,
            values,
            _ink(level),
            _line_width(level),
            f"level {level:g} {who or 'raters'}",
            level=level,
        )


def _ink(level: float) -> str:
    """White on the dark half of the scale, black on the light one."""
    return "white" if level <= _MIDDLE else "black"


def _line_width(level: float) -> float:
    return 1.3 if level == _MIDDLE else 0.7


def _colour_bar(figure: Figure, mosaic: Mosaic, levels: list[float]) -> None:
    """The scale with the contours on it, below the tiles."""
    width_in = min(3.2, mosaic.width_in - 0.4)
    left_in, top_in = (mosaic.width_in - width_in) / 2, mosaic.height_in - _BELOW_IN + 0.2
    bar = Spot(left_in, top_in, width_in, _BAR_IN).axes(figure)
    shades = mpl.cm.ScalarMappable(Normalize(0, 1), HEAT)
    figure.colorbar(shades, cax=bar, orientation="horizontal")
    for level in levels:
        bar.axvline(level, color=_ink(level), linewidth=_line_width(level) + 0.3)
    bar.set_xticks([0, *levels, 1], labels=[f"{tick:g}" for tick in (0, *levels, 1)])
    bar.tick_params(length=2, labelsize=6, pad=1.5)
    bar.set_title("probability, or share of the raters", fontsize=6, pad=2.5, color=MUTED)


def probability_data(images: CaseImages) -> pd.DataFrame:
    """Area on the slice within each contour, of the raters and of each map."""
    return images.kept.once(("probability",), lambda: _measured(_one_label(images).upright))


def _measured(images: CaseImages) -> pd.DataFrame:
    view = choose_slice(images)
    whole = replace(
        view, x=slice(0, images.consensus.shape[0]), y=slice(0, images.consensus.shape[1])
    )
    pixel_mm2 = view.spacing_mm[0] * view.spacing_mm[1]
    shown = [RATERS, *(method for method in images.predictions if method in images.probabilities)]
    return pd.DataFrame(
        [
            {
                "drawn_by": "method" if who else "raters",
                "name": who,
                "label": images.labels[0],
                "above": level,
                "slice": images.slice_number(view.z),
                "area_mm2": float((values > level).sum() * pixel_mm2),
            }
            for who in shown
            for values in [_map(images, whole, who)]
            for level in contour_levels(images)
        ]
    )


def probability_alt(images: CaseImages) -> str:
    """The areas within the contours, map by map."""
    data = probability_data(images)
    levels = ", ".join(f"{level:g}" for level in contour_levels(images))
    each = [
        " ".join(
            [brief(who) or "share of the raters", *(f"{a / 100:.1f}" for a in rows["area_mm2"])]
        )
        for who, rows in data.groupby("name", sort=False)
    ]
    return (
        f"{images.slice_words(data['slice'].iloc[0]).capitalize()} of case {plain(images.case)}, "
        f"{plain(data['label'].iloc[0])}: heat maps of probability. Area in cm² above {levels}: "
        f"{'; '.join(each)}."
    )


def _has_maps(images: CaseImages) -> bool:
    return bool(images.probabilities)


PROBABILITY_MAPS = Picture(
    name="probability-maps",
    title="Probability maps",
    help="First the share of the raters, then each method's probability on the same scale; lines "
    "as marked on the colour bar. A calibrated map looks like the first tile.",
    draw=probability_maps,
    data=probability_data,
    alt=probability_alt,
    applies=_has_maps,
    needs="It needs probability maps",
)
