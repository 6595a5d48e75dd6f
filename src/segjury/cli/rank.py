"""`segjury rank`: the leaderboard of a table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app


@app.command(
    epilog="Examples: [cyan]segjury rank results/scores.csv --cohort high-complexity[/]; "
    "[cyan]segjury rank theirs.csv --columns method=team --lower hausdorff --missing worst[/]"
)
def rank(
    scores: options.ScoresArgument,
    reading: options.ReadingOption = None,
    methods: options.MethodsOption = "",
    exclude: options.ExcludeOption = "",
    cohort: options.CohortOption = None,
    by: options.ByOption = None,
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
    bootstrap: options.SamplesOption = 1000,
    seed: options.SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for leaderboard.csv, .json and .tex.")
    ] = None,
) -> None:
    """Rank the methods and print the leaderboard, with how sure the order is.

    The interval is that of the place in resamples of the cases. Methods that share a letter are
    not told apart by the cases at hand.
    """
    from segjury.analysis.files import write_ranked_tables
    from segjury.analysis.study import Study
    from segjury.cli.output.print_tables import print_ranked_table
    from segjury.cli.output.terminal import log, terminal, warn

    study = Study.of(
        options.results(scores, columns, groups, matrix, beside=["cases"] if cohort else []),
        reading=reading,
        **options.chosen(methods, exclude),
        cohort=cohort,
        by=by or (),
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
    with terminal(stderr=True).status("ranking"):
        found = study.leaderboards()
    if out is not None:
        write_ranked_tables(found, out, study.columns_of(found))
    for ranked_table in found:
        print_ranked_table(ranked_table, cohort)
    if out is not None:
        log(f"written: {out / 'leaderboard.csv'}")
