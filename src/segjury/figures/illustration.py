"""A figure with the words that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from segjury.figures.style import plain


@dataclass(frozen=True)
class Illustration:
    """A figure, its file name (made safe on saving), title, reading help and text for the blind.

    `data` is the table of what is drawn, `label` tells it from others of its kind. `inline` says
    what a page shows: vectors (`svg`), or pixels (`png`) for pictures of images.
    """

    figure: Figure
    name: str
    title: str
    caption: str
    alt: str
    inline: Literal["svg", "png"] = "svg"
    data: pd.DataFrame | None = None
    label: str = ""


def case_illustration(
    figure: Figure,
    case: str,
    methods: Sequence[str],
    why: str = "",
    *,
    n_raters: int = 2,
    n_labels: int = 1,
) -> Illustration:
    """The words for a `case_panel` of these methods; `why` says why this case is shown."""
    outline = "; all classes as one outline" if n_labels > 1 else ""
    if n_raters > 1:
        which, drawn = "The axial slice on which the raters differ most", "of all raters"
        dashed = "what more than half of the raters drew"
    else:
        which, drawn = "The axial slice with the largest part of the reference", "of the reference"
        dashed = "the reference"
    return Illustration(
        figure=figure,
        name=f"case {case}",
        title=f"Case {plain(case)}",
        caption=(
            f"{why}{' ' if why else ''}{which}{outline}. Yellow: the method's mask, "
            "under a veil of its probability where there is one. "
            f"Dashed: {dashed}."
        ),
        alt=(
            f"Axial slice of case {plain(case)} with the contours {drawn}, then the same "
            f"slice with the contour of {', '.join(plain(m) for m in methods)}."
        ),
        inline="png",
    )
