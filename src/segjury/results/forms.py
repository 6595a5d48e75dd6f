"""The forms a table of scores may come in, and the long one that everything else reads."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.results.columns import (
    COLUMNS,
    DEFAULTS,
    DETAIL_COLUMNS,
    KEY,
    NEEDED,
    RATER,
    WHOLE,
    group_columns,
)
from segjury.runtime.tables import numbers

_OURS = (*COLUMNS, RATER)
_LONGEST_FIRST = sorted(METRICS, key=len, reverse=True)
# what others call our columns: to suggest, never to take for granted
_USUAL_NAMES = {
    "method": ("team", "algorithm", "model", "team_name"),
    "case": ("patient", "subject", "id", "case_id"),
    "metric": ("measure", "score_name"),
    "value": ("score", "result"),
}
# columns of a results table that are not metrics: what a ranking printed, and spreads
_DERIVED = re.compile(
    r"^(rank_.*|.*_rank|mean_rank|sd_rank|final_position|.*_(iqr|sd|std))$", re.IGNORECASE
)
_UNIT_SUFFIX = re.compile(r"_(percent|e3|cm3|mm3|mm|median|mean)$")
_MADE_BY_PANDAS = re.compile(r"^(Unnamed: \d+|__index_level_\d+__)$")  # a saved index
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_ALMOST_A_NUMBER = re.compile(r"[+-]?(inf(inity)?|[\d.,]*\d(e[+-]?\d+)?\s*%?)", re.IGNORECASE)


def cells_of(table: pd.DataFrame) -> pd.DataFrame:
    """A data frame as a file would be read: fractions as numbers, all else as text; a copy.

    An index with names is columns.
    """
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    columns = [
        cells.astype(np.float64)
        if pd.api.types.is_float_dtype(cells)
        else pd.Series(["" if pd.isna(cell) else str(cell) for cell in cells.tolist()], dtype=str)
        for cells in (table.iloc[:, place] for place in range(table.shape[1]))
    ]
    frame = pd.concat([cells.reset_index(drop=True) for cells in columns], axis=1)
    return frame.set_axis(list(map(str, table.columns)), axis="columns")


def _texts(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Cells as text; numbers of a parquet file without needless decimals, NaN empty."""
    if not pd.api.types.is_numeric_dtype(cells):
        return cells
    words = [
        "" if math.isnan(cell) else str(int(cell)) if cell.is_integer() else repr(cell)
        for cell in cells.to_numpy(np.float64).tolist()
    ]
    return pd.Series(words, cells.index, str)


def _is_empty(cells: pd.Series[Any]) -> bool:
    numeric = pd.api.types.is_numeric_dtype(cells)
    return bool((cells.isna() if numeric else cells == "").all())


def with_our_names(table: pd.DataFrame, given: Mapping[str, str], file: str) -> pd.DataFrame:
    """The table under our names of columns: as `given`, or ours in any case of letters."""
    theirs = [str(name).strip() for name in table.columns]
    unknown = [name for name in given if name not in _OURS]
    if unknown:
        raise InputError(
            f"a table of scores has no column {_quoted(unknown)}",
            f"The names that `columns` takes are {', '.join(_OURS)}",
        )
    absent = [name.strip() for name in given.values() if name.strip() not in theirs]
    if absent:
        raise InputError(f"{file} has no column {_quoted(absent)} ({_it_has(theirs)})")
    renamed = {name.strip(): ours for ours, name in given.items()}
    if len(renamed) < len(given):
        raise InputError(f"`columns` gives two names to one column of {file}", "Give it one")
    names = [renamed.get(n) or (n.lower() if n.lower() in _OURS else n) for n in theirs]
    for double in (name for name, times in Counter(names).items() if name and times > 1):
        if double in given:
            raise InputError(
                f"{file} has a column '{double}' besides '{given[double]}'",
                f"Remove one of them, or leave {double} out of `columns`",
            )
        raise InputError(f"{file} has two columns '{double}'", "Rename or remove one of them")
    table.columns = pd.Index(names)
    return table


def long_form(
    table: pd.DataFrame, file: str, *, groups: Collection[str] = (), matrix: str | None = None
) -> pd.DataFrame:
    """The long table that a table in any form stands for: our columns, groups, maybe `rater`."""
    wrong = [name for name in groups if name in _OURS or name not in table.columns]
    if wrong:
        raise InputError(f"{file} has no group {_quoted(wrong)} ({_it_has(table.columns)})")
    if matrix is None:
        _check_columns(table, file)
    else:
        table = _with_cases(table, matrix, file)
    if table.empty:
        raise InputError(f"{file} has no rows", "Give a table with scores")
    table = _without_index(table, groups, file)
    if matrix is not None:
        table = _from_matrix(table, matrix, groups, file)
    elif "metric" not in table.columns:
        table = _from_wide(table, groups, file)
    return _complete(table, groups, file)


