"""The forms a table of scores may come in: long, a column per metric, a column per method."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.results.columns import COLUMNS, NEEDED, RATER, WHOLE
from segjury.results.long_table import completed, is_empty, texts
from segjury.results.notation import Values, is_almost_a_number, read_columns
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
) -> tuple[pd.DataFrame, list[str]]:
    """The long table that a table in any form stands for: our columns, groups, maybe `rater`.

    The sentences say how numbers were read that are not written as usual.
    """
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
    of_values = [
        str(name)
        for name in table.columns
        if name == "value" or ("metric" not in table and name not in (*_OURS, *groups))
    ]
    values, said = read_columns({name: table[name] for name in of_values}, file)
    if matrix is not None:
        table, found = _from_matrix(table, values, matrix, groups, file)
    elif "metric" not in table.columns:
        table, found = _from_wide(table, values, groups, file)
    else:
        found = values["value"]
        _check_numbers(found, table["value"], [table[name] for name in NEEDED[:3]], file)
    long, fractions = completed(table, found, groups, file)
    return long, [*said, *fractions]


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
    found = {place: numbers(table.iloc[:, place]) for place in rest}
    odd = (cell for place in rest for cell in table.iloc[:, place][np.isinf(found[place])].unique())
    return any((~np.isnan(f)).any() for f in found.values()) and all(map(is_almost_a_number, odd))


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
        elif name == "" and place > 0 and not is_empty(cells):
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
    table: pd.DataFrame,
    found: Mapping[str, Values],
    metric: str,
    groups: Collection[str],
    file: str,
) -> tuple[pd.DataFrame, Values]:
    """The long table of one metric, from a row per case and a column per method."""
    if (texts(table["case"]) == "").any():
        raise InputError(f"{file} has a row without a case", "Name every case")
    about = [name for name in table.columns if name in _OURS or name in groups]
    values = {}
    for method in map(str, table.columns.difference(about, sort=False)):
        values[method] = found[method]
        _check_numbers(values[method], table[method], (method, table["case"], metric), file)
    if not values:
        raise InputError(f"{file} has no column of a method ({_it_has(table.columns)})")
    long = _stacked(table[about], len(values))
    long = long.assign(method=_each(values, len(table)), metric=metric)
    return long, Values.joined(values.values())


def _from_wide(
    table: pd.DataFrame, found: Mapping[str, Values], groups: Collection[str], file: str
) -> tuple[pd.DataFrame, Values]:
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
    values: dict[tuple[str, str], Values] = {}
    origin: dict[tuple[str, str], str] = {}
    for column in map(str, table.columns.difference(about, sort=False)):
        cells, numbers_found = table[column], found[column].numbers
        metric, structure = _metric_and_structure(column, split="structure" not in about)
        numeric = metric in METRICS or bool(np.isfinite(numbers_found).any())
        if _DERIVED.match(column) or (not numeric and is_empty(cells)):
            continue
        if not numeric and _is_group(cells[np.isinf(numbers_found)]):
            about.append(column)
        elif column.lower() != "position":  # of a leaderboard
            _check_numbers(found[column], cells, (table["method"], table["case"], metric), file)
            other = origin.setdefault((metric, structure), column)
            if other != column:
                raise InputError(
                    f"{file} has two columns of {metric} ({structure}): '{other}' and '{column}'",
                    "Remove one of them",
                )
            values[metric, structure] = found[column]
    if not values:
        raise InputError(
            f"{file} has neither 'metric' and 'value' nor a column per metric",
            f"Name the columns {', '.join(NEEDED)}",
        )
    long = _stacked(table[about], len(values))
    long["metric"] = _each([metric for metric, _ in values], len(table))
    if "structure" not in about:
        long["structure"] = _each([structure for _, structure in values], len(table))
    return long, Values.joined(values.values())


def _is_group(words: pd.Series[Any]) -> bool:
    """Whether there are words and all of them name groups, rather than numbers oddly written."""
    return len(words) > 0 and not any(map(is_almost_a_number, words.unique()))


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


def _stacked(about: pd.DataFrame, times: int) -> pd.DataFrame:
    """What the table says of its rows, as often as there are columns of values."""
    return about.iloc[np.tile(np.arange(len(about)), times)].reset_index(drop=True)


def _each(names: Iterable[str], times: int) -> Any:
    """A column in which each name comes several times, one name after the other."""
    words = pd.Series([*names], dtype=str)
    return words.iloc[np.repeat(np.arange(len(words)), times)].array


def _check_numbers(
    found: Values,
    cells: pd.Series[Any],
    about: Sequence[pd.Series[Any] | str],
    file: str,
) -> None:
    """Refuse the first cell that is no number; `about` are its method, case and metric."""
    bad = np.isinf(found.numbers)
    if not bad.any():
        return
    place = int(bad.argmax())
    cell = cells.iloc[place]
    names = [name if isinstance(name, str) else str(name.iloc[place]) for name in about]
    raise InputError(
        f"{file}: the value of {', '.join(names)} is {cell!r}", "Give a number, or leave it empty"
    )


def _it_has(columns: Iterable[object]) -> str:
    names = [str(name) or "one without a name" for name in columns]
    return f"it has {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
