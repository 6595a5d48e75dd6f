"""The report as PDF: printed by a browser where there is one, else pages of figures and text."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from segjury.figures.save import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from segjury.report.report import Report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
PRINT_SECONDS = 180
PAGE_IN = (8.27, 11.69)  # A4
MARGIN_IN = 0.7
LINES = 92  # of text on a page
LINE_LENGTH = 104  # characters


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
    from segjury.report.page import page

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


def _pages(report: Report) -> bytes:
    """The text of the Markdown form, then a page for each figure."""
    import io

    from matplotlib.backends.backend_pdf import PdfPages

    from segjury.figures.style import styled

    buffer = io.BytesIO()
    with styled(), PdfPages(buffer, metadata={"CreationDate": None, "Title": report.title}) as book:
        for page in (*_text_pages(report), *_figure_pages(report)):
            book.savefig(page)
    return buffer.getvalue()


def _text_pages(report: Report) -> Iterator[Figure]:
    from matplotlib.figure import Figure

    lines = [
        piece
        for line in _plain_lines(report)
        for piece in (textwrap.wrap(line, LINE_LENGTH) or [""])
    ]
    for start in range(0, len(lines), LINES):
        figure = Figure(figsize=PAGE_IN)
        figure.text(
            MARGIN_IN / PAGE_IN[0],
            1 - MARGIN_IN / PAGE_IN[1],
            "\n".join(lines[start : start + LINES]),
            va="top",
            fontsize=7,
            linespacing=1.35,
            parse_math=False,
        )
        yield figure


def _plain_lines(report: Report) -> Iterator[str]:
    """The words and numbers, a line each."""
    found = report.content
    yield from (report.title, "", *found.summary, "")
    for board in found.boards:
        yield board.caption
        for row in board.rows:
            cells = (
                f"{c.key} {s.value} ({s.rank})"
                for c, s in zip(board.columns, row.cells, strict=True)
            )
            sure = (f"{name} {value}" for name, value in zip(board.sure, row.sure, strict=True))
            yield f"{row.position}. {row.method}: mean rank {row.mean_rank}; " + "; ".join(
                (*sure, *cells)
            )
        yield ""
    for sentences in found.said.values():
        yield from (*sentences, "")
    for gap in found.gaps:
        yield f"{gap.status}: {gap.method}, {gap.case}: {gap.scores}: {gap.detail}"
    for paragraph in report.methods:
        yield from ("", paragraph.title, paragraph.text)
    yield from ("", report.citation)


def _figure_pages(report: Report) -> Iterator[Figure]:
    import io

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
