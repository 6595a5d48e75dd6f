"""Lesions as objects: which are found, which are none, and how well those found are drawn.

A lesion is a connected component of a mask. Those of the reference are the components of one mask
or, of several raters, of the union of their masks; each then counts if enough raters see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator, model_validator

from segjury.arrays import Bools, Floats, Ints, Spacing, nonzero_voxels
from segjury.metrics.geometry.components import Components, Connectivity, components
from segjury.metrics.geometry.dimension import three_axes, three_spacings
from segjury.metrics.inputs import as_mask, as_masks, as_raters, spacing_of
from segjury.metrics.matching import (
    Matched,
    Matching,
    MatchRule,
    Overlap,
    Overlaps,
    count_error_from,
    f1_from,
    match,
    pq_from,
    precision_from,
    recall_from,
)
from segjury.metrics.metric import Metric, Options, Reading, check_shapes

__all__ = [
    *("lesion_count_error", "lesion_f1", "lesion_precision", "lesion_recall", "pq"),
    "small_lesion_recall",
]

SAME_SIZE = 1e-6  # share by which a volume may miss a limit and still be at it
MOST_BINS = 20


class ComponentOptions(Options):
    """What is a lesion, and which ones of several raters count."""

    connectivity: Connectivity = Field(
        default="corners", description="what voxels of one lesion have at least in common"
    )
    smallest_mm3: float = Field(
        default=0.0, ge=0, description="components below it are dropped, on both sides"
    )
    lesions: Literal["consensus", "union"] = Field(
        default="consensus",
        description="those of the consensus, or components of the union of all raters' masks",
    )
    seen_by: int | None = Field(
        default=None,
        ge=1,
        description="`union`: raters who must see a lesion, or it is left out; half where absent",
    )

    @model_validator(mode="after")
    def _seen_by_raters(self) -> ComponentOptions:
        if self.seen_by is not None and self.lesions != "union":
            raise ValueError('seen_by counts raters, which needs lesions = "union"')
        return self

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule("any-overlap", threshold=0.0)

    def remark(self, _reading: Reading) -> str:
        """What is a lesion, where that is not the usual."""
        seen = "half of the raters" if self.seen_by is None else f"{self.seen_by} raters"
        return ", ".join(
            words
            for words, said in (
                (f"connected by {self.connectivity}", self.connectivity != "corners"),
                (f"lesions from {self.smallest_mm3:g} mm3", self.smallest_mm3 > 0),
                (f"lesions that {seen} see", self.lesions == "union"),
            )
            if said
        )


class LesionOptions(ComponentOptions):
    """When two lesions are the same."""

    matching: Matching = Field(
        default="one-to-one", description="whether a lesion may match several of the other side"
    )
    overlap: Overlap = Field(default="iou", description="what says how far two lesions overlap")
    threshold: float = Field(
        default=0.1, ge=0, lt=1, description="lesions match whose overlap is above it"
    )

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule(self.matching, self.overlap, self.threshold)

    def remark(self, reading: Reading) -> str:
        """How lesions match."""
        return ", ".join(filter(None, (self.matching, str(self.rule), super().remark(reading))))


class SmallLesionOptions(LesionOptions):
    """Which lesions are small."""

    size_bins_mm3: tuple[float, ...] = Field(
        default=(500.0, 5000.0),
        min_length=1,
        max_length=MOST_BINS,
        description="limits between classes of size; those up to the first are small",
    )

    @field_validator("size_bins_mm3")
    @classmethod
    def _ascending(cls, limits: tuple[float, ...]) -> tuple[float, ...]:
        if list(limits) != sorted(set(limits)) or not limits[0] > 0:
            raise ValueError("size_bins_mm3 must ascend, from above 0")
        return limits


class PqOptions(ComponentOptions):
    """When a lesion counts as found."""

    threshold: float = Field(
        default=0.5, ge=0, lt=1, description="lesions match whose overlap is above it"
    )

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule(threshold=self.threshold)

    def remark(self, reading: Reading) -> str:
        """How lesions match."""
        return ", ".join(filter(None, (str(self.rule), super().remark(reading))))


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


# ---- what counts ---------------------------------------------------------------------------


def smallest_voxels(options: ComponentOptions, voxel_mm3: float) -> float:
    """Voxels below which a component is dropped."""
    return options.smallest_mm3 * (1 - SAME_SIZE) / voxel_mm3


def raters_seeing(lesions: Components, raters: Iterable[Ints]) -> Ints:
    """How many raters see each lesion: mark a voxel of it. A rater is the voxels they mark."""
    seeing = np.zeros(lesions.count, np.int64)
    for voxels in raters:
        numbers = lesions.at(voxels)
        seeing[np.unique(numbers[numbers >= 0])] += 1
    return seeing


def counted_lesions(seeing: Ints, n_raters: int, seen_by: int | None) -> Bools:
    """Which lesions count: those that `seen_by` raters see, or at least half of them.

    Where there are fewer raters than `seen_by`, all of them must.
    """
    return np.asarray(seeing >= (min(seen_by, n_raters) if seen_by else (n_raters + 1) // 2))


def size_class(volumes_mm3: Floats, limits_mm3: tuple[float, ...]) -> Ints:
    """The class of size of each lesion, from 0; a volume at a limit is in the class below it."""
    return np.searchsorted(np.array(limits_mm3) * (1 + SAME_SIZE), volumes_mm3)


def size_class_names(limits_mm3: tuple[float, ...]) -> list[str]:
    """What the classes of size are called."""
    limits = [f"{limit:g}" for limit in limits_mm3]
    between = [f"{low} to {high} mm3" for low, high in pairwise(limits)]
    return [f"up to {limits[0]} mm3", *between, f"above {limits[-1]} mm3"]


def recalls_by_size(
    matched: Matched, volumes_mm3: Floats, limits_mm3: tuple[float, ...]
) -> list[tuple[float, int]]:
    """For each class of size, the share of its lesions that are found, and how many it has."""
    of_lesion = size_class(volumes_mm3, limits_mm3)
    classes = [matched.counted & (of_lesion == k) for k in range(len(limits_mm3) + 1)]
    counts = [(int((matched.found & here).sum()), int(here.sum())) for here in classes]
    return [(found / lesions if lesions else math.nan, lesions) for found, lesions in counts]


# ---- scores of masks -----------------------------------------------------------------------


def lesion_f1(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """F1 of lesions, `2PR / (P + R)`, P and R their precision and recall.

    One to one, that is `2 TP / (2 TP + FP + FN)`. 0 where there are lesions and none is found; NaN
    where the reference has none. With `lesions="union"`, `reference` is the masks of all raters.
    The options are those of `LesionOptions`: connectivity, smallest_mm3, lesions, seen_by,
    matching, overlap, threshold. Source: Maier-Hein et al., Nature Methods 2024 (the idea);
    Baumgartner et al., MICCAI 2021 (IoU 0.1).
    """
    chosen = LesionOptions.model_validate(options)
    return f1_from(_match(reference, prediction, spacing_mm, chosen)[0])


def lesion_recall(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """Share of the lesions that are found; NaN where the reference has none.

    Options as those of `lesion_f1`.
    """
    chosen = LesionOptions.model_validate(options)
    return recall_from(_match(reference, prediction, spacing_mm, chosen)[0])


def lesion_precision(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """Share of the predicted lesions that found one; NaN where either side has no lesion.

    Options as those of `lesion_f1`.
    """
    chosen = LesionOptions.model_validate(options)
    return precision_from(_match(reference, prediction, spacing_mm, chosen)[0])


def pq(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """Panoptic quality, `Σ IoU of the matches / (TP + FP/2 + FN/2)`.

    It is the mean IoU of the lesions found (segmentation quality) times the F1 of lesions
    (recognition quality). Matches are one to one; above an IoU of 0.5 no lesion could have two.
    NaN where the reference has no lesion. Options: connectivity, smallest_mm3, lesions, seen_by,
    threshold. Source: Kirillov et al., CVPR 2019.
    """
    return pq_from(_match(reference, prediction, spacing_mm, PqOptions.model_validate(options))[0])


def small_lesion_recall(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """Share of the small lesions that are found, those up to the first limit of `size_bins_mm3`.

    The lesions of the reference are classed; what finds them may have any size. NaN where the
    reference has no small one. Other options as those of `lesion_f1`.
    """
    chosen = SmallLesionOptions.model_validate(options)
    matched, volumes_mm3 = _match(reference, prediction, spacing_mm, chosen)
    return recalls_by_size(matched, volumes_mm3, chosen.size_bins_mm3)[0][0]


def lesion_count_error(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    **options: Any,
) -> float:
    """Difference in the numbers of lesions, `|n(P) - n(R)|`, whether or not they match.

    Of several raters (`lesions="union"`), what touches only lesions that too few of them see is
    left out. Options: connectivity, smallest_mm3, lesions, seen_by.
    """
    chosen = ComponentOptions.model_validate(options)
    return count_error_from(_match(reference, prediction, spacing_mm, chosen)[0])


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
    lesions, counted = lesions_of(raters, voxel_mm3, options)
    found = components(
        nonzero_voxels(mask), three_axes(mask.shape, "prediction"), options.connectivity
    )
    overlaps = Overlaps.of(lesions, found.at_least(smallest_voxels(options, voxel_mm3)))
    volumes_mm3 = lesions.sizes * np.float64(voxel_mm3)
    return match(overlaps, counted, options.rule), volumes_mm3


def voxel_volume_mm3(given: Spacing | None, shape: tuple[int, ...], *images: Any) -> float:
    """The volume of a voxel, by the spacing given or that of the first image that has one."""
    each = [one for image in images for one in (image if isinstance(image, list) else [image])]
    return math.prod(three_spacings(given or spacing_of(*each), three_axes(shape, "reference")))


def lesions_of(
    raters: Bools, voxel_mm3: float, options: ComponentOptions
) -> tuple[Components, Bools]:
    """The components of the union of some masks, of one or several raters, and which count."""
    shape = three_axes(raters.shape[1:], "reference")
    union: Bools = np.logical_or.reduce(raters)
    found = components(nonzero_voxels(union), shape, options.connectivity)
    found = found.at_least(smallest_voxels(options, voxel_mm3))
    seeing = raters_seeing(found, map(nonzero_voxels, raters))
    return found, counted_lesions(seeing, len(raters), options.seen_by)
