"""`segjury figure`: one figure of a table of scores, or one picture of a case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import completion, options
from segjury.cli.program import app
from segjury.errors import InputError


@app.command(
    epilog="Examples: [cyan]segjury figure list[/]; "
    "[cyan]segjury figure blob results/scores.csv --score dsc --out blob.svg[/]; "
    "[cyan]segjury figure slices results/scores.csv --case P003 --method A --out p003.png[/]"
)
def figure(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Kind of figure; list shows all.",
            autocompletion=completion.one_of((*completion.FIGURES, "list")),
        ),
    ],
    scores: Annotated[
        Path | None,
        typer.Argument(metavar="SCORES", help="A scores.csv, or a table of any other tool."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write: .svg, .png, .pdf, or .csv for its data.")
    ] = None,
    score: Annotated[
        str,
        typer.Option(
            help="Score, as dsc, Dice, 'vi PORTA', or all.",
            autocompletion=completion.one_of((*completion.METRICS, "all")),
        ),
    ] = "",
    case: Annotated[str, typer.Option(help="Case.")] = "",
    method: Annotated[list[str] | None, typer.Option(help="Method; pictures take several.")] = None,
    structure: Annotated[str, typer.Option(help="Vessel, organ or class.")] = "",
    reading: options.ReadingOption = None,
    methods: options.MethodsOption = "",
    exclude: options.ExcludeOption = "",
    higher: options.HigherOption = None,
    lower: options.LowerOption = None,
    missing: options.MissingOption = "",
    columns: options.ColumnsOption = "",
    groups: options.GroupsOption = "",
    matrix: options.MatrixOption = None,
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    reference: options.PicturedReferenceOption = None,
    predictions: options.PicturedPredictionsOption = None,
    raters: options.RatersOption = None,
) -> None:
    """Draw one figure of a table of scores, or one picture of a case."""
    from segjury.cli.output.terminal import answer, print_kinds, terminal, warn
    from segjury.platforms.notebook import NotebookStudy
    from segjury.report.figures.illustration import SUFFIXES
    from segjury.report.publish import check_kind, known_kinds
    from segjury.results.results import BESIDE

    if name == "list":
        print_kinds(known_kinds())
        return
    check_kind(name)
    if scores is None or out is None:
        what = "SCORES" if scores is None else "--out"
        raise InputError(f"the figure needs {what}", f"Use segjury figure {name} SCORES --out FILE")
    if out.suffix.lower().lstrip(".") not in SUFFIXES:
        raise InputError(
            f"--out is '{out.name}'", f"Use a name that ends in .{', .'.join(SUFFIXES)}"
        )
    study = NotebookStudy.of(
        options.results(scores, columns, groups, matrix, BESIDE, raters=raters),
        reading=reading,
        **options.chosen(methods, exclude),
        samples=bootstrap,
        seed=seed,
        **options.ranking(higher=higher, lower=lower, missing=missing),
    )
    for warning in (*study.on_table, *study.warnings):
        warn(warning)
    with terminal(stderr=True).status("drawing"):
        study.figure(
            name,
            score=score,
            case=case,
            structure=structure,
            method=method or (),
            reference=reference,
            predictions=predictions,
        ).save(out)
    answer(f"figure: {out}")
