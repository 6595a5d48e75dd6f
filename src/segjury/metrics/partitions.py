"""Two masks as two partitions of the image: information, pairs of voxels, agreement past chance.

Unless a docstring says otherwise, the numbers are those of the EvaluateSegmentation tool (Taha and
Hanbury 2015), which refuses an empty mask. Partitions have no names, so `mi`, `voi`, `gce`, `rand`
and `adjusted_rand` cannot tell a mask from its complement.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from segjury.metrics.confusion import (
    TOOL_RANGE,
    Confusion,
    Convention,
    check_convention,
    declared_measures,
    on_masks,
    ratio,
)
from segjury.metrics.metric import Metric

__all__ = ["adjusted_rand", "gce", "icc", "kappa", "mi", "rand", "voi"]

_agreement = partial(Metric, direction="higher", symmetric=True)

MI = Metric(
    name="mi",
    title="Mutual information",
    formula="H(R) + H(P) - H(R, P)",
    summary="What one mask tells about the other; of equal masks, the entropy of one.",
    direction="higher",
    bounds=(0.0, 1.0),
    unit="bit",
    decimals=3,
    symmetric=True,
)
VOI = Metric(
    name="voi",
    title="Variation of information",
    formula="H(R) + H(P) - 2 MI",
    summary="What each mask leaves unknown of the other.",
    direction="lower",
    bounds=(0.0, 2.0),
    unit="bit",
    symmetric=True,
)
GCE = Metric(
    name="gce",
    title="Global consistency error",
    formula="the smaller of the two sums of refinement errors / N",
    summary="How far the masks are from one of them being a refinement of the other.",
    direction="lower",
    bounds=(0.0, 1.0),
    symmetric=True,
)
RAND = _agreement(
    name="rand",
    title="Rand index",
    formula="pairs joined or separated by both / all pairs",
    summary="Share of the pairs of voxels that both masks join or both separate.",
    bounds=(0.0, 1.0),
)
ADJUSTED_RAND = _agreement(
    name="adjusted_rand",
    title="Adjusted Rand index",
    formula="(joined - expected) / (mean - expected), over pairs of voxels",
    summary="Rand index corrected for what masks of the same sizes agree by chance.",
    bounds=(-0.5, 1.0),
)
KAPPA = _agreement(
    name="kappa",
    title="Cohen's kappa",
    formula="(agreement - chance) / (1 - chance)",
    summary="Accuracy corrected for what masks of the same sizes agree by chance.",
    bounds=(-1.0, 1.0),
)
ICC = _agreement(
    name="icc",
    title="ICC",
    formula="(MSB - MSW) / (MSB + MSW)",
    summary="Intraclass correlation ICC(1,1) of the two masks over all voxels.",
    bounds=(-1.0, 1.0),
)


def mi_from(counts: Confusion) -> float:
    """Mutual information in bits, `H(R) + H(P) - H(R, P)` over all voxels.

    That is `Σ n_ij/n log2(n_ij n / (n_i n_j))` over the table. Equal masks reach H(R), 1 bit only
    if they fill half of the image; so does the complement. NaN where a mask is empty.
    """
    if not counts.both_masks:
        return math.nan
    terms = [
        cell * math.log2(cell * counts.voxels / (row * column))
        for cell, row, column in _cells(counts)
        if cell
    ]
    return max(0.0, math.fsum(terms) / counts.voxels)


def voi_from(counts: Confusion) -> float:
    """Variation of information in bits, `H(R | P) + H(P | R)` over all voxels.

    NaN for an image without voxels. Source: Meilă 2003.
    """
    terms = [
        cell * (math.log2(row / cell) + math.log2(column / cell))
        for cell, row, column in _cells(counts)
        if cell
    ]
    return math.fsum(terms) / counts.voxels if counts.voxels else math.nan


def _cells(counts: Confusion) -> list[tuple[int, int, int]]:
    """Each count with the sizes of its region in the reference and in the prediction."""
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    return [
        (tp, tp + fn, tp + fp),
        (fp, fp + tn, tp + fp),
        (fn, tp + fn, fn + tn),
        (tn, fp + tn, fn + tn),
    ]


def gce_from(counts: Confusion, *, convention: Convention = "standard") -> float:
    """Global consistency error: the mean local refinement error, in the better direction.

    At a voxel, the error of R towards P is the share of its region of R that is not in its region
    of P. Summed over all voxels, R towards P gives `2 TP FN / (TP + FN) + 2 TN FP / (TN + FP)`,
    P towards R the same with FN and FP exchanged; the smaller, divided by the voxels.
    `evaluatesegmentation`: the tool gives each FP and FN voxel the error 1, so that its numerators
    are larger by FN² and FP².
    NaN where a mask is empty or full: a single region is refined by everything.
    Source: Martin et al. 2001.
    """
    check_convention(convention)
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    if 0 in (tp + fn, tp + fp, fp + tn, fn + tn):
        return math.nan

    def refinement(wrong: int, right: int) -> Fraction:
        too_much = wrong * wrong if convention == "evaluatesegmentation" else 0
        return Fraction(2 * right * wrong + too_much, right + wrong)

    reference_first = refinement(fn, tp) + refinement(fp, tn)
    prediction_first = refinement(fp, tp) + refinement(fn, tn)
    return float(min(reference_first, prediction_first) / counts.voxels)


def rand_from(counts: Confusion) -> float:
    """Rand index, the share of voxel pairs that both masks join or both separate.

    With D = FP + FN it is `1 - 2D (n - D) / (n (n - 1))`: a pair is judged differently where just
    one of its voxels is wrong. NaN for less than two voxels. Source: Rand 1971.
    """
    pairs = math.comb(counts.voxels, 2)
    return ratio(pairs - counts.differing * (counts.voxels - counts.differing), pairs)


def adjusted_rand_from(counts: Confusion) -> float:
    """Adjusted Rand index, `(joined - expected) / (mean - expected)` over pairs of voxels.

    `joined` pairs share a region in both masks; `mean` is the mean of the pairs joined in each
    mask, A and B; `expected` is A B over all pairs. 1 where that is 0/0: then both masks part the
    image alike, as two that are empty or full do. Source: Hubert and Arabie 1985.
    """
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    joined = sum(math.comb(cell, 2) for cell in (tp, fp, fn, tn))
    in_reference = math.comb(tp + fn, 2) + math.comb(fp + tn, 2)
    in_prediction = math.comb(tp + fp, 2) + math.comb(fn + tn, 2)
    pairs = math.comb(counts.voxels, 2)
    chance = in_reference * in_prediction
    above_chance = (in_reference + in_prediction) * pairs - 2 * chance
    if counts.voxels and not above_chance:
        return 1.0
    return ratio(2 * (joined * pairs - chance), above_chance)


def kappa_from(counts: Confusion) -> float:
    """Cohen's kappa, `(accuracy - expected) / (1 - expected)`.

    `expected` is the accuracy of independent masks of these sizes. 1 where that is 0/0: both masks
    are empty or both full, and agree. Source: Cohen 1960.
    """
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    disagreement_by_chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)  # times n²
    if counts.voxels and not disagreement_by_chance:
        return 1.0
    return ratio(2 * (tp * tn - fp * fn), disagreement_by_chance)


def icc_from(counts: Confusion, *, convention: Convention = "standard") -> float:
    """Intraclass correlation ICC(1,1): voxels are the subjects, the two masks the ratings.

    One-way, single rating: `(MSB - MSW) / (MSB + MSW)`, with MSB the mean square between voxels
    (n - 1 degrees of freedom) and MSW that within voxels (n). 1 where that is 0/0: both masks are
    empty or both full, and agree. `evaluatesegmentation`: the tool takes the grand mean 255 times
    too small, so that its value is close to Dice instead of kappa. Source: Shrout and Fleiss 1979.
    """
    check_convention(convention)
    n, differing = counts.voxels, counts.differing
    if n < 2:
        return math.nan
    mean = Fraction(counts.reference + counts.prediction, 2 * n)
    if convention == "evaluatesegmentation":
        mean /= TOOL_RANGE
    from_mean = (  # Σ over voxels of (mean of its two ratings - grand mean)²
        counts.tp * (1 - mean) ** 2 + differing * (Fraction(1, 2) - mean) ** 2 + counts.tn * mean**2
    )
    between = 2 * from_mean / (n - 1)
    within = Fraction(differing, 2 * n)
    return float((between - within) / (between + within)) if between + within else 1.0


mi = on_masks(mi_from)
voi = on_masks(voi_from)
gce = on_masks(gce_from)
rand = on_masks(rand_from)
adjusted_rand = on_masks(adjusted_rand_from)
kappa = on_masks(kappa_from)
icc = on_masks(icc_from)

PARTITION_MEASURES = declared_measures(globals())