def _check_columns(table: pd.DataFrame, file: str) -> None:
    """Refuse a table that lacks a column which its form needs; see `read_scores`."""
    columns = list(map(str, table.columns))
    usual = {ours: _first_usual(ours, columns) for ours in NEEDED}
    if {"metric", "value"} & set(columns) or (usual["metric"] and usual["value"]):
        needed: tuple[str, ...] = NEEDED  # a long table
    elif "method" not in columns and not usual["method"] and _all_numbers(table):
        raise InputError(
            f"{file} has no column 'method'; it looks like one column per method",
            "Say `matrix=METRIC` if it is, or else name the column of methods 'method'",
        )
    else:  # a column per metric; a usual name of cases is hardly that of a metric
        needed = ("method", "case") if usual["case"] else ("method",)
    absent = [name for name in needed if name not in columns]
    if absent:
        names = {name: usual[name] or "NAME" for name in absent}
        raise InputError(
            f"{file} has no column {_quoted(absent)} ({_it_has(columns)})",
            f"Rename columns, or say `columns={names}`",
        )


def _first_usual(ours: str, columns: Sequence[str]) -> str | None:
    def plain(name: str) -> str:
        return name.lower().replace(" ", "_").replace("-", "_")

    return next((name for name in columns if plain(name) in _USUAL_NAMES[ours]), None)


def _all_numbers(table: pd.DataFrame) -> bool:
    """Whether all cells are numbers or empty, but for the first column and ours."""
    rest = [place for place in range(1, table.shape[1]) if table.columns[place] not in _OURS]
    found = [numbers(table.iloc[:, place]) for place in rest]
    return any(np.isfinite(f).any() for f in found) and not any(np.isinf(f).any() for f in found)


def _counts_up(found: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(found).all() and (np.diff(found) == 1).all())


def _without_index(table: pd.DataFrame, groups: Collection[str], file: str) -> pd.DataFrame:
    """The table without the numbers of its rows, and without nameless empty columns."""
    kept = []
    for place, name in enumerate(map(str, table.columns)):
        cells = table.iloc[:, place]
        counts = name.lower() == "index" and _counts_up(numbers(cells))
        if name in groups:
            kept.append(place)
        elif name == "" and place > 0 and not _is_empty(cells):
            raise InputError(f"column {place + 1} of {file} has no name", "Name or remove it")
        elif name and not counts and not _MADE_BY_PANDAS.match(name):
            kept.append(place)
    return table.iloc[:, kept]


def _with_cases(table: pd.DataFrame, metric: str, file: str) -> pd.DataFrame:
    """A matrix whose column of cases, the first unless another is called so, is called `case`."""
    if not metric.strip():
        raise InputError("`matrix` names no metric", "Say `matrix=METRIC`")
    names = list(map(str, table.columns))
    wrong = [name for name in ("method", "metric", "value") if name in names]
    if wrong:
        raise InputError(
            f"{file} has a column {_quoted(wrong)}, so it is not one column per method",
            "Leave out `matrix`",
        )
    if "case" not in names:
        first = next((place for place, name in enumerate(names) if name not in _OURS), 0)
        names[first] = "case"
    return table.set_axis(names, axis="columns")


def _from_matrix(
    table: pd.DataFrame, metric: str, groups: Collection[str], file: str
) -> pd.DataFrame:
    """The long table of one metric, from a row per case and a column per method."""
    if (_texts(table["case"]) == "").any():
        raise InputError(f"{file} has a row without a case", "Name every case")
    about = [name for name in table.columns if name in _OURS or name in groups]
    values = {}
    for method in map(str, table.columns.difference(about, sort=False)):
        values[method] = numbers(table[method])
        _check_numbers(values[method], table[method], (method, table["case"], metric), file)
    if not values:
        raise InputError(f"{file} has no column of a method ({_it_has(table.columns)})")
    long = _stacked(table[about], values)
    return long.assign(method=_each(values, len(table)), metric=metric)


