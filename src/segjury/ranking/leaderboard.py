"""Rank methods from the table of scores alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import ValidationError

from segjury.errors import InputError
from segjury.metrics import METRICS, READINGS
from segjury.metrics.metric import Direction
from segjury.protocols import Protocol
from segjury.protocols.protocol import Scheme

SIGNIFICANT_DIGITS = 12
READING_ORDER = ("corrected", "published", "released")
Aggregate = Literal["mean", "median"]
MissingPolicy = Literal["error", "exclude"]


@dataclass(frozen=True)
class Leaderboard:
    """Methods in order, with value and rank per metric; all frames share the method index.

    Columns of `values` and `ranks` are `dsc`, or `vi PORTA` for a metric of a structure.
    """

    reading: str
    values: pd.DataFrame
    ranks: pd.DataFrame
    mean_rank: pd.Series[float]
    sd_rank: pd.Series[float]
    position: pd.Series[int]

    def table(self) -> pd.DataFrame:
        """The form of `leaderboard.csv`: method, position, mean and SD of ranks, then metrics."""
        columns: dict[str, pd.Series[float] | pd.Series[int]] = {
            "position": self.position,
            "mean_rank": self.mean_rank,
            "sd_rank": self.sd_rank,
        }
        for key in self.values.columns:
            name = str(key).replace(" ", "_")
            columns[name] = self.values[key]
            columns[f"rank_{name}"] = self.ranks[key]
        return pd.DataFrame(columns).rename_axis("method").reset_index()


@dataclass(frozen=True)
class Rules:
    """How methods are ranked; as the options of `leaderboard`.

    `metrics` are those that count, whatever the reading; where they are not given, the protocol's
    `by_reading` decide. `remarks` say, per reading, how metrics were measured.
    """

    metrics: tuple[str, ...] | None = None
    by_reading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    directions: Mapping[str, Direction] | None = None
    scheme: Scheme = "mean-of-metric-ranks"
    aggregate: Aggregate = "mean"
    missing: MissingPolicy = "error"
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def leaderboard(
        self, scores: pd.DataFrame, *, reading: str | None = None, cohort: str | None = None
    ) -> Leaderboard:
        """The leaderboard of a table under these rules."""
        reading = reading or readings(scores)[0]
        return leaderboard(
            scores,
            reading=reading,
            cohort=cohort,
            metrics=self.metrics or self.by_reading.get(reading),
            directions=self.directions,
            scheme=self.scheme,
            aggregate=self.aggregate,
            missing=self.missing,
        )

    def other_readings(self, scores: pd.DataFrame, board: Leaderboard) -> list[str]:
        """The other readings that can be ranked: by the protocol's metrics, or by the board's."""
        shown = tuple(dict.fromkeys(str(key).split(" ", 1)[0] for key in board.values.columns))
        return [
            name
            for name in readings(scores)
            if name != board.reading
            and set(self.metrics or self.by_reading.get(name) or shown)
            <= set(scores[scores["reading"] == name]["metric"])
        ]

    @classmethod
    def of_run(cls, run: Mapping[str, Any] | None) -> Rules:
        """The rules of a run's protocol; the defaults where no run tells."""
        try:
            protocol = Protocol.model_validate((run or {})["protocol"]["definition"])
        except (KeyError, TypeError, ValidationError):
            return cls()
        return cls(
            by_reading={r: names for r in READINGS if (names := protocol.ranked_metrics(r))},
            scheme=protocol.ranking.scheme,
            aggregate=protocol.ranking.aggregate,
            remarks={
                r: tuple(
                    f"{use.name}: {use.remark(r)}" for use in protocol.uses(r) if use.remark(r)
                )
                for r in READINGS
            },
        )


def readings(scores: pd.DataFrame) -> list[str]:
    """The readings in a table, in the order in which they are shown."""
    present = list(dict.fromkeys(scores["reading"]))
    return sorted(present, key=lambda r: READING_ORDER.index(r) if r in READING_ORDER else 99)


