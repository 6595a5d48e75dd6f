"""Slices: what the raters drew, and what each method drew on the same slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from segjury.report.figures.drawing.style import styled
from segjury.report.figures.illustration import Picture, brief, joined
from segjury.report.figures.pictures.shared.background import BACKGROUND, ground, show, tinted
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.layout import Mosaic
from segjury.report.figures.pictures.shared.legend import PictureLegend
from segjury.report.figures.pictures.shared.slicing import Slice, choose_slice
from segjury.report.figures.pictures.shared.tiles import (
    PREDICTION_COLOUR,
    QUIET_COLOUR,
    head_tile,
    name_labels,
    name_tile,
    outline,
    outline_labels,
    rater_colour,
    rater_dash,
    say_sides,
    scale_bar,
    slice_title,
    vessel_colour,
)
from segjury.wording import plain

_LEGEND_COLUMNS = 3
_VEIL = 0.4  # opacity of a probability of 1
_TINT = 0.35  # and of a vessel
_DASH = (3.0, 2.0)  # of the consensus


def case_panel(images: CaseImages) -> Figure:
    """One axial slice: the raters' contours on the image, then each method's with the vessels.

    The slice is that of `choose_slice`, seen as usual: anterior up, the patient's left on the
    right. Each label has its own colour, and its name on the first tile.
    """
    images = images.upright
    view = choose_slice(images)
    width, height = view.size_mm
    mosaic = Mosaic.of(list(images.predictions), aspect=height / width)
    with styled():
        raters = _legend(_rater_entries(images), mosaic.large_in)
        others = _legend(_other_entries(images, view), mosaic.width_in - mosaic.beside_in)
        mosaic = replace(mosaic, below_in=max(raters.below_in, others.below_in))
        figure = mosaic.figure(*slice_title(images, view))
        _rater_tile(mosaic.large(figure), images, view)
        for index, method in enumerate(images.predictions):
            _method_tile(mosaic.method(figure, index), images, view, method)
        if raters.entries:
            raters.draw(figure, left_in=0)
        if others.entries:
            others.draw(figure, left_in=mosaic.beside_in)
        return figure


def _rater_tile(axes: Axes, images: CaseImages, view: Slice) -> None:
    """All raters' contours, larger than the rest, with a scale; vessels dotted in grey."""
    show(axes, view.size_mm, ground(images, view))
    for name, mask in images.structures.items():  # grey: their colours would be taken for raters'
        outline(
            axes, view.spacing_mm, view.cut(mask), QUIET_COLOUR, 0.6, f"vessel {name}", dash=(2, 2)
        )
    for index, (name, labels) in enumerate(images.raters.items()):
        own = rater_colour(index) if images.several_raters or len(images.labels) == 1 else None
        outline_labels(
            axes, images, view, labels, 1.2, f"rater {name}", colour=own, dash=rater_dash(index)
        )
    name_labels(axes, images, view, view.cut(images.consensus))
    scale_bar(axes, view.size_mm)
    if images.has_sides:
        say_sides(axes, "A", "L")
    head_tile(axes, "Raters" if images.several_raters else next(iter(images.raters)))


def _method_tile(axes: Axes, images: CaseImages, view: Slice, method: str) -> None:
    """One method's contours, the vessels, and the consensus dashed.

    Labels that are not on the first tile are named here.
    """
    layers = [
        (vessel_colour(name, i), _TINT * view.cut(mask))
        for i, (name, mask) in enumerate(images.structures.items())
    ]
    maps = images.probabilities.get(method, {})
    if len(images.labels) == 1 and maps:
        layers.insert(0, (PREDICTION_COLOUR, _VEIL * view.cut(maps[images.labels[0]])))
    show(axes, view.size_mm, tinted(ground(images, view), layers))
    for index, (name, mask) in enumerate(images.structures.items()):
        colour = vessel_colour(name, index)
        outline(axes, view.spacing_mm, view.cut(mask), colour, 0.9, f"vessel {name}")
    outline_labels(
        axes, images, view, images.consensus, 0.7, "consensus", colour="white", dash=_DASH
    )
    outline_labels(axes, images, view, images.predictions[method], 1.2, "prediction")
    predicted, true = view.cut(images.predictions[method]), view.cut(images.consensus)
    name_labels(axes, images, view, np.where(np.isin(predicted, true), 0, predicted))
    name_tile(axes, images, method)


