"""Scores of distances between the surfaces of masks."""

from __future__ import annotations

from collections.abc import Callable

from segjury.metrics import surface
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured, of_masks, scorer


@scorer(surface.NSD)
def score_nsd(
    comparison: Comparison, label: int, use: surface.NsdOptions, reading: Reading
) -> Measured:
    """Share of the surfaces within the tolerance; the released one counts in voxels."""
    if reading == "released":
        found = comparison.surface_distances(label, "edge-voxels", "voxels")
        tolerance = use.released_tolerance_voxels
    else:
        found = comparison.surface_distances(label, use.definition, "mm")
        tolerance = use.tolerance_mm
    return of_masks(surface.nsd_from_distances(found, tolerance), comparison, label)


@scorer(surface.HD95)
def score_hd95(
    comparison: Comparison, label: int, use: surface.Hd95Options, _reading: Reading
) -> Measured:
    """95th percentile of the surface distances, by the convention asked for."""
    definition: surface.Definition = "surfel" if use.convention == "surfel" else "edge-voxels"
    found = comparison.surface_distances(label, definition, "mm")
    pooled = use.convention == "edge-voxels-pooled"
    measure = surface.pooled_hd95_from_distances if pooled else surface.hd95_from_distances
    return of_masks(measure(found), comparison, label)


def _distance_scorer(
    measure: Callable[[surface.SurfaceDistances], float],
) -> Callable[[Comparison, int, Options, Reading], Measured]:
    """The scorer of a measure of the distances between the surfaces, by area, in mm."""

    def score(comparison: Comparison, label: int, _use: Options, _reading: Reading) -> Measured:
        found = comparison.surface_distances(label, "surfel", "mm")
        return of_masks(measure(found), comparison, label)

    return score


scorer(surface.HD)(_distance_scorer(surface.hd_from_distances))
scorer(surface.ASSD)(_distance_scorer(surface.assd_from_distances))
scorer(surface.MASD)(_distance_scorer(surface.masd_from_distances))
