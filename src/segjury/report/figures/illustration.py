"""A figure with the words that belong to it, and the kinds of pictures of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from segjury.report.figures.pictures.images import CaseImages
from segjury.wording import plain, wrapped


@dataclass(frozen=True)
class Illustration:
    """A figure, its file name (made safe on saving), title, reading help and text for the blind.

    `data` is the table of what is drawn, `label` tells it from others of its `kind`. `inline` says
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
    kind: str = ""


@dataclass(frozen=True)
class Picture:
    """A kind of picture of a case.

    `draw`, `data` and `alt` take the images: the figure, the table of its numbers, and the same in
    words. `applies` says whether the images can carry it, `needs` what they would need to.
    `help` says in one line how to read it.
    """

    name: str
    title: str
    help: str
    draw: Callable[[CaseImages], Figure]
    data: Callable[[CaseImages], pd.DataFrame]
    alt: Callable[[CaseImages], str]
    applies: Callable[[CaseImages], bool]
    needs: str = ""

    def illustrate(self, images: CaseImages, why: str = "") -> Illustration:
        """The picture with its words and its data; `why` says why this case is shown."""
        return Illustration(
            figure=self.draw(images),
            name=f"{self.name} {images.case}",
            title=f"{self.title}: case {plain(images.case)}",
            caption=f"{why} {self.help}".strip(),
            alt=self.alt(images),
            inline="png",
            data=self.data(images),
            label=f"case {plain(images.case)}",
            kind=self.title,
        )


def brief(name: object) -> str:
    """A name from outside, at most 30 characters of it, as words for the blind have it."""
    return wrapped(name, width=30, lines=1)


def joined(names: Iterable[str]) -> str:
    """Names from outside as a list in words."""
    return ", ".join(plain(name) for name in names)
