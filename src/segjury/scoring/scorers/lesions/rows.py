"""What became of each lesion, for the table of details."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from segjury.arrays import Floats
from segjury.metrics import lesion_rules
from segjury.metrics.matching import Matched
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.lesions.matched import ReferenceLesions, predicted_lesions
from segjury.scoring.scorers.measured import Component

MOST_LISTED = 200  # lesions of a kind; the others are only counted


def counts(matched: Matched) -> list[Component]:
    """How many lesions there are of each kind."""
    counts = {
        "reference": matched.reference,
        "found": matched.true_positives,
        "prediction": matched.prediction,
        "false positives": int(matched.false_positive.sum()),
    }
    if not matched.counted.all() or matched.ignored.any():
        counts["disputed"] = int((~matched.counted).sum())
        counts["ignored"] = int(matched.ignored.sum())
    return [Component("lesions", item, float(count)) for item, count in counts.items()]


def listed_lesions(
    reference: ReferenceLesions, about: Mapping[str, Floats], counted: Mapping[str, Floats]
) -> list[Component]:
    """Rows of each lesion of the reference, the largest first, and how many are not listed.

    `about` has numbers of every lesion, `counted` those of lesions that count.
    """
    rows = []
    for k, counts in enumerate(reference.counted[:MOST_LISTED].tolist()):
        item = f"lesion {k + 1}" if counts else f"disputed lesion {k + 1}"
        said = {**about, **counted} if counts else about
        rows += [Component(quantity, item, float(values[k])) for quantity, values in said.items()]
    return rows + not_listed("reference", reference.components.count)


def not_listed(item: str, count: int) -> list[Component]:
    """How many lesions are too many to have rows of their own, where there are such."""
    more = count - MOST_LISTED
    return [Component("lesions without rows", item, float(more))] if more > 0 else []


def volumes_and_raters(reference: ReferenceLesions) -> dict[str, Floats]:
    """The volume of each lesion, and, of several raters, how many see it."""
    found = {"lesion_volume_mm3": reference.volumes_mm3}
    if reference.n_raters > 1:
        found["lesion_raters"] = reference.seeing.astype(np.float64)
    return found


def of_reference(reference: ReferenceLesions, matched: Matched) -> list[Component]:
    """The volume of each lesion of the reference, who sees it, and whether and how it is found."""
    found = {"lesion_found": matched.found.astype(np.float64), "lesion_iou": matched.iou}
    return listed_lesions(reference, volumes_and_raters(reference), found)


def of_false_positives(
    comparison: Comparison, label: int, use: lesion_rules.ComponentOptions, matched: Matched
) -> list[Component]:
    """The volume of each predicted lesion that is none, the largest first."""
    wrong = np.flatnonzero(matched.false_positive)
    voxels = predicted_lesions(comparison, label, use).sizes[wrong[:MOST_LISTED]]
    volumes_mm3 = voxels * np.float64(comparison.reference.grid.voxel_volume_mm3)
    rows = [
        Component("lesion_volume_mm3", f"false positive {k}", volume)
        for k, volume in enumerate(volumes_mm3.tolist(), 1)
    ]
    return rows + not_listed("false positives", wrong.size)
