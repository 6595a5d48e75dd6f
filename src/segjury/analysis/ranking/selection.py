"""The rows of a table that count: one reading, a cohort, the metrics that are ranked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from segjury.errors import InputError, did_you_mean, same_name
from segjury.metrics import READINGS, declared_metric, known_metric
from segjury.metrics.metric import Direction
from segjury.results.columns import LOST, WHOLE, group_columns
from segjury.rounding import rounded
from segjury.wording import listed

CONDITION = re.compile(r"(?P<column>[^<>=]+)(?P<sign><=|>=|<|>|=)(?P<limit>[^<>=]+)")
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
NOT_OF_CASES = ("method", "metric", "structure", "reading", "value", "unit", "status", "detail")
READING_ORDER = ("corrected", "published", "released")


def readings(scores: pd.DataFrame) -> list[str]:
    """The readings in a table, in the order in which they are shown."""
    present = list(scores["reading"].unique())
    return sorted(present, key=lambda r: READING_ORDER.index(r) if r in READING_ORDER else 99)


def cohorts(scores: pd.DataFrame) -> list[str]:
    """Names of the cohorts in a table."""
    names = (name for cell in scores["cohort"].unique() for name in cell.split(";"))
    return [name for name in dict.fromkeys(names) if name]


def of_cohort(table: pd.DataFrame, cohort: str | None) -> pd.DataFrame:
    """The rows of a cohort's cases."""
    if cohort is None:
        return table
    inside = {cell: cohort in cell.split(";") for cell in table["cohort"].unique()}
    return table[table["cohort"].map(inside).astype(bool)]


