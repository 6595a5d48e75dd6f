"""The first sentences of the report: only what the tables below show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segjury.analysis.ranking import Leaderboard
from segjury.wording import listed, number, plain

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def summary(
    main: Leaderboard,
    others: Sequence[Leaderboard],
    cohorts: Mapping[str, tuple[Leaderboard, int]],
    cases: int,
) -> list[str]:
    """Who leads, whether the readings agree on the order, whether a cohort changes it.

    `cases` is 0 where the table has one value per method instead of one per case.
    """
    sentences = [_lead(main, cases)]
    if len(main.position) > 1:
        if others:
            sentences.append(_agreement(main, others))
        sentences += [
            _cohort(main, name, board, size, cases) for name, (board, size) in cohorts.items()
        ]
    return sentences


def count(number_of: int, noun: str) -> str:
    """`one case`, `12 cases`."""
    word = _WORDS[number_of] if 0 < number_of < len(_WORDS) else str(number_of)
    return f"{word} {noun}{'' if number_of == 1 else 's'}"


def leaders(board: Leaderboard) -> list[str]:
    """The methods in first place, more than one if they tie."""
    best = board.position.min()
    return [str(name) for name in board.position.index[board.position == best]]


def moved(board: Leaderboard, other: Leaderboard) -> list[str]:
    """Methods of `other` whose position differs from that in `board`."""
    return [
        str(name)
        for name in other.position.index
        if name in board.position.index and other.position[name] != board.position[name]
    ]


def _lead(board: Leaderboard, cases: int) -> str:
    over = f"over {count(board.ranks.shape[1], 'ranked score')}"
    over += f" and {count(cases, 'case')}" if cases else ""
    first = leaders(board)
    rank = number(float(board.mean_rank[first[0]]), 2)
    if len(board.position) == 1:
        scored = f", scored on {count(cases, 'case')}" if cases else ""
        return f"{plain(first[0])} is the only method{scored}."
    if len(first) > 1:
        return f"{_names(first)} share the first place{_under(board)}: mean rank {rank} {over}."
    second = str(board.position.index[1])
    ahead = number(float(board.mean_rank[second]), 2)
    return (
        f"{plain(first[0])} leads{_under(board)}: mean rank {rank} {over}, "
        f"ahead of {plain(second)} at {ahead}."
    )


def _under(board: Leaderboard) -> str:
    return "" if board.reading == "given" else f" under the {plain(board.reading)} reading"


def _agreement(main: Leaderboard, others: Sequence[Leaderboard]) -> str:
    differing = [board for board in others if moved(main, board)]
    if not differing:
        same = "both" if len(others) == 1 else f"all {_WORDS[min(len(others) + 1, 9)]}"
        return f"The order is the same under {same} readings."
    clauses = [f"under {plain(board.reading)}, {_difference(main, board)}" for board in differing]
    agreeing = [plain(board.reading) for board in others if not moved(main, board)]
    rest = f"; under {' and '.join(agreeing)} it is the same" if agreeing else ""
    return f"The order depends on the reading: {'; '.join(clauses)}{rest}."


def _cohort(main: Leaderboard, name: str, board: Leaderboard, size: int, cases: int) -> str:
    where = f"In {plain(name)} ({size} of {cases} cases)"
    if not moved(main, board):
        return f"{where} the order is the same."
    return f"{where} the order changes: {_difference(main, board)}."


def _difference(main: Leaderboard, board: Leaderboard) -> str:
    first, changed = leaders(board), len(moved(main, board))
    others = f"{changed} of {len(board.position)} methods change{'s' * (changed == 1)} position"
    if len(first) > 1:
        return f"{_names(first)} share the first place and {others}"
    same = first == leaders(main)
    return f"{_names(first)} {'still leads' if same else 'leads instead'} and {others}"


def _names(methods: Sequence[str]) -> str:
    return listed(map(plain, methods), most=3 if len(methods) > 4 else None, last=" and ")
