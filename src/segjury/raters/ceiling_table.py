"""The human ceiling over the cases: what a rater gets in each score, and the range of raters."""

from __future__ import annotations

from typing import Any

import pandas as pd

from segjury.analysis.ranking import over_cases
from segjury.protocols.ranking import Aggregate

COLUMNS = ("reading", "metric", "structure", "unit", "cases", "raters", "mean", "lowest", "highest")


def ceiling_summary(
    ceiling: pd.DataFrame, aggregate: Aggregate, *, crossed: bool = True, anonymous: bool = False
) -> pd.DataFrame:
    """A line per score: the mean over the raters of what each gets, and the range, and each one's.

    Case values become one value per rater as the protocol's ranking makes them, over the cases in
    which every rater has one. Unless the raters are `crossed`, the same people on all cases, mean
    and range are those of the raters of each case, made into one value; `raters` is the most that
    a case has, and each rater's own value, over the cases that he or she marked, is left out of an
    `anonymous` panel.
    """
    rows: list[dict[str, Any]] = []
    keys = ["reading", "metric", "structure", "unit"]
    for key, own in ceiling.groupby(keys, sort=False):
        values = own.pivot(index="case", columns="method", values="value")
        by_case = values.dropna() if crossed else values.dropna(how="all")
        if by_case.empty:
            continue
        each = by_case[list(own["method"].unique())].agg(over_cases(aggregate))
        named = {} if anonymous else {str(rater): float(value) for rater, value in each.items()}
        about = dict(zip(keys, key, strict=True))
        spread = {"mean": each.mean(), "lowest": each.min(), "highest": each.max()}
        counts = {"cases": len(by_case), "raters": len(each)}
        if not crossed:
            of_case = by_case.agg(["mean", "min", "max"], axis=1).agg(over_cases(aggregate))
            spread = dict(zip(spread, of_case.tolist(), strict=True))
            counts["raters"] = int(by_case.notna().sum(axis=1).max())
        rows.append({**about, **counts, **spread, **named})
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(COLUMNS))
