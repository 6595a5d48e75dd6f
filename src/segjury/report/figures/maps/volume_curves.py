"""The curves of the volume score: density and distribution of the raters, and what is between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
)
from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.metrics import crps

RATER, PREDICTED = "rater volume", "predicted volume"  # what the rows of the data are
DENSITY, DISTRIBUTION, AREA = "density", "distribution", "squared difference"
CRPS, SCORE = "crps", "score"
_POINTS = 161
REACH_SD = 4.0


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
    own, names = volumes[volumes["case"] == name], rater_columns(volumes)
    raters = own[names].iloc[0].to_numpy(np.float64)
    predicted = dict(zip(own["method"], own["predicted"], strict=True))
    scored = volume_scores(study, label)
    rows = [(RATER, rater, v, np.nan) for rater, v in zip(names, raters, strict=True)]
    x = _grid(raters, list(predicted.values()))
    if np.ptp(raters) > 0:
        rows += [(DENSITY, "raters", *point) for point in zip(x, _density(raters, x), strict=True)]
    rows += [(DISTRIBUTION, "raters", *p) for p in zip(x, _distribution(raters, x), strict=True)]
    for each in [method] if method else study.methods:
        rows.append((SCORE, each, np.nan, scored[each].get(name, np.nan)))
        if each in predicted:
            rows += _method_rows(each, raters, predicted[each], x)
    table = pd.DataFrame(rows, columns=["part", "of", "volume_cm3", "value"])
    return table.assign(case=name, structure=label)


def _method_rows(
    method: str, raters: Floats, predicted: float, x: Floats
) -> Iterator[tuple[str, str, float, float]]:
    yield (PREDICTED, method, predicted, np.nan)
    yield (CRPS, method, np.nan, crps(raters, predicted))
    at = int(np.searchsorted(x, predicted))
    points = np.insert(x, at, predicted)  # the step is between the two
    step = np.arange(points.size) > at
    squares = (_distribution(raters, points) - step) ** 2
    for point, square in zip(points, squares, strict=True):
        yield (AREA, method, point, square)


def _grid(raters: Floats, predicted: Sequence[float]) -> Floats:
    """Points dense where the distribution rises, and on to all predictions."""
    mean, sd = raters.mean(), raters.std()
    dense = mean + sd * np.linspace(-REACH_SD, REACH_SD, _POINTS)
    if np.ptp(raters) == 0:
        dense = np.array([raters[0], raters[0]])
    return np.sort(np.concatenate([dense, predicted]))


def _density(raters: Floats, x: Floats) -> Floats:
    z = (x - raters.mean()) / raters.std()
    density: Floats = np.exp(-z * z / 2) / (raters.std() * np.sqrt(2 * np.pi))
    return density


def _distribution(raters: Floats, x: Floats) -> Floats:
    """The Gaussian's distribution function; a step where the raters agree."""
    if np.ptp(raters) == 0:
        first = int(np.searchsorted(x, raters[0]))
        return (np.arange(x.size) > first).astype(float)
    return np.asarray(ndtr((x - raters.mean()) / raters.std()))


def _chosen_case(study: Study, volumes: pd.DataFrame, label: str, case: str | None) -> str:
    """The case asked for, or the typical one."""
    known = list(volumes["case"].unique())
    if case is not None and case not in known:
        raise InputError(f"there are no volumes of case '{case}'", f"Try {', '.join(known[:5])}")
    return case or typical_and_disputed(study, volumes, label)[0]
