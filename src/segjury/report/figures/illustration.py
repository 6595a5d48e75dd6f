"""A figure with the words that belong to it, and the kinds of pictures of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pandas as pd
from matplotlib.figure import Figure

from segjury.errors import InputError
from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.saving.save import FORMATS, Format, figure_bytes, write_whole
from segjury.runtime.paths import make_folder
from segjury.runtime.tables import write_csv
from segjury.wording import plain, wrapped

SUFFIXES = (*FORMATS, "csv")  # of the files that an illustration can be saved to


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

    def save(self, path: Path | str) -> Path:
        """Write the figure, or its data as CSV, in the format that the file's name says."""
        path = Path(path)
        suffix = path.suffix.lower().lstrip(".")
        if suffix not in SUFFIXES:
            *others, last = (f".{each}" for each in SUFFIXES)
            endings = f"{', '.join(others)} or {last}"
            raise InputError(
                f"{path} has no format that figures have", f"End its name in {endings}"
            )
        if suffix == "csv" and self.data is None:
            raise InputError(f"the figure {self.name} has no numbers", "Write it as .svg or .png")
        make_folder(path.parent)
        if suffix == "csv" and self.data is not None:
            write_csv(self.data, path)
        else:
            write_whole(path, figure_bytes(self.figure, cast("Format", suffix)))
        return path

    def _repr_png_(self) -> bytes:
        """The figure as a notebook shows it."""
        return figure_bytes(self.figure, "png")


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
