"""What the terminal shows: lines, progress bars and tables. Light, as every command needs it."""

from __future__ import annotations

import os
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

OPTION_OF = {  # arguments of the library whose options are called otherwise
    "baselines": "baseline",
    "brightest_percent": "brightest",
    "case_column": "id",
    "file_format": "format",
    "gammas": "gamma",
    "readings": "reading",
    "samples": "bootstrap",
    "voting": "method",
}
QUOTES = "'\"[]"
_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
WIDTH_OF_A_FILE = 200  # a file or pipe has no width to respect


def terminal(*, stderr: bool = False) -> Console:
    """Standard output or error; wide where it is no terminal."""
    shown = Console(stderr=stderr)
    if not shown.is_terminal:
        shown.width = WIDTH_OF_A_FILE
    return shown


def log(text: str) -> None:
    """Print a line on standard error; what is logged must not stop what it tells of.

    Where nobody reads it any more, or the disk is full, it and all that follow go nowhere.
    """
    if sys.stderr is None:
        return
    try:
        print(_printable(text, sys.stderr), file=sys.stderr, flush=True)
    except OSError:
        _turn_off(sys.stderr)


def warn(text: str) -> None:
    """Print a warning of the library on standard error, in the words of the command line."""
    log(f"warning: {as_options(one_line(text))}")


def as_options(text: str) -> str:
    """A message of the library with the arguments it names as options: `out` becomes --out.

    With a value too: `missing='worst'` becomes --missing worst.
    """

    def option(found: re.Match[str]) -> str:
        name, value = OPTION_OF.get(found[1], found[1].replace("_", "-")), found[2]
        if value and value.startswith("{"):  # `columns={'case': 'id'}` is --columns case=id
            with suppress(ValueError, SyntaxError):  # a name may hold what ends the argument here
                value = ",".join(f"{ours}={theirs}" for ours, theirs in literal_eval(value).items())
        return f"--{name} {value.strip(QUOTES)}" if value else f"--{name}"

    return _ARGUMENT.sub(option, text)


def answer(text: str) -> None:
    """Print on standard output, whose reader may have seen enough."""
    if sys.stdout is None:
        return
    try:
        print(_printable(text, sys.stdout), end="", flush=True)
    except OSError as error:
        _turn_off(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise


def _printable(text: str, stream: TextIO) -> str:
    """A text whose signs a stream can show; the others are written out."""
    encoding = stream.encoding or "utf-8"  # a stream in memory has none
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _turn_off(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that not even its end fails."""
    with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), stream.fileno())


def say(text: str, *, stderr: bool = False) -> None:
    """Print a line as it is: names from outside are never taken for markup."""
    terminal(stderr=stderr).print(text, highlight=False, markup=False)


class _Speed(ProgressColumn):
    """How many are done in a second, or how long one takes."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """As in `3.2 cases/s`; nothing before the first is done."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.2g} {self._unit}/s" if speed else "")


def one_line(text: str) -> str:
    """A text as one line, whatever names from outside hold."""
    return " ".join(text.split())


def progress_bar(unit: str = "") -> Progress:
    """A bar on standard error; none in a log file. With a unit it tells how many a second."""
    shown = terminal(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *([_Speed(unit)] if unit else []),
        TimeRemainingColumn(),
        console=shown,
        transient=True,
        disable=not shown.is_terminal,
    )


@contextmanager
def drawing_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar for figures, which come by number; it turns until the first is there."""
    with progress_bar() as bar:
        task = bar.add_task("analysing", total=None)

        def tell(done: int, of: int) -> None:
            bar.update(task, description="drawing figures", completed=done, total=of)

        yield tell


def print_kinds(kinds: Mapping[str, tuple[Sequence[str], str]]) -> None:
    """The kinds of figures: what each is of, and how to read it."""
    table = plain_table("figure", "options", "how to read it")
    for name, (takes, how) in kinds.items():
        table.add_row(Text(name), Text(" ".join(f"--{part}" for part in takes)), Text(how))
    terminal().print(table)


def plain_table(*columns: str) -> Table:
    """A table with a line below its head."""
    return Table(*(Column(Text(name)) for name in columns), box=box.SIMPLE_HEAD)  # never markup


def print_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of text cells."""
    table = plain_table(*head)
    for row in rows:
        table.add_row(*map(Text, row))
    terminal().print(table)


def print_matrix(cells: Mapping[str, Mapping[str, str]]) -> None:
    """A line for each row of a matrix, its columns in the order of the rows."""
    table = plain_table("", *cells)
    for name, row in cells.items():
        table.add_row(Text(name), *(Text(row.get(column, "")) for column in cells))
    terminal().print(table)
