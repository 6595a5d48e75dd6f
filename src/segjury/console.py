"""What the terminal shows: progress bars, tables and the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
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

from segjury.analysis import Analysis, Placing, sureness
from segjury.analysis.pairs import Pair
from segjury.analysis.stability import Stability
from segjury.analysis.summary import summary
from segjury.analysis.tables import ALL, parts
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


def print_kinds(kinds: Mapping[str, tuple[str, str]]) -> None:
    """The kinds of figures: what each is of, and how to read it."""
    table = plain_table("figure", "options", "how to read it")
    for name, (takes, how) in kinds.items():
        table.add_row(Text(name), Text(takes), Text(how))
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


def print_placing(placing: Placing, cohort: str | None) -> None:
    """A leaderboard: notes, the order and how sure it is, then value and rank per metric."""
    first, others = placing.board, placing.others
    of = _reading(first.reading, cohort)
    of += "" if placing.part is None else f", {placing.part[0]} {placing.part[1]}"
    beside = "; then the positions in the other readings" if others else ""
    scheme = placing.rules.ranking.scheme
    cases = f"{placing.cases} case{'s' * (placing.cases != 1)}"
    say(f"{of}: {cases}, {scheme}{beside}")
    for note in placing.notes:
        say(f"note: {note}")
    sure = sureness(placing)
    head = ("", "method", "mean rank", "sd", *sure, *(other.reading for other in others))
    table = plain_table(*head)
    methods = list(map(str, first.position.index))
    for n, method in enumerate(methods):
        table.add_row(
            str(first.position[method]),
            Text(method),  # never read as markup
            f"{first.mean_rank[method]:.2f}",
            f"{first.sd_rank[method]:.2f}",
            *(cells[n] for cells in sure.values()),
            *(_position(other, method) for other in others),
        )
    terminal().print(table)
    if placing.stability is not None:
        wrong = placing.stability.overall.first_wrong
        say(
            f"interval: of the place in {placing.stability.samples} resamples of the cases; the "
            f"first place goes to others in {100 * wrong:.3g} % of them.\n"
            "group: methods that share a letter are not told apart by the cases, pair by pair."
        )
    say("\nvalue (rank) per metric")
    _print_wide(
        methods,
        {
            str(key): [
                f"{value:.4g} ({place:.3g})"
                for value, place in zip(first.values[key], first.ranks[key], strict=True)
            ]
            for key in first.values.columns
        },
    )


def _reading(reading: str, cohort: str | None) -> str:
    """What is ranked: the reading, unless the table is another tool's, and the cohort."""
    which = "leaderboard" if reading == "given" else f"reading {reading}"
    return f"{which}, cohort {cohort}" if cohort else which


def _position(board: Leaderboard, method: str) -> str:
    return str(board.position[method]) if method in board.position.index else "-"


def _print_wide(methods: Sequence[str], columns: Mapping[str, Sequence[str]]) -> None:
    """A line per method, in as many tables as the width needs."""
    shown, keys = terminal(), list(columns)
    widest = max(len(cell) for key in keys for cell in (key, *columns[key]))
    per_table = max(1, (shown.width - max(map(len, methods)) - 4) // (widest + 2))
    for start in range(0, len(keys), per_table):
        part = keys[start : start + per_table]
        table = plain_table("method", *part)
        for n, method in enumerate(methods):
            table.add_row(Text(method), *(Text(columns[key][n]) for key in part))
        shown.print(table)


def print_analysis(analysis: Analysis, cohort: str | None) -> None:
    """What an analysis found: sentences first, then the tests in tables."""
    say(_reading(analysis.panel.reading, cohort))
    for sentence in summary(analysis):
        say(f"- {sentence}")
    for (column, value), part in parts(analysis):
        _print_scores(part, "" if column == ALL else f", {column} {value}")


def _print_scores(analysis: Analysis, where: str) -> None:
    level = analysis.settings.level
    say(f"\nmean [{100 * level:g} % interval] per score{where}")
    _print_wide(
        analysis.panel.methods,
        {
            key: [
                f"{mean:.4g} [{low:.4g}, {high:.4g}]"
                for mean, low, high in zip(
                    score.means.estimate, score.means.low, score.means.high, strict=True
                )
            ]
            for key, score in analysis.scores.items()
        },
    )
    tested = {key: score.tests for key, score in analysis.scores.items() if score.tests}
    if not tested:
        return
    methods = analysis.panel.methods
    pairs = len(methods) * (len(methods) - 1) // 2
    say(f"tests{where}; pairs of {pairs} that differ at {analysis.settings.alpha:g} after Holm")
    table = plain_table(
        "score", "cases", "Friedman chi2", "p", "Conover", "Wilcoxon", "first place lost"
    )
    for key, tests in tested.items():
        differ = (tests.conover[np.triu_indices(len(methods), 1)] < tests.alpha).sum()
        omnibus = tests.friedman.p < tests.alpha  # Conover's test comes after it
        table.add_row(
            Text(key),
            str(tests.cases),
            f"{tests.friedman.chi2:.2f}",
            f"{tests.friedman.p:.3g}",
            str(differ) if omnibus else "-",
            str(sum(pair.p < tests.alpha for pair in tests.wilcoxon)),
            _lost(analysis.stability, key),
        )
    terminal().print(table)
    for base in (name for name in analysis.settings.baselines if name in methods):
        say(f"against {base}{where}: Wilcoxon p, Holm within each score; + better, - worse")
        compared = {key: tests.against(methods.index(base)) for key, tests in tested.items()}
        others = [methods[m] for m in next(iter(compared.values()))]
        if not others:
            continue
        cells = {key: [_compared(p) for p in pairs.values()] for key, pairs in compared.items()}
        _print_wide(others, cells)


def _compared(pair: Pair) -> str:
    signs = {1: "+", 0: "=", -1: "-"}
    return f"{pair.p:.3g} {signs[pair.sign]}"


def _lost(stability: Stability, key: str) -> str:
    """How often the first place of a score goes to others in resamples."""
    return f"{100 * stability.scores[key].first_wrong:.3g} %" if stability.tells else "-"
