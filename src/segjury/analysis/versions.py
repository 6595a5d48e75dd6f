"""Two versions of a method beside each other, case by case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segjury.analysis.columns import Column, columns
from segjury.analysis.ranking import Rules
from segjury.analysis.ranking.panel import Panel
from segjury.analysis.statistics.effects import median_difference
from segjury.analysis.statistics.tests import holm
from segjury.analysis.statistics.wilcoxon import wilcoxon
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.rounding import rounded_pairs

if TYPE_CHECKING:
    import pandas as pd

    from segjury.results import Results


@dataclass(frozen=True)
class VersionScore:
    """One score of both versions, over the cases on which it has a value.

    `better`, `equal` and `worse` count the cases by how the second version did. `median` is that of
    the differences second - first, `low` and `high` its interval, NaN with fewer than six cases.
    `p` is of Wilcoxon's signed-rank test, adjusted by Holm over the scores.
    """

    column: Column
    first: float
    second: float
    better: int
    equal: int
    worse: int
    median: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Versions:
    """Two versions of a method: each score, and each case.

    `by_case` has a row per case and score, with the value of each version, the difference
    second - first, and which version is better.
    """

    first: str
    second: str
    reading: str
    scores: tuple[VersionScore, ...]
    by_case: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The scores as a table."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "score": each.column.key,
                    "unit": each.column.unit,
                    "better_when": each.column.direction,
                    "first": each.first,
                    "second": each.second,
                    "cases_better": each.better,
                    "cases_equal": each.equal,
                    "cases_worse": each.worse,
                    "median_difference": each.median,
                    "low": each.low,
                    "high": each.high,
                    "p_holm": each.p,
                }
                for each in self.scores
            ]
        )

    def most_changed(self, number: int) -> list[str]:
        """The cases that changed most, for better or worse, over all scores."""
        changes = self.by_case.assign(size=self.by_case["difference"].abs())
        changes = changes[changes["size"] > 0]
        ranks = changes.groupby("score")["size"].rank(pct=True)
        total = ranks.groupby(changes["case"]).sum().sort_values(ascending=False, kind="stable")
        return [str(case) for case in total.index[:number]]


def compare_versions(
    results: Results, first: str, second: str, *, reading: str | None = None, level: float = 0.95
) -> Versions:
    """Compare two methods of a table in the scores that its protocol ranks.

    `reading` is `corrected` first unless told, `level` that of the intervals.
    """
    scores = results.scores[results.scores["method"].isin([first, second])]
    for name in (first, second):
        if name not in set(scores["method"]):
            known = ", ".join(sorted(set(results.scores["method"])))
            raise InputError(f"the table has no method '{name}'", f"It has {known}")
    rules = Rules.of_run(results.run)
    panel = rules.panel(scores, reading=reading, methods=(first, second))
    shown = columns(scores, panel.keys, {})
    changes = [_changes(panel.scores(key)) for key in panel.keys]
    p = holm([float(wilcoxon(change)) for change in changes])
    return Versions(
        first,
        second,
        panel.reading,
        tuple(
            _score(column, panel.scores(column.key), change, float(p[k]), level)
            for k, (column, change) in enumerate(zip(shown, changes, strict=True))
        ),
        _by_case(panel, changes),
        (*panel.notes, *rules.remarks.get(panel.reading, ())),
    )


def _changes(values: Floats) -> Floats:
    """The differences second - first of a score, (cases, 2), such that equal steps are tied."""
    pairs = rounded_pairs(np.ascontiguousarray(values.T), np.array([1]), np.array([0]))
    return np.asarray(pairs[0])


def _score(column: Column, values: Floats, change: Floats, p: float, level: float) -> VersionScore:
    gain = change if column.direction == "higher" else -change
    middle = median_difference(change, level=level)
    first, second = values.mean(axis=0)
    return VersionScore(
        column,
        first=float(first),
        second=float(second),
        better=int((gain > 0).sum()),
        equal=int((gain == 0).sum()),
        worse=int((gain < 0).sum()),
        median=float(middle.estimate),
        low=float(middle.low),
        high=float(middle.high),
        p=p,
    )


def _by_case(panel: Panel, changes: list[Floats]) -> pd.DataFrame:
    import pandas as pd

    parts = []
    for k, (key, change) in enumerate(zip(panel.keys, changes, strict=True)):
        gain = change if panel.higher[k] else -change
        values = panel.scores(key)
        parts.append(
            pd.DataFrame(
                {
                    "case": np.asarray(panel.cases, object)[panel.defined[k]],
                    "score": key,
                    "first": values[:, 0],
                    "second": values[:, 1],
                    "difference": change,
                    "better": np.select([gain > 0, gain < 0], ["second", "first"], "equal"),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
