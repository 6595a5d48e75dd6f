"""`segjury report`: what a table of scores says, as a page, a PDF or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import completion, options
from segjury.cli.program import app

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
            "--format",
            help="html, pdf or markdown.",
            show_default="by the ending of --out",
            autocompletion=completion.one_of(completion.FORMATS),
        ),
    ] = "",
    title: Annotated[str, typer.Option(show_default="the protocol's", help="Title.")] = "",
    figures: Annotated[
        str,
        typer.Option(
            help="Kinds of figures, with commas, or none.",
            show_default="all there are",
            autocompletion=completion.several_of((*completion.FIGURES, "none")),
        ),
    ] = "",
    reading: options.ReadingOption = None,
    methods: options.MethodsOption = "",
    exclude: options.ExcludeOption = "",
    cohort: options.CohortOption = None,
    by: options.ByOption = None,
    baseline: options.BaselineOption = None,
    metrics: options.MetricsOption = "",
    scheme: options.SchemeOption = "",
    aggregate: options.AggregateOption = "",
    ties: options.TiesOption = "",
    weights: options.WeightsOption = "",
    missing: options.MissingOption = "",
    higher: options.HigherOption = None,
    lower: options.LowerOption = None,
    columns: options.ColumnsOption = "",
    groups: options.GroupsOption = "",
    matrix: options.MatrixOption = None,
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    alpha: options.AlphaOption = 0.05,
    failure: options.FailureOption = None,
    reference: options.PicturedReferenceOption = None,
    predictions: options.PicturedPredictionsOption = None,
    raters: options.RatersOption = None,
    jobs: options.JobsOption = None,
) -> None:
    """Write the report: one file, and a folder `figures` beside it (SVG, PNG, PDF, CSV)."""
    from segjury.cli.output.terminal import answer, drawing_bar, warn
    from segjury.platforms.notebook import NotebookStudy
    from segjury.report.publish import check_report
    from segjury.results.results import BESIDE
    from segjury.runtime import default_jobs

    kinds = [] if figures.strip() == NO_FIGURES else options.names(figures)
    check_report(out, file_format or None, kinds)
    study = NotebookStudy.of(
        options.results(scores, columns, groups, matrix, BESIDE, raters=raters),
        reading=reading,
        **options.chosen(methods, exclude),
        cohort=cohort,
        by=by or (),
        baselines=baseline or (),
        failures=failure or (),
        alpha=alpha,
        samples=bootstrap,
        seed=seed,
        **options.ranking(
            metrics=metrics,
            scheme=scheme,
            aggregate=aggregate,
            ties=ties,
            weights=weights,
            missing=missing,
            higher=higher,
            lower=lower,
        ),
    )
    for warning in study.warnings:
        warn(warning)
    with drawing_bar() as progress:
        written = study.report(
            out,
            file_format=file_format or None,
            title=title or None,
            figures=kinds,
            reference=reference,
            predictions=predictions,
            jobs=jobs or default_jobs(8),
            progress=progress,
        )
    for problem in written.problems:
        warn(problem)
    answer(f"report: {out}")
