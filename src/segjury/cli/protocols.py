"""`segjury protocols`: the protocols there are, and the definition of one."""

from __future__ import annotations

from typing import Annotated

import typer

from segjury.cli import completion, options
from segjury.cli.program import app
from segjury.errors import is_hidden


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
    from segjury.cli.output.terminal import plain_table, shown, terminal
    from segjury.protocols import builtin_names, load_protocol, protocol_text

    console = terminal()
    if name is None:
        for known in builtin_names():
            console.print(f"[bold]{known}[/]  {load_protocol(known).title}", highlight=False)
        return
    protocol = load_protocol(name, allow_code=allow_code)
    table = plain_table("metric", "better", "unit", "readings", "ranked", "what it is")
    for use in protocol.metrics:
        metric = use.metric
        ranked = "yes" if use.ranked is True else ", ".join(use.ranked or ["no"])
        readings = ", ".join(use.readings)
        unit = use.unit_used or "-"
        table.add_row(metric.name, metric.direction, unit, readings, ranked, metric.summary)
    with console.capture() as capture:
        for line in (protocol.title, *protocol.summary.split("\n")):
            console.print(shown(line))
        console.print(table)
        for source in protocol.sources:
            console.print(shown(f"source: {source.title} {source.url}"))
        console.print(shown(f"hash: {protocol.hash}"))
    about = capture.get()
    if not console.is_terminal:  # `segjury protocols NAME > my.toml` gives a file to edit
        about = "".join(f"# {line}".rstrip() + "\n" for line in about.splitlines())
    print(f"{about}\n{_readable_toml(protocol_text(name))}", end="")


def _readable_toml(text: str) -> str:
    """The text of a protocol; what cannot be seen is written as TOML's strings write it."""
    return "".join(
        f"\\U{ord(char):08X}" if is_hidden(char) and char not in "\n\t" else char
        for char in text.replace("\r\n", "\n")
    )
