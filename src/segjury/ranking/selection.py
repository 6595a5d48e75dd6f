"""The rows of a table that count: one reading, a cohort, the metrics that are ranked."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from segjury.errors import InputError
from segjury.metrics import METRICS, READINGS
from segjury.metrics.metric import Direction
from segjury.ties import settled

CONDITION = re.compile(
    r"(?P<column>[^<>=]+)(?P<sign><=|>=|<|>)\s*(?P<limit>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)\s*",
    re.I,
)
SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
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

    A condition is on a column of `cases`, the table that a run writes about its cases.
    """
    if cohort is None or cohort in cohorts(scores):
        return of_cohort(scores, cohort)
    found = CONDITION.fullmatch(cohort)
    if found is None:
        raise _unknown_cohort(scores, cohort)
    column, sign, limit = found["column"].strip(), found["sign"], float(found["limit"])
    if cases is None or column not in cases.columns:
        known = ", ".join(map(str, cases.columns)) if cases is not None else ""
        raise InputError(
            f"the cohort '{cohort}' needs a column '{column}' in a cases.csv beside the scores",
            f"Use one of its columns: {known}" if known else "There is no such file",
        )
    try:
        values = settled(cases[column].to_numpy(np.float64))
    except ValueError:
        raise InputError(f"column '{column}' of cases.csv is not of numbers") from None
    inside = cases[SIGNS[sign](values, limit)]["case"]
    rows = scores[scores["case"].isin(set(inside))]
    if rows.empty:
        reach = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise InputError(f"no case has {cohort}", f"It goes from {reach}")
    return rows


def _unknown_cohort(scores: pd.DataFrame, cohort: str) -> InputError:
    known = ", ".join(cohorts(scores)) or "the whole table: it has no cohorts"
    return InputError(f"no case is in cohort '{cohort}'", f"Use {known}")


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
        raise InputError(
            f"the table has no reading '{reading}'", f"Use one of {', '.join(present)}"
        )
    table = of_cohort(scores[scores["reading"] == reading], cohort)
    if table.empty:
        raise _unknown_cohort(scores, str(cohort))
    if metrics is not None:
        absent = [name for name in metrics if name not in set(scores["metric"].unique())]
        if absent:
            raise InputError(f"the table has no metric {', '.join(absent)}", "Check the names")
        table = table[table["metric"].isin(list(metrics))]
    else:
        beside = [name for name, metric in METRICS.items() if not metric.ranked]
        table = table[~table["metric"].isin(beside)]
    of_case = set(table[table["structure"] == "all"]["metric"].unique())
    return table[(table["structure"] == "all") | ~table["metric"].isin(of_case)]


def directions(table: pd.DataFrame, given: Mapping[str, Direction]) -> dict[str, Direction]:
    """Which values of each metric are better: as it declares, or as was said.

    Of a table that segjury scored, a declaration cannot be reversed. In a table of another tool a
    metric may carry the name of one of ours and be another, so there what was said counts.
    """
    known: dict[str, Direction] = {name: m.direction for name, m in METRICS.items()}
    ours = bool(set(table["reading"].unique()) & set(READINGS))
    for name, direction in given.items():
        if ours and known.get(name, direction) != direction:
            raise InputError(
                f"{name} is better when {known[name]}", f"Leave out --{direction} {name}"
            )
    known |= given
    unknown = [m for m in table["metric"].unique() if m not in known]
    if unknown:
        raise InputError(
            f"it is not known whether more is better for {', '.join(unknown)}",
            "Say so with --higher NAME or --lower NAME",
        )
    return known


def reversed_directions(table: pd.DataFrame, given: Mapping[str, Direction]) -> list[str]:
    """Sentences about metrics whose declared direction somebody reversed."""
    return [
        f"{name} is better when {METRICS[name].direction} in segjury; here {direction} is taken "
        "as better, as was said"
        for name, direction in given.items()
        if name in METRICS
        and METRICS[name].direction != direction
        and name in set(table["metric"].unique())
    ]


def notes(scores: pd.DataFrame, reading: str, cohort: str | None = None) -> list[str]:
    """What a reader of a leaderboard must know of cases and predictions that were not scored."""
    table = of_cohort(scores[scores["reading"] == reading], cohort)
    lost = table.groupby("case")["value"].count()
    lost = lost[lost == 0]
    sentences = []
    if not lost.empty:
        verb = "has" if len(lost) == 1 else "have"
        sentences.append(
            f"{_some(lost.index)} {verb} no score for any method and {verb} no part in the ranking"
        )
    rest = table[~table["case"].isin(lost.index)]
    cases = rest["case"].nunique()
    bad = rest[rest["status"].isin(["missing", "failed"])].groupby("method")["case"].nunique()
    if not bad.empty:
        counts = ", ".join(f"{method} {count} of {cases}" for method, count in bad.items())
        sentences.append(f"missing or failed predictions, scored as the protocol says: {counts}")
    whole = rest[rest["structure"] == "all"]
    for metric, part in whole.groupby("metric", sort=False):
        defined = part.groupby("case")["value"].count()
        undefined = defined[defined == 0].index
        if not undefined.empty:
            sentences.append(
                f"{metric}: {cases - len(undefined)} of {cases} cases, undefined for all methods "
                f"in {_some(undefined)}"
            )
    return sentences


def _some(names: pd.Index[str]) -> str:
    """The first names of a list."""
    return ", ".join(str(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
