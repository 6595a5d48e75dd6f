"""The curves of the volume score: density and distribution of the raters, and what is between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from segjury.analysis.rater_volumes import (
    chosen_label,
    rater_columns,
    typical_and_disputed,
    volume_parts,
    volume_scores,
    volumes_of,
    weights_of,
)
from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.metrics import crps
from segjury.metrics.redrawn import crps_of_raters

RATER, PREDICTED = "rater volume", "predicted volume"  # what the rows of the data are
DENSITY, DISTRIBUTION, AREA = "density", "distribution", "squared difference"
CRPS, SCORE = "crps", "score"
_POINTS = 161
REACH_SD = 4.0


@dataclass(frozen=True)
class RaterVolumes:
    """The volumes of a case's raters, their weights, and the Gaussian that they make."""

    values: Floats
    weights: Floats
    mean: float
    sd: float

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> RaterVolumes:
        """The volumes with their mean and population SD, each rater as heavy as he or she is."""
        if np.ptp(weights) == 0:
            return cls(values, weights, float(values.mean()), float(values.std()))
        mean = float(np.average(values, weights=weights))
        variance = float(np.average((values - mean) ** 2, weights=weights))
        return cls(values, weights, mean, float(np.sqrt(variance)))

    @property
    def alike(self) -> bool:
        """Whether all volumes are the same."""
        return bool(np.ptp(self.values) == 0)

    def crps(self, predicted: float) -> float:
        """The CRPS of a predicted volume."""
        if np.ptp(self.weights) == 0:
            return crps(self.values, predicted)
        items = (1, -1, 1, 1, 1)
        again = crps_of_raters(self.values.reshape(items), np.reshape(predicted, items))
        return float(again(self.weights).item())


def volume_data(
    study: Study,
    case: str | None = None,
    method: str | None = None,
    structure: str | None = None,
) -> pd.DataFrame:
    """All curves as points (volume, value), with each rater's and method's volume and the CRPS.

    `crps` is the area drawn, the closed form; `score` what the table has in the reading shown.
    """
    if method is not None and method not in study.methods:
        raise InputError(f"there is no method '{method}'", f"Try {', '.join(study.methods)}")
    parts = volume_parts(study)
    label = chosen_label(parts, structure)
    volumes = volumes_of(parts, label)
    name = _chosen_case(study, volumes, label, case)
    own = volumes[volumes["case"] == name]
    names = [rater for rater in rater_columns(volumes) if own[rater].notna().all()]
    raters = RaterVolumes.of(own[names].iloc[0].to_numpy(np.float64), weights_of(study, names))
    predicted = dict(zip(own["method"], own["predicted"], strict=True))
    scored = volume_scores(study, label)
    rows = [(RATER, rater, v, np.nan) for rater, v in zip(names, raters.values, strict=True)]
    x = _grid(raters, list(predicted.values()))
    if not raters.alike:
        rows += [(DENSITY, "raters", *point) for point in zip(x, _density(raters, x), strict=True)]
    rows += [(DISTRIBUTION, "raters", *p) for p in zip(x, _distribution(raters, x), strict=True)]
    for each in [method] if method else study.methods:
        rows.append((SCORE, each, np.nan, scored[each].get(name, np.nan)))
        if each in predicted:
            rows += _method_rows(each, raters, predicted[each], x)
    table = pd.DataFrame(rows, columns=["part", "of", "volume_cm3", "value"])
    return table.assign(case=name, structure=label)


def _method_rows(
    method: str, raters: RaterVolumes, predicted: float, x: Floats
) -> Iterator[tuple[str, str, float, float]]:
    yield (PREDICTED, method, predicted, np.nan)
    yield (CRPS, method, np.nan, raters.crps(predicted))
    at = int(np.searchsorted(x, predicted))
    points = np.insert(x, at, predicted)  # the step is between the two
    step = np.arange(points.size) > at
    squares = (_distribution(raters, points) - step) ** 2
    for point, square in zip(points, squares, strict=True):
        yield (AREA, method, point, square)


def _grid(raters: RaterVolumes, predicted: Sequence[float]) -> Floats:
    """Points dense where the distribution rises, and on to all predictions."""
    dense = raters.mean + raters.sd * np.linspace(-REACH_SD, REACH_SD, _POINTS)
    if raters.alike:
        dense = np.array([raters.values[0], raters.values[0]])
    return np.sort(np.concatenate([dense, predicted]))


def _density(raters: RaterVolumes, x: Floats) -> Floats:
    z = (x - raters.mean) / raters.sd
    density: Floats = np.exp(-z * z / 2) / (raters.sd * np.sqrt(2 * np.pi))
    return density


def _distribution(raters: RaterVolumes, x: Floats) -> Floats:
    """The Gaussian's distribution function; a step where the raters agree."""
    if raters.alike:
        first = int(np.searchsorted(x, raters.values[0]))
        return (np.arange(x.size) > first).astype(float)
    return np.asarray(ndtr((x - raters.mean) / raters.sd))


def _chosen_case(study: Study, volumes: pd.DataFrame, label: str, case: str | None) -> str:
    """The case asked for, or the typical one."""
    known = list(volumes["case"].unique())
    if case is not None and case not in known:
        raise InputError(f"there are no volumes of case '{case}'", f"Try {', '.join(known[:5])}")
    return case or typical_and_disputed(study, volumes, label)[0]
