"""Scores of lesions in probability maps."""

from __future__ import annotations

import math

import numpy as np

from segjury.arrays import Ints, flat
from segjury.metrics import detection, lesion_rules
from segjury.metrics.detection import NEVER, Candidates, Detected
from segjury.metrics.matching import Overlaps
from segjury.metrics.metric import Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.lesions.masks import NO_LESION
from segjury.scoring.scorers.lesions.matched import ReferenceLesions, reference_lesions
from segjury.scoring.scorers.lesions.rows import (
    MOST_LISTED,
    listed_lesions,
    not_listed,
    volumes_and_raters,
)
from segjury.scoring.scorers.measured import Component, Measured, Sizes, scorer


def _sizes(comparison: Comparison, label: int, use: detection.FrocOptions) -> Sizes:
    """How many lesions there are to find; how many are predicted is never asked of maps."""
    return int(reference_lesions(comparison, label, use).counted.sum()), 0


@scorer(detection.FROC, sizes=_sizes)
def score_froc(
    comparison: Comparison, label: int, use: detection.FrocOptions, _reading: Reading
) -> Measured:
    """Mean sensitivity of the map at several numbers of false positives."""
    reference = reference_lesions(comparison, label, use)
    candidates = _candidates(comparison, label, use)
    overlaps = Overlaps.of(reference.components, candidates.components)
    found = detection.detect(candidates, overlaps, reference.counted, use.rule)
    sensitivities = found.sensitivities(use.false_positives)
    parts = [
        Component("sensitivity", f"{n:g} false positives", hits / count if count else math.nan)
        for n, (hits, count) in zip(use.false_positives, sensitivities, strict=True)
    ]
    parts += _of_lesions(reference, found) + _false_positives(comparison, found, candidates)
    value = detection.froc_from(sensitivities)
    return Measured(value, NO_LESION if math.isnan(value) else "", tuple(parts))


def _candidates(comparison: Comparison, label: int, use: detection.FrocOptions) -> Candidates:
    volume, grid = comparison.probability(label), comparison.reference.grid
    p, cut = flat(volume.array), np.float64(use.candidate_threshold)
    above = [np.flatnonzero(p[first:last] > cut) + first for first, last in volume.spans]
    voxels: Ints = np.concatenate([np.zeros(0, np.int64), *above])
    return Candidates.of(
        voxels,
        p[voxels],
        grid.shape,
        connectivity=use.connectivity,
        confidence=use.confidence,
    ).at_least(lesion_rules.smallest_voxels(use, grid.voxel_volume_mm3))


def _of_lesions(reference: ReferenceLesions, found: Detected) -> list[Component]:
    """The volume of each lesion, who sees it, and how confidently it is found, if it is."""
    confidence = np.where(found.lesions == NEVER, np.nan, found.lesions)
    about = volumes_and_raters(reference)
    return listed_lesions(reference, about, {"lesion_confidence": confidence})


def _false_positives(
    comparison: Comparison, found: Detected, candidates: Candidates
) -> list[Component]:
    """Volume and confidence of each false positive, the largest first.

    Of very many, the most confident have rows, as a curve of all cases needs these.
    """
    wrong = np.flatnonzero(found.matched.false_positive)
    listed = np.argsort(-candidates.confidence[wrong], kind="stable")[:MOST_LISTED]
    listed.sort()
    volumes_mm3 = candidates.components.sizes * np.float64(
        comparison.reference.grid.voxel_volume_mm3
    )
    rows = []
    for k in listed.tolist():
        item = f"false positive {k + 1}"
        rows.append(Component("lesion_volume_mm3", item, float(volumes_mm3[wrong[k]])))
        rows.append(Component("lesion_confidence", item, float(candidates.confidence[wrong[k]])))
    return rows + not_listed("false positives", wrong.size)