def _from_wide(table: pd.DataFrame, groups: Collection[str], file: str) -> pd.DataFrame:
    """The long table, from a column per metric."""
    if "case" not in table.columns:
        twice = table["method"][table["method"].duplicated()]
        if len(twice) and RATER not in table.columns and "reading" not in table.columns:
            raise InputError(
                f"{file} has no column 'case' and several rows for method {twice.iloc[0]} "
                f"(it has {', '.join(map(str, table.columns))})",
                "Say which column names the case: `columns={'case': 'NAME'}`",
            )
        table = table.assign(case=WHOLE)
    about = [str(name) for name in table.columns if name in _OURS or name in groups]
    values: dict[tuple[str, str], NDArray[np.float64]] = {}
    origin: dict[tuple[str, str], str] = {}
    for column in map(str, table.columns.difference(about, sort=False)):
        cells, found = table[column], numbers(table[column])
        metric, structure = _metric_and_structure(column, split="structure" not in about)
        numeric = metric in METRICS or bool(np.isfinite(found).any())
        if _DERIVED.match(column) or (not numeric and _is_empty(cells)):
            continue
        if not numeric and _is_group(cells[np.isinf(found)]):
            about.append(column)
        elif column.lower() != "position":  # of a leaderboard
            _check_numbers(found, cells, (table["method"], table["case"], metric), file)
            other = origin.setdefault((metric, structure), column)
            if other != column:
                raise InputError(
                    f"{file} has two columns of {metric} ({structure}): '{other}' and '{column}'",
                    "Remove one of them",
                )
            values[metric, structure] = found
    if not values:
        raise InputError(
            f"{file} has neither 'metric' and 'value' nor a column per metric",
            f"Name the columns {', '.join(NEEDED)}",
        )
    long = _stacked(table[about], values)
    long["metric"] = _each([metric for metric, _ in values], len(table))
    if "structure" not in about:
        long["structure"] = _each([structure for _, structure in values], len(table))
    return long


def _is_group(words: pd.Series[Any]) -> bool:
    """Whether there are words and all of them name groups, rather than numbers oddly written."""
    return len(words) > 0 and not any(
        _ALMOST_A_NUMBER.fullmatch(str(word).strip()) for word in words.unique()
    )


def _metric_and_structure(column: str, *, split: bool) -> tuple[str, str]:
    """`vi_porta` is metric `vi` of PORTA, `dsc_percent` is `dsc`; others keep their name.

    Where a column says the structure, names are not split.
    """
    name = _UNIT_SUFFIX.sub("", column.lower())
    if name in METRICS:
        return name, WHOLE
    for metric in _LONGEST_FIRST:
        if split and name.startswith(f"{metric}_"):
            return metric, name.removeprefix(f"{metric}_").replace("_", " ").upper()
    return column, WHOLE


def _stacked(about: pd.DataFrame, values: Mapping[Any, NDArray[np.float64]]) -> pd.DataFrame:
    """One row per value, column after column, with what the table says of its row."""
    long = about.iloc[np.tile(np.arange(len(about)), len(values))].reset_index(drop=True)
    return long.assign(value=np.concatenate([*values.values()]))


def _each(names: Iterable[str], times: int) -> Any:
    """A column in which each name comes several times, one name after the other."""
    words = pd.Series([*names], dtype=str)
    return words.iloc[np.repeat(np.arange(len(words)), times)].array


def _complete(table: pd.DataFrame, groups: Collection[str], file: str) -> pd.DataFrame:
    """Fill in the columns another tool left out, and refuse what cannot be meant."""
    found = numbers(table["value"])
    _check_numbers(found, table["value"], [table[name] for name in NEEDED[:3]], file)
    columns: dict[str, Any] = {name: DEFAULTS.get(name, "") for name in COLUMNS}
    for name in map(str, table.columns.drop("value")):
        cells = _texts(table[name])
        if name in DEFAULTS:
            columns[name] = cells.mask(cells == "", DEFAULTS[name])
        elif name in COLUMNS or name in groups or not _is_empty(cells):
            columns[name] = cells
    long = pd.DataFrame(columns | {"value": found})
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
    return long


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


def _check_numbers(
    found: NDArray[np.float64],
    cells: pd.Series[Any],
    about: Sequence[pd.Series[Any] | str],
    file: str,
) -> None:
    """Refuse the first cell that is no number; `about` are its method, case and metric."""
    bad = np.isinf(found)
    if not bad.any():
        return
    place = int(bad.argmax())
    cell = cells.iloc[place]
    names = [name if isinstance(name, str) else str(name.iloc[place]) for name in about]
    what = f"{file}: the value of {', '.join(names)} is {cell!r}"
    if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip()):
        raise InputError(f"{what}, with a decimal comma", "Write numbers with a decimal point")
    raise InputError(what, "Give a number, or leave it empty")


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


def _it_has(columns: Iterable[object]) -> str:
    names = [str(name) or "one without a name" for name in columns]
    return f"it has {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
