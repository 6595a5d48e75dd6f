"""What the terminal shows: progress bars, tables and the leaderboard."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from segjury.ranking import Leaderboard

WIDTH_OF_A_FILE = 200  # a file or pipe has no width to respect


def terminal(*, stderr: bool = False) -> Console:
    """Standard output or error; wide where it is no terminal."""
    shown = Console(stderr=stderr)
    if not shown.is_terminal:
        shown.width = WIDTH_OF_A_FILE
    return shown


def say(text: str, *, stderr: bool = False) -> None:
    """Print a line as it is: names from outside are never taken for markup."""
    terminal(stderr=stderr).print(text, highlight=False, markup=False)


def progress_bar() -> Progress:
    """A bar on standard error; none in a log file."""
    shown = terminal(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=shown,
        transient=True,
        disable=not shown.is_terminal,
    )


def plain_table(*columns: str) -> Table:
    """A table with a line below its head."""
    return Table(*(Column(Text(name)) for name in columns), box=box.SIMPLE_HEAD)  # never markup


def print_leaderboard(first: Leaderboard, others: list[Leaderboard], cohort: str | None) -> None:
    """The order first, then value and rank per metric, in as many tables as the width needs."""
    shown = terminal()
    of = f", cohort {cohort}" if cohort else ""
    beside = "; then the positions in the other readings" if others else ""
    say(f"reading {first.reading}{of}: mean rank{beside}")
    methods = list(first.values.index)
    table = plain_table("", "method", "mean rank", "sd", *(other.reading for other in others))
    for method in methods:
        table.add_row(
            str(first.position[method]),
            Text(str(method)),  # never read as markup
            f"{first.mean_rank[method]:.2f}",
            f"{first.sd_rank[method]:.2f}",
            *(f"{other.position[method]}" for other in others),
        )
    shown.print(table)
    say("value (rank) per metric")
    keys = [str(key) for key in first.values.columns]
    name_width = max(len(str(method)) for method in methods) + 4
    per_table = max(1, (shown.width - name_width) // (max(map(len, [*keys, "0.0000 (10)"])) + 2))
    for start in range(0, len(keys), per_table):
        part = keys[start : start + per_table]
        table = plain_table("method", *part)
        for method in methods:
            cells = (
                f"{first.values.loc[method, key]:.4g} ({first.ranks.loc[method, key]:.3g})"
                for key in part
            )
            table.add_row(Text(str(method)), *cells)
        shown.print(table)
