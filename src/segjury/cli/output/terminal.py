"""What the terminal shows: lines, progress bars and tables. Light, as every command needs it.

Names come from anybody's tables and files, so that all text is printed from here, where what
cannot be seen is written out and nothing is taken for markup.
"""

from __future__ import annotations

import os
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.style import Style
from rich.table import Column, Table
from rich.text import Text

from segjury.errors import escaped

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
        print(_printable(escaped(text), sys.stderr), file=sys.stderr, flush=True)
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


def answer(*lines: object) -> None:
    """Print lines on standard output, whose reader may have seen enough."""
    if sys.stdout is None:
        return
    try:
        for line in lines:
            print(_printable(escaped(str(line)), sys.stdout))
        sys.stdout.flush()
    except OSError as error:
        _turn_off(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise


def _printable(text: str, stream: TextIO) -> str:
    """A text whose characters a stream can show; the others are written out."""
    encoding = stream.encoding or "utf-8"  # a stream in memory has none
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _turn_off(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that not even its end fails."""
    with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), stream.fileno())


def say(*lines: str) -> None:
    """Print lines on standard output, broken where the terminal ends."""
    for line in lines:
        terminal().print(shown(line))


def shown(text: str) -> Text:
    """A text on one line, as rich takes it: as it is, but for what cannot be seen."""
    return Text(escaped(text))


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
    """A text as one line, line ends in it as spaces."""
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
        table.add_row(name, " ".join(f"--{part}" for part in takes), how)
    terminal().print(table)


class _PlainTable(Table):
    def add_row(
        self,
        *cells: RenderableType | None,
        style: str | Style | None = None,
        end_section: bool = False,
    ) -> None:
        """Add a row of texts, which are shown as they are."""
        texts = ("" if cell is None else shown(str(cell)) for cell in cells)
        super().add_row(*texts, style=style, end_section=end_section)


def plain_table(*columns: str) -> Table:
    """A table of texts with a line below its head."""
    return _PlainTable(*(Column(shown(name)) for name in columns), box=box.SIMPLE_HEAD)


def print_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of text cells."""
    table = plain_table(*head)
    for row in rows:
        table.add_row(*row)
    terminal().print(table)


def print_matrix(cells: Mapping[str, Mapping[str, str]]) -> None:
    """A line for each row of a matrix, its columns in the order of the rows."""
    table = plain_table("", *cells)
    for name, row in cells.items():
        table.add_row(name, *(row.get(column, "") for column in cells))
    terminal().print(table)
