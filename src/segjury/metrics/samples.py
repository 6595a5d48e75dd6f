"""Sets of equally likely masks against several raters: energy distance, matchings, volumes.

A method that says how sure it is may answer with samples instead of a map: masks, each of which
could be the right one. Two sets of masks are compared, the raters' K and the samples' N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import Bools, Floats, Spacing, flat
from segjury.consensus import Overlaps, PackedMask, overlaps
from segjury.metrics.inputs import as_raters, as_samples, spacing_of
from segjury.metrics.metric import Metric, Options
from segjury.metrics.overlap import (
    MOST_THRESHOLDS,
    ThresholdOptions,
    thr_dsc_from_levels,
    threshold_levels,
)
from segjury.metrics.redrawn import mean_of_raters

__all__ = [
    "crps_samples",
    "dice_match",
    "dice_max",
    "dice_per_rater",
    "dice_soft",
    "ged",
    "hungarian_iou",
    "interval_score",
    "volume_coverage",
]

Estimator = Literal["biased", "fair"]
Average = Literal["raters", "samples"]

SOFT_THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
LEVEL = 0.9
COST_UNIT = 2.0**-20  # so small that the solver's tolerances, which are absolute, do not matter
DIGITS = 12


class GedOptions(Options):
    """How a distance within one set is averaged."""

    estimator: Estimator = Field(
        default="biased",
        description="mean distance within a set: over all pairs, each mask with itself too, or "
        "(fair) over pairs of different masks",
    )


class CrpsOptions(Options):
    """How the distance between samples is averaged."""

    estimator: Estimator = Field(
        default="fair",
        description="mean distance of two samples: over pairs of different ones (fair), or over "
        "all pairs, each sample with itself too",
    )


class DiceMaxOptions(Options):
    """Whose best partner counts."""

    average: Average = Field(
        default="raters",
        description="the best sample for each of the raters, or the best rater for each sample",
    )


class SoftDiceOptions(ThresholdOptions):
    """Where the two means are cut."""

    thresholds: tuple[float, ...] = Field(
        default=SOFT_THRESHOLDS,
        min_length=1,
        max_length=MOST_THRESHOLDS,
        description="list of cuts of both means, or { first, last, count } of even ones",
    )


class IntervalOptions(Options):
    """How wide the interval is."""

    level: float = Field(
        default=LEVEL, gt=0, lt=1, description="share of the volumes that an interval should hold"
    )


def _metric(**about: Any) -> Metric:
    """A metric of samples and raters; none of them has another reading than the corrected."""
    return Metric(needs_raters=True, needs_samples=True, readings=("corrected",), **about)


GED = _metric(
    name="ged",
    options=GedOptions,
    title="GED",
    formula="2 mean d(rater, sample) - mean d(sample, sample') - mean d(rater, rater'), "
    "d = 1 - IoU",
    summary="Energy distance of the samples from the raters' masks, with 1 - IoU between masks.",
    direction="lower",
    bounds=(0.0, 2.0),
    decimals=3,
    symmetric=True,
)
HUNGARIAN_IOU = _metric(
    name="hungarian_iou",
    title="HM-IoU",
    formula="mean IoU of raters and samples, repeated to equal numbers and matched one to one",
    summary="Mean IoU of raters and samples in the best matching that uses all of them equally.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
)
DICE_MAX = _metric(
    name="dice_max",
    options=DiceMaxOptions,
    from_raters=mean_of_raters,
    title="Dice max",
    formula="mean over raters of max over samples of Dice(rater, sample)",
    summary="Dice of each rater with the sample that fits best, mean over the raters.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
)
DICE_MATCH = _metric(
    name="dice_match",
    title="Dice match",
    formula="max over one-to-one matchings of the mean over raters of Dice(rater, its sample)",
    summary="Dice of each rater with a sample of their own, in the best such matching.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
)
DICE_SOFT = _metric(
    name="dice_soft",
    options=SoftDiceOptions,
    title="Soft Dice",
    formula="mean over t of Dice(mean of the raters > t, mean of the samples > t)",
    summary="Mean Dice of the samples' mean and the raters' mean, both cut at several thresholds.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
)
DICE_PER_RATER = _metric(
    name="dice_per_rater",
    from_raters=mean_of_raters,
    title="Dice per rater",
    formula="mean over k of Dice(rater k, sample k)",
    summary="Dice of each rater with the sample that was made for them, mean over the raters.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
)
CRPS_SAMPLES = _metric(
    name="crps_samples",
    options=CrpsOptions,
    from_raters=mean_of_raters,
    title="CRPS of samples",
    formula="mean over raters of mean |V_i - y| - Σ |V_i - V_j| / (2N(N-1))",
    summary="CRPS of the samples' volumes and each rater's volume, mean over the raters.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="cm3",
    decimals=3,
    scales_with="volume",
)
VOLUME_COVERAGE = _metric(
    name="volume_coverage",
    options=IntervalOptions,
    from_raters=mean_of_raters,
    title="Volume coverage",
    formula="share of the raters' volumes in the central interval of the samples' volumes",
    summary="Share of the raters whose volume lies in the central interval of the samples'.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    ranked=False,  # an interval that holds everything covers all raters
)
INTERVAL_SCORE = _metric(
    name="interval_score",
    options=IntervalOptions,
    from_raters=mean_of_raters,
    title="Interval score",
    formula="mean over raters of u - l + 2/(1 - level) · distance of y from [l, u]",
    summary="Width of the central interval of the samples' volumes, and how far raters are off it.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="cm3",
    decimals=3,
    scales_with="volume",
    ranked=False,  # beside the CRPS of the same volumes it would count them twice
)


# ---- energy distance and matchings ---------------------------------------------------------


def ged(raters: ArrayLike, samples: ArrayLike, *, estimator: Estimator = "biased") -> float:
    """Generalised energy distance, `2 E d(Y, S) - E d(S, S') - E d(Y, Y')` with d = 1 - IoU.

    Y is any rater's mask (K, x, y, z) and S any sample (N, x, y, z); d of two empty masks is 0. The
    square root is not taken. `biased`: a mean within a set runs over all pairs, each mask with
    itself too, as papers print it; never negative, and 0 where both sets hold the same masks with
    the same shares. `fair`: over pairs of different masks, so that its mean does not depend on how
    many samples are drawn; may be negative, and a set of one mask has no spread. Always defined.
    Source: Székely and Rizzo, J. Stat. Plan. Inference 2013; Kohl et al., NeurIPS 2018.
    """
    counts = _counted(raters, samples)
    return ged_from_overlaps(counts, estimator=_checked_estimator(estimator))


def ged_from_overlaps(counts: Overlaps, *, estimator: Estimator = "biased") -> float:
    """`ged` from the voxels that each two masks share."""
    across, within_samples, within_raters = mean_distances(counts, estimator=estimator)
    distance = 2 * across - within_samples - within_raters
    return max(0.0, distance) if estimator == "biased" else distance  # but for rounding


def mean_distances(counts: Overlaps, *, estimator: Estimator) -> tuple[float, float, float]:
    """Mean of 1 - IoU over pairs of a rater and a sample, of two samples, of two raters."""
    distances, k = 1 - _iou(counts), counts.n_raters
    across, raters, samples = distances[:k, k:], distances[:k, :k], distances[k:, k:]

    def within(between: Floats) -> float:
        n = len(between)
        pairs = n * n if estimator == "biased" else n * (n - 1)
        return _sum(between) / pairs if pairs else 0.0  # a mask has no distance from itself

    return _sum(across) / across.size, within(samples), within(raters)


def hungarian_iou(raters: ArrayLike, samples: ArrayLike) -> float:
    """Hungarian-matched IoU: the mean IoU of the best matching of raters and samples.

    Both sets are repeated to the least common multiple of their sizes and matched one to one so
    that the sum of IoUs is largest; IoU of two empty masks is 1. Always defined.
    Source: Kohl et al., A Hierarchical Probabilistic U-Net, 2019.
    """
    return hungarian_iou_from_overlaps(_counted(raters, samples))


def hungarian_iou_from_overlaps(counts: Overlaps) -> float:
    """`hungarian_iou` from the voxels that each two masks share."""
    iou = _iou(counts)[: counts.n_raters, counts.n_raters :]
    shares = _transport(iou)
    # What the solver chooses among matchings that are equally good shows in the last digits alone.
    return round(_sum(shares * iou) / math.lcm(*iou.shape), DIGITS)


def _transport(gain: Floats) -> Floats:
    """How often each row is matched with each column, where the sum of gains is largest.

    Rows and columns are repeated to the least common multiple of their numbers. Repetitions of a
    row do not differ, so that only how many go where is to be found: a transportation problem,
    whose corners are whole numbers.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n_rows, n_columns = gain.shape
    each_row, each_column = np.ones((1, n_columns)), np.ones((1, n_rows))
    sums: Any = vstack([kron(eye_array(n_rows), each_row), kron(each_column, eye_array(n_columns))])
    copies = math.lcm(n_rows, n_columns)
    wanted = np.concatenate(
        [np.full(n_rows, copies // n_rows), np.full(n_columns, copies // n_columns)]
    )
    costs = -gain.reshape(-1) / COST_UNIT
    found = linprog(costs, A_eq=sums.tocsc(), b_eq=wanted, method="highs-ds")
    if found.x is None:
        raise RuntimeError(f"no matching was found: {found.message}")
    shares = np.rint(found.x)
    if (sums @ shares != wanted).any():
        raise RuntimeError("the matching found does not use all masks equally")
    return np.asarray(shares.reshape(gain.shape))


# ---- Dice ----------------------------------------------------------------------------------


def dice_max(raters: ArrayLike, samples: ArrayLike, *, average: Average = "raters") -> float:
    """Mean over raters of the best Dice with any sample; Dice of two empty masks is 1.

    Never falls when a sample is added. `average="samples"`: the mean over samples of the best Dice
    with any rater, so that one right sample, repeated, is enough. Always defined.
    Source: Wu et al., CVPR 2024, whose program averages over the samples.
    """
    if average not in get_args(Average):
        raise ValueError(f"average is {average!r}, expected raters or samples")
    best = best_dice(_counted(raters, samples), average=average)
    return _sum(best) / best.size


def best_dice(counts: Overlaps, *, average: Average = "raters") -> Floats:
    """Each rater's Dice with the best sample, or each sample's with the best rater."""
    return np.asarray(_dice(counts).max(axis=1 if average == "raters" else 0))


def dice_match(raters: ArrayLike, samples: ArrayLike) -> float:
    """Mean over raters of Dice with a sample of their own, in the matching where it is largest.

    No sample is used twice; where there are fewer than raters, those left without one have Dice 0.
    Dice of two empty masks is 1. Always defined. Source: Wu et al., CVPR 2024.
    """
    each = matched_dice(_counted(raters, samples))
    return _sum(each) / each.size


def matched_dice(counts: Overlaps) -> Floats:
    """Each rater's Dice in the best matching; 0 for those without a sample."""
    from scipy.optimize import linear_sum_assignment

    each, dice = np.zeros(counts.n_raters), _dice(counts)
    rows, columns = linear_sum_assignment(dice, maximize=True)
    each[rows] = dice[rows, columns]
    return each


def dice_soft(
    raters: ArrayLike, samples: ArrayLike, *, thresholds: ArrayLike = SOFT_THRESHOLDS
) -> float:
    """Mean over thresholds t of the Dice of `mean of the raters > t` and `mean of the samples > t`.

    Two empty masks give 1. Always defined. A share that equals a threshold does not exceed it.
    Source: Wu et al., CVPR 2024, with five thresholds; QUBIQ 2020 and 2021 with nine, 0.1 to 0.9.
    """
    return dice_soft_from_overlaps(_counted(raters, samples), thresholds=thresholds)


def dice_soft_from_overlaps(counts: Overlaps, *, thresholds: ArrayLike) -> float:
    """`dice_soft` from the voxels by number of raters and of samples."""
    cuts = np.round(np.asarray(thresholds, np.float64), DIGITS)  # even steps are not quite decimals
    k, n = counts.n_raters, counts.n_samples
    levels = [threshold_levels(np.arange(size + 1) / size, cuts) for size in (k, n)]
    joint = np.zeros((cuts.size + 1, cuts.size + 1), np.int64)
    np.add.at(joint, (levels[0][:, None], levels[1][None, :]), counts.votes)
    return thr_dsc_from_levels(joint)


def dice_per_rater(raters: ArrayLike, samples: ArrayLike) -> float:
    """Mean over k of the Dice of rater k and sample k, of samples made for one rater each.

    Dice of two empty masks is 1. NaN where there are not as many samples as raters.
    Source: Wu et al., CVPR 2024.
    """
    each = dice_in_order(_counted(raters, samples))
    return float("nan") if each is None else _sum(each) / each.size


def dice_in_order(counts: Overlaps, places: Sequence[int] | None = None) -> Floats | None:
    """The Dice of each rater and the sample with the same number; None if their numbers differ.

    `places` are the numbers, from 0, of raters of whom some are missing.
    """
    if places is None:
        return _dice(counts).diagonal() if counts.n_raters == counts.n_samples else None
    return _dice(counts)[range(counts.n_raters), places]


# ---- volumes -------------------------------------------------------------------------------


def crps_samples(
    raters: ArrayLike,
    samples: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    estimator: Estimator = "fair",
) -> float:
    """CRPS of the samples' volumes V and a rater's y, averaged over the raters, in cm3.

    `fair`: `mean_i |V_i - y| - sum_ij |V_i - V_j| / (2N(N-1))`. Its mean over random samples does
    not depend on how many are drawn; of samples that are not random it can be fooled, as of two any
    y between them costs nothing. The formula has no value for one sample, which says nothing of a
    spread: it gets `|V - y|`. `biased`: divided by `2N²`, the CRPS of the samples as they are.
    Neither is ever negative. Always defined.
    Source: Ferro, Q. J. R. Meteorol. Soc. 2014; Gneiting and Raftery, JASA 2007.
    """
    counts, voxel_mm3 = _counted(raters, samples), _voxel_mm3(spacing_mm, raters, samples)
    each = crps_voxels(*counts.volumes, estimator=_checked_estimator(estimator))
    return math.fsum(each) / len(each) * voxel_mm3 / 1000


def crps_voxels(
    reference: Sequence[int], predicted: Sequence[int], *, estimator: Estimator = "fair"
) -> list[float]:
    """CRPS of the predicted numbers of voxels, against each of the reference.

    All is counted in whole numbers and divided once.
    """
    n, ordered = len(predicted), sorted(predicted)
    apart = [sum(abs(volume - y) for volume in ordered) for y in reference]
    spread = 2 * sum((2 * i - n + 1) * volume for i, volume in enumerate(ordered))
    others = max(n - 1, 1) if estimator == "fair" else n  # one sample has no spread
    return [(2 * others * each - spread) / (2 * n * others) for each in apart]


def volume_coverage(raters: ArrayLike, samples: ArrayLike, *, level: float = LEVEL) -> float:
    """Share of the raters whose volume lies in the central interval of the samples' volumes.

    The ends count as inside. See `interval_score` for the interval. It should be about `level` over
    many cases: less is an interval too narrow, more one too wide. Not a proper score: the widest
    interval covers most. Always defined.
    """
    inside = covered(*_counted(raters, samples).volumes, level=_checked_level(level))
    return sum(inside) / len(inside)


def covered(
    reference: Sequence[int], predicted: Sequence[int], *, level: float = LEVEL
) -> list[bool]:
    """Whether each number of voxels of the reference lies in the interval of the predicted."""
    low, high = central_interval(predicted, level)
    return [low <= y <= high for y in reference]


def interval_score(
    raters: ArrayLike,
    samples: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    level: float = LEVEL,
) -> float:
    """Width of the central interval and cost of what lies outside, mean over raters, in cm3.

    `u - l + 2 / (1 - level) * (distance of the rater's volume from [l, u])`. l and u are quantiles
    of the samples' volumes: those at place `(N + 1)(1 - level) / 2` counted from each end, linear
    between neighbours, the first and last where there are too few samples. So one more sample would
    lie inside with probability `level`, if there are at least `2 / (1 - level) - 1`. Always
    defined.
    Source: Winkler, JASA 1972; Gneiting and Raftery, JASA 2007, who show that it is proper.
    """
    counts, voxel_mm3 = _counted(raters, samples), _voxel_mm3(spacing_mm, raters, samples)
    each = interval_voxels(*counts.volumes, level=_checked_level(level))
    return math.fsum(each) / len(each) * voxel_mm3 / 1000


def interval_voxels(
    reference: Sequence[int], predicted: Sequence[int], *, level: float = LEVEL
) -> list[float]:
    """`interval_score` of the predicted numbers of voxels, against each of the reference."""
    low, high = central_interval(predicted, level)
    return [high - low + 2 / (1 - level) * max(low - y, y - high, 0.0) for y in reference]


def central_interval(volumes: Sequence[int], level: float) -> tuple[float, float]:
    """The interval that holds the middle of some volumes; see `interval_score`."""
    ordered, n = sorted(volumes), len(volumes)
    place = max(1.0, round((n + 1) * (1 - level) / 2, DIGITS))
    below = int(place)
    part, above = place - below, min(below, n - 1)
    low = ordered[below - 1] + part * (ordered[above] - ordered[below - 1])
    high = ordered[n - below] - part * (ordered[n - below] - ordered[n - 1 - above])
    return low, high


# ---- what they share -----------------------------------------------------------------------


def _counted(raters: ArrayLike, samples: ArrayLike) -> Overlaps:
    """The voxels that each two masks share."""
    listed = samples if isinstance(samples, list | tuple) else []
    named = {f"sample {number}": each for number, each in enumerate(listed, 1)}
    given, predicted = as_raters(raters, **named), as_samples(samples)
    if given.shape[1:] != predicted.shape[1:]:
        expected = given.shape[1:]
        raise ValueError(f"each sample has shape {predicted.shape[1:]}, each rater has {expected}")
    return overlaps(_packed(given), _packed(predicted))


def _packed(masks: Bools) -> list[PackedMask]:
    return [PackedMask.of(np.flatnonzero(flat(mask))) for mask in masks]


def _checked_estimator(estimator: Estimator) -> Estimator:
    if estimator not in get_args(Estimator):
        raise ValueError(f"estimator is {estimator!r}, expected biased or fair")
    return estimator


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level is {level:g}, expected a number between 0 and 1")
    return level


def _voxel_mm3(spacing_mm: Spacing | None, *given: Any) -> float:
    """Volume of a voxel, by the spacing given or that of the first image."""
    images = [each for some in given for each in (some if isinstance(some, list | tuple) else [])]
    return math.prod(spacing_mm if spacing_mm is not None else spacing_of(*images))


def _iou(counts: Overlaps) -> Floats:
    """IoU of each two masks; two empty ones agree."""
    either = counts.sizes[:, None] + counts.sizes[None, :] - counts.common
    return np.where(either > 0, counts.common / np.maximum(either, 1), 1.0)


def _dice(counts: Overlaps) -> Floats:
    """Dice of each rater and each sample; two empty masks agree."""
    k = counts.n_raters
    total = counts.sizes[:k, None] + counts.sizes[None, k:]
    return np.where(total > 0, 2 * counts.common[:k, k:] / np.maximum(total, 1), 1.0)


def _sum(values: Floats) -> float:
    """The sum, rounded once: in whatever order the masks come."""
    return math.fsum(values.reshape(-1).tolist())
