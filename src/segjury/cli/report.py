"""Commands that draw: report, figure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from segjury.cli import options
from segjury.cli.program import app
from segjury.cli.tables import study_from
from segjury.errors import InputError

ENDINGS = {".html": "html", ".htm": "html", ".pdf": "pdf", ".md": "markdown"}
REPORT_FORMATS = ("html", "pdf", "markdown")
NO_FIGURES = "none"

ReferenceOption = Annotated[
    Path | None, typer.Option(help="Cases, for pictures.", show_default="as in run.json")
]
PredictionsOption = Annotated[
    Path | None, typer.Option(help="Methods, for pictures.", show_default="as in run.json")
]
RatersOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder that segjury raters wrote, for the human ceiling.",
        show_default="raters beside SCORES, if there",
    ),
]
BaselineOption = Annotated[
    list[str] | None,
    typer.Option(help="A method that the others are compared with; may be given again."),
]


@app.command(
    epilog="Examples: [cyan]segjury report results/scores.csv --out report.html[/]; "
    "[cyan]segjury report ranks.csv --matrix dice --lower dice --out report.pdf[/]"
)
def report(
    scores: options.ScoresArgument,
    out: Annotated[Path, typer.Option(help="The file to write: .html, .pdf or .md.")],
    form: Annotated[
        str,
        typer.Option(
            "--format", help="html, pdf or markdown.", show_default="by the ending of --out"
        ),
    ] = "",
    title: Annotated[str, typer.Option(show_default="the protocol's", help="Title.")] = "",
    figures: Annotated[
        str,
        typer.Option(help="Kinds of figures, with commas, or none.", show_default="all there are"),
    ] = "",
    reading: options.ReadingOption = None,
    baseline: BaselineOption = None,
    higher: options.HigherOption = None,
    lower: options.LowerOption = None,
    missing: options.MissingOption = "",
    columns: options.ColumnsOption = "",
    matrix: options.MatrixOption = None,
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    reference: ReferenceOption = None,
    predictions: PredictionsOption = None,
    raters: RatersOption = None,
    jobs: options.JobsOption = None,
) -> None:
    """Write the report: one file, and a folder `figures` beside it (SVG, PNG, PDF, CSV)."""
    from segjury.cli.terminal import drawing_bar
    from segjury.report.publish import publish
    from segjury.runtime import default_jobs

    chosen = _format(out, form)
    kinds = _kinds(figures)
    with drawing_bar() as progress:
        study = study_from(
            scores,
            reading=reading,
            higher=higher,
            lower=lower,
            missing=missing,
            columns=columns,
            matrix=matrix,
            raters=raters,
            samples=bootstrap,
            seed=seed,
            baselines=tuple(dict.fromkeys(baseline or ())),
        )
        written = publish(
            scores,
            study,
            out,
            form=chosen,
            title=title or None,
            kinds=kinds,
            reference=reference,
            predictions=predictions,
            jobs=jobs or default_jobs(8),
            progress=progress,
        )
    for problem in written.problems:
        print(f"warning: {problem}", file=sys.stderr)
    print(f"report: {out}")


@app.command(
    epilog="Examples: [cyan]segjury figure list[/]; "
    "[cyan]segjury figure blob results/scores.csv --score dsc --out blob.svg[/]; "
    "[cyan]segjury figure slices results/scores.csv --case P003 --method A --out p003.png[/]"
)
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Kind of figure; list shows all.")],
    scores: Annotated[
        Path | None,
        typer.Argument(metavar="SCORES", help="A scores.csv, or a CSV of any other tool."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write: .svg, .png, .pdf, or .csv for its data.")
    ] = None,
    score: Annotated[str, typer.Option(help="Score, as dsc, 'vi PORTA', or all.")] = "",
    case: Annotated[str, typer.Option(help="Case.")] = "",
    method: Annotated[list[str] | None, typer.Option(help="Method; pictures take several.")] = None,
    structure: Annotated[str, typer.Option(help="Vessel, organ or class.")] = "",
    reading: options.ReadingOption = None,
    higher: options.HigherOption = None,
    lower: options.LowerOption = None,
    missing: options.MissingOption = "",
    columns: options.ColumnsOption = "",
    matrix: options.MatrixOption = None,
    bootstrap: Annotated[int, typer.Option(min=100, metavar="N", help="Resamples.")] = 1000,
    seed: options.SeedOption = 0,
    reference: ReferenceOption = None,
    predictions: PredictionsOption = None,
    raters: RatersOption = None,
) -> None:
    """Draw one figure of a table of scores, or one picture of a case."""
    from segjury.cli.terminal import print_kinds, terminal
    from segjury.report.publish import FIGURE_FORMATS, illustrate, known_kinds, write_illustration

    if name == "list":
        print_kinds(known_kinds())
        return
    if name not in known_kinds():
        raise InputError(f"there is no figure '{name}'", f"Use one of {', '.join(known_kinds())}")
    if scores is None or out is None:
        what = "SCORES" if scores is None else "--out"
        raise InputError(f"the figure needs {what}", f"Use segjury figure {name} SCORES --out FILE")
    if out.suffix.lower().lstrip(".") not in FIGURE_FORMATS:
        raise InputError(
            f"--out is '{out.name}'", f"Use a name that ends in .{', .'.join(FIGURE_FORMATS)}"
        )
    subject = {"score": score, "case": case, "structure": structure}
    with terminal(stderr=True).status("drawing"):
        study = study_from(
            scores,
            reading=reading,
            higher=higher,
            lower=lower,
            missing=missing,
            columns=columns,
            matrix=matrix,
            raters=raters,
            samples=bootstrap,
            seed=seed,
        )
        drawn = illustrate(
            name,
            scores,
            study,
            {part: text for part, text in subject.items() if text},
            methods=method or (),
            reference=reference,
            predictions=predictions,
        )
        write_illustration(drawn, out)
    print(f"figure: {out}")


def _format(out: Path, form: str) -> Any:
    """The form of a report: as asked for, or as its file's name says."""
    if out.is_dir():
        raise InputError(f"{out} is a folder", "Give the name of the file to write")
    if form:
        return options.choice("format", form, REPORT_FORMATS)
    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"--out is '{out.name}', which says no format",
            f"End it in {', '.join(ENDINGS)}, or say --format",
        )
    return ENDINGS[out.suffix.lower()]


def _kinds(figures: str) -> list[str] | None:
    """Kinds of figures asked for; None for all."""
    from segjury.report.figures.catalogue import KINDS

    if figures.strip() == NO_FIGURES:
        return []
    wanted = options.names(figures)
    for name in wanted or ():
        options.choice("figures", name, (*KINDS, NO_FIGURES))
    return wanted
