"""Scores taken again with other raters, from the numbers per rater that a run keeps.

Three kinds of score can be: the mean of a number per rater, the CRPS of a volume against the
raters' volumes, and the distance of predicted angles from the raters'. A score is taken for one of
them only if all raters together give the value in the table; otherwise its raters stay fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtr

from segjury.analysis.ranking import Panel
from segjury.arrays import Floats

RATER = "rater "
SAME = 1e-9
Again = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RaterScores:
    """A panel whose scores can be taken again with each rater counted any number of times."""

    panel: Panel
    raters: tuple[str, ...]
    again: Mapping[int, Again]

    @property
    def keys(self) -> tuple[str, ...]:
        """The scores that depend on the raters drawn; the others keep their values."""
        return tuple(self.panel.keys[k] for k in self.again)

    def with_counts(self, counts: Floats) -> Panel:
        """The panel when each rater counts so often."""
        values = self.panel.values.copy()
        for k, again in self.again.items():
            taken = again(counts)
            inside = self.panel.defined[k][:, None] & ~np.isnan(taken)
            values[k] = np.where(inside, taken, values[k])
        return replace(self.panel, values=values)


def rater_scores(panel: Panel, details: pd.DataFrame | None) -> RaterScores | None:
    """The rater scores of a panel, from the rows of `details.csv`; None where there are none."""
    if details is None or details.empty:
        return None
    rows = details[details["reading"] == panel.reading]
    rows = rows[rows["case"].isin(panel.cases) & rows["method"].isin(panel.methods)]
    items = dict.fromkeys(rows["item"])
    raters = tuple(item for item in items if item.startswith(RATER))
    if len(raters) < 2:
        return None
    again = {}
    for k, (key, metric) in enumerate(zip(panel.keys, panel.metrics, strict=True)):
        of_key = rows[rows["metric"] == metric]
        if key != metric:
            of_key = of_key[of_key["structure"] == key.removeprefix(f"{metric} ")]
        found = _again(_Parts.of(of_key, panel), raters)
        if found is not None and _reproduces(found(np.ones(len(raters))), panel, k):
            again[k] = found
    return RaterScores(panel, raters, again) if again else None


@dataclass(frozen=True)
class _Parts:
    """Numbers behind the scores, (quantities, items, structures, cases, methods)."""

    quantities: tuple[str, ...]
    items: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, rows: pd.DataFrame, panel: Panel) -> _Parts:
        quantity, quantities = pd.factorize(rows["quantity"])
        item, items = pd.factorize(rows["item"])
        structure, structures = pd.factorize(rows["structure"])
        case = pd.Index(panel.cases).get_indexer(pd.Index(rows["case"]))
        method = pd.Index(panel.methods).get_indexer(pd.Index(rows["method"]))
        shape = (len(quantities), len(items), len(structures), len(panel.cases), len(panel.methods))
        values = np.full(shape, np.nan)
        values[quantity, item, structure, case, method] = rows["value"].to_numpy(np.float64)
        return cls(tuple(map(str, quantities)), tuple(map(str, items)), values)

    def among(self, items: tuple[str, ...]) -> Floats:
        """The numbers of some items, in their order."""
        return self.values[:, [self.items.index(item) for item in items]]


def _again(parts: _Parts, raters: tuple[str, ...]) -> Again | None:
    """How a score follows from its parts, if its parts are of a known kind."""
    if not parts.quantities or not set(raters) <= set(parts.items):
        return None
    of_raters = parts.among(raters)
    others = tuple(item for item in parts.items if item not in raters)
    if len(parts.quantities) == 1 and not others:
        return lambda counts: _mean_over_structures(_weighted(of_raters[0], counts))
    if parts.quantities == ("volume_cm3",) and others == ("prediction",):
        volume = parts.among(others)[0, 0]
        return lambda counts: _mean_over_structures(_crps(of_raters[0], volume, counts))
    if all(name.startswith("angle") for name in parts.quantities) and others:
        return _angle_distance(of_raters, parts.among(others))
    return None


def _reproduces(taken: Floats, panel: Panel, key: int) -> bool:
    """Whether all raters together give the values in the table, wherever parts were kept."""
    there = panel.defined[key][:, None] & ~np.isnan(taken)
    same = np.isclose(taken, panel.values[key], rtol=SAME, atol=SAME)
    return bool(there.any() and (same | ~there).all())


def _weighted(of_raters: Floats, counts: Floats) -> Floats:
    """Mean over the first axis, each rater counted so often."""
    return np.asarray(np.tensordot(counts / counts.sum(), of_raters, axes=1))


def _mean_over_structures(values: Floats) -> Floats:
    """Mean over the structures that are defined for a case."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / defined.sum(axis=0))


def _crps(volumes: Floats, predicted: Floats, counts: Floats) -> Floats:
    """The closed form of `segjury.metrics.crps`, for raters counted so often."""
    drawn = volumes[counts > 0]
    mean = _weighted(volumes, counts)
    sd = np.sqrt(_weighted((volumes - mean) ** 2, counts))
    same = drawn.max(axis=0) == drawn.min(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (predicted - mean) / sd
        density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        spread = sd * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return np.asarray(np.where(same, np.abs(predicted - drawn[0]), np.maximum(spread, 0.0)))


def _angle_distance(raters: Floats, predicted: Floats) -> Again:
    """W1 between the raters' and the predicted angles, the largest over the array's axes.

    Both samples are merged and sorted once; W1 is the area between their step functions.
    """
    angles = np.moveaxis(np.concatenate([raters, predicted], axis=1)[:, :, 0], 1, 0)
    order = np.argsort(angles, axis=0)
    gaps = np.diff(np.take_along_axis(angles, order, axis=0), axis=0)
    others = predicted.shape[1]

    def distance(counts: Floats) -> Floats:
        steps = np.concatenate([counts / counts.sum(), np.full(others, -1 / others)])
        apart = np.abs(np.cumsum(steps[order], axis=0)[:-1])
        found: Floats = (apart * gaps).sum(axis=0).max(axis=0)
        return found

    return distance
