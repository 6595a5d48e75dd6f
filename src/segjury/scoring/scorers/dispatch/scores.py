"""From a comparison of prediction and reference to the scores of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import flat
from segjury.benchmark.case import ReferenceCase
from segjury.images.grid import Grid
from segjury.metrics.geometry.dimension import real_axes
from segjury.metrics.metric import Reading
from segjury.metrics.redrawn import how_it_follows
from segjury.protocols import Protocol
from segjury.protocols.options import ImageUse
from segjury.protocols.reference import WHOLE
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import RATER, SCORERS, Measured, Scorer

EMPTY_REFERENCE = "the reference is empty"
SAME = 1e-9  # relative or absolute
NO_STRUCTURE = "the reference has no such vessel"


@dataclass(frozen=True)
class Score:
    """A metric's value for one label or structure, or for the whole case."""

    structure: str
    measured: Measured


def score(
    protocol: Protocol, comparison: Comparison, use: ImageUse, reading: Reading
) -> list[Score]:
    """All scores of a metric: of each label or structure, and of the case.

    Of a label without its probability map there is none, and none of the case then.
    """
    if use.metric.scope == "case":
        what = () if use.name in SCORERS else (0,)
        return [Score(WHOLE, _measured_by(comparison, *what, use=use, reading=reading))]
    if use.metric.scope == "structure":
        return [
            Score(name, _structure_score(comparison, name, use, reading))
            for name in comparison.reference.structures
        ]
    labels = comparison.reference.labels
    without = comparison.prediction.no_maps if use.metric.needs_probability else {}
    scores = [
        Score(name, _label_score(protocol, comparison, label, use, reading))
        for name, label in labels.items()
        if label not in without
    ]
    if len(labels) == 1:
        return [Score(WHOLE, scores[0].measured)]
    if without:  # the mean counts what these cost
        return scores
    mean = _mean([each.measured for each in scores], use, reading, comparison.reference.grid)
    return [*scores, Score(WHOLE, mean)]


def prepare(reference: ReferenceCase, uses: Iterable[ImageUse]) -> None:
    """Compute now what every method will be compared with."""
    for use in uses:
        _scorer(use).prepare(reference)


def _scorer(use: ImageUse) -> Scorer:
    """The scorer of a metric; of a third party's, the one that calls its function."""
    return SCORERS.get(use.name) or Scorer(_score_custom)


def _measured_by(comparison: Comparison, *what: Any, use: ImageUse, reading: Reading) -> Measured:
    """What the scorer of a metric measures, with the raters as heavy as the protocol says."""
    measured = _scorer(use).score(comparison, *what, use, reading)
    weights = comparison.reference.patterns.weights
    if not weights or reading != "corrected" or math.isnan(measured.value):
        return measured
    value = _weighted(use, measured, np.array(weights))
    return measured if value is None else replace(measured, value=value)


def _weighted(use: ImageUse, measured: Measured, weights: NDArray[np.float64]) -> float | None:
    """The score when each rater has a weight; None if it does not follow from numbers per rater.

    It does if these give the score that was measured when all raters count alike.
    """
    parts = measured.parts
    quantities = list(dict.fromkeys(part.quantity for part in parts))
    items = list(dict.fromkeys(part.item for part in parts))
    raters = [item for item in items if item.startswith(RATER)]
    follows = how_it_follows(use.metric.from_raters, len(quantities), len(items) - len(raters))
    if follows is None or len(raters) != weights.size:
        return None
    table = np.full((len(quantities), len(items), 1, 1, 1), np.nan)
    for part in parts:
        table[quantities.index(part.quantity), items.index(part.item)] = part.value
    others = [item for item in items if item not in raters]
    rows = [table[:, [items.index(item) for item in group]] for group in (raters, others)]
    taken = follows(*rows)
    alike = taken(np.ones(weights.size)).item()
    same = math.isclose(alike, measured.value, rel_tol=SAME, abs_tol=SAME)
    return float(taken(weights).item()) if same else None


def structures_of(protocol: Protocol, use: ImageUse) -> list[str]:
    """The structures that `score` gives a score for."""
    if use.metric.scope == "structure":
        return protocol.structure_names
    names = protocol.label_names if use.metric.scope == "label" else []
    return [*names, WHOLE] if len(names) > 1 else [WHOLE]


def _label_score(
    protocol: Protocol, comparison: Comparison, label: int, use: ImageUse, reading: Reading
) -> Measured:
    """A label's score; where the reference has no voxel of it, the policy decides."""
    sizes = _scorer(use).sizes
    own = sizes(comparison, label, use) if sizes else None
    is_empty = not (own[0] if own else comparison.reference.consensus.size(label))
    if is_empty and protocol.policy.empty_reference == "exclude":
        return Measured(math.nan, EMPTY_REFERENCE)
    measured = _measured_by(comparison, label, use=use, reading=reading)
    if is_empty and reading == "corrected" and math.isnan(measured.value):
        predicted = own[1] if own else comparison.confusion(label).prediction
        return _without_reference(comparison, predicted, use, measured)
    return measured


