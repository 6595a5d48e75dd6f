"""Scores of distances between the surfaces of masks."""

from __future__ import annotations

from collections.abc import Callable

from segjury.metrics import surface
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.features import LengthUnit
from segjury.scoring.scorers.measured import Measured, of_masks, scorer


@scorer(surface.NSD)
def score_nsd(
    comparison: Comparison, label: int, use: surface.NsdOptions, reading: Reading
) -> Measured:
    """Share of the surfaces within the tolerance; the released one counts in voxels."""
    how: tuple[surface.Definition, LengthUnit, float]
    if reading == "released":
        how = "edge-voxels", "voxels", use.released_tolerance_voxels
    else:
        name = comparison.reference.label_names[label - 1]
        how = use.definition, "mm", use.tolerance_of(name)
    value = comparison.once(("nsd", label, *how), lambda: comparison.surface_nsd(label, *how))
    return of_masks(value, comparison, label)


@scorer(surface.HD95)
def score_hd95(
    comparison: Comparison, label: int, use: surface.Hd95Options, _reading: Reading
) -> Measured:
    """95th percentile of the surface distances, by the convention asked for."""
    definition: surface.Definition = "surfel" if use.convention == "surfel" else "edge-voxels"
    pooled = use.convention == "edge-voxels-pooled"
    measure = surface.pooled_hd95_from_distances if pooled else surface.hd95_from_distances
    return _measured(comparison, label, definition, measure)


def _distance_scorer(
    measure: Callable[[surface.SurfaceDistances], float],
) -> Callable[[Comparison, int, Options, Reading], Measured]:
    """The scorer of a measure of the distances between the surfaces, by area, in mm."""

    def score(comparison: Comparison, label: int, _use: Options, _reading: Reading) -> Measured:
        return _measured(comparison, label, "surfel", measure)

    return score


def _measured(
    comparison: Comparison,
    label: int,
    definition: surface.Definition,
    measure: Callable[[surface.SurfaceDistances], float],
) -> Measured:
    """A measure of the distances in mm, taken once for all readings."""
    value = comparison.once(
        (measure.__name__, label, definition),
        lambda: measure(comparison.surface_distances(label, definition, "mm")),
    )
    return of_masks(value, comparison, label)


scorer(surface.HD)(_distance_scorer(surface.hd_from_distances))
scorer(surface.ASSD)(_distance_scorer(surface.assd_from_distances))
scorer(surface.MASD)(_distance_scorer(surface.masd_from_distances))
