"""Contact angles of raters and predictions with vessels, in the plane that decides the score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from segjury.analysis.rater_volumes import middle, weights_of
from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.metrics.invasion import VI, vi_score
from segjury.metrics.metric import READINGS, Reading
from segjury.metrics.redrawn import angle_distance

RATER = "rater "
_PLANE = "angle axis "
COLUMNS = ("case", "method", "structure", "plane", "item", "angle", "distance", "score")


def angle_parts(study: Study) -> pd.DataFrame:
    """The angles behind the vessel scores of the reading shown; `plane` is the array's axis."""
    details = study.details
    if details is None or study.reading not in READINGS:
        return pd.DataFrame(columns=["method", "case", "structure", "plane", "item", "value"])
    rows = details[(details["metric"] == VI.name) & (details["reading"] == study.reading)]
    inside = rows["case"].isin(study.analysis.panel.cases) & rows["method"].isin(study.methods)
    rows = rows[inside & rows["quantity"].str.startswith(_PLANE)]
    return rows.assign(plane=rows["quantity"].str.removeprefix(_PLANE))


def vessel_scores(study: Study) -> pd.Series[float]:
    """The vessel scores of the reading shown, by case, method and structure."""
    table = study.scores
    rows = table[(table["metric"] == VI.name) & (table["reading"] == study.reading)]
    return rows.set_index(["case", "method", "structure"])["value"]


def typical_and_disputed(study: Study, parts: pd.DataFrame) -> list[str]:
    """Of the cases in which a rater sees contact: that of median score, and of widest spread.

    The spread of a case is the largest SD of the raters' angles over its vessels and planes.
    """
    raters = parts[parts["item"].str.startswith(RATER)]
    raters = raters.drop_duplicates(["case", "structure", "plane", "item"])
    widest = raters.groupby("case")["value"].max()
    touched = widest.index[widest > 0]
    if touched.empty:
        return []
    means = vessel_scores(study).groupby("case").mean().reindex(touched)
    spread = raters.groupby(["case", "structure", "plane"])["value"].std(ddof=0)
    disputed = str(spread.groupby("case").max().reindex(touched).idxmax())
    return list(dict.fromkeys([*middle(means), disputed]))


def deciding_angles(
    study: Study, parts: pd.DataFrame, case: str, methods: Sequence[str]
) -> pd.DataFrame:
    """The angles of a case in the plane of largest distance, a row per method, vessel and item.

    `distance` is that plane's, `score` the table's: the same, unless the reading takes the mean
    over the planes. A method without a prediction has one row per vessel, with the score alone.
    """
    own = parts[parts["case"] == case]
    key = ["method", "structure"]
    angles = own.merge(_deciding_planes(study, own), on=[*key, "plane"])
    pairs = pd.MultiIndex.from_product([methods, own["structure"].unique()], names=key)
    columns = [*key, "plane", "item", "value", "distance"]
    rows = pairs.to_frame(index=False).merge(angles[columns], how="left", on=key)
    scores = vessel_scores(study).to_dict()
    places = zip(rows["method"], rows["structure"], strict=True)
    values = [scores.get((case, *place), np.nan) for place in places]
    table = rows.rename(columns={"value": "angle"}).assign(case=case, score=values)
    return table[list(COLUMNS)]


def _deciding_planes(study: Study, angles: pd.DataFrame) -> pd.DataFrame:
    """Of each method and vessel the plane of largest distance, then of largest angles."""
    asked: Reading = next(each for each in READINGS if each == study.reading)
    key = ["method", "structure", "plane"]
    table = angles.pivot(index=key, columns="item", values="value")
    is_rater = table.columns.str.startswith(RATER)
    raters, predicted = (table.loc[:, which].to_numpy() for which in (is_rater, ~is_rater))
    pairs = zip(raters[:, None], predicted[:, None], strict=True)
    weights = weights_of(study, list(table.columns[is_rater]))
    distances = [
        vi_score(*pair, reading=asked) if np.ptp(weights) == 0 else _weighted(*pair, weights)
        for pair in pairs
    ]
    planes = table.index.to_frame(index=False).assign(distance=distances, size=raters.mean(axis=1))
    ordered = planes.sort_values(["distance", "size"], kind="stable")
    return ordered.drop_duplicates(key[:2], keep="last")[[*key, "distance"]]


def _weighted(raters: Floats, predicted: Floats, weights: Floats) -> float:
    """The distance in a plane where raters do not all count alike."""
    parts = (angles.reshape(1, -1, 1, 1, 1) for angles in (raters, predicted))
    return float(angle_distance(*parts)(weights).item())


def chosen_case(study: Study, parts: pd.DataFrame, case: str | None) -> str:
    """The case asked for, or the typical one."""
    known = list(parts["case"].unique())
    if not known:
        raise InputError("the table comes without contact angles", "Keep details.csv beside it")
    if case is not None and case not in known:
        raise InputError(f"there are no angles of case '{case}'", f"Try {', '.join(known[:5])}")
    return case or next(iter(typical_and_disputed(study, parts)), known[0])
