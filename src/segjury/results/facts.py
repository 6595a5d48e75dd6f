"""Facts of a case, whatever the method: rows in memory, columns such as `liver dsc_1_2` in a file.

A fact is a quantity of a label, maybe of one or two raters (`1`, `2`; or by name) or the consensus.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segjury.protocols.reference import CONSENSUS, RATER_NAME, WHOLE

if TYPE_CHECKING:
    import pandas as pd

DSC, VOLUME = "dsc", "volume_cm3"
REPEAT_DSC = "repeat_dsc"  # of a rater's first read and a later one
N_RATERS, N_RATERS_COLUMN = "n_raters", "raters"
VOXELS = ("fleiss_kappa", "krippendorff_alpha")
FACT_COLUMNS = ("case", "label", "quantity", "first", "second", "value")
_COLUMN = re.compile(
    r"(?:(?P<label>.+) )?"
    rf"(?:rater_(?P<rater>{RATER_NAME})_cm3|(?P<given>{CONSENSUS})_cm3"
    rf"|(?P<pair>{DSC}|{REPEAT_DSC})_(?P<first>{RATER_NAME})_(?P<second>{RATER_NAME})"
    rf"|(?P<count>{N_RATERS_COLUMN})"
    rf"|(?P<quantity>mean_pairwise_dsc|{'|'.join(VOXELS)}))"
)


def fact_column(label: str, quantity: str, first: str = "", second: str = "") -> str:
    """The column of `cases.csv` that a fact is in."""
    name = "_".join(filter(None, (quantity, first, second)))
    if quantity == VOLUME:
        name = f"{first}_cm3" if first == CONSENSUS else f"rater_{first}_cm3"
    elif quantity == N_RATERS:
        name = N_RATERS_COLUMN
    return name if label == WHOLE else f"{label} {name}"


def read_facts(cases: pd.DataFrame) -> pd.DataFrame:
    """The facts in the columns of `cases.csv`, column after column; other columns are left out."""
    import pandas as pd

    from segjury.results.magnitudes import refuse_beyond

    rows = []
    for column in map(str, cases.columns):
        if found := _COLUMN.fullmatch(column):
            count = N_RATERS if found["count"] else None
            quantity = found["quantity"] or found["pair"] or count or VOLUME
            first = found["first"] or found["rater"] or found["given"] or ""
            about = (found["label"] or WHOLE, quantity, first, found["second"] or "")
            values = pd.to_numeric(cases[column], errors="coerce").astype(float)
            refuse_beyond(values, cases, ["case"], f"cases.csv: {column}")
            rows += [(c, *about, v) for c, v in zip(cases["case"], values, strict=True)]
    return pd.DataFrame(rows, columns=list(FACT_COLUMNS))
