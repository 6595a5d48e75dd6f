"""Lesions as objects: which are found, which are none, and how well those found are drawn.

A lesion is a connected component of a mask. Those of the reference are the components of one mask
or, of several raters, of the union of their masks; each then counts if enough raters see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Floats, Spacing, nonzero_voxels
from segjury.metrics.geometry.components import Connectivity, components
from segjury.metrics.geometry.dimension import three_axes
from segjury.metrics.inputs import as_mask, as_masks, as_raters
from segjury.metrics.lesion_rules import (
    SIZE_BINS_MM3,
    ComponentOptions,
    Drawn,
    LesionOptions,
    PqOptions,
    SmallLesionOptions,
    lesions_of,
    size_class,
    smallest_voxels,
    voxel_volume_mm3,
)
from segjury.metrics.matching import (
    Matched,
    Matching,
    Overlap,
    Overlaps,
    count_error_from,
    f1_from,
    match,
    pq_from,
    precision_from,
    recall_from,
)
from segjury.metrics.metric import Metric, check_shapes

__all__ = [
    *("lesion_count_error", "lesion_f1", "lesion_precision", "lesion_recall", "pq"),
    "small_lesion_recall",
]

LESION_F1 = Metric(
    name="lesion_f1",
    options=LesionOptions,
    title="Lesion F1",
    formula="2PR / (P + R), P and R the precision and recall of lesions",
    summary="Harmonic mean of the shares of lesions that are found, and of predicted ones that "
    "are lesions.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
    readings=("corrected",),
)
LESION_RECALL = Metric(
    name="lesion_recall",
    options=LesionOptions,
    title="Lesion recall",
    formula="lesions found / lesions",
    summary="Share of the lesions that are found.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    readings=("corrected",),
)
LESION_PRECISION = Metric(
    name="lesion_precision",
    options=LesionOptions,
    title="Lesion precision",
    formula="predicted lesions that found one / predicted lesions",
    summary="Share of the predicted lesions that are lesions.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    readings=("corrected",),
)
PQ = Metric(
    name="pq",
    options=PqOptions,
    title="Panoptic quality",
    formula="Σ IoU of matches / (TP + FP/2 + FN/2)",
    summary="Recognition of lesions (their F1) times how well those found are drawn (mean IoU).",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
    readings=("corrected",),
)
SMALL_LESION_RECALL = Metric(
    name="small_lesion_recall",
    options=SmallLesionOptions,
    title="Small-lesion recall",
    formula="small lesions found / small lesions",
    summary="Share of the small lesions that are found.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    scales_with="otherwise",
    readings=("corrected",),
)
LESION_COUNT_ERROR = Metric(
    name="lesion_count_error",
    options=ComponentOptions,
    title="Lesion count error",
    formula="|predicted lesions - lesions|",
    summary="Difference in the numbers of lesions.",
    direction="lower",
    bounds=(0.0, math.inf),
    decimals=1,
    symmetric=True,
    readings=("corrected",),
)


def lesion_f1(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    matching: Matching = "one-to-one",
    overlap: Overlap = "iou",
    threshold: float = 0.1,
) -> float:
    """F1 of lesions, `2PR / (P + R)`, P and R their precision and recall.

    One to one, that is `2 TP / (2 TP + FP + FN)`. 0 where there are lesions and none is found; NaN
    where the reference has none. With `lesions="union"`, `reference` is the masks of all raters.
    `LesionOptions` says what the options mean. Source: Maier-Hein et al., Nature Methods 2024;
    IoU above 0.1 after Baumgartner et al., MICCAI 2021.
    """
    options = LesionOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        matching=matching,
        overlap=overlap,
        threshold=threshold,
    )
    matched, _ = _match(reference, prediction, spacing_mm, options)
    return f1_from(matched)


def lesion_recall(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    matching: Matching = "one-to-one",
    overlap: Overlap = "iou",
    threshold: float = 0.1,
) -> float:
    """Share of the lesions that are found; NaN where the reference has none.

    Options and source as of `lesion_f1`.
    """
    options = LesionOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        matching=matching,
        overlap=overlap,
        threshold=threshold,
    )
    matched, _ = _match(reference, prediction, spacing_mm, options)
    return recall_from(matched)


def lesion_precision(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    matching: Matching = "one-to-one",
    overlap: Overlap = "iou",
    threshold: float = 0.1,
) -> float:
    """Share of the predicted lesions that found one; NaN where either side has no lesion.

    Options and source as of `lesion_f1`.
    """
    options = LesionOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        matching=matching,
        overlap=overlap,
        threshold=threshold,
    )
    matched, _ = _match(reference, prediction, spacing_mm, options)
    return precision_from(matched)


def pq(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    threshold: float = 0.5,
) -> float:
    """Panoptic quality, `Σ IoU of the matches / (TP + FP/2 + FN/2)`.

    It is the mean IoU of the lesions found (segmentation quality) times the F1 of lesions
    (recognition quality). Matches are one to one; above an IoU of 0.5 no lesion could have two.
    NaN where the reference has no lesion. Source: Kirillov et al., CVPR 2019.
    """
    options = PqOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        threshold=threshold,
    )
    matched, _ = _match(reference, prediction, spacing_mm, options)
    return pq_from(matched)


def small_lesion_recall(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    matching: Matching = "one-to-one",
    overlap: Overlap = "iou",
    threshold: float = 0.1,
    size_bins_mm3: Sequence[float] = SIZE_BINS_MM3,
) -> float:
    """Share of the small lesions that are found, those up to the first limit of `size_bins_mm3`.

    The lesions of the reference are classed; what finds them may have any size. NaN where the
    reference has no small one. Other options as of `lesion_f1`.
    """
    options = SmallLesionOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        matching=matching,
        overlap=overlap,
        threshold=threshold,
        size_bins_mm3=tuple(size_bins_mm3),
    )
    matched, volumes_mm3 = _match(reference, prediction, spacing_mm, options)
    return recalls_by_size(matched, volumes_mm3, options.size_bins_mm3)[0][0]


def lesion_count_error(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
) -> float:
    """Difference in the numbers of lesions, `|n(P) - n(R)|`, whether or not they match.

    Of several raters (`lesions="union"`), what touches only lesions that too few of them see is
    left out.
    """
    options = ComponentOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
    )
    matched, _ = _match(reference, prediction, spacing_mm, options)
    return count_error_from(matched)


def _match(
    reference: ArrayLike,
    prediction: ArrayLike,
    spacing_mm: Spacing | None,
    options: ComponentOptions,
) -> tuple[Matched, Floats]:
    """The lesions of two masks matched, and the volumes of those of the reference."""
    if options.lesions == "union":
        raters, mask = (
            as_raters(reference, prediction=prediction),
            as_mask(prediction, "prediction"),
        )
    else:
        one, mask = as_masks(reference, prediction)
        raters = one[None]
    check_shapes(raters, prediction=mask)
    voxel_mm3 = voxel_volume_mm3(spacing_mm, mask.shape, reference, prediction)
    known, counted = lesions_of(raters, voxel_mm3, options)
    found = components(
        nonzero_voxels(mask), three_axes(mask.shape, "prediction"), options.connectivity
    )
    overlaps = Overlaps.of(known, found.at_least(smallest_voxels(options, voxel_mm3)))
    volumes_mm3 = known.sizes * np.float64(voxel_mm3)
    return match(overlaps, counted, options.rule), volumes_mm3


def recalls_by_size(
    matched: Matched, volumes_mm3: Floats, limits_mm3: tuple[float, ...]
) -> list[tuple[float, int]]:
    """For each class of size, the share of its lesions that are found, and how many it has."""
    of_lesion = size_class(volumes_mm3, limits_mm3)
    classes = [matched.counted & (of_lesion == k) for k in range(len(limits_mm3) + 1)]
    counts = [(int((matched.found & here).sum()), int(here.sum())) for here in classes]
    return [(found / lesions if lesions else math.nan, lesions) for found, lesions in counts]
