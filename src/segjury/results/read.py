"""Read a table of scores, ours or from another tool, and what a run wrote beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segjury.errors import InputError, MissingInputError
from segjury.results.columns import BIN_COLUMNS, COLUMNS, DETAIL_COLUMNS, HITS, NEEDED, RATER
from segjury.results.forms import long_form, with_our_names
from segjury.results.long_table import mean_over_raters, values_of_raters
from segjury.results.magnitudes import refuse_beyond
from segjury.runtime.tables import numbers, read_cells

CEILING = "ceiling.csv"


def read_scores(
    source: Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Collection[str] = (),
    matrix: str | None = None,
) -> pd.DataFrame:
    """Read a table of scores: a CSV, parquet or xlsx file, or a data frame; ours or another tool's.

    - Long: `method, case, metric, value`. Further columns are groups of cases, such as `dataset`
      or `sex`, and the same in all rows of a case. With a column `rater` a value is the mean of
      all raters', each of whom must have scored everything.
    - Wide: `method` and a column per metric (suffixes such as `_percent` or `_median` are dropped,
      `vi_porta` becomes `vi` of PORTA, columns of ranks and spreads are left out), with or without
      `case`. A column without any number is a group.
    - A matrix of one metric, if its name is given as `matrix`: a row per case (`case`, or else the
      first column), a column per method.

    `columns` says what our columns are called in the table, as in `{"method": "team"}`; `groups`
    are columns of numbers that are groups all the same. The result has our columns, filled in
    where the table has none, then the groups, as text.
    """
    return scores_and_raters(source, columns=columns, groups=groups, matrix=matrix)[0]


def scores_and_raters(
    source: Path | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Collection[str] = (),
    matrix: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame | None, list[str]]:
    """The table of scores, and each rater's values as details if it has them; see `read_scores`.

    A rater's value is the quantity `score` of the item `rater NAME`. The sentences say how numbers
    were read that are not written as usual.
    """
    if isinstance(source, pd.DataFrame):
        cells, name = _cells_of(source), "the table"
    else:
        file = scores_file(source)
        cells, name = read_cells(file), file.name
    table = with_our_names(cells, columns or {}, name)
    scores, said = long_form(table, name, groups=groups, matrix=matrix)
    refuse_beyond(scores["value"], scores, NEEDED[:3], f"{name}: the value")
    if RATER not in scores:
        return scores, None, said
    return mean_over_raters(scores, name), values_of_raters(scores), said


def _cells_of(table: pd.DataFrame) -> pd.DataFrame:
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


def read_details(path: Path) -> pd.DataFrame | None:
    """The `details.csv` beside a table of scores, if there is one: what they were made from."""
    beside = (path if path.is_dir() else path.parent) / "details.csv"
    if not beside.is_file():
        return None
    table = with_our_names(read_cells(beside), {}, beside.name)
    _require(table, DETAIL_COLUMNS, beside)
    found = numbers(table["value"])
    if np.isinf(found).any():
        cell = table["value"][np.isinf(found)].iloc[0]
        raise InputError(f"{beside} has the value {cell!r}", "Give a number, or leave it empty")
    refuse_beyond(found, table, NEEDED[:3], f"{beside.name}: the value")
    return table[list(DETAIL_COLUMNS)].assign(value=found)


def read_calibration(path: Path) -> pd.DataFrame | None:
    """The `calibration.csv` beside a table of scores, if there is one: counts per confidence bin.

    `confidence` is the sum over a bin's voxels, `hits_A` how many have the label of rater A; empty
    where that rater did not mark the case.
    """
    beside = (path if path.is_dir() else path.parent) / "calibration.csv"
    if not beside.is_file():
        return None
    table = with_our_names(read_cells(beside), {}, beside.name)
    hits = [str(name) for name in table.columns if HITS.fullmatch(str(name))]
    _require(table, [*BIN_COLUMNS, *(hits[:1] or ["hits_1"])], beside)
    counted = [*BIN_COLUMNS[5:], *hits]
    found = {name: numbers(table[name]) for name in counted}
    for name, cells in found.items():
        bad = np.isinf(cells) if name in hits else ~np.isfinite(cells)
        if bad.any():
            cell = table[name][bad].iloc[0]
            raise InputError(f"{beside} has the {name} {cell!r}", "Give a number")
        refuse_beyond(cells, table, NEEDED[:3], f"{beside.name}: {name}")
    nobody = np.flatnonzero(np.isnan([found[name] for name in hits]).all(axis=0))
    if nobody.size:
        case = table["case"].iloc[nobody[0]]
        raise InputError(f"{beside} has no hits of any rater for case {case}", "Give a number")
    return table[[*BIN_COLUMNS, *hits]].assign(**found)


def read_cases(path: Path) -> pd.DataFrame | None:
    """The `cases.csv` beside a table of scores, if there is one.

    Columns of numbers are numbers, unless they are codes with leading zeros; the rest is text.
    """
    beside = (path if path.is_dir() else path.parent) / "cases.csv"
    if not beside.is_file():
        return None
    table = with_our_names(read_cells(beside), {}, beside.name)
    _require(table, ["case"], beside)
    double = table["case"].duplicated()
    if double.any():
        name = table["case"][double].iloc[0]
        raise InputError(f"{beside} has two rows for case {name}", "Keep one of them")
    table = table.loc[:, table.columns != ""]
    about = {name: _measured(table[name]) for name in table.columns if name not in COLUMNS}
    return table.assign(**about)


def read_ceiling(path: Path, folder: Path | None = None) -> pd.DataFrame | None:
    """The scores that raters get as methods, from a folder that `segjury raters` wrote.

    Unless told, it is looked for beside a table of scores, in `raters` or in its own folder.
    """
    if folder is not None:
        file = folder / CEILING if folder.is_dir() else folder
        if not file.is_file():
            fix = f"Give the folder of segjury raters; of one rater it has no {CEILING}"
            raise MissingInputError(f"there is no {file}", fix)
        return read_scores(file)
    beside = path if path.is_dir() else path.parent
    found = (file for file in (beside / "raters" / CEILING, beside / CEILING) if file.is_file())
    file_found = next(found, None)
    return None if file_found is None else read_scores(file_found)


def _measured(cells: pd.Series[Any]) -> Any:
    """A column of facts: as numbers, if that loses nothing."""
    found = numbers(cells)
    words = np.isinf(found).any() or cells.str.match(r"[+-]?0\d").any()
    return cells if words or (np.isnan(found).all() and (cells != "").any()) else found


def _require(table: pd.DataFrame, needed: Collection[str], path: Path) -> None:
    absent = [name for name in needed if name not in table.columns]
    if absent:
        raise InputError(f"{path} has no column '{absent[0]}'", "Write it anew, or remove it")


def scores_file(path: Path) -> Path:
    """The table that a path means: itself, or the one in its folder."""
    file = path / "scores.csv" if path.is_dir() else path
    if not file.is_file():
        raise MissingInputError(f"there is no table {file}", "Give a scores.csv")
    return file
