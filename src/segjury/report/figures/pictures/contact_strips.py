"""Strips of vessel wall cut open, and the vessel itself above them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.report.figures.drawing.style import MUTED, NOTHING, PAGE_WIDTH_IN, RULE, SEQUENTIAL
from segjury.report.figures.pictures.contact_surface import painted_vessel, seen_from, view_mm
from segjury.report.figures.pictures.contact_unrolling import RATERS, VesselContact
from segjury.report.figures.pictures.shared.background import show
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.layout import TITLE_IN, Spot
from segjury.report.figures.pictures.shared.slicing import Pair
from segjury.wording import wrapped

NAMES_IN = 1.3
_HEAD_IN = 0.27
_VIEW_IN = 0.95
_ANGLE_IN = 0.5  # for the angles behind a strip
_GAP_IN = 0.08
_WIDEST_IN = 2.6
_FEW_ROWS = 9
_BOLD_IN = 0.068  # a character of the vessel's name
_ROOM = 1.15  # size of a tile by that of the vessel in it


@dataclass(frozen=True)
class StripLayout:
    """Columns of vessels, rows of raters and methods."""

    vessels: int
    rows: int

    @property
    def column_in(self) -> float:
        """Width of a column."""
        return min((PAGE_WIDTH_IN - NAMES_IN) / self.vessels, _WIDEST_IN + _ANGLE_IN + _GAP_IN)

    @property
    def strip_in(self) -> float:
        """Width of a strip."""
        return self.column_in - _ANGLE_IN - _GAP_IN

    @property
    def row_in(self) -> float:
        """Height of a row."""
        return 0.5 if self.rows <= _FEW_ROWS else 0.36

    @property
    def top_in(self) -> float:
        """Where the strips begin."""
        return TITLE_IN + _HEAD_IN + _VIEW_IN + _GAP_IN

    @property
    def bottom_in(self) -> float:
        """Where the strips end."""
        return self.top_in + self.rows * self.row_in

    def strip(self, figure: Figure, vessel: int, row: int) -> Axes:
        """The place of a strip."""
        return Spot(
            left_in=NAMES_IN + vessel * self.column_in,
            top_in=self.top_in + row * self.row_in,
            width_in=self.strip_in,
            height_in=self.row_in - _GAP_IN,
        ).axes(figure)

    @property
    def view_in(self) -> Pair:
        """Width and height of a view."""
        return (self.strip_in - _GAP_IN) / 2, _VIEW_IN

    def view(self, figure: Figure, vessel: int, side: int) -> Axes:
        """The place of the view of a vessel from one side."""
        width_in, height_in = self.view_in
        return Spot(
            left_in=NAMES_IN + vessel * self.column_in + side * (width_in + _GAP_IN),
            top_in=TITLE_IN + _HEAD_IN,
            width_in=width_in,
            height_in=height_in,
        ).axes(figure)


def draw_strip(axes: Axes, vessel: VesselContact, who: str) -> None:
    """The wall cut open: along the vessel, and round it."""
    share = vessel.share(who)
    for left, stretch in zip(vessel.starts_mm, vessel.stretches, strict=False):
        axes.imshow(
            np.ma.masked_invalid(share[stretch.sections].T),
            cmap=SEQUENTIAL.with_extremes(bad=NOTHING),
            vmin=0,
            vmax=1,
            extent=(left, left + stretch.length_mm, 360, 0),
            aspect="auto",
            interpolation="nearest",
            label=f"contact {who or 'raters'} {vessel.vessel}",
        )
    axes.set_xlim(0, vessel.starts_mm[-1])
    axes.set_ylim(360, 0)
    axes.set_xticks([])
    axes.set_yticks([0, 90, 180, 270], labels=vessel.sides if who == RATERS else [""] * 4)
    axes.tick_params(axis="y", length=1.5, width=0.4, labelsize=5, pad=1)
    axes.spines[:].set(visible=True, color=RULE, linewidth=0.5)
    _write_angles(axes, vessel, who)


def _write_angles(axes: Axes, vessel: VesselContact, who: str) -> None:
    """Mean contact angle and its range, behind the strip."""
    angles = vessel.angle_deg[who]
    several = len(angles) > 1 and angles.max() > 0
    at: dict[str, Any] = {"transform": axes.transAxes, "va": "center"}
    axes.text(
        1.03,
        0.68 if several else 0.5,
        f"{angles.mean():.0f}°",
        fontsize=6.5,
        label=f"angle {who or 'raters'} {vessel.vessel}",
        **at,
    )
    if several:
        text = f"{angles.min():.0f} to {angles.max():.0f}"
        axes.text(1.03, 0.26, text, fontsize=5, color=MUTED, **at)


def say_millimetres(axes: Axes, vessel: VesselContact) -> None:
    """How far along the vessel each part of the lowest strip is."""
    ticks, labels = [], []
    for left, stretch in zip(vessel.starts_mm, vessel.stretches, strict=False):
        first, last = stretch.along_mm[0], stretch.along_mm[-1]
        step = 10 if last - first < 45 else 20
        for mark in np.arange(np.ceil(first / step), np.floor(last / step) + 1) * step:
            ticks.append(left + mark - first + stretch.step_mm / 2)
            labels.append(f"{mark:.0f}")
    axes.set_xticks(ticks, labels=labels)
    axes.tick_params(axis="x", length=1.5, width=0.4, labelsize=5, pad=1)
    axes.set_xlabel("mm along the vessel, upwards", fontsize=5.5, labelpad=1.5, color=MUTED)


def draw_views(
    figure: Figure, layout: StripLayout, column: int, images: CaseImages, vessel: VesselContact
) -> None:
    """The raters' contact on the vessel itself, from the front and from behind."""
    painted = painted_vessel(images, vessel, RATERS)
    spacing, size_mm = view_mm(painted, images)
    for side, (words, right) in enumerate((("from the front", "L"), ("from behind", "R"))):
        axes = layout.view(figure, column, side)
        picture = seen_from(painted, spacing, SEQUENTIAL, behind=side == 1)
        show(axes, size_mm, picture, f"{words} {vessel.vessel}", smooth=False)
        axes.patch.set_facecolor(NOTHING)
        _fill_tile(axes, size_mm, layout.view_in)
        at: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 5, "color": MUTED}
        axes.text(0.97, 0.5, right, ha="right", va="center", **at)
        axes.text(0.5, 0.98, "S", ha="center", va="top", **at)
        axes.set_title(words, fontsize=5.5, pad=1.5, color=MUTED, loc="left")
    figure.text(
        (NAMES_IN + column * layout.column_in) / PAGE_WIDTH_IN,
        1 - TITLE_IN / figure.get_size_inches()[1],
        wrapped(vessel.vessel, width=min(30, int(layout.column_in / _BOLD_IN)), lines=1),
        va="top",
        fontsize=7,
        fontweight="bold",
        parse_math=False,
    )


def _fill_tile(axes: Axes, size_mm: Pair, tile_in: Pair) -> None:
    """Show as much around a view as its tile has room for."""
    (width, height), (columns, rows) = size_mm, tile_in
    scale = _ROOM * max(width / columns, height / rows)
    axes.set_xlim((width - columns * scale) / 2, (width + columns * scale) / 2)
    axes.set_ylim((height + rows * scale) / 2, (height - rows * scale) / 2)
