"""Contact with vessels: where on the wall of each, for the raters and for each method."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.report.figures.drawing.marks import draw_mark
from segjury.report.figures.drawing.style import MUTED, PAGE_WIDTH_IN, SEQUENTIAL, styled
from segjury.report.figures.illustration import Picture, brief, joined
from segjury.report.figures.pictures.contact_strips import (
    NAMES_IN,
    StripLayout,
    draw_strip,
    draw_views,
    say_millimetres,
)
from segjury.report.figures.pictures.contact_unrolling import RATERS, VesselContact, contacts
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.layout import Spot, title_picture
from segjury.wording import plain, wrapped

_NAME_WIDTH = 22
_BELOW_IN = 0.62
_LINE_IN = 0.15
_REMARK_WIDTH = 140  # characters
MOST_TOLD = 8  # methods
_QUARTER = 90


def contact(images: CaseImages) -> Figure:
    """The wall of every touched vessel cut open, a row for the raters and one per method.

    Across goes the vessel, from below upwards, down the angle round it. The shade is the share of
    the raters in contact, or of the thresholds of a method's map. Behind each strip are the mean
    contact angle and its range; above, the raters' contact on the vessel itself.
    """
    vessels = [_centred(each) for each in contacts(images)]
    rows = [RATERS, *images.predictions]
    remark = _remark(_untouched(images))
    layout = StripLayout(len(vessels), len(rows))
    height_in = layout.bottom_in + _BELOW_IN + _LINE_IN * len(remark)
    with styled():
        figure = Figure(figsize=(PAGE_WIDTH_IN, height_in))
        title_picture(figure, f"Case {images.case}", "contact of lesion and vessels")
        for column, vessel in enumerate(vessels):
            draw_views(figure, layout, column, images, vessel)
            for row, who in enumerate(rows):
                axes = layout.strip(figure, column, row)
                draw_strip(axes, vessel, who)
                if column == 0:
                    _name_row(axes, images, who)
                if row == len(rows) - 1:
                    say_millimetres(axes, vessel)
        _draw_scale(figure, layout)
        if remark:
            text = "\n".join(remark)
            figure.text(0, 0.03 / height_in, text, fontsize=6, color=MUTED, parse_math=False)
        return figure


def _remark(untouched: Sequence[str]) -> list[str]:
    """The lines that name the vessels without contact."""
    return textwrap.wrap(f"No contact: {joined(untouched)}.", _REMARK_WIDTH) if untouched else []


def _untouched(images: CaseImages) -> list[str]:
    """Vessels that are there and that nobody sees touched."""
    touched = {each.vessel for each in contacts(images)}
    return [name for name, mask in images.structures.items() if name not in touched and mask.any()]


def _centred(vessel: VesselContact) -> VesselContact:
    """Begin the angles at another side if that brings the contact to the middle."""
    count = vessel.order.shape[1]
    total = np.nansum([np.nansum(vessel.share(who), axis=0) for who in vessel.contact], axis=0)
    angle = np.arange(count) * (2 * np.pi / count)
    middle = np.degrees(np.angle((total * np.exp(1j * angle)).sum()))
    quarters = round((middle - 180) / _QUARTER) % 4
    return replace(
        vessel,
        order=np.roll(vessel.order, -quarters * count // 4, axis=1),
        sides=vessel.sides[quarters:] + vessel.sides[:quarters],
    )


# ---- around them ---------------------------------------------------------------------------


def _name_row(axes: Axes, images: CaseImages, who: str) -> None:
    """Who a row is of, left of it."""
    before = offset_copy(
        axes.transAxes, fig=axes.get_figure(root=True), x=-72 * NAMES_IN, units="points"
    )
    axes.text(
        0,
        0.5,
        "Raters"
        if who == RATERS
        else f"    {wrapped(who, width=_NAME_WIDTH)}".replace("\n", "\n    "),
        transform=before,
        va="center",
        fontsize=6.5,
        linespacing=1.0,
        fontweight="bold" if who == RATERS else "normal",
        parse_math=False,
    )
    if who != RATERS:
        marked = offset_copy(before, fig=axes.get_figure(root=True), x=3.5, units="points")
        draw_mark(axes, images.all_methods, who, (0, 0.5), marked)


def _draw_scale(figure: Figure, layout: StripLayout) -> None:
    """The shades in one bar below the strips."""
    bar = Spot(
        left_in=NAMES_IN,
        top_in=layout.bottom_in + 0.34,
        width_in=2.4,
        height_in=0.08,
    ).axes(figure)
    shades = mpl.cm.ScalarMappable(Normalize(0, 1), SEQUENTIAL)
    figure.colorbar(shades, cax=bar, orientation="horizontal", ticks=[0, 0.5, 1])
    bar.set_xticks([0, 0.5, 1], labels=["none", "half", "all"])
    bar.tick_params(length=1.5, labelsize=5.5, pad=1)
    bar.set_title(
        "raters, or thresholds of the map, in contact", fontsize=5.5, pad=2, color=MUTED, loc="left"
    )


# ---- in numbers and words ------------------------------------------------------------------


def contact_data(images: CaseImages) -> pd.DataFrame:
    """Contact angle of every rater and of every method at each threshold, per touched vessel."""
    return pd.DataFrame(
        [
            {
                "vessel": vessel.vessel,
                "drawn_by": "method" if who else "rater",
                "name": who or item,
                "threshold": item if who else "",
                "contact_angle_deg": float(angle),
            }
            for vessel in contacts(images)
            for who, angles in vessel.angle_deg.items()
            for item, angle in zip(vessel.items[who], angles, strict=True)
        ],
        columns=["vessel", "drawn_by", "name", "threshold", "contact_angle_deg"],
    )


def contact_alt(images: CaseImages) -> str:
    """Mean contact angles, vessel by vessel, of the raters and of the methods from the smallest.

    Of many methods only the smallest and the largest are told.
    """
    parts = []
    for vessel in contacts(images):
        raters = vessel.angle_deg[RATERS]
        means = {m: float(vessel.angle_deg[m].mean()) for m in images.predictions}
        told = sorted(means, key=lambda m: means[m])
        if len(means) > MOST_TOLD:
            told = [told[0], told[-1]]
        parts.append(
            f"{plain(vessel.vessel)}: raters {raters.mean():.0f} "
            f"({raters.min():.0f} to {raters.max():.0f}), "
            + ", ".join(f"{brief(method)} {means[method]:.0f}" for method in told)
        )
    none = _untouched(images)
    rest = f" No contact: {joined(none)}." if none else ""
    return (
        f"Contact of lesion and vessels in case {plain(images.case)}, mean angle in degrees. "
        f"{'; '.join(parts)}.{rest}"
    )


def _any_contact(images: CaseImages) -> bool:
    return len(images.labels) == 1 and bool(contacts(images))


CONTACT = Picture(
    name="contact",
    title="Vessel contact",
    help="Each strip is a vessel's wall cut open, along and round it. The darker, the more raters "
    "(or thresholds of a map) see it touched there. Numbers: mean contact angle and range.",
    draw=contact,
    data=contact_data,
    alt=contact_alt,
    applies=_any_contact,
    needs="It needs a lesion that touches a vessel",
)
