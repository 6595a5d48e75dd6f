"""Ratios of the counts of two masks: overlap, sizes and error rates.

Unless a docstring says otherwise, the numbers are those of the EvaluateSegmentation tool (Taha and
Hanbury 2015), which refuses an empty mask.
"""

from __future__ import annotations

import math
from functools import partial

from pydantic import Field

from segjury.metrics.confusion import (
    TOOL_RANGE,
    Confusion,
    Convention,
    check_convention,
    declared_measures,
    on_masks,
    ratio,
)
from segjury.metrics.metric import Metric, Options

__all__ = [
    "accuracy",
    "auc",
    "dice",
    "f_beta",
    "fallout",
    "false_negative_rate",
    "jaccard",
    "precision",
    "probabilistic_distance",
    "sensitivity",
    "specificity",
    "volsim",
]

_share = partial(Metric, bounds=(0.0, 1.0))
_overlap = partial(_share, direction="higher", symmetric=True)
_rate = partial(_share, direction="higher")
_error_rate = partial(_share, direction="lower")


class FBetaOptions(Options):
    """How much sensitivity counts."""

    beta: float = Field(default=1.0, gt=0, description="weight of the sensitivity")


DICE = _overlap(
    name="dice",
    title="Dice",
    formula="2TP / (2TP + FP + FN)",
    failure="human",
    summary="Overlap of the two masks relative to their mean size.",
    decimals=3,
)
JACCARD = _overlap(
    name="jaccard",
    title="Jaccard",
    formula="TP / (TP + FP + FN)",
    summary="Intersection of the two masks relative to their union.",
    decimals=3,
)
VOLSIM = _overlap(
    name="volsim",
    title="Volume similarity",
    formula="1 - |FN - FP| / (2TP + FP + FN)",
    summary="Similarity of the sizes of the two masks, wherever they lie.",
    decimals=3,
)
PROBABILISTIC_DISTANCE = Metric(
    name="probabilistic_distance",
    title="Probabilistic distance",
    formula="(FP + FN) / 2TP",
    summary="Voxels of one mask only relative to twice the common ones.",
    direction="lower",
    bounds=(0.0, math.inf),
    symmetric=True,
    needs_voxels=True,
)
SENSITIVITY = _rate(
    name="sensitivity",
    title="Sensitivity",
    formula="TP / (TP + FN)",
    summary="Share of the reference that is predicted.",
)
SPECIFICITY = _rate(
    name="specificity",
    title="Specificity",
    formula="TN / (TN + FP)",
    summary="Share of the voxels outside the reference that are not predicted.",
)
PRECISION = _rate(
    name="precision",
    title="Precision",
    formula="TP / (TP + FP)",
    summary="Share of the prediction that is in the reference.",
)
F_BETA = _rate(
    name="f_beta",
    options=FBetaOptions,
    title="F-measure",
    formula="(1 + β²) TP / ((1 + β²) TP + β² FN + FP)",
    summary="Weighted harmonic mean of precision and sensitivity; with weight 1 it is Dice.",
)
AUC = _rate(
    name="auc",
    title="AUC",
    formula="(sensitivity + specificity) / 2",
    summary="Area under the ROC curve through the one point of a mask: the balanced accuracy.",
)
ACCURACY = _overlap(
    name="accuracy",
    title="Accuracy",
    formula="(TP + TN) / N",
    summary="Share of all voxels on which the two masks agree.",
)
FALLOUT = _error_rate(
    name="fallout",
    title="Fallout",
    formula="FP / (FP + TN)",
    summary="Share of the voxels outside the reference that are predicted.",
)
FALSE_NEGATIVE_RATE = _error_rate(
    name="false_negative_rate",
    title="False negative rate",
    formula="FN / (FN + TP)",
    summary="Share of the reference that is not predicted.",
)


def dice_from(counts: Confusion) -> float:
    """Dice coefficient, `2TP / (2TP + FP + FN)`; NaN where a mask is empty."""
    if not counts.both_masks:
        return math.nan
    return ratio(2 * counts.tp, counts.reference + counts.prediction)


