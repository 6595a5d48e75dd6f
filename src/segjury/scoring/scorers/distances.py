"""Scores of distances between all voxels of masks."""

from __future__ import annotations

from collections.abc import Callable

from segjury.metrics import distances
from segjury.metrics.metric import Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, of_masks, scorer


def _distance_scorer(
    measure: Callable[[distances.VoxelDistances], float],
) -> Callable[[Comparison, int, distances.VoxelDistanceOptions, Reading], Measured]:
    """The scorer of a measure of the distances between all voxels of the masks."""

    def score(
        comparison: Comparison, label: int, use: distances.VoxelDistanceOptions, _reading: Reading
    ) -> Measured:
        found = comparison.voxel_distances(label, use.unit)
        sums = {"missed": found.missed, "added": found.added}
        parts = tuple(Component("sum of distances", item, total) for item, total in sums.items())
        return of_masks(measure(found), comparison, label, parts)

    return score


scorer(distances.BAVD)(_distance_scorer(distances.bavd_from_distances))
scorer(distances.AHD)(_distance_scorer(distances.ahd_from_distances))
