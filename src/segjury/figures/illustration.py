"""A figure with the words that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure

from segjury.figures.style import plain


@dataclass(frozen=True)
class Illustration:
    """A figure, its file name (made safe on saving), title, reading help and text for the blind.

    `inline` says what a page shows: vectors (`svg`), or pixels (`png`) for pictures of images.
    """

    figure: Figure
    name: str
    title: str
    caption: str
    alt: str
    inline: Literal["svg", "png"] = "svg"


def case_illustration(
    figure: Figure, case: str, methods: Sequence[str], why: str = ""
) -> Illustration:
    """The words for a `case_panel` of these methods; `why` says why this case is shown."""
    return Illustration(
        figure=figure,
        name=f"case {case}",
        title=f"Case {plain(case)}",
        caption=(
            f"{why}{' ' if why else ''}The axial slice on which the raters differ most, in a "
            "soft-tissue window. Yellow: the method's mask, under a veil of its probability where "
            "there is one. Dashed: what more than half of the raters drew."
        ),
        alt=(
            f"Axial slice of case {plain(case)} with the contours of all raters, then the same "
            f"slice with the vessels and the contour of {', '.join(plain(m) for m in methods)}."
        ),
        inline="png",
    )
