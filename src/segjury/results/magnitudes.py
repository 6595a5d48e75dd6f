"""Numbers that no score is: beyond them sums and squares would overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from segjury.errors import InputError

LARGEST = 1e50


def refuse_beyond(values: Any, table: pd.DataFrame, about: Sequence[str], what: str) -> None:
    """Refuse the first value beyond 1e50; `about` are columns that name it, `what` has it."""
    beyond = np.abs(np.asarray(values, np.float64)) > LARGEST
    if not beyond.any():
        return
    place = int(beyond.argmax())
    names = ", ".join(str(table[name].iloc[place]) for name in about)
    raise InputError(
        f"{what} of {names} is {np.asarray(values, np.float64)[place]:g}, beyond {LARGEST:g}",
        "Correct the number, or give it in a larger unit",
    )
