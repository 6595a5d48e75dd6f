"""The command that reads experts' ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app
from segjury.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segjury.raters.ratings.ratings import RatingAgreement


@app.command(
    epilog="Examples: [cyan]segjury ratings ratings.csv --by dataset --out results[/]; "
    "[cyan]segjury ratings theirs.csv --raters Ann,Ben,Eve --columns method=team --floor Q1=Q2[/]"
)
def ratings(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS", help="A CSV with method, case, rater, value, and maybe question."
        ),
    ],
    question: Annotated[
        list[str] | None,
        typer.Option(help="Only this question; may be given again.", show_default="all"),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Also each part by this column, as dataset; may be given again."),
    ] = None,
    raters: Annotated[
        str, typer.Option(help="The table has a column per rater: their names, with commas.")
    ] = "",
    columns: Annotated[
        str, typer.Option(help="Names of columns in a table of others, as method=team,value=score.")
    ] = "",
    missing: Annotated[
        str,
        typer.Option(help="A segmentation that some rater did not rate: error, or exclude it."),
    ] = "error",
    floor: Annotated[
        str,
        typer.Option(
            metavar="Q1=Q2", help="A rater's 0 in Q2 must go with 0 in Q1; an error otherwise."
        ),
    ] = "",
    apply_floor: Annotated[
        bool, typer.Option("--apply-floor", help="Set Q1 of --floor to 0 instead.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for ratings.json, ratings_icc.csv, ratings_methods.csv and ratings.tex."
        ),
    ] = None,
) -> None:
    """Analyse experts' ratings of segmentations: how far raters agree, and what methods got.

    A segmentation is a method on a case. Intraclass correlations, of which ICC(2,k) is the
    reliability of the mean of the raters; Krippendorff's alpha; who is strict; and the ratings
    averaged over the raters, as median and interquartile range over cases.
    """
    from dataclasses import replace

    from segjury.cli.output.terminal import log, say
    from segjury.raters.ratings.files import write_ratings
    from segjury.raters.ratings.ratings import analyze_ratings
    from segjury.raters.ratings.table import apply_floor as floored
    from segjury.raters.ratings.table import check_floor, read_ratings

    given = read_ratings(
        table,
        columns=options.pairs("columns", columns),
        raters=[name.strip() for name in options.names(raters) or ()],
    )
    notes = []
    if apply_floor and not floor:
        raise InputError("--apply-floor is given without --floor", "Say --floor Q1=Q2")
    for forced, by_question in _floor(floor):
        if apply_floor:
            given, note = floored(given, forced, by_question)
            notes.append(note)
        else:
            check_floor(given, forced, by_question)
    found = analyze_ratings(
        given,
        questions=question or (),
        by=by or (),
        missing=options.choice("missing", missing, ("error", "exclude")),
    )
    found = replace(found, notes=(*notes, *found.notes))
    for agreement in found.agreements:
        _print(agreement)
    for note in found.notes:
        say(f"note: {note}")
    if out is not None:
        write_ratings(found, out)
        log(f"written: {out / 'ratings.json'}")


def _floor(given: str) -> Iterator[tuple[str, str]]:
    """The question that is forced to 0, and the one that forces it; nothing if not given."""
    named = options.pairs("floor", given)
    if len(named) > 1 or (given and not named):
        raise InputError(f"--floor is '{given}'", "Write it as Q1=Q2")
    yield from named.items()


# ---- terminal ------------------------------------------------------------------------------


def _print(agreement: RatingAgreement) -> None:
    """Sentences, then tables: agreement, raters, methods."""
    from segjury.cli.output.terminal import plain_table, say, terminal
    from segjury.raters.ratings.ratings import sentences

    level = f"{agreement.icc.level:.0%} interval"
    say(
        f"{agreement.name}: {agreement.segmentations} segmentations, {len(agreement.means)} "
        f"raters, ratings from {agreement.lowest:g} to {agreement.highest:g}"
    )
    for sentence in sentences(agreement):
        say(f"- {sentence}")
    table = plain_table("agreement", "value", level, "F", "p", "of what")
    for each in agreement.icc.coefficients:
        table.add_row(
            each.name,
            f"{each.value:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            f"{each.f:.2f}",
            f"{each.p:.2g}",
            each.meaning,
            style="bold" if each is agreement.of_the_mean else None,
        )
    table.add_row("alpha", f"{agreement.alpha:.3f}", "", "", "", "Krippendorff's, ordinal")
    terminal().print(table)
    table = plain_table("raters", "means", "difference", level, "limits of agreement")
    for pair in agreement.pairs:
        table.add_row(
            f"{pair.first} - {pair.second}",
            f"{agreement.means[pair.first]:.2f} - {agreement.means[pair.second]:.2f}",
            f"{pair.bias.value:.2f}",
            f"{pair.bias.low:.2f} to {pair.bias.high:.2f}",
            f"{pair.lower:.2f} to {pair.upper:.2f}",
        )
    terminal().print(table)
    table = plain_table("method", "cases", "median", "IQR", "mean")
    for rated in agreement.methods:
        numbers = (f"{value:.2f}" for value in (rated.median, rated.iqr, rated.mean))
        table.add_row(rated.method, str(rated.cases), *numbers)
    terminal().print(table)
