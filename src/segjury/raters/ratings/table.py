"""Ratings of segmentations by experts: reading a table of them, and the floor of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segjury.errors import InputError, MissingInputError
from segjury.runtime.tables import numbers, read_cells

COLUMNS = ("method", "case", "question", "rater", "value")
KEY = COLUMNS[:4]
TARGET = ["method", "case"]
ONLY_QUESTION = "rating"  # where a table has no column of questions
MOST_NAMED = 10


def read_ratings(
    path: Path, *, columns: Mapping[str, str] | None = None, raters: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a CSV of ratings; `columns` and `raters` are those of `long_ratings`."""
    if not path.is_file():
        raise MissingInputError(f"there is no table {path}", "Give a CSV of ratings")
    cells = read_cells(path)
    texts = {place: cells.iloc[:, place].astype(str).str.strip() for place in range(cells.shape[1])}
    table = pd.DataFrame(texts).set_axis(
        [str(name).strip() for name in cells.columns], axis="columns"
    )
    return long_ratings(table, path.name, columns=columns, raters=raters)


def long_ratings(
    table: pd.DataFrame,
    file: str,
    *,
    columns: Mapping[str, str] | None = None,
    raters: Sequence[str] = (),
) -> pd.DataFrame:
    """The long table of ratings that a table of text stands for.

    A row per rating: `method, case, rater, value`, and `question` if there are several. Or, if
    `raters` names their columns, a row per segmentation and question. `columns` says what ours
    are called in the table, as in `{"value": "score"}`. Values are numbers, NaN where empty.
    """
    table = _with_our_names(table, columns or {}, file)
    if raters:
        table = _from_wide(table, raters, file)
    _check_names([name for name in COLUMNS if name != "question"], table.columns, file)
    if table.empty:
        raise InputError(f"{file} has no rows", "Give a table with ratings")
    if "question" not in table:
        table = table.assign(question=ONLY_QUESTION)
    for name in KEY:
        nameless = table[name] == ""
        if nameless.any():
            where = _where(table[nameless].iloc[0])
            raise InputError(f"{file} has a row without {name}: {where}", "Fill it in")
    double = table.duplicated([*KEY])
    if double.any():
        raise InputError(
            f"{file} has two ratings of {_where(table[double].iloc[0])}",
            "Keep one of them, or tell the cases apart",
        )
    values = numbers(table["value"])
    if np.isinf(values).any():
        row = table[np.isinf(values)].iloc[0]
        raise InputError(
            f"{file}: the rating of {_where(row)} is {row['value']!r}",
            "Give a number with a decimal point, or leave it empty",
        )
    return table.assign(value=values)


def _with_our_names(table: pd.DataFrame, given: Mapping[str, str], file: str) -> pd.DataFrame:
    """The table under our names of columns: as `given`, or ours in any case of letters."""
    unknown = [name for name in given if name not in COLUMNS]
    if unknown:
        raise InputError(
            f"a table of ratings has no column '{unknown[0]}'",
            f"The names before = in `columns` are {', '.join(COLUMNS)}",
        )
    theirs = [str(name) for name in table.columns]
    _check_names(given.values(), theirs, file)
    renamed = {name: ours for ours, name in given.items()}
    names = [renamed.get(n) or (n.lower() if n.lower() in COLUMNS else n) for n in theirs]
    for double in (name for name, times in Counter(names).items() if name and times > 1):
        raise InputError(f"{file} has two columns '{double}'", "Rename or remove one of them")
    return table.set_axis(names, axis="columns").loc[:, [name != "" for name in names]]


def _from_wide(table: pd.DataFrame, raters: Sequence[str], file: str) -> pd.DataFrame:
    """The long table, from a column per rater."""
    _check_names(raters, table.columns, file)
    wrong = [name for name in ("rater", "value") if name in table.columns]
    if wrong:
        raise InputError(
            f"{file} has a column '{wrong[0]}', so it is not one column per rater",
            "Leave out `raters`",
        )
    wrong = [name for name, times in Counter(raters).items() if times > 1 or name in COLUMNS]
    if wrong:
        raise InputError(f"`raters` cannot take '{wrong[0]}'", "Name the column of each rater once")
    rest = [name for name in table.columns if name not in raters]
    return table.melt(rest, list(raters), var_name="rater", value_name="value")


def _check_names(needed: Collection[str], columns: Collection[str], file: str) -> None:
    absent = [name for name in needed if name not in columns]
    if absent:
        raise InputError(
            f"{file} has no column '{absent[0]}' (it has {', '.join(map(str, columns))})",
            f"Name it, as `columns={absent[0]}=...`, or `raters=A,B,C` for a column per rater",
        )


def _where(row: pd.Series[Any]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in KEY)


def check_floor(ratings: pd.DataFrame, question: str, by: str) -> None:
    """Refuse ratings other than 0 in `question` where the same rater gave 0 in `by`."""
    forced, _ = _forced(ratings, question, by)
    wrong = ratings[forced & (ratings["value"].fillna(0.0) != 0)]
    if len(wrong):
        rows = wrong[["rater", "method", "case", "value"]].itertuples(index=False)
        named = ["rater {}, method {}, case {}: {:g}".format(*row) for row in rows]
        more = f"; and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        raise InputError(
            f"0 in {by} must go with 0 in {question}, but {len(named)} of the ratings differ "
            f"({'; '.join(named[:MOST_NAMED])}{more})",
            "Correct them, or say `apply_floor` to set them to 0",
        )


def apply_floor(ratings: pd.DataFrame, question: str, by: str) -> tuple[pd.DataFrame, str]:
    """Ratings with 0 in `question` wherever the same rater gave 0 in `by`; what was changed."""
    forced, added = _forced(ratings, question, by)
    before = ratings.loc[forced, "value"]
    empty = int(before.isna().sum()) + len(added)
    changed = ratings.assign(value=ratings["value"].mask(forced, 0.0))
    note = (
        f"{question} set to 0 where the same rater gave 0 in {by} "
        f"({(before.fillna(0.0) != 0).sum()} had another rating, {empty} had none)"
    )
    return pd.concat([changed, added], ignore_index=True), note


def _forced(ratings: pd.DataFrame, question: str, by: str) -> tuple[pd.Series[bool], pd.DataFrame]:
    """Which rows a 0 in `by` forces to 0, and those it forces that are not there."""
    check_questions(ratings, (question, by))
    if question == by:
        raise InputError(f"`floor` names {question} twice", "Name two questions, as Q1=Q2")
    zero = ratings[(ratings["question"] == by) & (ratings["value"] == 0)].assign(question=question)
    keys = pd.MultiIndex.from_frame(ratings[[*KEY]])
    zero_keys = pd.MultiIndex.from_frame(zero[[*KEY]])
    return pd.Series(keys.isin(zero_keys), ratings.index), zero[~zero_keys.isin(keys)]


def check_questions(ratings: pd.DataFrame, names: Collection[str]) -> None:
    """Refuse questions that nobody was asked."""
    known = list(ratings["question"].unique())
    for name in names:
        if name not in known:
            raise InputError(f"there is no question '{name}'", f"Use one of {', '.join(known)}")