def jaccard_from(counts: Confusion) -> float:
    """Jaccard index, `TP / (TP + FP + FN)`; NaN where a mask is empty."""
    if not counts.both_masks:
        return math.nan
    return ratio(counts.tp, counts.tp + counts.differing)


def volsim_from(counts: Confusion) -> float:
    """Volumetric similarity, `1 - |FN - FP| / (2TP + FP + FN)`; NaN where a mask is empty.

    It compares sizes only: two masks of one size score 1 wherever they lie.
    """
    if not counts.both_masks:
        return math.nan
    both = counts.reference + counts.prediction
    return ratio(both - abs(counts.fn - counts.fp), both)


def probabilistic_distance_from(counts: Confusion, *, convention: Convention = "standard") -> float:
    """Probabilistic distance of two masks, `(FP + FN) / 2TP`, that is 1/Dice - 1.

    NaN where the masks do not meet. `evaluatesegmentation`: the tool's PROBDST, 255 times
    smaller, and -1 where the masks do not meet. Source: Gerig et al. 2001.
    """
    check_convention(convention)
    if convention == "evaluatesegmentation":
        return ratio(counts.differing, 2 * counts.tp * TOOL_RANGE) if counts.tp else -1.0
    return ratio(counts.differing, 2 * counts.tp)


def sensitivity_from(counts: Confusion) -> float:
    """Sensitivity or recall, `TP / (TP + FN)`; NaN where the reference is empty."""
    return ratio(counts.tp, counts.reference)


def specificity_from(counts: Confusion) -> float:
    """Specificity, `TN / (TN + FP)`; NaN where the reference fills the image."""
    return ratio(counts.tn, counts.tn + counts.fp)


def fallout_from(counts: Confusion) -> float:
    """Fallout or false positive rate, `FP / (TN + FP)`; NaN where the reference fills the image."""
    return ratio(counts.fp, counts.tn + counts.fp)


def false_negative_rate_from(counts: Confusion) -> float:
    """False negative rate, `FN / (TP + FN)`; NaN where the reference is empty."""
    return ratio(counts.fn, counts.reference)


def precision_from(counts: Confusion) -> float:
    """Precision, `TP / (TP + FP)`; NaN where only the prediction is empty, 1 where both masks are.

    Nothing is wrong with an empty prediction of an empty reference.
    """
    return 1.0 if counts.both_empty else ratio(counts.tp, counts.prediction)


def accuracy_from(counts: Confusion) -> float:
    """Accuracy, `(TP + TN) / voxels`; NaN for an image without voxels."""
    return ratio(counts.tp + counts.tn, counts.voxels)


def auc_from(counts: Confusion) -> float:
    """Area under the ROC curve through one point, `(sensitivity + specificity) / 2`.

    A mask is one operating point, so the curve is two straight lines; this is the balanced
    accuracy. NaN where the reference is empty or fills the image.
    """
    return (sensitivity_from(counts) + specificity_from(counts)) / 2


def f_beta_from(counts: Confusion, *, beta: float = 1.0) -> float:
    """F-measure, `(1 + β²)TP / ((1 + β²)TP + β²FN + FP)`; β is the weight of sensitivity.

    For β = 1 it is Dice, but 0 where just one mask is empty, and 1 where both are; for β = 0 it is
    precision, NaN where only the prediction is empty.
    """
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta is {beta}, expected a finite number from 0 up")
    if counts.both_empty:
        return 1.0
    weight = beta * beta
    right = (1 + weight) * counts.tp
    whole = right + weight * counts.fn + counts.fp
    return right / whole if whole else math.nan


dice = on_masks(dice_from)
jaccard = on_masks(jaccard_from)
volsim = on_masks(volsim_from)
probabilistic_distance = on_masks(probabilistic_distance_from)
sensitivity = on_masks(sensitivity_from)
specificity = on_masks(specificity_from)
fallout = on_masks(fallout_from)
false_negative_rate = on_masks(false_negative_rate_from)
precision = on_masks(precision_from)
accuracy = on_masks(accuracy_from)
auc = on_masks(auc_from)
f_beta = on_masks(f_beta_from)

RATIOS = declared_measures(globals())
