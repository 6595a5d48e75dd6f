"""Scores of centrelines, parts and tunnels."""

from __future__ import annotations

import math
from dataclasses import asdict

from segjury.errors import InputError
from segjury.metrics import topology
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, measured_masks, scorer


@scorer(topology.CLDICE)
def score_cldice(
    comparison: Comparison, label: int, use: topology.ClDiceOptions, _reading: Reading
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


@scorer(topology.BETTI)
def score_betti(comparison: Comparison, label: int, _use: Options, _reading: Reading) -> Measured:
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


@scorer(topology.SMALL_RECALL)
def score_small_recall(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """Share of the centreline of the smallest vessels that is found; its parts tell of others."""
    try:
        centreline = comparison.reference_mask(label).centreline
    except InputError as error:  # nobody can be scored, so nobody is to blame
        return Measured(math.nan, f"the reference {error.what}")
    found = topology.radius_recall_of_centreline(centreline, comparison.prediction.of(label))
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
