"""`segjury report`: what a table of scores says, as a page, a PDF or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from segjury.cli import options
from segjury.cli.program import app
from segjury.cli.tables import study_from
from segjury.errors import InputError

ENDINGS = {".html": "html", ".htm": "html", ".pdf": "pdf", ".md": "markdown"}
REPORT_FORMATS = ("html", "pdf", "markdown")
NO_FIGURES = "none"


@app.command(
    epilog="Examples: [cyan]segjury report results/scores.csv --out report.html[/]; "
    "[cyan]segjury report ranks.csv --matrix dice --lower dice --out report.pdf[/]"
)
def report(
    scores: options.ScoresArgument,
    out: Annotated[Path, typer.Option(help="The file to write: .html, .pdf or .md.")],
    file_format: Annotated[
        str,
        typer.Option(
            "--format", help="html, pdf or markdown.", show_default="by the ending of --out"
        ),
    ] = "",
    title: Annotated[str, typer.Option(show_default="the protocol's", help="Title.")] = "",
    figures: Annotated[
        str,
        typer.Option(help="Kinds of figures, with commas, or none.", show_default="all there are"),
    ] = "",
    reading: options.ReadingOption = None,
    baseline: options.BaselineOption = None,
    higher: options.HigherOption = None,
    lower: options.LowerOption = None,
    missing: options.MissingOption = "",
    columns: options.ColumnsOption = "",
    matrix: options.MatrixOption = None,
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    reference: options.PicturedReferenceOption = None,
    predictions: options.PicturedPredictionsOption = None,
    raters: options.RatersOption = None,
    jobs: options.JobsOption = None,
) -> None:
    """Write the report: one file, and a folder `figures` beside it (SVG, PNG, PDF, CSV)."""
    from segjury.cli.terminal import drawing_bar, warn
    from segjury.report.publish import publish
    from segjury.runtime import default_jobs

    chosen = _format(out, file_format)
    kinds = _kinds(figures)
    with drawing_bar() as progress:
        study = study_from(
            scores,
            reading=reading,
            higher=higher,
            lower=lower,
            missing=missing,
            columns=columns,
            matrix=matrix,
            raters=raters,
            samples=bootstrap,
            seed=seed,
            baselines=tuple(dict.fromkeys(baseline or ())),
        )
        written = publish(
            scores,
            study,
            out,
            file_format=chosen,
            title=title or None,
            kinds=kinds,
            reference=reference,
            predictions=predictions,
            jobs=jobs or default_jobs(8),
            progress=progress,
        )
    for problem in written.problems:
        warn(problem)
    print(f"report: {out}")


def _format(out: Path, file_format: str) -> Any:
    """The format of a report: as asked for, or as its file's name says."""
    if out.is_dir():
        raise InputError(f"{out} is a folder", "Give the name of the file to write")
    if file_format:
        return options.choice("format", file_format, REPORT_FORMATS)
    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"--out is '{out.name}', which says no format",
            f"End it in {', '.join(ENDINGS)}, or say --format",
        )
    return ENDINGS[out.suffix.lower()]


def _kinds(figures: str) -> list[str] | None:
    """Kinds of figures asked for; None for all."""
    from segjury.report.figures.catalogue import KINDS

    if figures.strip() == NO_FIGURES:
        return []
    wanted = options.names(figures)
    for name in wanted or ():
        options.choice("figures", name, (*KINDS, NO_FIGURES))
    return wanted
