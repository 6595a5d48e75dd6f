"""Agreement: where all raters say the same and where not, and what each method makes of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.report.figures.drawing.style import styled
from segjury.report.figures.illustration import Picture, brief
from segjury.report.figures.pictures.shared.background import ground, show
from segjury.report.figures.pictures.shared.images import CaseImages, Labels
from segjury.report.figures.pictures.shared.layout import Mosaic
from segjury.report.figures.pictures.shared.legend import PictureLegend
from segjury.report.figures.pictures.shared.outcomes import (
    LOOKS,
    Classes,
    Outcome,
    compared,
    handles,
    painted,
)
from segjury.report.figures.pictures.shared.slicing import Slice, choose_slice, disputed
from segjury.report.figures.pictures.shared.tiles import (
    head_tile,
    name_labels,
    name_tile,
    number_tile,
    say_sides,
    scale_bar,
    slice_title,
)
from segjury.wording import plain

RATERS = ""  # no method has no name
_LEGEND_COLUMNS = 3
_OF_RATERS = (Outcome.AGREED, Outcome.DISPUTED)
_OF_METHODS = (
    Outcome.RIGHT,
    Outcome.MISSED,
    Outcome.ADDED,
    Outcome.INCLUDED,
    Outcome.LEFT_OUT,
    Outcome.OTHER_LABEL,
)


def agreement(images: CaseImages) -> Figure:
    """One axial slice: what all raters marked and where they differ, then each method's outcome.

    Right, missed and added only exist where all raters say the same (CURVAS 2024); elsewhere a
    method includes a voxel or leaves it out. The numbers on the tiles are of the whole case.
    """
    images = images.upright
    view = choose_slice(images)
    width, height = view.size_mm
    outcomes = _OF_METHODS if len(images.labels) > 1 else _OF_METHODS[:-1]
    mosaic = Mosaic.of(list(images.predictions), aspect=height / width)
    cm3 = agreement_data(images).groupby(["name", "outcome"])["cm3"].sum()
    with styled():
        raters = _legend(_OF_RATERS, mosaic.large_in)
        methods = _legend(
            outcomes if images.predictions else (), mosaic.width_in - mosaic.beside_in
        )
        mosaic = replace(mosaic, below_in=max(raters.below_in, methods.below_in))
        figure = mosaic.figure(*slice_title(images, view))
        _rater_tile(mosaic.large(figure), images, view, mosaic.large_in, cm3)
        for index, method in enumerate(images.predictions):
            axes = mosaic.method(figure, index)
            classes = slice_outcomes(images, view, method)
            _show(axes, images, view, classes, mosaic.method_in)
            name_tile(axes, images, method)
            missed, added = cm3[method, "missed"], cm3[method, "added"]
            number_tile(axes, f"missed {missed:.1f}, added {added:.1f} cm³")
        raters.draw(figure, left_in=0)
        if methods.entries:
            methods.draw(figure, left_in=mosaic.beside_in)
        return figure


def _legend(outcomes: Sequence[Outcome], width_in: float) -> PictureLegend:
    return PictureLegend.fitted(handles(outcomes), width_in=width_in, columns=_LEGEND_COLUMNS)


def slice_regions(images: CaseImages, view: Slice) -> tuple[Labels, Classes]:
    """On a slice, the label that all raters give (0 where they differ), and the regions."""
    masks = [view.cut(mask) for mask in images.raters.values()]
    same = np.all([mask == masks[0] for mask in masks], axis=0)
    agreed = np.where(same, masks[0], 0)
    regions = np.where(same, np.where(agreed != 0, Outcome.AGREED, 0), Outcome.DISPUTED)
    return agreed, regions.astype(np.uint8)


def slice_outcomes(images: CaseImages, view: Slice, method: str) -> Classes:
    """The outcome of a method at each pixel of a slice."""
    agreed, regions = slice_regions(images, view)
    prediction = view.cut(images.predictions[method])
    return compared(agreed, prediction, regions == Outcome.DISPUTED)


def _rater_tile(
    axes: Axes, images: CaseImages, view: Slice, width_in: float, cm3: pd.Series[float]
) -> None:
    _, regions = slice_regions(images, view)
    _show(axes, images, view, regions, width_in)
    name_labels(axes, images, view, view.cut(images.consensus))
    scale_bar(axes, view.size_mm)
    if images.has_sides:
        say_sides(axes, "A", "L")
    agreed, differ = (cm3[RATERS, LOOKS[each].name] for each in _OF_RATERS)
    head_tile(axes, f"Raters: all mark {agreed:.1f} cm³, differ on {differ:.1f} cm³")


def _show(axes: Axes, images: CaseImages, view: Slice, classes: Classes, width_in: float) -> None:
    show(axes, view.size_mm, ground(images, view))
    show(axes, view.size_mm, painted(classes, view.size_mm, width_in), "outcomes", smooth=False)


def agreement_data(images: CaseImages) -> pd.DataFrame:
    """Voxels and volume of every outcome, of the whole case and of the slice, per label.

    Each label is judged by itself, as scores do: one voxel with another label than all raters
    gave is missed for theirs and added for the other.
    """
    return images.kept.once(("agreement",), lambda: _counted(images.upright))


def _counted(images: CaseImages) -> pd.DataFrame:
    view = choose_slice(images)
    masks = [*images.raters.values(), *images.predictions.values()]
    whole = _labelled(masks)
    part = [mask[:, :, view.z] for mask in masks]
    rows = []
    for label, number in images.numbers.items():
        of_case = _counts(whole, number, len(images.raters))
        of_slice = _counts(part, number, len(images.raters))
        for method, counts in zip(images.predictions, of_case[1:], strict=True):
            counts[Outcome.ADDED] += images.voxels_outside(method, label)
        for who, here, there in zip([RATERS, *images.predictions], of_case, of_slice, strict=True):
            rows += [
                {
                    "drawn_by": "method" if who else "raters",
                    "name": who,
                    "label": label,
                    "outcome": LOOKS[outcome].name,
                    "voxels": voxels,
                    "cm3": voxels * images.voxel_cm3,
                    "slice": images.slice_number(view.z),
                    "voxels_on_slice": there[outcome],
                }
                for outcome, voxels in here.items()
            ]
    return pd.DataFrame(rows)


def _labelled(masks: Sequence[Labels]) -> list[Labels]:
    """The label maps at the voxels that any of them labels: all that is counted."""
    seen = np.zeros(masks[0].shape, bool, order="F")
    for mask in masks:
        seen |= mask != 0
    return [mask[seen] for mask in masks]


def _counts(masks: Sequence[Labels], number: int, n_raters: int) -> list[dict[Outcome, int]]:
    """Voxels of a label by outcome: of the raters, then of each method."""
    given = [mask == number for mask in masks]
    every, some = np.all(given[:n_raters], axis=0), np.any(given[:n_raters], axis=0)
    differ = some & ~every
    counts = [{Outcome.AGREED: int(every.sum()), Outcome.DISPUTED: int(differ.sum())}]
    counts += [
        {
            Outcome.RIGHT: int((every & mask).sum()),
            Outcome.MISSED: int((every & ~mask).sum()),
            Outcome.ADDED: int((~some & mask).sum()),
            Outcome.INCLUDED: int((differ & mask).sum()),
            Outcome.LEFT_OUT: int((differ & ~mask).sum()),
        }
        for mask in given[n_raters:]
    ]
    return counts


def agreement_alt(images: CaseImages) -> str:
    """The volumes of all outcomes, method by method."""
    data = agreement_data(images)
    cm3 = data.groupby(["name", "outcome"])["cm3"].sum()
    agreed, differ = (cm3[RATERS, LOOKS[each].name] for each in _OF_RATERS)
    each = [
        f"{brief(method)} misses {cm3[method, 'missed']:.1f} and adds {cm3[method, 'added']:.1f}"
        for method in images.predictions
    ]
    return (
        f"{images.slice_words(data['slice'].iloc[0]).capitalize()} of case {plain(images.case)}. "
        "All raters mark "
        f"{agreed:.1f} cm³ and differ on {differ:.1f} cm³. Where they agree: {'; '.join(each)} cm³."
    )


def _raters_differ(images: CaseImages) -> bool:
    return images.several_raters and bool(disputed(images).any())


AGREEMENT = Picture(
    name="agreement",
    title="Agreement of the raters",
    help="Left, where all raters mark the same and where they differ. Then each method: right, "
    "missed or added where they agree; whether it includes what they differ on.",
    draw=agreement,
    data=agreement_data,
    alt=agreement_alt,
    applies=_raters_differ,
    needs="It needs several raters who differ",
)
