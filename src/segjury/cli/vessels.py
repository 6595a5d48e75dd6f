"""`segjury vessels`: vessels measured in masks, and labelled in images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from segjury.cli import options
from segjury.cli.program import family
from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.methods.vessel_labels.labels import Label

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
    from segjury.cli.output.terminal import log, plain_table, progress_bar, terminal, warn
    from segjury.images import read_mask
    from segjury.images.grid import doubts_of
    from segjury.metrics.geometry.morphometry import morphometrics_from_voxels, tables
    from segjury.runtime.tables import write_csv

    found = {}
    with progress_bar() as progress:
        bar = progress.add_task("measuring", total=len(masks))
        for path in masks:
            mask = read_mask(path, labels=range(1, 256))
            for doubt in doubts_of(mask.grid, path.name):
                warn(doubt)
            voxels = mask.voxels if label is None else mask.where(label)
            if label is not None and not voxels.size:
                raise InputError(f"{path.name} has no label {label}", "Give one that it has")
            try:
                found[str(path)] = morphometrics_from_voxels(
                    voxels, mask.grid.shape, spacing_mm=mask.grid.spacing_mm
                )
            except InputError as error:
                raise error.about(path.name) from None
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
        log(f"written: {out / 'vessels.csv'}")


@vessels.command(
    "label", epilog="Example: [cyan]segjury vessels label image.nii.gz --out labels[/]"
)
def label(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="Image with bright vessels.")],
    out: Annotated[Path, typer.Option(help="Folder for the masks.")] = Path("vessel-labels"),
    gamma: Annotated[
        str, typer.Option(help="Less finds more, of noise too; one label for each.")
    ] = "0.02,0.01",
    scales: Annotated[
        str, typer.Option(help="SDs of the filter: about the radii of vessels.")
    ] = "1.25,1.75,2.5,3.5",
    unit: Annotated[str, typer.Option(help="Of the scales: voxels or mm.")] = "voxels",
    derivatives: Annotated[
        str, typer.Option(help="plain, as in scikit-image, or scale-normalised, as in the paper.")
    ] = "plain",
    alpha: Annotated[float, typer.Option(help="Less lets plates through.")] = 0.5,
    beta: Annotated[float, typer.Option(help="More lets blobs through.")] = 0.5,
    brightest: Annotated[
        float, typer.Option(help="Percentile of the image that counts as brightness 1.")
    ] = 99.9,
    smallest_cluster: Annotated[
        int, typer.Option(min=1, help="Clusters with fewer voxels are removed.")
    ] = 3,
    variants: Annotated[int, typer.Option(help="How many other plausible masks.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the variants.")] = 0,
    response: Annotated[
        bool, typer.Option("--response", help="Also the filter's response, 0 to 1.")
    ] = False,
    tile: Annotated[
        int, typer.Option(min=16, help="Longest side of a tile in voxels: less needs less memory.")
    ] = 128,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Threads.", show_default="by cores and memory")
    ] = None,
) -> None:
    """Label the vessels of an image: label.nii.gz, and plausible_01.nii.gz, ... beside it.

    Frangi's filter, thresholds by multi-Otsu and hysteresis, as OMELETTE does. The other gammas'
    are label_gamma_GAMMA.nii.gz; label.json has all parameters, thresholds and counts.
    """
    from segjury.cli.output.terminal import log, progress_bar, warn
    from segjury.methods.vessel_labels.frangi import Derivatives
    from segjury.methods.vessel_labels.labels import Choices, Unit, label_image

    choices = Choices(
        gammas=options.numbers("gamma", gamma),
        scales=options.numbers("scales", scales),
        unit=options.choice("unit", unit, get_args(Unit)),
        derivatives=options.choice("derivatives", derivatives, get_args(Derivatives)),
        alpha=alpha,
        beta=beta,
        brightest_percent=brightest,
        smallest_cluster=smallest_cluster,
        variants=variants,
        seed=seed,
    )
    with progress_bar() as progress:
        bar = progress.add_task("reading", total=None)
        labels, notes = label_image(
            image,
            out,
            choices,
            response=response,
            tile=tile,
            jobs=jobs,
            progress=lambda what, done, of: progress.update(
                bar, description=what, completed=done, total=of
            ),
        )
    for note in notes:
        warn(note)
    _print(labels)
    log(f"written: {out / 'label.json'}")


def _print(labels: list[Label]) -> None:
    from segjury.cli.output.terminal import plain_table, terminal

    table = plain_table("mask", "gamma", "scales in mm", "low", "high", "voxels")
    for made in labels:
        table.add_row(
            made.file,
            f"{made.setting.gamma:.4g}",
            f"{made.scales_mm[0]:.3g} to {made.scales_mm[-1]:.3g}",
            f"{made.low:.3f}",
            f"{made.high:.3f}",
            str(made.voxels),
        )
    terminal().print(table)
