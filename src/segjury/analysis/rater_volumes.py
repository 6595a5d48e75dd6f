"""The raters' and the predicted volumes, as a run keeps them for the volume score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.errors import InputError

METRIC, QUANTITY = "crps", "volume_cm3"
RATER, PREDICTION = "rater ", "prediction"


def volume_parts(study: Study) -> pd.DataFrame:
    """The volumes of one reading, that which is shown if it has them: they are all the same."""
    details = study.details
    if details is None:
        return pd.DataFrame(columns=["method", "case", "structure", "item", "value"])
    rows = details[(details["metric"] == METRIC) & (details["quantity"] == QUANTITY)]
    readings = list(rows["reading"].unique())
    reading = study.reading if study.reading in readings else next(iter(readings), "")
    inside = rows["case"].isin(study.analysis.panel.cases) & rows["method"].isin(study.methods)
    return rows[inside & (rows["reading"] == reading)]


def volume_labels(parts: pd.DataFrame) -> list[str]:
    """The labels whose volumes are known, of at least two raters."""
    raters = parts[parts["item"].str.startswith(RATER)]
    counts = raters.groupby("structure", sort=False)["item"].nunique()
    return [str(label) for label in counts.index[counts > 1]]


def chosen_label(parts: pd.DataFrame, structure: str | None) -> str:
    """The label asked for, or the first."""
    known = volume_labels(parts)
    if not known:
        raise InputError("the table comes without volumes", "Keep details.csv beside it")
    if structure is not None and structure not in known:
        raise InputError(f"there are no volumes of '{structure}'", f"Try {', '.join(known)}")
    return structure or known[0]


def volumes_of(parts: pd.DataFrame, label: str) -> pd.DataFrame:
    """A row per method and case: `predicted` and each rater's volume in cm3, by rater's name.

    A rater who did not mark the case has none.
    """
    own = parts[parts["structure"] == label].astype({"method": str, "case": str})
    table = own.pivot(index=["method", "case"], columns="item", values="value")
    table = table.rename(columns={PREDICTION: "predicted"}).rename_axis(columns=None)
    raters = table[[name for name in table.columns if name.startswith(RATER)]]
    known = table.get("predicted", pd.Series(index=table.index)).notna()
    return table[known & raters.notna().any(axis=1)].reset_index()


def weights_of(study: Study, raters: Sequence[str]) -> Floats:
    """How heavy raters are in the reading shown; only the corrected one knows of weights."""
    known = study.rules.rater_weights if study.reading == "corrected" else {}
    return np.array([known.get(name.removeprefix(RATER), 1.0) for name in raters])


def rater_columns(volumes: pd.DataFrame) -> list[str]:
    """The columns of a table of volumes that are raters."""
    return [str(name) for name in volumes.columns if str(name).startswith(RATER)]


def volume_scores(study: Study, label: str) -> pd.DataFrame:
    """The volume score of every method (columns) on every case (rows), as in the table."""
    table = study.scores
    rows = table[
        (table["metric"] == METRIC)
        & (table["structure"] == label)
        & (table["reading"] == study.reading)
    ]
    return rows.pivot(index="case", columns="method", values="value")


def typical_and_disputed(study: Study, volumes: pd.DataFrame, label: str) -> list[str]:
    """The case of median score, and the one on which the raters' volumes spread most."""
    by_case = volumes.drop_duplicates("case").set_index("case").sort_index()
    means = volume_scores(study, label).mean(axis=1).reindex(by_case.index)
    spread = np.nanstd(by_case[rater_columns(volumes)].to_numpy(np.float64), axis=1)
    disputed = str(by_case.index[int(spread.argmax())])
    return list(dict.fromkeys([*middle(means), disputed]))


def middle(values: pd.Series[float]) -> list[str]:
    """The name of the median, the lower of two; nothing of nothing."""
    known = values.dropna().sort_values(kind="stable")
    return [str(known.index[(len(known) - 1) // 2])] if len(known) else []
