"""Split the cases of a table into parts that are alike in several variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from segjury.arrays import Floats, Ints
from segjury.benchmark.split.balance import MEASURES, Balance, compare, measures
from segjury.benchmark.split.search import Task, improve
from segjury.benchmark.split.sizes import composition, part_sizes, random_parts
from segjury.benchmark.split.variables import Variable, variables_of
from segjury.errors import InputError
from segjury.runtime.tables import read_table

RANDOM_SPLITS = 1000
ROUNDS = 8  # of more weight to variables that are worse than at random
COLUMN = "split"
ALL = "all"  # the whole table in tables of parts


@dataclass(frozen=True)
class Split:
    """A split of cases: the part of each, and how balanced the parts are."""

    names: tuple[str, ...]
    task: Task
    parts: Ints  # of each case, in the order of the table
    comparison: Balance
    notes: tuple[str, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What was balanced."""
        return self.task.variables

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cases of each part."""
        return self.task.sizes

    @property
    def of_cases(self) -> list[str]:
        """The name of each case's part, in the order of the table."""
        return [self.names[part] for part in self.parts.tolist()]


def split(
    table: pd.DataFrame | str | Path,
    *,
    sizes: Sequence[int] | str,
    by: Sequence[str],
    names: Sequence[str] = (),
    seed: int = 0,
    case_column: str = "case",
    group: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    bins: int = 4,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
) -> Split:
    """Split a table with a row per case into parts of exact sizes, alike in the columns `by`.

    The table may be a file, and the sizes a text such as `40,5,64` or `60%,40%`.
    Cases of one `group` stay together; `pairs` of columns are balanced as they go together. The
    result depends on the seed and not on the order of the rows.
    """
    table = table if isinstance(table, pd.DataFrame) else read_table(Path(table))
    sizes = part_sizes(sizes, len(table)) if isinstance(sizes, str) else sizes
    _check(table, case_column, sizes, by)
    called = part_names(names, len(sizes))
    order = np.argsort(table[case_column].astype(str).to_numpy(str), kind="stable")
    rows = table.iloc[order]
    variables = variables_of(
        rows, by, pairs=pairs, bins=bins, numeric=numeric, categorical=categorical
    )
    groups = np.arange(len(rows)) if group is None else _groups(rows, case_column, group)
    task = Task(tuple(variables), groups, tuple(sizes))
    parts, comparison = _search(task, np.random.default_rng(seed))
    of_cases = np.empty(len(table), np.int64)
    of_cases[order] = parts[groups]
    in_table_order = _reordered(task, order)
    notes = (*_doubts(variables), *_shortfalls(task, comparison, group))
    return Split(called, in_table_order, of_cases, comparison, notes)


def part_names(given: Sequence[str], parts: int) -> tuple[str, ...]:
    """Names of the parts: those given, else train, validation, test for three, else by number."""
    usual = ["train", "validation", "test"] if parts == 3 else []
    names = [*given] or usual or [f"part_{p + 1}" for p in range(parts)]
    if len(names) != parts or len({*names, ALL}) <= parts:
        raise InputError(
            f"{parts} parts have the names {', '.join(names)}",
            f"Give a name of its own to each, and not '{ALL}'",
        )
    return tuple(names)


def _check(table: pd.DataFrame, case: str, sizes: Sequence[int], by: Sequence[str]) -> None:
    if case not in table.columns:
        there = ", ".join(map(str, table.columns))
        raise InputError(
            f"the table has no column '{case}' (it has {there})", "Name it with `case_column`"
        )
    cases = table[case].astype(str)
    if (cases.str.strip() == "").any():
        raise InputError(f"the table has a row without {case}", "Fill it in")
    if cases.duplicated().any():
        twice = cases[cases.duplicated()].iloc[0]
        raise InputError(f"the table has {case} {twice} twice", "Keep one row per case")
    if len(sizes) < 2 or min(sizes) < 1 or sum(sizes) != len(table):
        raise InputError(
            f"the sizes are {', '.join(map(str, sizes))}, the table has {len(table)} cases",
            "Give at least two sizes that add up to that",
        )
    if not by:
        raise InputError("there is nothing to balance", "Name columns in `by`")
    if case in by:
        raise InputError(f"`by` names '{case}', which differs in all cases", "Leave it out")
    if len(set(by)) < len(by):
        raise InputError(f"`by` names a column twice: {', '.join(by)}", "Name each once")


