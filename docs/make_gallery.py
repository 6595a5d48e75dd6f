"""Draw the gallery of the documentation, and the picture of the README, from the demo's results.

Run by `make gallery`. Each kind of figure is drawn once, of what the report would draw first.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from segjury.analysis.study import Study
from segjury.protocols import load_protocol
from segjury.raters import measure_raters, write_raters
from segjury.report.figures.cases.highlights import highlights
from segjury.report.figures.catalogue import KINDS
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.saving.png import indexed_png
from segjury.report.figures.saving.save import PNG_DPI, figure_bytes
from segjury.report.pdf import browser
from segjury.report.pictures import PICTURES, case_images
from segjury.results import Results, Run

DOCS = Path(__file__).parent
SCREEN = (1280, 2260)
SECTIONS = {
    "ranks": "How sure the order is",
    "tests": "Which differences hold",
    "choices": "What the order depends on",
    "spread": "Scores over the cases",
    "relations": "Which scores and methods are alike",
    "cases": "Cases",
    "raters": "Raters",
    "ceiling": "Methods and raters",
    "maps": "Probabilities, volumes, contact",
}
RATERS = "segjury raters curvas-pdacvi-2025 --reference demo/reference --out demo/raters"
INTRODUCTION = """# Gallery

Every figure that `segjury report` makes, drawn from the synthetic benchmark of `make demo`: ten
cases, five raters, six simulated methods. `segjury figure NAME SCORES --out FILE` draws one alone,
as SVG, PNG, PDF, or its data as CSV; `segjury figure list` says which options each takes. From
Python each is a function of any table of scores ([more](report.md#from-python)).

This page is made by `make gallery`.
"""


def study_of_run(results: Path) -> Study:
    """The table of a run with all that was written beside it."""
    return Study.of(Results.read(results))


def write_ceiling(results: Path) -> None:
    """What the raters of the demo score, beside its scores."""
    run = Run.read(results)
    assert run is not None, "the demo has a run"  # noqa: S101
    study = measure_raters(run.protocol.name, reference=results / "reference")
    write_raters(study, results / "raters")


def figures(study: Study, section: str) -> Iterator[tuple[str, str, Illustration]]:
    """Name, command and figure of each kind in a section that the study can carry."""
    for name, kind in KINDS.items():
        subjects = kind.subjects(study) if kind.section == section else []
        if subjects:
            words = "".join(f" --{part} '{text}'" for part, text in subjects[0].items())
            command = f"segjury figure {name} demo/scores.csv{words} --out {name}.svg"
            if section == "ceiling":
                command = f"{RATERS}\n{command}"
            yield name, command, kind.illustrate(study, subjects[0])


def pictures(study: Study, results: Path) -> Iterator[tuple[str, str, Illustration]]:
    """Name, command and picture of each kind, of the case that tells most of it."""
    assert study.run is not None, "the demo has a run"  # noqa: S101
    protocol = load_protocol(study.run.protocol.name)
    folders = (results / "reference", results / "predictions")
    told = highlights(study.scores, study.cases, study.reading, details=study.details)
    cases = {role: each.case for each in told for role in each.roles}
    for name, picture in PICTURES.items():
        case = cases["contact" if name == "contact" else "typical"]
        images = case_images(protocol, *folders, case, study.methods, everyone=study.methods)
        command = f"segjury figure {name} demo/scores.csv --case {case} --out {name}.png"
        yield name, command, picture.illustrate(images)


def entry(name: str, command: str, drawn: Illustration) -> str:
    """Save the figure, and say what it is."""
    save_small(io.BytesIO(figure_bytes(drawn.figure, "png")), DOCS / "gallery" / f"{name}.png")
    width = round(110 * float(drawn.figure.get_size_inches()[0]))
    alt = drawn.alt.replace('"', "'").replace("<", "").replace(">", "")
    return (
        f"### {drawn.title} (`{name}`)\n\n{drawn.caption}\n\n"
        f'<img src="gallery/{name}.png" width="{width}" alt="{alt}">\n\n'
        f"```sh\n{command}\n```\n"
    )


def save_small(picture: Path | io.BytesIO, target: Path) -> None:
    """Save a picture with a palette, in which the colours of methods stay as they are."""
    target.write_bytes(indexed_png(np.asarray(Image.open(picture).convert("RGB")), PNG_DPI))


def screenshot(page: Path, target: Path) -> None:
    """The first screen of a report."""
    program = browser()
    if program is None:
        sys.exit("the picture of the README needs Chromium")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--headless", "--disable-gpu", "--hide-scrollbars"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        command += [f"--user-data-dir={folder}/profile", f"--screenshot={folder}/page.png"]
        command += [f"--window-size={SCREEN[0]},{SCREEN[1]}", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        save_small(Path(folder, "page.png"), target)


def main(results: Path) -> None:
    """Write `gallery.md`, its pictures, and `report.png`."""
    write_ceiling(results)
    study = study_of_run(results)
    (DOCS / "gallery").mkdir(exist_ok=True)
    parts = [INTRODUCTION]
    for section, title in SECTIONS.items():
        found = [entry(*each) for each in figures(study, section)]
        parts += [f"## {title}\n", *found] if found else []
    parts += ["## Pictures of cases\n", *(entry(*each) for each in pictures(study, results))]
    (DOCS / "gallery.md").write_text("\n".join(parts), "utf-8")
    screenshot(results / "report.html", DOCS / "report.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
