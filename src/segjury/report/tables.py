"""What the report's tables show, cell by cell, ready to be printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from segjury.analysis import RankedTable, certainty
from segjury.analysis.columns import Column, column, columns
from segjury.analysis.ranking import Leaderboard, over_cases
from segjury.protocols.ranking import Aggregate, in_words
from segjury.results.columns import WHOLE
from segjury.wording import number as write_number
from segjury.wording import plain
from segjury.wording import rank as write_rank


@dataclass(frozen=True)
class Change:
    """A place in a list that is not the one in the list compared with."""

    before: str
    better: bool


@dataclass(frozen=True)
class Cell:
    """A score and its rank."""

    value: str
    rank: str
    sort: str
    first: bool
    change: Change | None = None


@dataclass(frozen=True)
class LeaderboardRow:
    """A method's line in a leaderboard."""

    method: str
    position: str
    mean_rank: str
    sd_rank: str
    sort: tuple[str, str, str]
    sure: tuple[str, ...]
    cells: tuple[Cell, ...]
    change: Change | None = None


@dataclass(frozen=True)
class Board:
    """A leaderboard to print; `groups` are runs of columns of one metric.

    `sure` heads the columns on resamples, none where there are too few cases.
    """

    caption: str
    reading: str
    part: str
    sure: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[tuple[Column, int], ...]
    rows: tuple[LeaderboardRow, ...]
    compared_with: str = ""

    @property
    def changed(self) -> bool:
        """Whether any rank or position differs from the board compared with."""
        return any(row.change or any(cell.change for cell in row.cells) for row in self.rows)

    @property
    def deep(self) -> bool:
        """Whether a second line of headings is needed, for the structures."""
        return any(column.structure != WHOLE for column in self.columns)


def board(
    scores: pd.DataFrame,
    ranked: RankedTable,
    *,
    caption: str,
    part: str,
    directions: Mapping[str, str],
    against: Leaderboard | None = None,
    compared_with: str = "",
) -> Board:
    """A leaderboard to print; what differs from `against` is marked."""
    results = ranked.board
    shown = columns(scores, [str(key) for key in results.ranks.columns], directions)
    groups = tuple(
        (run[0], len(run)) for run in (list(r) for _, r in groupby(shown, lambda c: c.metric))
    )
    sure = certainty(ranked)
    return Board(
        caption=caption,
        reading=results.reading,
        part=part,
        sure=tuple(sure),
        columns=shown,
        groups=groups,
        rows=tuple(
            _row(results, str(method), shown, against, tuple(cells[n] for cells in sure.values()))
            for n, method in enumerate(results.position.index)
        ),
        compared_with=compared_with,
    )


def _row(
    results: Leaderboard,
    method: str,
    shown: Sequence[Column],
    against: Leaderboard | None,
    sure: tuple[str, ...],
) -> LeaderboardRow:
    position = float(results.position[method])
    mean, spread = float(results.mean_rank[method]), float(results.sd_rank[method])
    before = None
    if against is not None and method in against.position.index:
        before = float(against.position[method])
    return LeaderboardRow(
        method=method,
        position=write_rank(position),
        mean_rank=write_number(mean, 2),
        sd_rank=write_number(spread, 2),
        sort=(_sortable(position), _sortable(mean), _sortable(spread)),
        sure=sure,
        cells=tuple(_cell(results, method, column, against) for column in shown),
        change=_change(position, before),
    )


def _cell(results: Leaderboard, method: str, column: Column, against: Leaderboard | None) -> Cell:
    value = float(results.values[column.key][method])
    place = float(results.ranks[column.key][method])
    before = None
    if against is not None and column.key in against.ranks and method in against.ranks.index:
        before = float(against.ranks[column.key][method])
    return Cell(
        value=write_number(value, column.digits),
        rank=write_rank(place),
        sort=_sortable(value),
        first=place == results.ranks[column.key].min(),
        change=_change(place, before),
    )


def _change(now: float, before: float | None) -> Change | None:
    if before is None or not (math.isfinite(now) and math.isfinite(before)) or now == before:
        return None
    return Change(write_rank(before), better=now < before)


def _sortable(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""


# ---- positions over readings ---------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Position and mean rank of a method under one reading."""

    position: str
    mean_rank: str
    change: Change | None


@dataclass(frozen=True)
class TableComparison:
    """A method's places under every reading, the first one being compared with."""

    method: str
    places: tuple[Place, ...]


def comparison(boards: Sequence[Leaderboard]) -> tuple[TableComparison, ...]:
    """Positions under each reading, methods in the order of the first."""
    first = boards[0]
    return tuple(
        TableComparison(str(method), tuple(_place(board, first, str(method)) for board in boards))
        for method in first.position.index
    )


def _place(results: Leaderboard, first: Leaderboard, method: str) -> Place:
    if method not in results.position.index:
        return Place(write_rank(math.nan), write_number(math.nan, 2), None)
    position = float(results.position[method])
    return Place(
        write_rank(position),
        write_number(float(results.mean_rank[method]), 2),
        _change(position, float(first.position[method])),
    )


# ---- values per structure ------------------------------------------------------------------


@dataclass(frozen=True)
class Breakdown:
    """A metric's value per structure and method, the best of each structure marked."""

    caption: str
    methods: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...]


def breakdowns(
    scores: pd.DataFrame, results: Leaderboard, aggregate: Aggregate, directions: Mapping[str, str]
) -> tuple[Breakdown, ...]:
    """One table for each metric that has a value for the case and for its structures."""
    rows = scores[scores["reading"] == results.reading]
    whole = set(rows[rows["structure"] == WHOLE]["metric"])
    parts = rows[(rows["structure"] != WHOLE) & rows["metric"].isin(whole)]
    methods = tuple(str(name) for name in results.position.index)
    return tuple(
        _breakdown(part, str(metric), methods, aggregate, directions)
        for metric, part in parts.groupby("metric", sort=False)
    )


def _breakdown(
    part: pd.DataFrame,
    metric: str,
    methods: tuple[str, ...],
    aggregate: Aggregate,
    directions: Mapping[str, str],
) -> Breakdown:
    """The values of a metric, each structure over the cases that all methods have."""
    about = column(part, metric, metric, WHOLE, directions)
    scored = part.dropna(subset="value")
    by_structure = {
        structure: own.pivot(index="case", columns="method", values="value")
        .dropna()
        .agg(over_cases(aggregate))
        for structure, own in scored.groupby("structure", sort=False)
    }
    values = pd.DataFrame(by_structure).T.reindex(part["structure"].unique(), columns=list(methods))
    best = values.max(axis=1) if about.direction == "higher" else values.min(axis=1)
    first = about.direction != ""  # where nobody said what is better, nothing is best
    rows = tuple(
        (
            plain(structure),
            tuple(
                (write_number(float(value), about.digits), first and value == best[structure])
                for value in line
            ),
        )
        for structure, line in zip(values.index, values.to_numpy(), strict=True)
    )
    unit = f", {about.unit}" if about.unit else ""
    over = f"{in_words(aggregate)} over the cases that all methods have"
    return Breakdown(f"{about.title}{unit}: {over}", methods, rows)
