"""The long table of scores that everything else reads: whole, each score once, raters apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.results.columns import (
    COLUMNS,
    DEFAULTS,
    DETAIL_COLUMNS,
    KEY,
    RATER,
    group_columns,
)
from segjury.results.notation import Values, without_per_cent


def texts(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text; numbers of a parquet file without needless decimals, NaN empty."""
    if not pd.api.types.is_numeric_dtype(cells):
        return cells
    words = [
        "" if math.isnan(cell) else str(int(cell)) if cell.is_integer() else repr(cell)
        for cell in cells.to_numpy(np.float64).tolist()
    ]
    return pd.Series(words, cells.index, str)


def is_empty(cells: pd.Series[Any]) -> bool:
    """Whether no cell of a column holds anything."""
    numeric = pd.api.types.is_numeric_dtype(cells)
    return bool((cells.isna() if numeric else cells == "").all())


def completed(
    table: pd.DataFrame, values: Values, groups: Collection[str], file: str
) -> tuple[pd.DataFrame, list[str]]:
    """The table with the columns that another tool left out; what cannot be meant is refused.

    The sentences are those of `without_per_cent`.
    """
    columns: dict[str, Any] = {name: DEFAULTS.get(name, "") for name in COLUMNS}
    for name in map(str, table.columns.drop("value", errors="ignore")):
        cells = texts(table[name])
        if name in DEFAULTS:
            columns[name] = cells.mask(cells == "", DEFAULTS[name])
        elif name in COLUMNS or name in groups or not is_empty(cells):
            columns[name] = cells
    long, said = without_per_cent(pd.DataFrame(columns, index=table.index), values)
    key = [*KEY, RATER] if RATER in long else [*KEY]
    for name in ("method", "metric", *key[len(KEY) :]):
        if (long[name] == "").any():
            row = long[long[name] == ""].iloc[0]
            raise InputError(f"{file} has a row without {name}: {_where(row)}", "Fill it in")
    double = long.duplicated(key)
    if double.any():
        raise InputError(
            f"{file} has two rows for {_where(long[double].iloc[0], key)}",
            "Keep one of them, or tell them apart by case, structure, reading or rater",
        )
    cases = pd.factorize(long["case"])[0]
    for name in group_columns(long.drop(columns=key)):
        _check_same(long, name, cases, ["case"], file)
    return long, said


def mean_over_raters(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """The long table with the mean of all raters' values, undefined where all of them are.

    Every rater must have scored everything: a mean over some raters would compare methods by
    whom they were given to.
    """
    keys = table.groupby(list(KEY), sort=False).ngroup().to_numpy()
    for name in ("unit", "status", "cohort"):
        _check_same(table, name, keys, KEY, file)
    raters, names = pd.factorize(table[RATER])
    values = np.full((keys.max() + 1, len(names)), np.inf)
    values[keys, raters] = table["value"]
    gaps = ~np.isfinite(values) & ~np.isnan(values).all(axis=1, keepdims=True)
    scores = table.drop_duplicates(list(KEY)).drop(columns=RATER)
    if gaps.any():
        key, rater = np.argwhere(gaps)[0]
        raise InputError(
            f"{file} has no value of rater {names[rater]} for {_where(scores.iloc[key])}",
            "Give every rater's value of everything, or leave the rater out",
        )
    means = np.sort(values, axis=1).mean(axis=1)  # sorted: equal scores have equal means
    return scores.assign(value=means).reset_index(drop=True)


def values_of_raters(table: pd.DataFrame) -> pd.DataFrame:
    """Each rater's values in the form of `details.csv`."""
    details = table.assign(quantity="score", item="rater " + table[RATER])
    return details[list(DETAIL_COLUMNS)]


def _check_same(
    table: pd.DataFrame, column: str, parts: NDArray[np.integer[Any]], key: Sequence[str], file: str
) -> None:
    """Refuse a column that is not the same in all rows of a part of the table."""
    codes, words = pd.factorize(table[column])
    first = np.empty_like(codes)
    first[parts[::-1]] = codes[::-1]  # parts are fewer than rows; the first row is written last
    wrong = codes != first[parts]
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(
            f"{file}: column '{column}' is '{words[first[parts[place]]]}' and "
            f"'{words[codes[place]]}' for {_where(table.iloc[place], key)}",
            "Make it the same in all these rows, or remove the column",
        )


def _where(row: pd.Series[Any], key: Sequence[str] = KEY) -> str:
    return ", ".join(f"{name} {row[name]}" for name in key)
