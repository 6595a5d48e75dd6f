"""What the report says, section by section, before it becomes a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from segjury.figures.columns import Column, columns, score_key
from segjury.figures.notation import metric_direction
from segjury.figures.style import plain
from segjury.protocols.ranking import in_words
from segjury.ranking import Leaderboard, Rules, cohorts, notes
from segjury.report.gaps import Gap, gaps
from segjury.report.summary import summary
from segjury.report.tables import (
    Board,
    Breakdown,
    Comparison,
    board,
    breakdowns,
    comparison,
)


@dataclass(frozen=True)
class Content:
    """All the report's words and numbers."""

    reading: str
    methods: tuple[str, ...]
    cases: int
    summary: tuple[str, ...]
    main: Board
    readings: tuple[str, ...]
    comparison: tuple[Comparison, ...]
    others: tuple[Board, ...]
    cohorts: tuple[Board, ...]
    ranked: tuple[Column, ...]
    beside: tuple[Column, ...]
    breakdowns: tuple[Breakdown, ...]
    gaps: tuple[Gap, ...]


def content(scores: pd.DataFrame, rules: Rules) -> Content:
    """Rank the methods in every reading and cohort, and put it in words."""
    rank = rules.leaderboard
    main = rank(scores)
    others = [rank(scores, reading=name) for name in rules.other_readings(scores, main)]
    boards = [main, *others]
    groups = {name: rank(scores, reading=main.reading, cohort=name) for name in cohorts(scores)}
    sizes = {name: _size(scores, name) for name in groups}
    count = _count(scores)
    directions = {str(m): direction(rules, str(m)) for m in scores["metric"].unique()}
    print_board = partial(board, scores, directions=directions)
    return Content(
        reading=main.reading,
        methods=tuple(str(name) for name in main.position.index),
        cases=count,
        summary=(
            *summary(main, others, {n: (b, sizes[n]) for n, b in groups.items()}, count),
            *(_sentence(note) for note in notes(scores, main.reading)),
        ),
        main=print_board(main, caption=_caption(main, rules, count)),
        readings=tuple(each.reading for each in boards),
        comparison=comparison(boards) if others else (),
        others=_others(print_board, main, others, rules),
        cohorts=tuple(
            print_board(
                each,
                caption=f"Cohort {plain(name)}: {sizes[name]} of {count} cases, "
                f"{plain(main.reading)} reading",
                against=main,
                compared_with="all cases",
            )
            for name, each in groups.items()
        ),
        ranked=columns(scores, [str(key) for key in main.ranks.columns], directions),
        beside=_beside(scores, main, directions),
        breakdowns=breakdowns(scores, main, rules.ranking.aggregate, directions),
        gaps=tuple(gaps(scores)),
    )


def direction(rules: Rules, metric: str) -> str:
    """Which values of a metric are better, if anybody said."""
    return (rules.directions or {}).get(metric) or metric_direction(metric)


def _others(
    print_board: Any, main: Leaderboard, others: Sequence[Leaderboard], rules: Rules
) -> tuple[Board, ...]:
    """The other readings' leaderboards in which any rank differs."""
    boards = (
        print_board(
            each,
            caption=plain(f"Leaderboard, {each.reading} reading{_remarks(rules, each.reading)}"),
            against=main,
            compared_with=f"the {plain(main.reading)} reading",
        )
        for each in others
    )
    return tuple(each for each in boards if each.changed)


def _caption(main: Leaderboard, rules: Rules, cases: int) -> str:
    start = "Leaderboard" if main.reading == "given" else f"Leaderboard, {main.reading} reading"
    over = f": {in_words(rules.ranking.aggregate)} over {cases} cases" if cases > 1 else ""
    ranks = "mean rank on the cases" if rules.ranking.scheme == "rank-then-aggregate" else "rank"
    return plain(f"{start}{over}, {ranks} beside each value{_remarks(rules, main.reading)}")


def _remarks(rules: Rules, reading: str) -> str:
    """How a reading measures some metrics, to go with a table."""
    return "".join(f"; {remark}" for remark in rules.remarks.get(reading, ()))


def _beside(
    scores: pd.DataFrame, main: Leaderboard, directions: Mapping[str, str]
) -> tuple[Column, ...]:
    """What the table holds under the main reading beside the ranked scores."""
    rows = scores[scores["reading"] == main.reading]
    pairs = rows[["metric", "structure"]].drop_duplicates().itertuples(index=False)
    whole = set(rows[rows["structure"] == "all"]["metric"])
    keys = [score_key(m, s) for m, s in pairs if s == "all" or m not in whole]
    return columns(scores, [key for key in keys if key not in main.ranks.columns], directions)


def _sentence(note: str) -> str:
    return plain(f"{note[:1].upper()}{note[1:]}.")


def _count(scores: pd.DataFrame) -> int:
    """How many cases have a score; 0 for a table that holds one value per method."""
    names = set(scores[scores["value"].notna()]["case"].astype(str))
    return 0 if names == {"all"} else len(names)


def _size(scores: pd.DataFrame, cohort: str) -> int:
    inside = [cohort in names.split(";") for names in scores["cohort"].astype(str)]
    return int(scores[inside]["case"].nunique())
