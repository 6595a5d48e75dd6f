"""`segjury compare`: two versions of one's own method, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from segjury.cli import options
from segjury.cli.program import BAD_INPUT, app


@app.command(
    epilog="Example: [cyan]segjury compare v1 v2 --protocol curvas-pdacvi-2025 --reference ref "
    "--out changes[/]"
)
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Predictions of the first version.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Predictions of the second.")],
    protocol: Annotated[str, typer.Option(help="Name of a protocol, or its .toml file.")],
    reference: options.ReferenceOption,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables and pictures.", show_default="none")
    ] = None,
    reading: Annotated[str, typer.Option(help="Reading to compare in.")] = "corrected",
    pictures: Annotated[
        int, typer.Option(min=0, max=100, help="Cases to draw, those that changed most.")
    ] = 3,
    cases: Annotated[int, typer.Option(min=0, help="Cases to print, likewise.")] = 5,
    jobs: options.JobsOption = None,
    allow_code: options.AllowCodeOption = False,
) -> None:
    """Compare two versions of your method: each score with its test, and the cases that changed.

    A and B are folders with one folder per case, or with the one folder of a method.
    """
    from segjury.benchmark.layout import case_names
    from segjury.cli.output.print_tables import print_versions
    from segjury.cli.output.terminal import answer, progress_bar, warn
    from segjury.metrics import Reading
    from segjury.platforms.compare import compare as compare_folders
    from segjury.protocols import load_protocol

    chosen: Reading = options.choice("reading", reading, get_args(Reading))
    definition = load_protocol(protocol, allow_code=allow_code)
    with progress_bar() as progress:
        bar = progress.add_task("scoring", total=len(case_names(definition, reference)))
        compared = compare_folders(
            first,
            second,
            protocol=protocol,
            reference=reference,
            out=out,
            reading=chosen,
            pictures=pictures,
            jobs=jobs,
            allow_code=allow_code,
            progress=lambda _done: progress.advance(bar),
        )
    for warning in compared.warnings:
        warn(warning)
    for problem in compared.problems:
        warn(problem)
    print_versions(compared.versions, cases)
    answer(*compared.files)
    if compared.problems:
        raise typer.Exit(BAD_INPUT)
