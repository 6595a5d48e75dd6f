"""A figure with the words that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure


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
