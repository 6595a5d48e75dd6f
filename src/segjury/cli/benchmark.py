"""Commands that describe and make a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from segjury.cli import options
from segjury.cli.program import app, family
from segjury.errors import InputError


@app.command(epilog="Example: [cyan]segjury protocols curvas-pdacvi-2025 > my.toml[/]")
def protocols(
    name: Annotated[str | None, typer.Argument(help="Protocol to print.")] = None,
) -> None:
    """List the protocols; with a name, print its definition, metrics, readings and sources.

    Written to a file, it is a protocol file: a copy to change and use as your own.
    """
    from segjury.cli.terminal import plain_table, terminal
    from segjury.protocols import builtin_names, load_protocol, protocol_text

    shown = terminal()
    if name is None:
        for known in builtin_names():
            shown.print(f"[bold]{known}[/]  {load_protocol(known).title}", highlight=False)
        return
    protocol = load_protocol(name)
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


phantoms = family("phantom", "Write synthetic data: a benchmark, or simulated raters of a mask.")


@phantoms.command(
    "benchmark",
    epilog="Example: [cyan]segjury phantom curvas-pdacvi-2025 bench --cases 12 --methods 6[/]",
)
def phantom(
    protocol: options.ProtocolArgument,
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 10,
    methods: Annotated[int, typer.Option(min=0, help="Number of simulated methods.")] = 6,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same files.")] = 0,
    shape: Annotated[str, typer.Option(help="Voxels, as X,Y,Z.", show_default="small")] = "",
    force: Annotated[bool, typer.Option("--force", help="Write into an existing one.")] = False,
) -> None:
    """Write a synthetic benchmark with simulated raters and methods (needs no name)."""
    from segjury.benchmark.phantoms import benchmark_writer
    from segjury.cli.terminal import progress_bar

    if not force and any((out / part).exists() for part in ("reference", "predictions")):
        raise InputError(f"{out} holds a benchmark", "Give another folder, or --force to overwrite")
    wanted: dict[str, Any] = {"shape": options.shape(shape)} if shape else {}
    write = benchmark_writer(protocol)
    with progress_bar() as progress:
        bar = progress.add_task("making cases", total=cases)
        write(
            out,
            cases=cases,
            methods=methods,
            seed=seed,
            progress=lambda _case: progress.advance(bar),
            **wanted,
        )
    print(out)
