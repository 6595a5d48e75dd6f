"""`segjury curate`: which cases to keep, by rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app


def _print_rules(wanted: bool) -> None:
    if wanted:
        from segjury.benchmark.curate.rules import default_text

        print(default_text(), end="")
        raise typer.Exit


@app.command(
    epilog="Example: [cyan]segjury curate curvas-pdacvi-2025 --reference ref --out curated[/]"
)
def curate(
    protocol: options.ProtocolArgument,
    reference: options.ReferenceOption,
    out: Annotated[Path, typer.Option(help="Folder for exclusions.csv, cases.csv, ...")],
    rules: Annotated[
        Path | None, typer.Option(help="TOML of rules.", show_default="those of --print-rules")
    ] = None,
    link: Annotated[
        Path | None, typer.Option(help="New folder for links to the cases that are kept.")
    ] = None,
    jobs: options.JobsOption = None,
    allow_code: options.AllowCodeOption = False,
    _print: Annotated[
        bool,
        typer.Option(
            "--print-rules", callback=_print_rules, is_eager=True, help="Print the usual rules."
        ),
    ] = False,
) -> None:
    """Choose cases by rules: which to keep, and a log of why others are left out.

    A case is left out where a rater found nothing, a mask touches the border or the geometry is
    corrupt, or as the rules say. Nothing is moved or deleted.
    """
    from segjury.benchmark import curate
    from segjury.benchmark.layout import case_names
    from segjury.cli.output.terminal import log, print_rows, progress_bar, say
    from segjury.protocols import load_protocol

    definition = load_protocol(protocol, allow_code=allow_code)
    with progress_bar() as progress:
        bar = progress.add_task("curating", total=len(case_names(definition, reference)))
        done = curate.curate(
            protocol,
            rules,
            reference=reference,
            out=out,
            link=link,
            allow_code=allow_code,
            jobs=jobs,
            progress=lambda _case: progress.advance(bar),
        )
    rows = [[rule, str(first), str(every)] for rule, first, every in done.flow]
    print_rows(("rule", "cases left out", "cases that break it"), rows)
    cases, kept = len(done.cases), len(done.names)
    say(f"{cases} cases, {cases - kept} excluded, {kept} kept")
    log(f"written: {out / 'exclusions.csv'}")
