"""The columns of the tables of a run, by which every room knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segjury.protocols.reference import RATER_NAME, WHOLE

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BIN_COLUMNS",
    "COLUMNS",
    "DEFAULTS",
    "DETAIL_COLUMNS",
    "HITS",
    "KEY",
    "LOST",
    "NEEDED",
    "RATER",
    "WHOLE",
    "group_columns",
]

KEY = ("method", "case", "metric", "structure", "reading")
COLUMNS = (*KEY, "value", "unit", "status", "detail", "cohort")  # of `scores.csv`
NEEDED = ("method", "case", "metric", "value")
DEFAULTS = {"structure": WHOLE, "reading": "given", "status": "ok"}  # of empty cells; others stay
# Statuses of a prediction that was not scored, in words; its values are what the policy says.
LOST = {"missing": "missing", "failed": "failed", "over_limit": "over the limit"}
RATER = "rater"
DETAIL_COLUMNS = (*KEY, "quantity", "item", "value")
# a row of `calibration.csv`; `hits_A` and so on follow, one for each rater
BIN_COLUMNS = (*KEY, "bin_low", "bin_high", "voxels", "confidence")
HITS = re.compile(f"hits_(?P<rater>{RATER_NAME})")


def group_columns(scores: pd.DataFrame) -> list[str]:
    """The columns beyond ours, such as dataset or sex: groups of cases."""
    return [str(name) for name in scores.columns if name not in COLUMNS]