def _rater_entries(images: CaseImages) -> list[Artist]:
    if len(images.labels) > 1 and not images.several_raters:
        return []  # its labels are named on the tile
    return [
        _line(name, rater_colour(index), rater_dash(index))
        for index, name in enumerate(images.raters)
    ]


def _other_entries(images: CaseImages, view: Slice) -> list[Artist]:
    if not images.predictions:
        return []
    vessels = [
        _line(name, vessel_colour(name, index))
        for index, (name, mask) in enumerate(images.structures.items())
        if view.cut(mask).any()
    ]
    several = len(images.labels) > 1
    drawn = [] if several else [_line("prediction", PREDICTION_COLOUR)]
    truth = "consensus of the raters" if images.several_raters else "reference"
    return [*drawn, _line(truth, "white", _DASH), *vessels]


def _legend(entries: list[Artist], width_in: float) -> PictureLegend:
    return PictureLegend.fitted(
        entries, width_in=width_in, columns=_LEGEND_COLUMNS, ground=BACKGROUND, ink="white"
    )


def _line(name: str, colour: str, dash: tuple[float, ...] = ()) -> Artist:
    line = Line2D([], [], color=colour, linewidth=1.6, label=plain(name))
    line.set_dashes(dash)
    return line


def panel_data(images: CaseImages) -> pd.DataFrame:
    """Area on the slice and volume of what each rater and method drew, per label."""
    return images.kept.once(("areas",), lambda: _measured(images.upright))


def _measured(images: CaseImages) -> pd.DataFrame:
    view = choose_slice(images)
    pixel_mm2 = view.spacing_mm[0] * view.spacing_mm[1]
    drawn = [("rater", name, mask) for name, mask in images.raters.items()]
    drawn += [("method", name, mask) for name, mask in images.predictions.items()]
    drawn.append(("consensus", "", images.consensus))
    return pd.DataFrame(
        [
            {
                "drawn_by": kind,
                "name": name,
                "label": label,
                "slice": images.slice_number(view.z),
                "area_mm2": float((mask[:, :, view.z] == number).sum() * pixel_mm2),
                "volume_cm3": float((mask == number).sum() + beyond) * images.voxel_cm3,
            }
            for kind, name, mask in drawn
            for label, number in images.numbers.items()
            for beyond in [images.voxels_outside(name, label) if kind == "method" else 0]
        ]
    )


def panel_alt(images: CaseImages) -> str:
    """What is on the tiles, and how large."""
    data = panel_data(images)
    view = choose_slice(images.upright)
    named = data[data["name"] != ""]
    areas = named.groupby(["drawn_by", "name"], sort=False)["area_mm2"].sum() / 100
    each = [f"{brief(name[1])} {area:.1f}" for name, area in zip(areas.index, areas, strict=True)]
    return (
        f"{images.slice_words(data['slice'].iloc[0]).capitalize()} of case {plain(images.case)}, "
        f"{view.why}: "
        f"contours of {joined(images.raters)}, then of each method. "
        f"Areas in cm²: {', '.join(each)}."
    )


def _always(_images: CaseImages) -> bool:
    return True


SLICES = Picture(
    name="slices",
    title="Slices",
    help="One slice: first what the raters drew, with vessels, if there are any, dotted in grey; "
    "then each method with the consensus dashed. Where it has a map, a yellow veil is its "
    "probability.",
    draw=case_panel,
    data=panel_data,
    alt=panel_alt,
    applies=_always,
)
