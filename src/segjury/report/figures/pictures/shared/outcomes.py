"""What became of each voxel: right, missed, added. One look for each, told apart in grey too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from numpy.typing import NDArray

from segjury.arrays import Bools
from segjury.report.figures.pictures.shared.images import Labels
from segjury.report.figures.pictures.shared.slicing import Pair
from segjury.report.figures.saving.save import PNG_DPI

Classes = NDArray[np.uint8]


class Outcome(IntEnum):
    """Classes of voxels, and of pixels that stand for several: the larger number is shown."""

    NOTHING = 0
    RIGHT = 1
    OTHER_LABEL = 2
    MISSED = 3
    ADDED = 4
    AGREED = 5
    DISPUTED = 6
    INCLUDED = 7
    LEFT_OUT = 8


@dataclass(frozen=True)
class Look:
    """How a class is drawn: its name, its colour, and a pattern in another."""

    name: str
    colour: str
    pattern: Literal["plain", "rising", "falling", "dots"] = "plain"
    ink: str = "#000000"


# Lightness falls from right over missed to added, so that they differ without their hue.
LOOKS = {
    Outcome.RIGHT: Look("right", "#c9efce"),
    Outcome.OTHER_LABEL: Look("other label", "#d264c8", "dots", "#ffffff"),
    Outcome.MISSED: Look("missed", "#f58a1f", "falling", "#5c2c00"),
    Outcome.ADDED: Look("added", "#2f62c9", "rising", "#dfe9ff"),
    Outcome.AGREED: Look("all raters mark it", "#c9efce"),
    Outcome.DISPUTED: Look("raters differ", "#a78bd4", "dots", "#3c2470"),
    Outcome.INCLUDED: Look("differ: included", "#d9c7f5", "dots", "#4b2f86"),
    Outcome.LEFT_OUT: Look("differ: left out", "#5b4391", "dots", "#d9c7f5"),
}
# against one reference
OF_A_REFERENCE = (Outcome.RIGHT, Outcome.MISSED, Outcome.ADDED, Outcome.OTHER_LABEL)
_HATCHES = {"plain": "", "rising": "/////", "falling": "\\\\\\\\\\", "dots": "....."}
_PERIOD = 7  # pixels from one line of a pattern to the next
_OPACITY = 0.9


def compared(reference: Labels, prediction: Labels, differ: Bools | None = None) -> Classes:
    """The outcome at each voxel; where raters `differ`, whether the prediction includes it."""
    classes = np.zeros(reference.shape, np.uint8)
    drawn, guessed = reference != 0, prediction != 0
    classes[drawn & (reference == prediction)] = Outcome.RIGHT
    classes[drawn & guessed & (reference != prediction)] = Outcome.OTHER_LABEL
    classes[drawn & ~guessed] = Outcome.MISSED
    classes[~drawn & guessed] = Outcome.ADDED
    if differ is not None:
        classes[differ & guessed] = Outcome.INCLUDED
        classes[differ & ~guessed] = Outcome.LEFT_OUT
    return classes


def outcome_counts(reference: Labels, prediction: Labels) -> dict[Outcome, int]:
    """Voxels by outcome, of label maps that are mostly empty."""
    drawn = reference != 0
    given, guessed = reference[drawn], prediction[drawn]
    right, covered = int((given == guessed).sum()), int(np.count_nonzero(guessed))
    return {
        Outcome.RIGHT: right,
        Outcome.MISSED: given.size - covered,
        Outcome.ADDED: int(np.count_nonzero(prediction)) - covered,
        Outcome.OTHER_LABEL: covered - right,
    }


def painted(
    classes: Classes, size_mm: Pair, width_in: float, *, patterns: bool = True
) -> NDArray[np.float64]:
    """Classes (axes x, y) as red, green, blue and opacity, at the resolution of the tile."""
    shown = fitted(classes, size_mm, width_in)
    picture = np.zeros((*shown.shape, 4))
    i, j = np.ogrid[: shown.shape[0], : shown.shape[1]]
    marks = {
        "rising": (i + j) % _PERIOD < 2,
        "falling": (i - j) % _PERIOD < 2,
        "dots": ((i + _PERIOD // 2 * (j // 4 % 2)) % _PERIOD < 2) & (j % 4 < 2),
    }
    for outcome, look in LOOKS.items():
        here = shown == outcome
        picture[here] = *to_rgb(look.colour), _OPACITY if patterns else 1.0
        if patterns and look.pattern in marks:
            picture[here & marks[look.pattern]] = *to_rgb(look.ink), _OPACITY
    return picture


def fitted(values: NDArray[Any], size_mm: Pair, width_in: float) -> NDArray[Any]:
    """An array (axes x, y) on the pixels of a tile of this width.

    A pixel that stands for several values takes the largest, so that nothing thin is lost.
    """
    columns = max(round(width_in * PNG_DPI), 1)
    rows = max(round(columns * size_mm[1] / size_mm[0]), 1)
    for axis, size in enumerate((columns, rows)):
        block = -(-values.shape[axis] // size)
        values = np.maximum.reduceat(values, np.arange(0, values.shape[axis], block), axis=axis)
        nearest = ((np.arange(size) + 0.5) * values.shape[axis] / size).astype(int)
        values = values.take(nearest, axis=axis)
    return values


def handles(outcomes: Iterable[Outcome], *, patterns: bool = True) -> list[Artist]:
    """Entries of a legend."""
    looks = [LOOKS[outcome] for outcome in outcomes]
    return [
        Patch(
            facecolor=look.colour,
            edgecolor=look.ink,
            hatch=_HATCHES[look.pattern] if patterns else "",
            linewidth=0,
            label=look.name,
        )
        for look in looks
    ]
