"""Leaderboards with how sure they are: of a whole table, and of each part of its cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segjury.analysis.stability import FEWEST_CASES, Stability, case_stability
from segjury.errors import InputError
from segjury.ranking import Leaderboard, Rules, board, notes
from segjury.table import group_columns

LEVEL = 0.95
TOO_FEW = f"{{}}: too few for resamples to show how sure the order is, which takes {FEWEST_CASES}"


@dataclass(frozen=True)
class Placing:
    """A leaderboard, those of the other readings, and its stability (None if not asked for).

    `part` says which part of the cases, none for all; `methods` of the stability are `methods`.
    """

    part: tuple[str, str] | None
    board: Leaderboard
    others: tuple[Leaderboard, ...]
    rules: Rules
    methods: tuple[str, ...]
    stability: Stability | None
    cases: int
    notes: tuple[str, ...]


def placings(
    scores: pd.DataFrame,
    rules: Rules,
    *,
    reading: str | None = None,
    by: Collection[str] = (),
    samples: int = 1000,
    seed: int = 0,
) -> Iterator[Placing]:
    """The placing of all cases, then that of each value of the columns named."""
    parts: list[tuple[tuple[str, str] | None, pd.DataFrame]] = [(None, scores)]
    for column in by:
        parts += [((column, value), part) for value, part in split(scores, column).items()]
    for name, part in parts:
        yield _placing(name, part, rules, reading, samples, seed)


def split(scores: pd.DataFrame, column: str) -> dict[str, pd.DataFrame]:
    """The table of each value of a column; a case may be in several cohorts."""
    if column not in ("cohort", *group_columns(scores)):
        known = ", ".join(["cohort", *group_columns(scores)])
        raise InputError(f"the table has no column '{column}' to split by", f"Use one of {known}")
    cells = scores[column].astype(str)
    several = column == "cohort"
    names_in = {cell: cell.split(";") if several else [cell] for cell in cells.unique()}
    names = dict.fromkeys(name for parts in names_in.values() for name in parts if name)
    return {
        name: scores[cells.map({cell: name in parts for cell, parts in names_in.items()})]
        for name in names
    }


def sureness(placing: Placing) -> dict[str, list[str]]:
    """Columns on the resamples, methods in the order of the leaderboard."""
    if placing.stability is None:
        return {}
    ranks = placing.stability.overall
    at = [placing.methods.index(str(name)) for name in placing.board.position.index]
    return {
        f"{ranks.level:.0%} interval": [f"{ranks.low[m]:.3g} to {ranks.high[m]:.3g}" for m in at],
        "group": [ranks.groups[m] for m in at],
    }


def _placing(
    part: tuple[str, str] | None,
    scores: pd.DataFrame,
    rules: Rules,
    reading: str | None,
    samples: int,
    seed: int,
) -> Placing:
    panel = rules.panel(scores, reading=reading)
    first = board(panel, rules.ranking)
    stability = None
    few = len(panel.cases) < FEWEST_CASES
    if samples and not few and len(panel.methods) > 1:
        rng = np.random.default_rng(seed)
        stability = case_stability(panel, rules.ranking, samples=samples, level=LEVEL, rng=rng)
    return Placing(
        part=part,
        board=first,
        others=tuple(
            rules.leaderboard(scores, reading=name) for name in rules.other_readings(scores, first)
        ),
        rules=rules,
        methods=panel.methods,
        stability=stability,
        cases=len(panel.cases),
        notes=(
            *first.notes,
            *([TOO_FEW.format(_count(len(panel.cases)))] if samples and few else []),
            *notes(scores, first.reading),
            *rules.remarks.get(first.reading, ()),
        ),
    )


def _count(cases: int) -> str:
    return f"{cases} case{'s' * (cases != 1)}"
