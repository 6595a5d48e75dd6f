"""`segjury split`: parts of exact sizes that are alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app
from segjury.errors import InputError


@app.command(
    epilog="Example: [cyan]segjury split cases.csv --sizes 40,5,64 "
    "--by sex,age_range,location,volume_cm3 --out split.csv[/]"
)
def split(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV with a line per case and a column case.")
    ],
    sizes: Annotated[str, typer.Option(help="Cases of each part, as 40,5,64 or 60%,40%.")],
    by: Annotated[str, typer.Option(help="Columns to balance, with commas.")],
    out: Annotated[
        Path, typer.Option(help="CSV to write; the balance goes beside it, as .csv and .md.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same one gives the same split.")] = 0,
    names: Annotated[
        str,
        typer.Option(
            help="Names of the parts, with commas.",
            show_default="train,validation,test for three, else part_1,...",
        ),
    ] = "",
    rest: Annotated[
        str, typer.Option(help="Part for the cases that the sizes leave over.", show_default="none")
    ] = "",
    group: Annotated[
        str | None, typer.Option(help="Column whose cases stay together, such as patient.")
    ] = None,
    pairs: Annotated[
        str, typer.Option(help="Pairs of columns to balance too, as location:volume_cm3.")
    ] = "",
    bins: Annotated[int, typer.Option(min=1, max=100, help="Quantile bins of numbers.")] = 4,
    numeric: Annotated[
        str, typer.Option(help="Columns that are quantities.", show_default="by their cells")
    ] = "",
    categorical: Annotated[
        str, typer.Option(help="Columns that are not.", show_default="by their cells")
    ] = "",
    case: Annotated[str, typer.Option("--id", help="Column with the name of the case.")] = "case",
    folders: Annotated[
        Path | None, typer.Option(help="Folder with one folder per case, to link in parts.")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Where those links go: TO/PART/CASE.")] = None,
) -> None:
    """Split cases into parts of exact sizes that are alike in several variables.

    The parts are compared with 1000 random splits of the same sizes. The result depends on the
    seed, not on the order of the lines.
    """
    from segjury.benchmark import split
    from segjury.benchmark.case_links import check_cases, check_empty, link_cases
    from segjury.benchmark.names import place_in
    from segjury.benchmark.split.sizes import part_sizes
    from segjury.benchmark.split.split import COLUMN, part_names
    from segjury.benchmark.split.tables import (
        COMPARED,
        balance,
        comparison_table,
        markdown,
        table_one,
    )
    from segjury.cli.output.terminal import log, print_rows, say
    from segjury.runtime.tables import read_table, write_csv
    from segjury.runtime.writing import write_text

    cases = read_table(table)
    if COLUMN in cases.columns:
        raise InputError(f"{table.name} has a column '{COLUMN}' already", "Rename or remove it")
    if out.exists() and out.samefile(table):
        raise InputError(f"--out is the table itself, {table}", "Give another name")
    if (folders is None) != (to is None):
        raise InputError("--folders and --to go together", "Give both or neither")
    wanted = part_sizes(sizes, len(cases), rest=bool(rest))
    given = options.names(names) or []
    if rest and len(wanted) > sizes.count(",") + 1:
        given = [*(given or part_names((), len(wanted) - 1)), rest]
    if folders is not None and to is not None:
        check_empty(to)
        for part in given:
            place_in(to, part, "part")
        check_cases(folders, list(cases[case]) if case in cases else [])
    made = split.split(
        cases,
        sizes=wanted,
        by=options.names(by) or [],
        names=given,
        seed=seed,
        case_column=case,
        group=group,
        pairs=_column_pairs(pairs),
        bins=bins,
        numeric=options.names(numeric) or (),
        categorical=options.names(categorical) or (),
    )
    write_csv(cases.assign(**{COLUMN: made.of_cases}), out)
    write_csv(balance(made), out.with_name(f"{out.stem}_balance.csv"))
    write_text(markdown(made), out.with_name(f"{out.stem}_balance.md"))
    if folders is not None and to is not None:
        for part in made.names:
            inside = [name == part for name in made.of_cases]
            link_cases(folders, list(cases[case][inside]), to / part)
    print_rows(*table_one(made))
    say(f"each {COMPARED}")
    print_rows(*comparison_table(made))
    for note in made.notes:
        say(f"note: {note}")
    log(f"written: {out}")


def _column_pairs(given: str) -> list[tuple[str, str]]:
    """What `a:b,c:d` names."""
    pairs = []
    for text in options.names(given) or []:
        first, sign, second = (part.strip() for part in text.partition(":"))
        if not (first and sign and second):
            raise InputError(f"--pairs is '{given}'", "Write it as location:volume_cm3,sex:age")
        pairs.append((first, second))
    return pairs
