"""Overlap of masks: DSC and the threshold-averaged Thr-DSC."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, field_validator, model_validator

from segjury.metrics.inputs import as_map, as_masks, as_raters
from segjury.metrics.metric import Metric, Options, Reading, check_reading, check_shapes

__all__ = ["THRESHOLDS", "dsc", "thr_dsc"]

THRESHOLDS: tuple[float, ...] = tuple(np.linspace(0.1, 0.8, 6).tolist())
EPSILON = 1e-6  # in the denominator of the released and published forms

MOST_THRESHOLDS = 60  # each is a bit of a whole number


class DscOptions(Options):
    """Which voxels Dice looks at."""

    against: Literal["consensus", "agreement"] = Field(
        default="consensus",
        description="the consensus mask, or only voxels on which all raters agree",
    )
    epsilon: float = Field(
        default=0.0,
        ge=0,
        description="added to the denominator in the released and published readings",
    )

    def remark(self, reading: Reading) -> str:
        """Which voxels count."""
        if self.against == "consensus":
            return ""
        by_rows = ", as a mean over image rows instead of the volume"
        return f"where all raters agree{by_rows if reading == 'released' else ''}"


class ThresholdOptions(Options):
    """Where a probability map is cut."""

    thresholds: tuple[float, ...] = Field(
        default=THRESHOLDS,
        min_length=1,
        max_length=MOST_THRESHOLDS,
        description="list of cuts of the probability map, or { first, last, count } of even ones",
    )

    @field_validator("thresholds", mode="before")
    @classmethod
    def _even_steps(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.keys() != {"first", "last", "count"}:
            return given
        first, last, count = given["first"], given["last"], given["count"]
        if not isinstance(count, int) or not 1 <= count <= MOST_THRESHOLDS:
            raise ValueError(f"count must be a whole number from 1 to {MOST_THRESHOLDS}")
        if not all(isinstance(end, int | float) and 0 < end < 1 for end in (first, last)):
            raise ValueError("first and last must lie between 0 and 1")
        return tuple(np.linspace(first, last, count).tolist())

    @model_validator(mode="after")
    def _ascending(self) -> ThresholdOptions:
        if list(self.thresholds) != sorted(set(self.thresholds)):
            raise ValueError("thresholds must ascend")
        if not all(0 < t < 1 for t in self.thresholds):
            raise ValueError("thresholds must lie between 0 and 1")
        return self


DSC = Metric(
    name="dsc",
    options=DscOptions,
    title="Dice",
    formula="2|R ∧ P| / (|R| + |P|)",
    failure="human",
    summary="Dice of the binary prediction and the consensus of the raters.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
)
THR_DSC = Metric(
    name="thr_dsc",
    options=ThresholdOptions,
    title="Thr-Dice",
    formula="mean over t of Dice(mean of the raters > t, p > t)",
    needs_raters=True,
    failure="human",
    summary="Mean Dice of probability map and raters' mean, both cut at several thresholds.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    needs_probability=True,
)


def dsc(reference: ArrayLike, prediction: ArrayLike, *, reading: Reading = "corrected") -> float:
    """Dice similarity coefficient, `2|R ∧ P| / (|R| + |P|)`.

    `corrected`: two empty masks agree, 1. `released` and `published` add 1e-6 to the denominator,
    so two empty masks give 0. Source: CURVAS-PDACVI, supplementary 6.3.
    """
    check_reading(reading)
    r, p = as_masks(reference, prediction)
    return dsc_from_sizes(int(r.sum()), int(p.sum()), int((r & p).sum()), reading=reading)


def dsc_from_sizes(
    reference: int,
    prediction: int,
    common: int,
    *,
    reading: Reading = "corrected",
    epsilon: float = EPSILON,
) -> float:
    """`dsc` from the sizes of the two masks and of their intersection.

    `epsilon` is what the released and published readings add to the denominator; 0 is none.
    """
    total = reference + prediction + (0.0 if reading == "corrected" else epsilon)
    return 2.0 * common / total if total else 1.0


def thr_dsc(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    thresholds: ArrayLike = THRESHOLDS,
    reading: Reading = "corrected",
) -> float:
    """Mean over thresholds t of the Dice of `mean_k a_k > t` and `p > t`; two empty masks give 1.

    `raters` has shape (raters, ...). `released` and `published` add 1e-6 to the denominator.
    Source: CURVAS-PDACVI, supplementary 6.3.
    """
    check_reading(reading)
    masks, p = as_raters(raters, probability=probability), as_map(probability)
    check_shapes(masks, probability=p)
    cuts = np.asarray(thresholds, float)
    share = masks.mean(axis=0).reshape(-1)
    levels = threshold_levels(p.reshape(-1), cuts)
    joint = np.zeros((cuts.size + 1, cuts.size + 1), np.int64)
    np.add.at(joint, (threshold_levels(share, cuts), levels), 1)
    return thr_dsc_from_levels(joint, reading=reading)


def threshold_levels(values: NDArray[Any], thresholds: ArrayLike) -> NDArray[np.int64]:
    """How many thresholds each value exceeds (strictly, compared in float64)."""
    levels = np.zeros(values.shape, np.uint8)  # there are at most 60
    for threshold in np.asarray(thresholds, np.float64):
        levels += values > threshold
    return levels.astype(np.int64)


def thr_dsc_from_levels(joint: NDArray[np.int64], *, reading: Reading = "corrected") -> float:
    """`thr_dsc` from voxel counts by (level of the raters' mean, level of the probability)."""
    scores = []
    for level in range(1, joint.shape[0]):
        reference = int(joint[level:].sum())
        prediction = int(joint[:, level:].sum())
        common = int(joint[level:, level:].sum())
        both_empty = reference + prediction == 0
        scores.append(
            1.0 if both_empty else dsc_from_sizes(reference, prediction, common, reading=reading)
        )
    return float(np.mean(scores))


def pairwise_dsc(counts: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Dice of every pair of raters, from voxel counts per pattern; two empty masks give 1."""
    common = marked.T @ (counts[:, None] * marked)
    sizes = np.diag(common)
    total = sizes[:, None] + sizes[None, :]
    return np.asarray(np.where(total > 0, 2.0 * common / np.maximum(total, 1), 1.0))


def mean_pairwise_dsc(counts: NDArray[np.int64], marked: NDArray[np.bool_]) -> float:
    """Mean Dice over the pairs of raters; NaN for one rater."""
    pairs = pairwise_dsc(counts, marked)[np.triu_indices(marked.shape[1], 1)]
    return float(pairs.mean()) if pairs.size else float("nan")
