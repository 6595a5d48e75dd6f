"""The command that makes one mask of several."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from segjury.cli import options
from segjury.cli.program import app
from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.consensus.fuse import Fusion
    from segjury.consensus.mask_files import Raters


@app.command(
    epilog="Example: [cyan]segjury consensus --method staple reader*.nii.gz "
    "--out consensus.nii.gz[/]"
)
def consensus(
    masks: Annotated[list[Path], typer.Argument(metavar="MASK...", help="Masks of one image.")],
    out: Annotated[
        Path, typer.Option(help="File to write; its ending says the format.", metavar="FILE")
    ],
    method: Annotated[
        str, typer.Option(help="staple, majority, mean, simple, intersection or union.")
    ] = "staple",
    label: Annotated[
        int | None, typer.Option(min=1, help="One label alone.", show_default="all")
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Write STAPLE's probability, not its mask.")
    ] = False,
    ties: Annotated[
        str, typer.Option(help="Label of a tie: background, lower, or first (mask).")
    ] = "background",
    alpha: Annotated[
        float, typer.Option(min=0, help="simple: SDs below the mean at which a mask is dropped.")
    ] = 1.5,
    performance: Annotated[
        Path | None, typer.Option(help="CSV for the table of raters.", metavar="FILE")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="The same and more as JSON.", metavar="FILE")
    ] = None,
) -> None:
    """Make one mask of several, and say how well each agrees with it.

    staple: STAPLE, multi-label where masks have several labels. mean: share of the masks that give
    a label, as a map. simple: a vote of those masks that agree with it. Label numbers are kept.
    Maps of several labels go to one file each.
    """
    import pandas as pd

    from segjury.cli.output.terminal import answer, progress_bar, warn
    from segjury.consensus import Ties, fuse
    from segjury.consensus.mask_files import read_raters
    from segjury.images import written_suffix
    from segjury.runtime.tables import write_csv
    from segjury.runtime.writing import write_text

    chosen: fuse.Method = options.choice("method", method, get_args(fuse.Method))
    tie_rule: Ties = options.choice("ties", ties, get_args(Ties))
    if soft and chosen not in ("staple", "mean"):
        raise InputError(f"{method} has no --soft", "Use --method mean for the share of the masks")
    if not math.isfinite(alpha):
        raise InputError(f"--alpha is {alpha}", "Give a number, as 1.5")
    written_suffix(out)
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=len(masks))
        raters = read_raters(masks, label=label, progress=lambda _name: progress.advance(bar))
    fused = fuse.fuse(raters, chosen, ties=tie_rule, alpha=alpha)
    for warning in (*raters.warnings, *fused.warnings):
        warn(warning)
    written = fuse.write_fusion(raters, fused, out, inputs=masks, soft=soft)
    _print(raters, fused)
    if performance is not None:
        write_csv(pd.DataFrame(fuse.rows(raters, fused)), performance)
    if json is not None:
        write_text(_json(fuse.summary(raters, fused)), json)
    answer(*written)


def _json(content: object) -> str:
    import json

    return json.dumps(content, indent=2, allow_nan=False)


def _print(raters: Raters, fused: Fusion) -> None:
    """The consensus in a line, and the table of raters."""
    from segjury.cli.output.terminal import plain_table, say, terminal
    from segjury.consensus import fuse

    rows = fuse.rows(raters, fused)
    iterations = (fused.facts or {}).get("iterations")
    steps = f", {iterations} iterations" if iterations is not None else ""
    volumes = fuse.volumes_mm3(raters, fused).items()
    told = ", ".join(f"label {label} {volume:.6g} mm3" for label, volume in volumes)
    say(f"{fused.method} of {len(raters.names)} masks{steps}: {told}")
    table = plain_table(*(name.replace("_", " ") for name in rows[0]))
    for row in rows:
        table.add_row(
            row["mask"],
            *(f"{v:.6g}" if isinstance(v, float) else str(v) for v in list(row.values())[1:]),
        )
    terminal().print(table)
