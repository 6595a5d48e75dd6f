"""`segjury phantom`: synthetic benchmarks, and simulated raters of a mask."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import family

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
    allow_code: options.AllowCodeOption = False,
) -> None:
    """Write a synthetic benchmark with simulated raters and methods (needs no name).

    PROTOCOL is a built-in one or a file of your own, whose labels, raters and file names are used.
    """
    from segjury.benchmark.phantoms import write_phantom
    from segjury.cli.output.terminal import answer, progress_bar

    with progress_bar() as progress:
        bar = progress.add_task("making cases", total=cases)
        write_phantom(
            protocol,
            out,
            cases=cases,
            methods=methods,
            seed=seed,
            shape=options.shape(shape) if shape else None,
            force=force,
            allow_code=allow_code,
            progress=lambda _case: progress.advance(bar),
        )
    answer(out)


@phantoms.command(
    "raters",
    epilog="Example: [cyan]segjury phantom raters mask.nii.gz --raters 5 --disagreement 0.4 "
    "--out reference/P001[/]",
)
def simulate(
    mask: Annotated[Path, typer.Argument(metavar="MASK", help="The mask that all of them draw.")],
    out: Annotated[
        Path, typer.Option(help="Folder for annotation_1.nii.gz, ... and raters.json.")
    ] = Path("raters"),
    raters: Annotated[int, typer.Option(min=2, help="Number of raters.")] = 5,
    disagreement: Annotated[
        float, typer.Option(help="1 minus the mean pairwise Dice that is wanted.")
    ] = 0.4,
    bias: Annotated[
        str, typer.Option(help="Style: mm that each draws outwards, as 0.5,0,-0.5.")
    ] = "0",
    skill: Annotated[
        str, typer.Option(help="Size of each one's own errors, as 1,1,2: the last errs most.")
    ] = "1",
    rho: Annotated[float, typer.Option(help="Size of the errors that all share.")] = 0.5,
    wavering: Annotated[
        float, typer.Option(help="How much errors also change the size drawn.")
    ] = 0.25,
    missed: Annotated[
        float, typer.Option(help="Share of the raters who miss a part of a label.")
    ] = 0.0,
    grain: Annotated[
        float | None,
        typer.Option(help="mm over which errors are alike.", show_default="by the mask's size"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same files.")] = 0,
) -> None:
    """Let simulated raters draw a mask, to test an evaluation before experts are paid.

    How far they stray is chosen such that they disagree as much as is wanted.
    """
    from segjury.benchmark.phantoms.simulation import REACHED, facts, simulate_raters
    from segjury.cli.output.terminal import answer, plain_table, progress_bar, say, terminal, warn

    with progress_bar() as progress:
        bar = progress.add_task("drawing", total=1.0)
        made = simulate_raters(
            mask,
            out,
            raters=raters,
            disagreement=disagreement,
            bias=options.numbers("bias", bias),
            skill=options.numbers("skill", skill),
            rho=rho,
            wavering=wavering,
            missed=missed,
            grain=grain,
            seed=seed,
            progress=lambda share: progress.update(bar, completed=share),
        )
    table = plain_table("label", "rater", "bias mm", "skill", "volume mm3", "Dice with the mask")
    for label in made.labels:
        known = facts(made, label)
        say(f"label {label}: mean pairwise Dice {made.agreement(label):.3f}")
        if abs(made.agreement(label) - made.wanted) > REACHED:
            why = f"label {label}: {made.wanted:.3f} could not be reached on this mask"
            warn(f"{why} with these raters")
        told = zip(
            made.panel.bias_mm,
            made.panel.skill,
            known["volume_mm3"],
            known["dice_with_mask"],
            strict=True,
        )
        for rater, values in enumerate(told, 1):
            table.add_row(str(label), str(rater), *(f"{value:.4g}" for value in values))
    terminal().print(table)
    answer(out)
