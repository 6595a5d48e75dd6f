"""`segjury analyze`: all that a table of scores says of its methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app


@app.command(
    epilog="Examples: [cyan]segjury analyze results/scores.csv --out results[/]; "
    "[cyan]segjury analyze theirs.csv --baseline 'nnU-Net' --by dataset --out theirs[/]"
)
def analyze(
    scores: options.ScoresArgument,
    baseline: options.BaselineOption = None,
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
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    alpha: options.AlphaOption = 0.05,
    failure: options.FailureOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for analysis.json, tables and summary.md.")
    ] = None,
) -> None:
    """Analyse the scores: how sure the ranks are, tests between methods, what drives the order.

    Resamples of cases (and of raters, where scores per rater are known), Friedman, Conover-Holm
    and Wilcoxon-Holm tests with effect sizes, leaving out each case, rater and metric, other
    schemes and readings, correlation of metrics, hard cases and failures.
    """
    from segjury.analysis.files import write_analysis
    from segjury.analysis.study import Study
    from segjury.cli.output.print_tables import print_analysis
    from segjury.cli.output.terminal import log, shown, terminal, warn

    study = Study.of(
        options.results(scores, columns, groups, matrix, beside=["details", "cases"]),
        baselines=baseline or (),
        by=by or (),
        failures=failure or (),
        samples=bootstrap,
        seed=seed,
        alpha=alpha,
        reading=reading,
        **options.chosen(methods, exclude),
        cohort=cohort,
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
    with terminal(stderr=True).status("analysing") as status:
        found = study.analyzed(lambda step: status.update(shown(f"analysing: {step}"))).analysis
    if out is not None:  # before printing, which a closed pipe may end
        write_analysis(found, out, study.ranked)
    print_analysis(found, cohort)
    if out is not None:
        log(f"written: {out / 'analysis.json'}")
