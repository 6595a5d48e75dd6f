"""Maximum-intensity projections: image, reference, and what each method found, with a zoom."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from segjury.report.figures.drawing.style import MUTED, PAGE_WIDTH_IN, styled
from segjury.report.figures.illustration import Picture, brief
from segjury.report.figures.pictures.mip_layout import (
    ENLARGED,
    LINE_IN,
    MAIN,
    NUMBERS_IN,
    REFERENCE,
    REFERENCE_ENLARGED,
    image_spots,
    label_spots,
    name_width,
    pair_spots,
)
from segjury.report.figures.pictures.mip_projections import CLOSER
from segjury.report.figures.pictures.mip_scene import Scene
from segjury.report.figures.pictures.shared.background import show
from segjury.report.figures.pictures.shared.callouts import Callout, anchor, write_callouts
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.layout import GAP_IN, Spot, title_picture
from segjury.report.figures.pictures.shared.legend import PictureLegend
from segjury.report.figures.pictures.shared.outcomes import (
    LOOKS,
    OF_A_REFERENCE,
    Classes,
    compared,
    handles,
    painted,
)
from segjury.report.figures.pictures.shared.tiles import (
    head_tile,
    label_colour,
    name_tile,
    say_sides,
    scale_bar,
)
from segjury.wording import plain

_FRAME = "#fff04d"
_LABEL_WIDTH = 20  # characters of a label beside the main view
_HEAD_CHARACTER_IN = 0.056


def mip(images: CaseImages) -> Figure:
    """Projections of a case on three planes, then of each method on the one that shows most.

    In angiography the image is projected, in CT the reference, coloured by label or by depth. A
    method's pixel is right, missed or added. The frame is where the methods differ most from the
    reference; it is enlarged beside each.
    """
    scene = Scene.of(images)
    views = image_spots(scene) if scene.shows_image else label_spots(scene)
    top_in = max(spot.top_in + spot.height_in for spot in views.values()) + GAP_IN
    pairs = pair_spots(scene, lambda method, tile_in: _numbers(scene, method, tile_in), top_in)
    bottom_in = max((spot.top_in + spot.height_in for spot, _ in pairs), default=top_in)
    outcomes = OF_A_REFERENCE if scene.several_labels else OF_A_REFERENCE[:-1]
    with styled():
        legend = PictureLegend.fitted(
            handles(outcomes, patterns=False), width_in=PAGE_WIDTH_IN, columns=len(outcomes)
        )
        below_in = legend.below_in + NUMBERS_IN + LINE_IN
        figure = Figure(figsize=(PAGE_WIDTH_IN, bottom_in + below_in))
        width, height = scene.window_mm[2:]
        note = f"projections; the frame, {width:.0f} by {height:.0f} mm, is enlarged"
        title_picture(figure, f"Case {images.case}", note)
        _draw_views(figure, scene, views)
        for method, (overview, zoom) in zip(scene.images.predictions, pairs, strict=True):
            _draw_pair(figure, scene, method, overview, zoom)
        legend.draw(figure, left_in=0)
        return figure


# ---- what is drawn -------------------------------------------------------------------------


def _draw_views(figure: Figure, scene: Scene, spots: dict[str, Spot]) -> None:
    what = "image" if scene.shows_image else "reference"
    for plane in scene.planes:
        spot = spots[MAIN if plane == scene.plane else plane.name]
        axes, size = spot.axes(figure), scene.size_mm(plane)
        show(axes, size, scene.picture(plane), f"view {plane.name}", smooth=scene.shows_image)
        say_sides(axes, plane.up, plane.right)
        head = f"{plane.name.capitalize()}, {what}"
        narrow = spot.width_in < _HEAD_CHARACTER_IN * len(head)
        head_tile(axes, plane.name.capitalize() if narrow else head)
        if plane == scene.plane:
            scale_bar(axes, size)
            _frame(axes, scene)
            _name_labels(axes, scene, spot.width_in)
    part = scene.picture(scene.plane)[scene.window]
    axes = spots[ENLARGED].axes(figure)
    show(axes, scene.window_mm[2:], part, "view enlarged", smooth=scene.shows_image)
    head_tile(axes, f"Enlarged {CLOSER} times")
    if REFERENCE in spots:
        same = compared(scene.reference, scene.reference)
        axes = _draw_classes(figure, scene, same, spots[REFERENCE], spots[REFERENCE_ENLARGED], "")
        head_tile(axes, "Reference")


def _name_labels(axes: Axes, scene: Scene, width_in: float) -> None:
    """Names of the labels left and right of the main view."""
    if not scene.several_labels:
        return
    width, height = scene.size_mm(scene.plane)
    columns, rows = scene.reference.shape
    callouts = [
        Callout(name, (x + 0.5) * width / columns, (y + 0.5) * height / rows, label_colour(number))
        for name, number in scene.images.numbers.items()
        if (scene.reference == number).any()
        for x, y in [anchor(scene.reference == number)]
    ]
    inch = width / width_in
    write_callouts(
        axes,
        callouts,
        left=-0.08 * inch,
        right=width + 0.08 * inch,
        gap=0.105 * inch,
        inside=False,
        size=5.5,
        characters=_LABEL_WIDTH,
    )


def _draw_pair(figure: Figure, scene: Scene, method: str, overview: Spot, zoom: Spot) -> None:
    """What became of the reference with a method: all of it, and the enlarged part."""
    axes = _draw_classes(figure, scene, scene.outcomes[method], overview, zoom, method)
    name_tile(axes, scene.images, method, width=name_width(overview.width_in))
    axes.text(
        0,
        -0.02 / overview.height_in,
        _numbers(scene, method, overview.width_in),
        transform=axes.transAxes,
        va="top",
        fontsize=5.5,
        color=MUTED,
        label=f"numbers {method}",
    )


def _draw_classes(
    figure: Figure, scene: Scene, classes: Classes, overview: Spot, zoom: Spot, name: str
) -> Axes:
    axes, closer = overview.axes(figure), zoom.axes(figure)
    whole = painted(classes, scene.size_mm(scene.plane), overview.width_in, patterns=False)
    part_mm = scene.window_mm[2:]
    part = painted(classes[scene.window], part_mm, zoom.width_in, patterns=False)
    show(axes, scene.size_mm(scene.plane), whole[..., :3], f"outcomes {name}", smooth=False)
    show(closer, part_mm, part[..., :3], f"enlarged {name}", smooth=False)
    _frame(axes, scene)
    closer.spines[:].set(visible=True, color=_FRAME, linewidth=0.7)
    return axes


def _frame(axes: Axes, scene: Scene) -> None:
    """The frame of the enlarged part."""
    left, top, width, height = scene.window_mm
    axes.add_patch(
        Rectangle(
            (left, top),
            width,
            height,
            edgecolor=_FRAME,
            facecolor="none",
            linewidth=0.7,
            label="frame",
        )
    )


def _numbers(scene: Scene, method: str, tile_in: float) -> str:
    """What a method missed and added, on lines that fit below its pair."""
    return textwrap.fill(_errors(scene, method), max(20, int(2 * tile_in / 0.044)))


def _errors(scene: Scene, method: str) -> str:
    """What a method missed and added, by the size of the reference."""
    counts = scene.counts[method]
    shown = OF_A_REFERENCE[1:] if scene.several_labels else OF_A_REFERENCE[1:-1]
    said = [f"{LOOKS[each].name} {100 * counts[each] / scene.size:.0f} %" for each in shown]
    if scene.outside[method]:
        said.append(f"{scene.outside[method]} voxels outside")
    return ", ".join(said)


# ---- in numbers and words ------------------------------------------------------------------


def mip_data(images: CaseImages) -> pd.DataFrame:
    """Voxels of every outcome in the whole case, and pixels of the projection, per method."""
    scene = Scene.of(images)
    return pd.DataFrame(
        [
            {
                "method": method,
                "outcome": LOOKS[outcome].name,
                "voxels": voxels,
                "cm3": voxels * images.voxel_cm3,
                "share_of_reference": voxels / scene.size,
                "plane": scene.plane.name,
                "pixels": int((flat == outcome).sum()),
                "pixels_enlarged": int((flat[scene.window] == outcome).sum()),
            }
            for method, flat in scene.outcomes.items()
            for outcome, voxels in scene.counts[method].items()
        ]
    )


def mip_alt(images: CaseImages) -> str:
    """What is projected, and what each method missed and added."""
    scene = Scene.of(images)
    each = [f"{brief(method)} {_errors(scene, method)}" for method in scene.images.predictions]
    what = "image" if scene.shows_image else "reference"
    return (
        f"Projections of case {plain(images.case)}: the {what} on three planes, then each method "
        f"on the {scene.plane.name} plane. Voxels by the size of the reference: {'; '.join(each)}."
    )


def _has_reference(images: CaseImages) -> bool:
    return bool(images.consensus.any())


MIP = Picture(
    name="mip",
    title="Projections",
    help="First the case on three planes, then each method: light is right, orange missed, blue "
    "added. The yellow frame, where methods differ most from the reference, is enlarged.",
    draw=mip,
    data=mip_data,
    alt=mip_alt,
    applies=_has_reference,
    needs="It needs a reference that is not empty",
)
