"""The lesions of a label in reference and prediction, and which are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.benchmark.case import ReferenceCase
from segjury.consensus import RaterPatterns, union
from segjury.metrics import lesion_rules
from segjury.metrics.geometry.components import Components
from segjury.metrics.matching import Matched, Overlaps, match
from segjury.scoring.comparison import Comparison
from segjury.scoring.features import MaskFeatures


@dataclass(frozen=True)
class ReferenceLesions:
    """The lesions of a reference, how many of its raters see each, and which count."""

    components: Components
    seeing: Ints
    counted: Bools
    n_raters: int
    volumes_mm3: Floats


def reference_lesions(
    comparison: Comparison, label: int, use: lesion_rules.ComponentOptions
) -> ReferenceLesions:
    """The lesions of a label in the reference, found once for all methods."""
    reference = comparison.reference
    how = use.connectivity, use.smallest_mm3, use.lesions
    volume_mm3 = np.float64(reference.grid.voxel_volume_mm3)

    def find() -> tuple[Components, Ints]:
        mask = comparison.reference_mask(label)
        if use.lesions == "union":
            mask = MaskFeatures(partial(_marked_by_any, reference, label), reference.grid)
        found = mask.components(use.connectivity)
        found = found.at_least(lesion_rules.smallest_voxels(use, float(volume_mm3)))
        return found, lesion_rules.raters_seeing(found, _raters(reference, label))

    found, seeing = reference.memo.once(("lesions", label, *how), find)
    n_raters = reference.patterns.n_raters
    counted = np.ones(found.count, bool)
    if use.lesions == "union":
        counted = lesion_rules.counted_lesions(seeing, n_raters, use.seen_by)
    return ReferenceLesions(found, seeing, counted, n_raters, found.sizes * volume_mm3)


def _marked_by_any(reference: ReferenceCase, label: int) -> Ints:
    """The voxels that at least one rater gives a label."""
    return _voxels(reference.patterns, union(reference.patterns, label=label))


def _raters(reference: ReferenceCase, label: int) -> Iterator[Ints]:
    """The voxels that each rater gives a label."""
    for marked in reference.patterns.marked(label).T:
        yield _voxels(reference.patterns, marked)


def _voxels(patterns: RaterPatterns, chosen: Bools) -> Ints:
    """The voxels of some patterns; that in which nobody marks anything is none of them."""
    return patterns.marks.select(lambda codes: np.asarray(chosen[codes]))


def predicted_lesions(
    comparison: Comparison, label: int, use: lesion_rules.ComponentOptions
) -> Components:
    """The lesions of a label in the prediction."""
    found = comparison.predicted_mask(label).components(use.connectivity)
    voxel_mm3 = comparison.reference.grid.voxel_volume_mm3
    return found.at_least(lesion_rules.smallest_voxels(use, voxel_mm3))


def matched_lesions(
    comparison: Comparison, label: int, use: lesion_rules.ComponentOptions
) -> tuple[ReferenceLesions, Matched]:
    """The lesions of a label in the reference, and what became of them and of those predicted."""
    reference = reference_lesions(comparison, label, use)
    what = label, use.connectivity, use.smallest_mm3, use.lesions
    overlaps = comparison.once(
        ("lesion overlaps", *what),
        lambda: Overlaps.of(reference.components, predicted_lesions(comparison, label, use)),
    )
    matched = comparison.once(
        ("matched lesions", *what, use.seen_by, use.rule),
        lambda: match(overlaps, reference.counted, use.rule),
    )
    return reference, matched
