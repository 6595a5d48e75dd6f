"""The command that analyses the raters of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli import options
from segjury.cli.program import BAD_INPUT, app, fail

if TYPE_CHECKING:
    from segjury.raters import RaterStudy


@app.command(
    epilog="Examples: [cyan]segjury raters curvas-pdacvi-2025 --reference ref --out raters[/]; "
    "then [cyan]segjury report results/scores.csv --raters raters --out report.html[/]"
)
def raters(
    protocol: options.ProtocolArgument,
    reference: options.ReferenceOption,
    out: Annotated[Path, typer.Option(help="Folder for the tables, raters.md and figures.")],
    reading: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(options.READING_CHOICES)}, or several with commas."),
    ] = "all",
    cases: Annotated[
        Path | None,
        typer.Option(help="CSV about the cases: case, then groups.", show_default="as in protocol"),
    ] = None,
    seed: options.SeedOption = 0,
    jobs: options.JobsOption = None,
    allow_code: options.AllowCodeOption = False,
) -> None:
    """Analyse the raters: agreement, bias, sensitivity, outliers, and the human ceiling.

    The ceiling is what each rater's own mask would score as a method, judged against the other
    raters in the protocol's metrics. Exit code 2 says that some case could not be read.
    """
    from segjury.benchmark.layout import case_names
    from segjury.cli.output.terminal import answer, log, progress_bar, warn
    from segjury.platforms.notebook import measure_raters
    from segjury.protocols import load_protocol

    definition = load_protocol(protocol, allow_code=allow_code)
    with progress_bar() as progress:
        bar = progress.add_task("measuring", total=len(case_names(definition, reference)))
        study = measure_raters(
            protocol,
            reference=reference,
            out=out,
            readings=options.readings(reading),
            cases=cases,
            seed=seed,
            jobs=jobs,
            allow_code=allow_code,
            progress=lambda _case: progress.advance(bar),
        )
    _print(study)
    for warning in study.warnings:
        warn(warning)
    for problem in study.problems:
        fail(problem)
    answer(out / "raters.md")
    if study.problems:
        of = study.cases + len(study.problems)
        log(f"{study.cases} of {of} cases measured")
        raise typer.Exit(BAD_INPUT)


def _print(study: RaterStudy) -> None:
    """Sentences, then the Dice of every two raters, and with every consensus."""
    from segjury.cli.output.terminal import print_matrix, say
    from segjury.raters.sentences import sentences
    from segjury.raters.tables import square

    for sentence in sentences(study):
        say(f"- {sentence}")
    for label, cells in square(study.agreement, "dice").items():
        say("", f"Dice, mean ± SD over the cases: {label}")
        print_matrix(cells)
