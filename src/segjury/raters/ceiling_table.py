"""The human ceiling over the cases: what a rater gets in each score, and the range of raters."""

from __future__ import annotations

import pandas as pd

from segjury.analysis.ranking import over_cases
from segjury.protocols.ranking import Aggregate

COLUMNS = ("reading", "metric", "structure", "unit", "cases", "raters", "mean", "lowest", "highest")


def ceiling_summary(ceiling: pd.DataFrame, aggregate: Aggregate) -> pd.DataFrame:
    """A line per score: the mean over the raters of what each gets, and the range, and each one's.

    Case values become one value per rater as the protocol's ranking makes them, over the cases in
    which every rater has one.
    """
    rows = []
    keys = ["reading", "metric", "structure", "unit"]
    for key, own in ceiling.groupby(keys, sort=False):
        by_case = own.pivot(index="case", columns="method", values="value").dropna()
        if by_case.empty:
            continue
        each = by_case[list(own["method"].unique())].agg(over_cases(aggregate))
        named = {str(rater): float(value) for rater, value in each.items()}
        about = dict(zip(keys, key, strict=True))
        spread = {"mean": each.mean(), "lowest": each.min(), "highest": each.max()}
        counts = {"cases": len(by_case), "raters": len(each)}
        rows.append({**about, **counts, **spread, **named})
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(COLUMNS))
