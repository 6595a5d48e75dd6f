"""The command that looks at the files of a benchmark before anything is scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli import options
from segjury.cli.program import BAD_INPUT, app
from segjury.wording import plural

if TYPE_CHECKING:
    from segjury.benchmark.check import Checked


@app.command(
    epilog="Example: [cyan]segjury check curvas-pdacvi-2025 --reference ref --predictions pred[/]"
)
def check(
    protocol: options.OptionalProtocolArgument = None,
    reference: Annotated[Path | None, typer.Option(help=options.REFERENCE_HELP)] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Folder with one folder per method, or of one method.")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of the images, to compare predictions with; no reference then."),
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Methods to check, with commas.", show_default="all")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ignore_warnings: Annotated[
        bool, typer.Option("--ignore-warnings", help="Exit code 0 if there are warnings alone.")
    ] = False,
    follow_links: options.FollowLinksOption = False,
    allow_code: options.AllowCodeOption = False,
    jobs: options.JobsOption = None,
) -> None:
    """Check the files of a benchmark: one line per problem, exit code 2 if there is any.

    An error keeps a prediction from being scored, or a case; a warning does not, but may be why a
    score is not what was hoped for. Without a reference, predictions are checked by themselves.
    """
    from segjury.benchmark import check
    from segjury.cli.output.terminal import progress_bar

    with progress_bar() as progress:
        bar = progress.add_task("checking", total=None)
        checked = check.check(
            protocol,
            reference=reference,
            predictions=predictions,
            images=images,
            methods=options.names(methods),
            follow_links=follow_links,
            allow_code=allow_code,
            jobs=jobs,
            progress=lambda done, of: progress.update(bar, completed=done, total=of),
        )
    _print(checked, as_json=as_json)
    if checked.errors or (checked.warnings and not ignore_warnings):
        raise typer.Exit(BAD_INPUT)


def _print(checked: Checked, *, as_json: bool) -> None:
    """The problems on standard output, and a summary on standard error."""
    from segjury.benchmark.check.problem import lines
    from segjury.cli.output.terminal import answer, log

    answer(
        *(_document(checked).splitlines() if as_json else lines(checked.problems, checked.cases))
    )
    for note in checked.notes:
        log(f"note: {note}")
    cases, methods, errors, warnings = (
        plural(count, noun)
        for count, noun in (
            (checked.cases, "case"),
            (checked.methods, "method"),
            (checked.errors, "error"),
            (checked.warnings, "warning"),
        )
    )
    log(f"{cases}, {methods}, {_size(checked.bytes)}: {errors}, {warnings}")


def _document(checked: Checked) -> str:
    return json.dumps(checked.as_json(), indent=2)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
