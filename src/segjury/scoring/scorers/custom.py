"""Scores of third parties' metrics, whose functions take plain arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import flat
from segjury.benchmark.case import ReferenceCase
from segjury.metrics import Reading
from segjury.protocols.options import ImageUse
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured


def score_custom(comparison: Comparison, label: int, use: ImageUse, _reading: Reading) -> Measured:
    """The value of a third party's function, of a label or, for 0, of the whole case."""
    return comparison.once(("custom", use.name, label), lambda: _measured(comparison, label, use))


def _measured(comparison: Comparison, label: int, use: ImageUse) -> Measured:
    metric = use.metric
    if metric.score is None:  # as a run recorded it
        return Measured(math.nan, "the code of this metric is not loaded")
    more: dict[str, Any] = {}
    if metric.needs_probability:
        maps = [np.asarray(volume.array).view() for volume in comparison.prediction.probabilities]
        more["probability"] = maps[label - 1] if label else np.stack(maps)
        more["probability"].flags.writeable = False  # other metrics look at it too
    if metric.needs_raters:
        more["raters"] = _raters(comparison.reference, label)
    masks = _reference(comparison.reference, label), _prediction(comparison, label)
    spacing_mm = comparison.reference.grid.spacing_mm
    try:
        value = float(metric.score(*masks, spacing_mm=spacing_mm, **more, **use.options))
    except Exception as error:  # the metric is to blame, no method and no case
        return Measured(math.nan, f"{use.place} failed: {type(error).__name__}: {error}")
    low, high = metric.bounds
    if not math.isnan(value) and not (math.isfinite(value) and low <= value <= high):
        return Measured(math.nan, f"{use.place} gave {value:g}, expected {low:g} to {high:g}")
    return Measured(value, "the metric leaves it undefined" if math.isnan(value) else "")


def _reference(reference: ReferenceCase, label: int) -> NDArray[Any]:
    """The consensus: the mask of a label, or the map of all."""
    labels = [label] if label else [*reference.labels.values()]
    painted = np.zeros(math.prod(reference.grid.shape), np.uint8)
    for each in labels:
        painted[reference.consensus.voxels(each)] = each
    return _volume(painted, reference, label)


def _prediction(comparison: Comparison, label: int) -> NDArray[Any]:
    painted = np.zeros(math.prod(comparison.reference.grid.shape), np.uint8)
    for voxels, labels in comparison.prediction.marks.pieces():
        painted[voxels] = labels
    return _volume(painted, comparison.reference, label)


def _raters(reference: ReferenceCase, label: int) -> NDArray[Any]:
    patterns = reference.patterns
    codes = flat(patterns.codes)
    said = patterns.labels if not label else patterns.labels == label
    return np.stack([_volume(said[codes, k], reference, 0) for k in range(patterns.n_raters)])


def _volume(painted: NDArray[Any], reference: ReferenceCase, label: int) -> NDArray[Any]:
    volume = painted.reshape(reference.grid.shape, order="F")
    return volume == label if label else volume