def _without_reference(
    comparison: Comparison, predicted: int, use: ImageUse, measured: Measured
) -> Measured:
    """The score of a mask where the reference is empty and the metric leaves it undefined.

    The best for a prediction that is empty as well, the worst for any other.
    """
    if use.metric.needs_probability or use.metric.needs_samples:
        return measured
    if not predicted:
        return replace(measured, value=use.metric.best, note="reference and prediction are empty")
    worst = worst_value(use, comparison.reference.grid)
    return replace(measured, value=worst, note=f"{EMPTY_REFERENCE}, the prediction is not")


def _structure_score(
    comparison: Comparison, name: str, use: ImageUse, reading: Reading
) -> Measured:
    structure = comparison.reference.structures[name]
    if structure is None:
        return Measured(_scorer(use).absent.get(reading, math.nan), NO_STRUCTURE)
    return _measured_by(comparison, name, structure, use=use, reading=reading)


def _mean(measured: list[Measured], use: ImageUse, reading: Reading, grid: Grid) -> Measured:
    """Mean over the labels that have a value; the released programs let one NaN spoil it.

    A label that is undefined by fault of the prediction counts as the worst value.
    """
    values = np.array([worst_value(use, grid) if m.fault else m.value for m in measured])
    undefined = np.isnan(values)
    if undefined.all() or (reading == "released" and undefined.any()):
        return Measured(math.nan, f"{undefined.sum()} of {values.size} classes are undefined")
    return Measured(float(values[~undefined].mean()))


def worst_value(use: ImageUse, grid: Grid) -> float:
    """The value that a prediction gets where it is missing or to blame; NaN where none is set."""
    if use.worst == "image-diagonal":
        sides = np.array(grid.shape) * (grid.spacing_mm if use.unit_used == "mm" else 1)
        return math.hypot(*sides[list(real_axes(grid.shape))].tolist())
    worst = use.worst if isinstance(use.worst, float) else use.metric.worst
    return math.nan if worst is None else worst


# ---- metrics of third parties ---------------------------------------------------------------


def _score_custom(comparison: Comparison, label: int, use: ImageUse, _reading: Reading) -> Measured:
    """The value of a third party's function, of a label or, for 0, of the whole case."""
    return comparison.once(("custom", use.name, label), lambda: _measured(comparison, label, use))


def _measured(comparison: Comparison, label: int, use: ImageUse) -> Measured:
    metric = use.metric
    if metric.score is None:  # as a run recorded it
        return Measured(math.nan, "the code of this metric is not loaded")
    more: dict[str, Any] = {}
    if metric.needs_probability:
        labels = comparison.reference.labels.values()
        maps = [np.asarray(comparison.probability(each).array).view() for each in labels]
        more["probability"] = maps[label - 1] if label else np.stack(maps)
        more["probability"].flags.writeable = False  # other metrics look at it too
    if metric.needs_raters:
        more["raters"] = _raters(comparison.reference, label)
    if metric.needs_samples:
        more["samples"] = _samples(comparison, label)
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
    return _painted(reference, reference.consensus.voxels, label)


def _samples(comparison: Comparison, label: int) -> NDArray[Any]:
    """Each sample's mask of a label, or the map of all."""
    sample_of, numbers = comparison.prediction.sample_of, range(len(comparison.prediction.samples))
    return np.stack([_painted(comparison.reference, partial(sample_of, k), label) for k in numbers])


def _painted(
    reference: ReferenceCase, voxels: Callable[[int], NDArray[np.int64]], label: int
) -> NDArray[Any]:
    """The mask of a label whose voxels are given, or the map of all labels."""
    labels = [label] if label else [*reference.labels.values()]
    painted = np.zeros(math.prod(reference.grid.shape), np.uint8)
    for each in labels:
        painted[voxels(each)] = each
    return _volume(painted, reference, label)


def _prediction(comparison: Comparison, label: int) -> NDArray[Any]:
    painted = np.zeros(math.prod(comparison.reference.grid.shape), np.uint8)
    if label:
        painted[comparison.prediction.of(label)] = label
    else:
        for voxels, values in comparison.prediction.marks.pieces():
            painted[voxels] = values
    return _volume(painted, comparison.reference, label)


def _raters(reference: ReferenceCase, label: int) -> NDArray[Any]:
    patterns = reference.patterns
    codes = flat(patterns.codes)
    said = patterns.marked(label) if label else patterns.labels
    return np.stack([_volume(said[codes, k], reference, 0) for k in range(patterns.n_raters)])


def _volume(painted: NDArray[Any], reference: ReferenceCase, label: int) -> NDArray[Any]:
    volume = painted.reshape(reference.grid.shape, order="F")
    return volume == label if label else volume
