"""Rows of the table without a plain score: missing, failed, over a limit or undefined, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from segjury.analysis.columns import metric_title
from segjury.protocols.ranking import MissingPolicy
from segjury.results.columns import LOST, WHOLE
from segjury.wording import plain

LISTED = 200
EVERYONE = "all methods"
NAMED = 5  # structures that are named, before they are only counted
PENALTY, LEFT_OUT = "penalty", "left out"  # a value that is set instead of a score, or none
NO_ROW, NO_VALUE = "the table has no such row", "the table has no value"
_ORDER = {status: place for place, status in enumerate([*LOST, "undefined"])}
_SCORE = ["case", "metric", "structure", "reading"]


@dataclass(frozen=True)
class Gap:
    """Scores of one method on one case that share a reason."""

    method: str
    case: str
    status: str
    scores: str
    readings: str
    counts_as: str
    detail: str

    @property
    def status_words(self) -> str:
        """The status as a reader sees it."""
        return LOST.get(self.status, self.status)


def gaps(scores: pd.DataFrame, missing: MissingPolicy = "error") -> list[Gap]:
    """All that is not scored, one entry per method, case, status, reason and readings.

    What all methods share, because the reference is the reason, is one entry for all of them.
    `missing` is what the ranking does about a value that some methods lack.
    """
    rows = _without_score(scores)
    if rows.empty:
        return []
    rows = _undefined_for_all(rows)
    shared = rows.groupby(_SCORE)["method"].transform("nunique") == scores["method"].nunique()
    filled = rows["value"].notna() | (~shared & (missing == "worst"))
    rows["counts_as"] = filled.map({True: PENALTY, False: LEFT_OUT})
    everyone = set(scores["method"])
    alike = ["case", "status", "detail", "counts_as"]
    same = rows.groupby(["method", "metric", "structure", *alike])
    rows["readings"] = same["reading"].transform(", ".join)
    entries = []
    for (*about, _), group in rows.groupby([*alike, "readings"]):
        parts = list(group.groupby("method", sort=True))
        if len(everyone) > 1 and len(parts) == len(everyone) and _same_scores(parts):
            parts = [(EVERYONE, group)]
        entries += [_gap(part, str(name), *map(str, about)) for name, part in parts]
    return sorted(entries, key=lambda gap: (_ORDER.get(gap.status, 9), gap.method, gap.case))


def _without_score(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows that are not `ok` or have no value, and those that a method lacks and another has."""
    methods = pd.DataFrame({"method": scores["method"].unique()})
    wanted = scores[_SCORE].drop_duplicates().merge(methods, how="cross")
    rows = wanted.merge(scores, on=["method", *_SCORE], how="left", indicator="found")
    rows["detail"] = rows["detail"].fillna("").astype(str)
    absent, valued = rows["found"] == "left_only", rows["value"].notna()
    empty = ~absent & ~valued & (rows["status"] == "ok")
    rows.loc[absent | empty, "status"] = "missing"
    rows.loc[absent, "detail"] = NO_ROW
    rows.loc[empty & (rows["detail"] == ""), "detail"] = NO_VALUE
    return rows[rows["status"] != "ok"].drop(columns="found")


def _undefined_for_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows in which nobody can be scored have the reference's reason, lost predictions' too."""
    undefined = rows[(rows["status"] == "undefined") & rows["value"].isna()]
    reasons = undefined.drop_duplicates(_SCORE)[[*_SCORE, "detail"]]
    found = rows[_SCORE].merge(reasons, on=_SCORE, how="left")["detail"].to_numpy()
    nobody = rows["value"].isna().to_numpy() & pd.notna(found)
    detail = rows["detail"].where(~nobody, found)
    return rows.assign(detail=detail, status=rows["status"].mask(nobody, "undefined"))


def _same_scores(parts: Sequence[tuple[Any, pd.DataFrame]]) -> bool:
    """Whether all methods lack the same."""
    each = {frozenset(map(tuple, part[_SCORE].to_numpy().tolist())) for _, part in parts}
    return len(each) == 1


def _gap(
    group: pd.DataFrame, method: str, case: str, status: str, detail: str, counts_as: str
) -> Gap:
    return Gap(
        method=method,
        case=case,
        status=status,
        scores=_what(group),
        readings=", ".join(dict.fromkeys(str(reading) for reading in group["reading"])),
        counts_as=counts_as,
        detail=plain(detail) or "no reason given",
    )


def _what(group: pd.DataFrame) -> str:
    """Metrics with their structures: `Dice; VI (PORTA, SMA)`."""
    parts = []
    for metric, rows in group.groupby("metric", sort=False):
        structures = [str(name) for name in dict.fromkeys(rows["structure"]) if name != WHOLE]
        title = plain(metric_title(str(metric)))
        if len(structures) > NAMED:
            structures = [f"{len(structures)} structures"]
        parts.append(f"{title} ({', '.join(structures)})" if structures else title)
    return "; ".join(parts)
