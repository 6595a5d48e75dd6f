"""The report as PDF: printed by a browser where there is one, else pages of figures and text."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from segjury.report.figures.saving.save import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from segjury.report.report import Report
    from segjury.report.tables import Board, LeaderboardRow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
PRINT_SECONDS = 180
PAGE_IN = (8.27, 11.69)  # A4
MARGIN_IN = 0.7
LINE_IN = 0.135
LINES = 76  # of text on a page
LINE_LENGTH = 124  # characters


def browser() -> str | None:
    """A browser that can print: the one named in SEGJURY_BROWSER, or the first found."""
    named = os.environ.get("SEGJURY_BROWSER")
    if named is not None:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def write_pdf(report: Report, out: Path) -> None:
    """Print the page with a browser; without one, or if it fails, write pages of our own."""
    program = browser()
    printed = _printed(report, program) if program else None
    write_whole(out, printed if printed is not None else _pages(report))


def _printed(report: Report, program: str) -> bytes | None:
    """What the browser prints of the page; nothing if it cannot."""
    from segjury.report.html import page

    with tempfile.TemporaryDirectory(prefix="segjury-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_bytes(page(report).encode("utf-8", "replace"))
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # the browser refuses to run as root with it
        try:
            subprocess.run(command, capture_output=True, timeout=PRINT_SECONDS, check=True)  # noqa: S603
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None


# ---- without a browser ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A line of text, or a heading."""

    text: str
    heading: bool = False


def _pages(report: Report) -> bytes:
    """The words and numbers, then a page for each figure."""
    from matplotlib.backends.backend_pdf import PdfPages

    from segjury.report.figures.drawing.style import styled

    buffer = io.BytesIO()
    about = {"CreationDate": None, "Title": report.title}
    with styled(), warnings.catch_warnings(), PdfPages(buffer, metadata=about) as book:
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # names in any script
        for page in chain(_text_pages(report), _figure_pages(report)):
            book.savefig(page)
    return buffer.getvalue()


def _text_pages(report: Report) -> Iterator[Figure]:
    from matplotlib.figure import Figure

    lines = [
        _Line(piece, line.heading)
        for line in _lines(report)
        for piece in (textwrap.wrap(line.text, LINE_LENGTH) or [""])
    ]
    for start in range(0, len(lines), LINES):
        figure = Figure(figsize=PAGE_IN)
        for n, line in enumerate(lines[start : start + LINES]):
            figure.text(
                MARGIN_IN / PAGE_IN[0],
                1 - (MARGIN_IN + n * LINE_IN) / PAGE_IN[1],
                line.text,
                va="top",
                fontsize=8 if line.heading else 7,
                fontweight="bold" if line.heading else "normal",
                parse_math=False,
            )
        yield figure


def _lines(report: Report) -> Iterator[_Line]:
    """The words and numbers of the report."""
    found = report.content
    yield from _part(report.title, found.summary)
    for board in found.boards:
        yield from _part(board.caption, [_place(board, row) for row in board.rows])
    for section, sentences in found.said.items():
        yield from _part(section.capitalize(), sentences)
    gaps = [f"{g.status}: {g.method}, {g.case}: {g.scores}: {g.detail}" for g in found.gaps]
    yield from _part("Not scored", gaps)
    for paragraph in report.methods:
        yield from _part(paragraph.title, [paragraph.text])
    yield from _part("Cite this report", [report.citation])


def _part(heading: str, sentences: Sequence[str]) -> Iterator[_Line]:
    if sentences:
        yield _Line(heading, heading=True)
        yield from (_Line(sentence) for sentence in sentences)
        yield _Line("")


def _place(board: Board, row: LeaderboardRow) -> str:
    """A line of a leaderboard."""
    scores = (
        f"{c.key} {s.value} ({s.rank})" for c, s in zip(board.columns, row.cells, strict=True)
    )
    sure = (f"{name} {value}" for name, value in zip(board.sure, row.sure, strict=True))
    start = f"{row.position}. {row.method}: mean rank {row.mean_rank}"
    return "; ".join((start, *sure, *scores))


def _figure_pages(report: Report) -> Iterator[Figure]:
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    for family in report.drawn.families:
        for plate in family.plates:
            if "png" not in plate.files:
                continue
            pixels = imread(io.BytesIO(plate.files["png"]), format="png")
            figure = Figure(figsize=PAGE_IN)
            room = (PAGE_IN[0] - 2 * MARGIN_IN, PAGE_IN[1] - 2 * MARGIN_IN - 1.0)
            scale = min(1.6, room[0] / plate.size_in[0], room[1] / plate.size_in[1])
            width, height = (scale * side for side in plate.size_in)
            top = PAGE_IN[1] - MARGIN_IN
            axes = figure.add_axes(
                (
                    MARGIN_IN / PAGE_IN[0],
                    (top - height) / PAGE_IN[1],
                    width / PAGE_IN[0],
                    height / PAGE_IN[1],
                )
            )
            axes.imshow(pixels, interpolation="none", aspect="auto")
            axes.set_axis_off()
            words = textwrap.fill(f"{plate.title}. {plate.caption}", LINE_LENGTH)
            figure.text(
                MARGIN_IN / PAGE_IN[0],
                (top - height - 0.15) / PAGE_IN[1],
                words,
                va="top",
                fontsize=8,
                parse_math=False,
            )
            yield figure
