"""The command that makes a protocol from the files of a benchmark."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli.program import app

if TYPE_CHECKING:
    from segjury.benchmark.init import Proposal


@app.command(
    epilog="Examples: [cyan]segjury init labels --predictions runs[/]; "
    "[cyan]segjury init Dataset027 --out heart.toml[/]; "
    "[cyan]segjury init labels --predictions export --link linked[/] (Grand Challenge)"
)
def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of the raters' masks, or of masks and images."),
    ],
    predictions: Annotated[
        Path | None, typer.Option(help="Folder with one folder per method, or of one method.")
    ] = None,
    out: Annotated[Path, typer.Option(help="TOML file to write.")] = Path("protocol.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    link: Annotated[
        Path | None,
        typer.Option(
            help="New folder for links to files whose paths no pattern describes: exports of Grand "
            "Challenge, several BIDS sessions.",
        ),
    ] = None,
    socket: Annotated[
        str,
        typer.Option(
            help="Output of Grand Challenge's algorithms that is the mask.",
            show_default="the only one",
        ),
    ] = "",
) -> None:
    """Make a protocol for the files in a folder: its raters, cases, labels and metrics.

    It finds raters and cases in the names of files and folders, reads some of the masks, and knows
    nnU-Net's dataset.json. What the files do not say is marked TODO in the protocol.
    """
    from segjury.benchmark.init import init as made_from
    from segjury.cli.output.terminal import answer, log, warn

    made = made_from(
        folder, predictions=predictions, out=out, force=force, link=link, socket=socket
    )
    for line in made.found:
        log(line)
    for note in made.notes:
        warn(note)
    log(f"written: {out}; look at the lines with TODO, then:")
    answer(*_next(made, out))


def _next(made: Proposal, out: Path) -> list[str]:
    """The commands that go on from here."""
    protocol, reference = shlex.quote(str(out)), shlex.quote(str(made.reference))
    folders = f"{protocol} --reference {reference}"
    results = shlex.quote(str(_beside(made.reference, made.predictions)))
    if made.predictions is None:
        lines = [f"segjury check {folders}"]
    else:
        folders += f" --predictions {shlex.quote(str(made.predictions))}"
        folders += " --follow-links" if made.follow_links else ""
        lines = [f"segjury check {folders}", f"segjury evaluate {folders} --out {results}"]
    if len(made.protocol.reference.panel) > 1:
        lines.append(f"segjury raters {protocol} --reference {reference} --out {results}/raters")
    return lines


def _beside(*inputs: Path | None) -> Path:
    """A folder for results that is in none that is read from."""
    place = Path("results")
    for folder in filter(None, inputs):
        if place.resolve().is_relative_to(folder.resolve()):
            place = Path(os.path.relpath(folder.resolve().parent / "results"))
    return place