def leaderboard(
    scores: pd.DataFrame,
    *,
    reading: str | None = None,
    cohort: str | None = None,
    metrics: Collection[str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    scheme: Scheme = "mean-of-metric-ranks",
    aggregate: Aggregate = "mean",
    missing: MissingPolicy = "error",
) -> Leaderboard:
    """Rank methods per metric and average the ranks.

    `mean-of-metric-ranks`: a metric's case values become one value, and that is ranked.
    `rank-then-aggregate`: methods are ranked on each case and metric, a missing or failed
    prediction last, and all these ranks are averaged. A metric with a value for the whole case
    (`all`) is ranked by that, not by its structures.

    Ties share the mean of their ranks. `metrics` are those that count (default: all that declare
    themselves ranked); `directions` add to what metrics declare. A case whose score is undefined
    for every method is left out for that metric; one that only some methods lack is an error,
    or left out for all of them with `missing="exclude"`.
    """
    table = _select(scores, reading, cohort, metrics)
    known = _directions(table, directions or {})
    methods = list(dict.fromkeys(table["method"]))
    values, ranks, cases = {}, {}, {}
    for metric, structure in dict.fromkeys(zip(table["metric"], table["structure"], strict=True)):
        part = table[(table["metric"] == metric) & (table["structure"] == structure)]
        by_case = part.pivot(index="case", columns="method", values="value")
        by_case = _comparable(by_case.reindex(columns=methods), metric, structure, missing)
        if by_case.empty:
            continue  # undefined for every method and case, so it cannot order them
        key = metric if structure == "all" else f"{metric} {structure}"
        values[key] = by_case.agg(aggregate)
        cases[key] = len(by_case)
        if scheme == "rank-then-aggregate":
            status = part.pivot(index="case", columns="method", values="status")
            lost = status.reindex_like(by_case).isin(["missing", "failed"])
            each = by_case.apply(_rank, axis=1, direction=known[metric])
            ranks[key] = each.mask(lost, len(methods)).mean()
        else:
            ranks[key] = _rank(values[key], known[metric])
    if not ranks:
        raise InputError("no metric has a value that all methods share", "Check the table")
    rank_table = pd.DataFrame(ranks, index=methods)
    weights = pd.Series(cases) if scheme == "rank-then-aggregate" else pd.Series(1, index=ranks)
    mean_rank = (rank_table * weights).sum(axis=1) / weights.sum()
    order = _settled(mean_rank).sort_values(kind="stable").index
    return Leaderboard(
        reading=str(table["reading"].iloc[0]),
        values=pd.DataFrame(values, index=methods).loc[order],
        ranks=rank_table.loc[order],
        mean_rank=mean_rank[order],
        sd_rank=rank_table.std(axis=1, ddof=0)[order],
        position=_settled(mean_rank).rank(method="min").astype(int)[order],
    )


def _directions(table: pd.DataFrame, given: Mapping[str, Direction]) -> dict[str, Direction]:
    """Which values of each metric are better: as it declares, or as was said."""
    known: dict[str, Direction] = {name: m.direction for name, m in METRICS.items()}
    for name, direction in given.items():
        if known.setdefault(name, direction) != direction:
            raise InputError(
                f"{name} is better when {known[name]}", f"Leave out --{direction} {name}"
            )
    unknown = [m for m in dict.fromkeys(table["metric"]) if m not in known]
    if unknown:
        raise InputError(
            f"it is not known whether more is better for {', '.join(unknown)}",
            "Say so with --higher NAME or --lower NAME",
        )
    return known


def _rank(values: pd.Series[float], direction: Direction) -> pd.Series[float]:
    """1 for the best; equal values share the mean of their ranks."""
    return _settled(values).rank(ascending=direction == "lower", method="average")


def _settled(values: pd.Series[float]) -> pd.Series[float]:
    """Values without their last digits, which depend on the order of additions."""
    return values.map(lambda value: float(f"{value:.{SIGNIFICANT_DIGITS}g}"))


def _select(
    scores: pd.DataFrame,
    reading: str | None,
    cohort: str | None,
    metrics: Collection[str] | None,
) -> pd.DataFrame:
    """The rows that count: one reading, one cohort, the ranked metrics."""
    present = readings(scores)
    reading = reading or present[0]
    if reading not in present:
        raise InputError(
            f"the table has no reading '{reading}'", f"Use one of {', '.join(present)}"
        )
    table = _of_cohort(scores[scores["reading"] == reading], cohort)
    if table.empty:
        raise InputError(f"no case is in cohort '{cohort}'", f"Use {_cohort_hint(scores)}")
    if metrics is not None:
        absent = [name for name in metrics if name not in set(scores["metric"])]
        if absent:
            raise InputError(f"the table has no metric {', '.join(absent)}", "Check the names")
        table = table[table["metric"].isin(list(metrics))]
    else:
        beside = [name for name, metric in METRICS.items() if not metric.ranked]
        table = table[~table["metric"].isin(beside)]
    of_case = set(table[table["structure"] == "all"]["metric"])
    return table[(table["structure"] == "all") | ~table["metric"].isin(of_case)]


def cohorts(scores: pd.DataFrame) -> list[str]:
    """Names of the cohorts in a table."""
    names = (name for cell in dict.fromkeys(scores["cohort"]) for name in cell.split(";"))
    return [name for name in dict.fromkeys(names) if name]


def notes(scores: pd.DataFrame, reading: str, cohort: str | None = None) -> list[str]:
    """What a reader of a leaderboard must know of cases and predictions that were not scored."""
    table = _of_cohort(scores[scores["reading"] == reading], cohort)
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


def _of_cohort(table: pd.DataFrame, cohort: str | None) -> pd.DataFrame:
    if cohort is None:
        return table
    return table[[cohort in names.split(";") for names in table["cohort"]]]


def _cohort_hint(scores: pd.DataFrame) -> str:
    return ", ".join(cohorts(scores)) or "the whole table: it has no cohorts"


def _comparable(
    by_case: pd.DataFrame, metric: str, structure: str, missing: MissingPolicy
) -> pd.DataFrame:
    """Cases that all methods have a value for; see `leaderboard` for the rest."""
    by_case = by_case.dropna(how="all")
    gaps = by_case.isna()
    if gaps.to_numpy().any() and missing == "error":
        case, method = np.argwhere(gaps.to_numpy())[0]
        raise InputError(
            f"method {by_case.columns[method]} has no value of {metric} ({structure}) for case "
            f"{by_case.index[case]}, others have",
            "Add the row, or leave such cases out for all methods with --missing exclude",
        )
    return by_case.dropna()
