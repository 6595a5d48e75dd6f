"""Scores of the shapes of masks: surfaces, distances between voxels, centres, and topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from segjury.metrics import distances, surface, topology
from segjury.metrics.metric import Reading
from segjury.metrics.moments import mahalanobis_from
from segjury.protocols import options as form
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, measured_masks

LabelScorer = Callable[[Comparison, int, Any, Reading], Measured]


def _of_masks(
    value: float, comparison: Comparison, label: int, parts: tuple[Component, ...] = ()
) -> Measured:
    counts = comparison.confusion(label)
    return measured_masks(value, counts.reference, counts.prediction, parts)


# ---- surfaces ------------------------------------------------------------------------------


def score_nsd(comparison: Comparison, label: int, use: form.Nsd, reading: Reading) -> Measured:
    """Share of the surfaces within the tolerance; the released one counts in voxels."""
    if reading == "released":
        found = comparison.surface_distances(label, "edge-voxels", "voxels")
        tolerance = use.released_tolerance_voxels
    else:
        found = comparison.surface_distances(label, use.definition, "mm")
        tolerance = use.tolerance_mm
    return _of_masks(surface.nsd_from_distances(found, tolerance), comparison, label)


def surface_scorer(measure: Callable[[surface.SurfaceDistances], float]) -> LabelScorer:
    """The scorer of a measure of the distances between the surfaces, by area, in mm."""

    def scorer(comparison: Comparison, label: int, _use: Any, _reading: Reading) -> Measured:
        found = comparison.surface_distances(label, "surfel", "mm")
        return _of_masks(measure(found), comparison, label)

    return scorer


def score_hd95(comparison: Comparison, label: int, use: form.Hd95, _reading: Reading) -> Measured:
    """95th percentile of the surface distances, by the convention asked for."""
    definition: surface.Definition = "surfel" if use.convention == "surfel" else "edge-voxels"
    found = comparison.surface_distances(label, definition, "mm")
    pooled = use.convention == "edge-voxels-pooled"
    measure = surface.pooled_hd95_from_distances if pooled else surface.hd95_from_distances
    return _of_masks(measure(found), comparison, label)


# ---- voxels --------------------------------------------------------------------------------


def voxel_scorer(measure: Callable[[distances.VoxelDistances], float]) -> LabelScorer:
    """The scorer of a measure of the distances between all voxels of the masks."""

    def scorer(
        comparison: Comparison, label: int, use: form.VoxelDistance, _reading: Reading
    ) -> Measured:
        found = comparison.voxel_distances(label, use.unit)
        sums = {"missed": found.missed, "added": found.added}
        parts = tuple(Component("sum of distances", item, total) for item, total in sums.items())
        return _of_masks(measure(found), comparison, label, parts)

    return scorer


def score_mahalanobis(
    comparison: Comparison, label: int, _use: form.Plain, _reading: Reading
) -> Measured:
    """Distance of the masks' centres relative to their extent."""
    value = mahalanobis_from(
        comparison.reference_mask(label).moments, comparison.predicted_mask(label).moments
    )
    return _of_masks(value, comparison, label)


# ---- topology ------------------------------------------------------------------------------


def score_cldice(
    comparison: Comparison, label: int, use: form.ClDice, _reading: Reading
) -> Measured:
    """Dice of the centrelines."""
    reference, prediction = comparison.reference_mask(label), comparison.predicted_mask(label)
    ours, theirs = reference.skeleton(use.thinning), prediction.skeleton(use.thinning)
    # Listed only now: thinning a large mask needs the memory.
    masks = reference.voxels(), prediction.voxels()
    value = topology.cldice_from_skeletons(
        *masks, reference_skeleton=ours, prediction_skeleton=theirs
    )
    parts = (
        Component("centreline voxels", "reference", float(ours.size)),
        Component("centreline voxels", "prediction", float(theirs.size)),
        Component(
            "centreline share in the other mask", "reference", topology.share(ours, masks[1])
        ),
        Component(
            "centreline share in the other mask", "prediction", topology.share(theirs, masks[0])
        ),
    )
    return measured_masks(value, ours.size, theirs.size, parts, of="centreline of the ")


def score_betti(
    comparison: Comparison, label: int, _use: form.Plain, _reading: Reading
) -> Measured:
    """Difference in components, tunnels and cavities."""
    reference, prediction = (
        mask.betti for mask in (comparison.reference_mask(label), comparison.predicted_mask(label))
    )
    parts = [
        Component(quantity, item, float(count))
        for item, numbers in (("reference", reference), ("prediction", prediction))
        for quantity, count in asdict(numbers).items()
    ]
    return Measured(topology.betti_error(reference, prediction), parts=tuple(parts))


def score_small_recall(
    comparison: Comparison, label: int, _use: form.Plain, _reading: Reading
) -> Measured:
    """Share of the centreline of the smallest vessels that is found; its parts tell of others."""
    found = topology.radius_recall_of_centreline(
        comparison.reference_mask(label).centreline, comparison.prediction.of(label)
    )
    parts = [
        part
        for calibre, recall, length in zip(
            topology.CALIBRES, found.recall, found.centreline_voxels, strict=True
        )
        for part in (
            Component("centreline recall", calibre, recall),
            Component("centreline voxels", calibre, float(length)),
        )
    ]
    note = "" if found.centreline_voxels[0] else "the reference has no vessel 1-2 voxels wide"
    return Measured(found.small, note, tuple(parts))
