"""Save figures: the same figure gives the same bytes, whenever and wherever it is written."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from segjury.report.figures.drawing.style import styled
from segjury.report.figures.saving.png import indexed_png
from segjury.report.figures.saving.svg import slim
from segjury.runtime.paths import make_folder
from segjury.runtime.writing import whole_file

Format = Literal["svg", "png", "pdf"]
PNG_DPI = 200
VECTOR_DPI = 150  # of what is pixels in vector files
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")

# what would carry the time or the version of matplotlib into the file
_METADATA: dict[Format, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def figure_bytes(figure: Figure, file_format: Format) -> bytes:
    """The figure, laid out already, as a file of the given format.

    The canvases are called themselves: `savefig` would draw everything twice. They change the
    figure's resolution, at which parts of it may be pixels in vector files too.
    """
    before = figure.get_dpi()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # names in any script
        figure.set_dpi(VECTOR_DPI if file_format != "png" else PNG_DPI)
        data = _WRITERS[file_format](figure)
    figure.set_dpi(before)
    return data


def _svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata=_METADATA["svg"])
    return slim(buffer.getvalue().decode()).encode()


def _pdf(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    FigureCanvasPdf(figure).print_pdf(buffer, metadata=_METADATA["pdf"])
    return buffer.getvalue()


def _png(figure: Figure) -> bytes:
    canvas = FigureCanvasAgg(figure)
    if any(axes.images for axes in figure.axes):
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        return indexed_png(np.ascontiguousarray(pixels), PNG_DPI)
    buffer = io.BytesIO()
    quick = {"compress_level": 4}  # three times as fast as the usual 6, a few per cent larger
    canvas.print_png(buffer, metadata=_METADATA["png"], pil_kwargs=quick)
    return buffer.getvalue()


_WRITERS: dict[Format, Callable[[Figure], bytes]] = {"svg": _svg, "png": _png, "pdf": _pdf}


def save_figure(
    figure: Figure, folder: Path, name: str, formats: Sequence[Format] = FORMATS
) -> dict[Format, Path]:
    """Write `folder/<slug of name>.<format>` for each format; says where."""
    make_folder(folder)
    paths = {each: folder / f"{slug(name)}.{each}" for each in formats}
    for each, path in paths.items():
        write_whole(path, figure_bytes(figure, each))
    return paths


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(content)


def free_slug(text: str, taken: set[str]) -> str:
    """A file name from any text, numbered where it is taken; it is taken from then on."""
    stem = free = slug(text)
    number = 2
    while free in taken:
        free, number = f"{stem}-{number}", number + 1
    taken.add(free)
    return free


def slug(text: str) -> str:
    """A file name from any text: small letters, digits and hyphens, at most 80 of them."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:80].strip("-") or "figure"
