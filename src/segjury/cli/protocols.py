"""`segjury protocols`: the protocols there are, and the definition of one."""

from __future__ import annotations

from typing import Annotated

import typer

from segjury.cli import completion, options
from segjury.cli.program import app


@app.command(epilog="Example: [cyan]segjury protocols curvas-pdacvi-2025 > my.toml[/]")
def protocols(
    name: Annotated[
        str | None,
        typer.Argument(help="Protocol to print.", autocompletion=completion.protocols),
    ] = None,
    allow_code: options.AllowCodeOption = False,
) -> None:
    """List the protocols; with a name, print its definition, metrics, readings and sources.

    Written to a file, it is a protocol file: a copy to change and use as your own.
    """
    from segjury.cli.output.terminal import plain_table, terminal
    from segjury.protocols import builtin_names, load_protocol, protocol_text

    shown = terminal()
    if name is None:
        for known in builtin_names():
            shown.print(f"[bold]{known}[/]  {load_protocol(known).title}", highlight=False)
        return
    protocol = load_protocol(name, allow_code=allow_code)
    table = plain_table("metric", "better", "unit", "readings", "ranked", "what it is")
    for use in protocol.metrics:
        metric = use.metric
        ranked = "yes" if use.ranked is True else ", ".join(use.ranked or ["no"])
        readings = ", ".join(use.readings)
        unit = use.unit_used or "-"
        table.add_row(metric.name, metric.direction, unit, readings, ranked, metric.summary)
    with shown.capture() as capture:
        shown.print(f"{protocol.title}\n{protocol.summary}", highlight=False, markup=False)
        shown.print(table)
        for source in protocol.sources:
            shown.print(f"source: {source.title} {source.url}", highlight=False, markup=False)
        shown.print(f"hash: {protocol.hash}", highlight=False)
    about = capture.get()
    if not shown.is_terminal:  # `segjury protocols NAME > my.toml` gives a file to edit
        about = "".join(f"# {line}".rstrip() + "\n" for line in about.splitlines())
    print(f"{about}\n{protocol_text(name)}", end="")