def in_cohort(
    scores: pd.DataFrame, cohort: str | None, cases: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The rows of a cohort: a name in the table, or a condition such as `mean_pairwise_dsc<=0.3`.

    A condition is on a column of the table or of `cases`, which a run writes about its cases;
    `dataset=open` compares words.
    """
    named = None if cohort is None else same_name(cohort, cohorts(scores))
    if cohort is None or named is not None:
        return of_cohort(scores, named)
    found = CONDITION.fullmatch(cohort)
    if found is None:
        raise _unknown_cohort(scores, cohort)
    column, sign, limit = found["column"].strip(), found["sign"], found["limit"].strip()
    inside = SIGNS[sign](*_compared(_column(scores, cases, column, cohort), sign, limit, cohort))
    rows = scores[scores["case"].isin(set(inside.index[inside]))]
    if rows.empty:
        raise InputError(f"no case has {cohort}", "Choose a condition that some case meets")
    return rows


def _column(
    scores: pd.DataFrame, cases: pd.DataFrame | None, column: str, cohort: str
) -> pd.Series[Any]:
    """What is known of the cases in one column, by case."""
    for table in (scores, cases):
        if table is not None and column in table.columns and column not in NOT_OF_CASES:
            return table.drop_duplicates("case").set_index("case")[column]
    known = [str(name) for table in (scores, cases) if table is not None for name in table.columns]
    usable = [name for name in dict.fromkeys(known) if name not in (*NOT_OF_CASES, "case")]
    raise InputError(
        f"the cohort '{cohort}' needs a column '{column}' in the table or a cases.csv beside it",
        did_you_mean(column, usable),
    )


def _compared(
    values: pd.Series[Any], sign: str, limit: str, cohort: str
) -> tuple[pd.Series[Any], str | float]:
    """Both sides of a condition: as words for =, as numbers otherwise."""
    if sign == "=":
        return values.astype(str), limit
    try:
        return pd.Series(rounded(values.to_numpy(np.float64)), values.index), float(limit)
    except ValueError:
        raise InputError(
            f"the cohort '{cohort}' compares what are not numbers", "Use = for words"
        ) from None


def _unknown_cohort(scores: pd.DataFrame, cohort: str) -> InputError:
    fix = "Use the whole table: it has no cohorts"
    if names := cohorts(scores):
        fix = did_you_mean(cohort, names)
    holders = [c for c in group_columns(scores) if cohort in set(scores[c].unique())]
    if holders:
        fix += f"; or `cohort={holders[0]}={cohort}`"
    return InputError(f"no case is in cohort '{cohort}'", fix)


def selected(
    scores: pd.DataFrame,
    *,
    reading: str | None = None,
    cohort: str | None = None,
    metrics: Collection[str] | None = None,
) -> pd.DataFrame:
    """The rows that count; a metric with a value for the case counts by that alone.

    `metrics` are those that count, by default all that declare themselves ranked.
    """
    present = readings(scores)
    reading = reading or present[0]
    if reading not in present:
        raise InputError(f"the table has no reading '{reading}'", did_you_mean(reading, present))
    table = of_cohort(scores[scores["reading"] == reading], cohort)
    if table.empty:
        raise _unknown_cohort(scores, str(cohort))
    if metrics is not None:
        absent = [name for name in metrics if name not in set(scores["metric"].unique())]
        if absent:
            known = ", ".join(scores["metric"].unique())
            raise InputError(f"the table has no metric {', '.join(absent)}", f"It has {known}")
        table = table[table["metric"].isin(list(metrics))]
    else:
        names = [str(name) for name in table["metric"].unique()]
        unranked = [name for name in names if (m := declared_metric(name)) and not m.ranked]
        table = table[~table["metric"].isin(unranked)]
    of_case = set(table[table["structure"] == WHOLE]["metric"].unique())
    return table[(table["structure"] == WHOLE) | ~table["metric"].isin(of_case)]


def directions(table: pd.DataFrame, given: Mapping[str, Direction]) -> dict[str, Direction]:
    """Which values of each metric are better: as it declares, or as was said.

    Of a table that segjury scored, a declaration cannot be reversed. In a table of another tool a
    metric may carry the name of one of ours and be another, so there what was said counts.
    """
    names = [str(name) for name in table["metric"].unique()]
    known = {name: metric.direction for name in names if (metric := known_metric(name))}
    ours = bool(set(table["reading"].unique()) & set(READINGS))
    for name, direction in given.items():
        if ours and known.get(name, direction) != direction:
            raise InputError(
                f"{name} is better when {known[name]}", f"Leave out `{direction}={name}`"
            )
    known |= given
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"it is not known whether more is better for {', '.join(unknown)}",
            "Say so with `higher=NAME` or `lower=NAME`, or say which count: `metrics=A,B`",
        )
    return known


def doubtful_directions(table: pd.DataFrame, given: Mapping[str, Direction]) -> list[str]:
    """Sentences about metrics that are better the other way in segjury, or cannot be its own."""
    sentences = []
    for name, values in table.groupby("metric", sort=False)["value"]:
        metric = known_metric(str(name))
        if metric is None:
            continue
        said = given.get(str(name))
        if said is not None and said != metric.direction:
            sentences.append(
                f"{name} is better when {metric.direction} in segjury; here {said} is taken as "
                "better, as was said"
            )
        low, high = metric.bounds
        if said is None and (values.min() < low or values.max() > high):
            sentences.append(
                f"{name} goes from {low:g} to {high:g}, but here from {values.min():.4g} to "
                f"{values.max():.4g}; {metric.direction} is taken as better. Per cent are fine; if "
                f"it is something else, such as ranks, say `higher={name}` or `lower={name}`"
            )
    return sentences


def notes(scores: pd.DataFrame, reading: str, cohort: str | None = None) -> list[str]:
    """What a reader of a leaderboard must know of cases and predictions that were not scored."""
    table = of_cohort(scores[scores["reading"] == reading], cohort)
    lost = table.groupby("case")["value"].count()
    lost = lost[lost == 0]
    sentences = []
    if not lost.empty:
        verb = "has" if len(lost) == 1 else "have"
        sentences.append(
            f"{listed(lost.index, most=5)} {verb} no score for any method and {verb} no part in "
            "the ranking"
        )
    rest = table[~table["case"].isin(lost.index)]
    cases = rest["case"].nunique()
    for statuses, what in (
        (["missing", "failed"], "missing or failed predictions"),
        (["over_limit"], f"predictions {LOST['over_limit']}"),
    ):
        bad = rest[rest["status"].isin(statuses)].groupby("method")["case"].nunique()
        if not bad.empty:
            counts = ", ".join(f"{method} {count} of {cases}" for method, count in bad.items())
            sentences.append(f"{what}, scored as the protocol says: {counts}")
    whole = rest[rest["structure"] == WHOLE]
    for metric, part in whole.groupby("metric", sort=False):
        defined = part.groupby("case")["value"].count()
        undefined = defined[defined == 0].index
        if not undefined.empty:
            sentences.append(
                f"{metric}: {cases - len(undefined)} of {cases} cases, undefined for all methods "
                f"in {listed(undefined, most=5)}"
            )
    return sentences
