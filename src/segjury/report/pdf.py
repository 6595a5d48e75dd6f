"""The report as PDF: the page, printed by a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from segjury.errors import InputError
from segjury.report.html import page
from segjury.report.model import Report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
PRINT_SECONDS = 180
PRINT_IT = "Write the report as HTML, open it in any browser and print it to a PDF file"


def browser() -> str | None:
    """A browser that can print: the one named in SEGJURY_BROWSER, or the first found."""
    named = os.environ.get("SEGJURY_BROWSER")
    if named is not None:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def needed_browser() -> str:
    """The browser that prints; there is no PDF without one."""
    program = browser()
    if program is None:
        raise InputError("no browser was found that can print a PDF (Chromium, Chrome)", PRINT_IT)
    return program


def pdf(report: Report) -> bytes:
    """The page as a browser prints it, with every figure and table shown."""
    program = needed_browser()
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
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(f"{program} could not print the report", PRINT_IT) from error
