"""Commands that work on masks: ensembles and vessels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from segjury.cli import options
from segjury.cli.program import app, family
from segjury.errors import InputError


@app.command(epilog="Example: [cyan]segjury ensemble results/scores.csv --top 3 --method staple[/]")
def ensemble(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="The scores.csv that evaluate wrote.")
    ],
    top: Annotated[int, typer.Option(min=2, help="How many of the best methods vote.")] = 3,
    methods: Annotated[
        str, typer.Option(help="Methods that vote, with commas.", show_default="the best")
    ] = "",
    method: Annotated[str, typer.Option(help="How they vote: majority or staple.")] = "majority",
    name: Annotated[
        str, typer.Option(help="Name of the ensemble.", show_default="ensemble-METHOD-K")
    ] = "",
    reference: Annotated[
        Path | None, typer.Option(help="Cases.", show_default="as in run.json")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Methods.", show_default="as in run.json")
    ] = None,
    jobs: options.JobsOption = None,
) -> None:
    """Let the best methods vote, and score the result as one more method.

    The ensemble's masks are written beside the methods' predictions, and scores.csv and its
    companions are written again with it; only the ensemble is computed. Of tied labels, the better
    method's wins. Probability maps are averaged.
    """
    from segjury.cli.scores import rank
    from segjury.cli.terminal import progress_bar
    from segjury.methods.ensembles import Voting, score_ensemble

    voting: Voting = options.choice("method", method, get_args(Voting))
    with progress_bar() as progress:
        bar = progress.add_task("voting", total=None)
        made, notes = score_ensemble(
            scores,
            top=top,
            methods=options.names(methods),
            voting=voting,
            name=name,
            reference=reference,
            predictions=predictions,
            jobs=jobs,
            progress=lambda _case: progress.advance(bar),
        )
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    print(f"{made.name}: {voting} of {', '.join(made.methods)}")
    rank(scores, bootstrap=0)


vessels = family("vessels", "Measure vessels in masks, and label them in images.")


@vessels.command("measure", epilog="Example: [cyan]segjury vessels mask.nii.gz --out vessels[/]")
def measure(
    masks: Annotated[list[Path], typer.Argument(metavar="MASK...", help="Masks of vessels.")],
    label: Annotated[
        int | None, typer.Option(min=1, help="Label to measure.", show_default="every one, as one")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for vessels.csv, branches.csv and radii.csv.")
    ] = None,
) -> None:
    """Measure the vessels in masks: length, radii, branching, ... (needs no name).

    Everything is measured along the centreline, in mm: also tortuosity and fractal dimension. The
    tables have one line per mask, per branch, and per voxel of the centreline.
    """
    from segjury.cli.terminal import plain_table, progress_bar, say, terminal
    from segjury.images import read_mask
    from segjury.metrics.geometry.morphometry import morphometrics_from_voxels, tables
    from segjury.runtime.tables import write_csv

    found = {}
    with progress_bar() as progress:
        bar = progress.add_task("measuring", total=len(masks))
        for path in masks:
            mask = read_mask(path, labels=range(1, 256))
            voxels = mask.voxels if label is None else mask.where(label)
            if label is not None and not voxels.size:
                raise InputError(f"{path.name} has no label {label}", "Give one that it has")
            found[str(path)] = morphometrics_from_voxels(
                voxels, mask.grid.shape, spacing_mm=mask.grid.spacing_mm
            )
            progress.advance(bar)
    summary, branches, radii = tables(found)
    short = [path.name for path in masks]
    shown = plain_table("", *(short if len(set(short)) == len(masks) else found))
    for quantity in summary.columns[1:]:
        shown.add_row(quantity, *(f"{value:.6g}" for value in summary[quantity]))
    terminal().print(shown)
    if out is not None:
        for name, table in (("vessels", summary), ("branches", branches), ("radii", radii)):
            write_csv(table, out / f"{name}.csv")
        say(f"written: {out / 'vessels.csv'}", stderr=True)
