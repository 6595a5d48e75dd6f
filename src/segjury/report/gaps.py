"""Rows of the table that carry no plain score: what is missing, failed or undefined, and why."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from segjury.figures.notation import metric_title
from segjury.figures.style import plain

LISTED = 200
EVERYONE = "all methods"
NAMED = 5  # structures that are named, before they are only counted
_ORDER = {"missing": 0, "failed": 1, "undefined": 2}


@dataclass(frozen=True)
class Gap:
    """Scores of one method on one case that share a reason."""

    method: str
    case: str
    status: str
    scores: str
    readings: str
    detail: str


def gaps(scores: pd.DataFrame) -> list[Gap]:
    """All that is not `ok`, one entry per method, case, status and reason.

    What all methods share, because the reference is the reason, is one entry for all of them.
    """
    rows = scores[scores["status"] != "ok"]
    if rows.empty:
        return []
    rows = rows.assign(detail=rows["detail"].fillna("").astype(str))
    everyone = set(scores["method"])
    found = []
    for (case, status, detail), group in rows.groupby(["case", "status", "detail"], sort=True):
        shared = len(everyone) > 1 and set(group["method"]) == everyone
        parts = [(EVERYONE, group)] if shared else group.groupby("method", sort=True)
        found += [
            _gap(part, str(name), str(case), str(status), str(detail)) for name, part in parts
        ]
    return sorted(found, key=lambda gap: (_ORDER.get(gap.status, 9), gap.method, gap.case))


def _gap(group: pd.DataFrame, method: str, case: str, status: str, detail: str) -> Gap:
    return Gap(
        method=method,
        case=case,
        status=status,
        scores=_what(group),
        readings=", ".join(dict.fromkeys(str(reading) for reading in group["reading"])),
        detail=plain(detail) or "no reason given",
    )


def _what(group: pd.DataFrame) -> str:
    """Metrics with their structures: `Dice; VI (PORTA, SMA)`."""
    parts = []
    for metric, rows in group.groupby("metric", sort=False):
        structures = [str(name) for name in dict.fromkeys(rows["structure"]) if name != "all"]
        title = plain(metric_title(str(metric)))
        if len(structures) > NAMED:
            structures = [f"{len(structures)} structures"]
        parts.append(f"{title} ({', '.join(structures)})" if structures else title)
    return "; ".join(parts)
