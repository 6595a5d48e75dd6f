"""Leaderboards with how sure they are: of a whole table, and of each part of its cases."""

from __future__ import annotations

import html
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from segjury.analysis.ranking import Leaderboard, Panel, Rules, board, notes
from segjury.analysis.stability import FEWEST_CASES, Stability, case_stability
from segjury.errors import InputError, did_you_mean
from segjury.results.columns import group_columns
from segjury.results.results import shown
from segjury.wording import plural

LEVEL = 0.95
TOO_FEW = f"{{}}: too few for resamples to show how sure the order is, which takes {FEWEST_CASES}"


@dataclass(frozen=True)
class RankedTable:
    """A leaderboard, those of the other readings, and its stability (None if not asked for).

    `part` says which part of the cases, none for all; `methods` of the stability are `methods`.
    `cases` count for some score, `fewest` for the score that has the fewest.
    """

    part: tuple[str, str] | None
    board: Leaderboard
    others: tuple[Leaderboard, ...]
    rules: Rules
    methods: tuple[str, ...]
    stability: Stability | None
    cases: int
    fewest: int
    notes: tuple[str, ...]

    @property
    def table(self) -> pd.DataFrame:
        """The leaderboard as `leaderboard.csv` has it."""
        return self.board.table

    @property
    def readings(self) -> dict[str, Leaderboard]:
        """The leaderboards of the other readings, by reading."""
        return {other.reading: other for other in self.others}

    def _repr_html_(self) -> str:
        """What Jupyter shows: the leaderboard with how sure it is, and what to know of it."""
        table = self.table
        table = table.drop(columns=[f"rank_{name}" for name in table], errors="ignore")
        for place, (name, cells) in enumerate(certainty(self).items(), 4):
            table.insert(place, name, cells)
        return shown(table, rows=None) + "".join(
            f"<p>{html.escape(note)}</p>" for note in self.notes
        )


def ranked_tables(
    scores: pd.DataFrame,
    rules: Rules,
    *,
    reading: str | None = None,
    by: Collection[str] = (),
    samples: int = 1000,
    seed: int = 0,
) -> list[RankedTable]:
    """The ranked table of all cases, then that of each value of the columns named.

    All methods are ranked in every part. What cannot be ranked is noted with the whole.
    """
    whole = ranked_table(None, scores, rules, reading, samples, seed)
    found, notes_of_parts = [], []
    for column in by:
        notes_of_parts += unplaced(scores, column)
        for value, part in split(scores, column).items():
            try:
                name = (column, value)
                found.append(ranked_table(name, part, rules, reading, samples, seed, whole.methods))
            except InputError as error:
                notes_of_parts.append(f"{column} {value} is not ranked: {error}")
    return [replace(whole, notes=(*whole.notes, *notes_of_parts)), *found]


def unplaced(scores: pd.DataFrame, column: str) -> list[str]:
    """A sentence about cases that are in no part."""
    cases = scores.drop_duplicates("case")
    without = int((cases[column].astype(str) == "").sum()) if column in cases.columns else 0
    return [f"{plural(without, 'case')} of {len(cases)} in no {column}"] if without else []


def split(scores: pd.DataFrame, column: str) -> dict[str, pd.DataFrame]:
    """The table of each value of a column; a case may be in several cohorts."""
    if column not in ("cohort", *group_columns(scores)):
        known = ["cohort", *group_columns(scores)]
        fix = did_you_mean(column, known)
        raise InputError(f"the table has no column '{column}' to split by", fix)
    cells = scores[column].astype(str)
    several = column == "cohort"
    names_in = {cell: cell.split(";") if several else [cell] for cell in cells.unique()}
    names = dict.fromkeys(name for parts in names_in.values() for name in parts if name)
    return {
        name: scores[cells.map({cell: name in parts for cell, parts in names_in.items()})]
        for name in names
    }


def other_panels(
    scores: pd.DataFrame, rules: Rules, shown: Leaderboard, methods: Collection[str] = ()
) -> tuple[dict[str, Panel], list[str]]:
    """The panels of the other readings, and a sentence for each that cannot be ranked."""
    found, skipped = {}, []
    for name in rules.other_readings(scores, shown):
        try:
            found[name] = rules.panel(scores, reading=name, methods=methods)
        except InputError as error:
            skipped.append(f"reading {name} is not ranked: {error}")
    return found, skipped


def certainty(ranked_table: RankedTable) -> dict[str, list[str]]:
    """Columns on the resamples, methods in the order of the leaderboard."""
    if ranked_table.stability is None:
        return {}
    ranks = ranked_table.stability.overall
    at = [ranked_table.methods.index(str(name)) for name in ranked_table.board.position.index]
    return {
        f"{100 * ranks.level:g} % interval": [
            f"{ranks.low[m]:.3g} to {ranks.high[m]:.3g}" for m in at
        ],
        "group": [ranks.groups[m] for m in at],
    }


def ranked_table(
    part: tuple[str, str] | None,
    scores: pd.DataFrame,
    rules: Rules,
    reading: str | None,
    samples: int,
    seed: int,
    methods: Collection[str] = (),
    *,
    stability: Stability | None = None,
) -> RankedTable:
    """The ranked table of one part of the cases, or of all; `methods` are ranked even if absent.

    A `stability` of the same methods, in their order, is not computed again.
    """
    panel = rules.panel(scores, reading=reading, methods=methods)
    first = board(panel, rules.ranking)
    few = len(panel.cases) < FEWEST_CASES
    if not samples or few or len(panel.methods) == 1:
        stability = None
    elif stability is None:
        rng = np.random.default_rng(seed)
        stability = case_stability(panel, rules.ranking, samples=samples, level=LEVEL, rng=rng)
    others, skipped = other_panels(scores, rules, first, methods)
    return RankedTable(
        part=part,
        board=first,
        others=tuple(board(other, rules.ranking) for other in others.values()),
        rules=rules,
        methods=panel.methods,
        stability=stability,
        cases=len(panel.cases),
        fewest=int(panel.defined.sum(axis=1).min()),
        notes=(
            *first.notes,
            *(rules.left_out(scores, first.reading) if part is None else ()),
            *skipped,
            *([TOO_FEW.format(plural(len(panel.cases), "case"))] if samples and few else []),
            *notes(scores, first.reading),
            *rules.remarks.get(first.reading, ()),
        ),
    )