def _groups(rows: pd.DataFrame, case: str, group: str) -> Ints:
    """The number of each case's group, in the order of their names."""
    if group not in rows.columns:
        there = ", ".join(map(str, rows.columns))
        raise InputError(f"there is no column '{group}'", f"There are {there}")
    cells = rows[group].astype(str).str.strip()
    if (cells == "").any():
        nameless = rows[case][cells == ""].iloc[0]
        raise InputError(f"case {nameless} has no {group}", "Fill it in")
    return np.unique(cells.to_numpy(str), return_inverse=True)[1]


def _search(task: Task, rng: np.random.Generator) -> tuple[Ints, Balance]:
    """The best split found, and how it compares.

    The best of 1000 random splits are improved. What counts is first that no variable is worse
    than the median random split in any measure, then the mean over variables of the imbalance in
    units of that median; variables that are worse get more weight, and the search goes on.
    """
    made_of = composition(task.group_sizes, task.sizes)
    drawn = random_parts(task.group_sizes, task.sizes, made_of, RANDOM_SPLITS, rng)
    random = measures(task, drawn)
    middle = np.median(random, axis=0)
    unit = np.where(middle[:, 0] > 0, middle[:, 0], random[:, :, 0].mean(axis=0))
    weights = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0)  # 0: nothing varies
    wanted = weights
    best_first = np.argsort(random[:, :, 0] @ wanted, kind="stable")
    starts = [drawn[k] for k in best_first[: _n_starts(task)]]
    best, best_key, best_values = starts[0], (np.inf, np.inf), random[best_first[0]]
    for _ in range(ROUNDS):
        for start in starts:
            parts = improve(task, start, weights, rng)
            values = measures(task, parts[None])[0]
            key = (_excess(values, middle), float(wanted @ values[:, 0]))
            if key < best_key:
                best, best_key, best_values = parts, key, values
        if best_key[0] == 0:
            break
        weights = weights * np.where((best_values > middle).any(axis=1), 3.0, 1.0)
    return best, compare(best_values, random)


def _n_starts(task: Task) -> int:
    """Fewer starts where each has more to exchange."""
    return int(np.clip(8000 // task.group_sizes.size, 4, 40))


def _excess(values: Floats, middle: Floats) -> float:
    """How far the measures of a split are above the medians of random ones, in all; 0 if none."""
    above = values > middle
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.minimum(values[above] / middle[above] - 1, 1e6).sum())


def _reordered(task: Task, order: Ints) -> Task:
    """The task with its cases in the order of the table again."""
    back = np.argsort(order)
    variables = tuple(
        replace(
            variable,
            codes=variable.codes[back],
            values=None if variable.values is None else variable.values[back],
            scores=None if variable.scores is None else variable.scores[back],
        )
        for variable in task.variables
    )
    return Task(variables, task.groups[back], task.sizes)


def _doubts(variables: Sequence[Variable]) -> list[str]:
    """Variables that hardly anything can balance."""
    return [
        f"{v.name} has {len(v.levels)} different levels in {v.codes.size} cases and can hardly be "
        "balanced; if it is a quantity, say so with `numeric`"
        for v in variables
        if v.kind == "categories" and len(v.levels) > max(v.codes.size / 2, 2)
    ]


def _shortfalls(task: Task, comparison: Balance, group: str | None) -> list[str]:
    """What is worse than the median random split, and why that may be."""
    why = f" (groups of {group} leave too few choices)" if group else ""
    return [
        f"{variable.name}: {measure.replace('_', ' ')} {value:.4g} is above the median of random "
        f"splits, {median:.4g}{why}"
        for variable, values, medians in zip(
            task.variables, comparison.values, comparison.random_median, strict=True
        )
        for measure, value, median in zip(MEASURES, values, medians, strict=True)
        if value > median
    ]
