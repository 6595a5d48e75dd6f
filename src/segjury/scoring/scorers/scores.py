"""From a comparison of prediction and reference to the scores of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from segjury.benchmark.case import Structure
from segjury.images.grid import Grid
from segjury.metrics import distances, surface
from segjury.metrics.metric import Reading
from segjury.metrics.partitions import PARTITION_MEASURES
from segjury.metrics.ratios import RATIOS
from segjury.protocols import Protocol
from segjury.protocols.options import ImageUse
from segjury.protocols.protocol import WHOLE
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers import contact, counts, probabilities, shapes
from segjury.scoring.scorers.measured import NO_LABEL, Measured

NO_STRUCTURE = "the reference has no such vessel"

CASE_SCORERS: dict[str, Callable[[Comparison, Any, Reading], Measured]] = {
    "ece": probabilities.score_ece,
}
LABEL_SCORERS: dict[str, Callable[[Comparison, int, Any, Reading], Measured]] = {
    metric.name: counts.table_scorer(measure)
    for metric, measure in (RATIOS | PARTITION_MEASURES).items()
} | {
    "dsc": counts.score_dsc,
    "dice": counts.score_dice,
    "thr_dsc": probabilities.score_thr_dsc,
    "mr_ece": probabilities.score_mr_ece,
    "crps": probabilities.score_crps,
    "confidence": probabilities.score_confidence,
    "bavd": shapes.voxel_scorer(distances.bavd_from_distances),
    "cldice": shapes.score_cldice,
    "betti": shapes.score_betti,
    "small_recall": shapes.score_small_recall,
    "nsd": shapes.score_nsd,
    "hd": shapes.surface_scorer(surface.hd_from_distances),
    "hd95": shapes.score_hd95,
    "assd": shapes.surface_scorer(surface.assd_from_distances),
    "masd": shapes.surface_scorer(surface.masd_from_distances),
    "ahd": shapes.voxel_scorer(distances.ahd_from_distances),
    "mahalanobis": shapes.score_mahalanobis,
    "f_beta": counts.score_f_beta,
}
STRUCTURE_SCORERS: dict[str, Callable[[Comparison, str, Structure, Any, Reading], Measured]] = {
    "vi": contact.score_vi,
    "contact_angle": contact.score_contact_angle,
}


@dataclass(frozen=True)
class Score:
    """A metric's value for one label or structure, or for the whole case."""

    structure: str
    measured: Measured


def score(
    protocol: Protocol, comparison: Comparison, use: ImageUse, reading: Reading
) -> list[Score]:
    """All scores of a metric: of each label or structure, and of the case."""
    if use.name in CASE_SCORERS:
        return [Score(WHOLE, CASE_SCORERS[use.name](comparison, use, reading))]
    if use.name in STRUCTURE_SCORERS:
        return [
            Score(name, _structure_score(comparison, name, use, reading))
            for name in comparison.reference.structures
        ]
    labels = comparison.reference.labels
    scores = [
        Score(name, _label_score(protocol, comparison, label, use, reading))
        for name, label in labels.items()
    ]
    if len(scores) == 1:
        return [Score(WHOLE, scores[0].measured)]
    mean = _mean([each.measured for each in scores], use, reading, comparison.reference.grid)
    return [*scores, Score(WHOLE, mean)]


def structures_of(protocol: Protocol, use: ImageUse) -> list[str]:
    """The structures that `score` gives a score for."""
    if use.metric.scope == "structure":
        return protocol.structure_names
    names = protocol.label_names if use.metric.scope == "label" else []
    return [*names, WHOLE] if len(names) > 1 else [WHOLE]


def _label_score(
    protocol: Protocol, comparison: Comparison, label: int, use: ImageUse, reading: Reading
) -> Measured:
    if protocol.policy.absent == "exclude" and not comparison.reference.consensus.size(label):
        return Measured(math.nan, NO_LABEL)
    return LABEL_SCORERS[use.name](comparison, label, use, reading)


def _structure_score(
    comparison: Comparison, name: str, use: ImageUse, reading: Reading
) -> Measured:
    structure = comparison.reference.structures[name]
    if structure is None:
        invented = use.name == "vi" and reading == "released"
        return Measured(0.0 if invented else math.nan, NO_STRUCTURE)
    return STRUCTURE_SCORERS[use.name](comparison, name, structure, use, reading)


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
        return math.hypot(*sides.tolist())
    worst = use.worst if isinstance(use.worst, float) else use.metric.worst
    return math.nan if worst is None else worst
