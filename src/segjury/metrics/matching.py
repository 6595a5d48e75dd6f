"""Which components of a reference and of a prediction are the same lesion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.metrics.geometry.components import Components, common_voxels

Matching = Literal["one-to-one", "any-overlap"]
Overlap = Literal["iou", "dice", "ior"]
MEASURES: dict[Overlap, str] = {"iou": "IoU", "dice": "Dice", "ior": "IoR"}

EXACT = 1 << 52  # whole numbers up to it, and their sums and differences, are exact
FINEST_BITS, COARSEST_BITS = 30, 16  # of an overlap, where lesions compete


@dataclass(frozen=True)
class Overlaps:
    """The pairs of lesions of a reference and a prediction that have voxels in common.

    `reference` and `prediction` number the lesions of each pair, `common` counts the voxels, and
    the sizes are the voxels of all lesions there are.
    """

    reference_sizes: Ints
    prediction_sizes: Ints
    reference: Ints
    prediction: Ints
    common: Ints

    @classmethod
    def of(cls, reference: Components, prediction: Components) -> Overlaps:
        """The pairs of two sets of components."""
        pairs = common_voxels(reference, prediction)
        return cls(reference.sizes, prediction.sizes, *pairs)

    def measured(self, overlap: Overlap) -> Floats:
        """How far the lesions R and P of each pair overlap.

        `iou` is `|R ∧ P| / |R ∨ P|`, `dice` is `2|R ∧ P| / (|R| + |P|)`, `ior` (intersection over
        reference) is `|R ∧ P| / |R|`.
        """
        r, p = self.reference_sizes[self.reference], self.prediction_sizes[self.prediction]
        if overlap == "iou":
            return np.asarray(self.common / (r + p - self.common))
        return np.asarray(2 * self.common / (r + p) if overlap == "dice" else self.common / r)


@dataclass(frozen=True)
class MatchRule:
    """Which lesions match: those whose overlap is above a threshold; above 0 is a common voxel.

    `one-to-one`: each matches at most one, so that there are as many matches as possible; among
    such choices, the largest sum of overlaps; among equal ones, the fewest false positives, and
    then the largest lesions of the reference. `any-overlap`: each that can match one, does.
    """

    matching: Matching = "one-to-one"
    overlap: Overlap = "iou"
    threshold: float = 0.1

    def __str__(self) -> str:
        """The overlap that is asked for, in words."""
        if not self.threshold:
            return "any common voxel"
        return f"{MEASURES[self.overlap]} above {self.threshold:g}"


@dataclass(frozen=True)
class Matched:
    """What became of each lesion of a reference and a prediction.

    `counted`: the lesion of the reference is to be found; the others are neither hits nor misses.
    `found`: it was. `iou`: with the lesion that found it, 0 where there is none. `hit`: the lesion
    of the prediction found one. `ignored`: it found none, but one that is not counted.
    """

    counted: Bools
    found: Bools
    iou: Floats
    hit: Bools
    ignored: Bools

    @property
    def reference(self) -> int:
        """How many lesions are to be found."""
        return int(self.counted.sum())

    @property
    def prediction(self) -> int:
        """How many lesions of the prediction count."""
        return int((~self.ignored).sum())

    @property
    def true_positives(self) -> int:
        """How many lesions are found."""
        return int(self.found.sum())

    @property
    def hits(self) -> int:
        """How many lesions of the prediction found one: as many if they match one to one."""
        return int(self.hit.sum())

    @property
    def false_positive(self) -> Bools:
        """Which lesions of the prediction are none."""
        return ~(self.hit | self.ignored)


def match(overlaps: Overlaps, counted: Bools, rule: MatchRule) -> Matched:
    """Match lesions of a prediction with those of a reference, of which some may not count.

    What matches none that counts, but can match one that does not, is ignored.
    """
    measured = overlaps.measured(rule.overlap)
    close = measured > rule.threshold
    pairs = close & counted[overlaps.reference]
    hit, ignored = np.zeros((2, overlaps.prediction_sizes.size), bool)
    ignored[overlaps.prediction[close & ~pairs]] = True
    if rule.matching == "one-to-one":
        here = np.flatnonzero(pairs)
        rows, columns = overlaps.reference[here], overlaps.prediction[here]
        rather = (~ignored[columns]).astype(np.int64), overlaps.reference_sizes[rows]
        pairs[here] = best_pairs(rows, columns, measured[here], rather)
    iou = np.zeros(overlaps.reference_sizes.size)
    np.maximum.at(iou, overlaps.reference[pairs], overlaps.measured("iou")[pairs])
    found = np.zeros(overlaps.reference_sizes.size, bool)
    found[overlaps.reference[pairs]] = hit[overlaps.prediction[pairs]] = True
    return Matched(counted, found, iou, hit, ignored & ~hit)


def best_pairs(rows: Ints, columns: Ints, weights: Floats, rather: Sequence[Ints] = ()) -> Bools:
    """Which of some pairs to choose, so that no row and no column is in two.

    As many as possible; among such choices, the largest sum of their weights, 0 to 1; among equal
    ones, the largest ranks in what is `rather` chosen, one after the other. No pair comes twice.
    """
    in_row, in_column = (np.bincount(ends)[ends] for ends in (rows, columns))
    chosen = np.asarray((in_row == 1) & (in_column == 1))
    left = np.flatnonzero(~chosen)
    for group in _groups(rows[left], columns[left]):
        here = left[group]
        more = [each[here] for each in rather]
        chosen[here] = _assigned(rows[here], columns[here], weights[here], more)
    return chosen


def _groups(rows: Ints, columns: Ints) -> list[Ints]:
    """The pairs that compete with each other, directly or by way of others."""
    from scipy.sparse import coo_array, csgraph

    if not rows.size:
        return []
    n_rows, n_columns = int(rows.max()) + 1, int(columns.max()) + 1
    ends = rows, n_rows + columns
    graph = coo_array((np.ones(rows.size, bool), ends), shape=(n_rows + n_columns,) * 2)
    group = csgraph.connected_components(graph, directed=False)[1][rows]
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _assigned(rows: Ints, columns: Ints, weights: Floats, rather: Sequence[Ints]) -> Bools:
    """`best_pairs` of a group, as an assignment of a column, or a blank of its own, to each row."""
    from scipy.sparse import coo_array, csgraph

    rows, columns = (np.unique(ends, return_inverse=True)[1] for ends in (rows, columns))
    n_rows, n_columns = int(rows.max()) + 1, int(columns.max()) + 1
    blank = np.arange(n_rows)
    worth = _worths(weights, rather, n_rows)
    values = np.concatenate([worth + 1, np.ones(n_rows)])
    ends = np.concatenate([rows, blank]), np.concatenate([columns, n_columns + blank])
    graph = coo_array((values, ends), shape=(n_rows, n_columns + n_rows)).tocsr()
    _, of_row = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
    return np.asarray(of_row[rows] == columns)


def _worths(weights: Floats, rather: Sequence[Ints], n_rows: int) -> Floats:
    """What each pair is worth: a whole number, by which any sum of `n_rows` of them compares.

    A pair more is worth more than any weights, and a weight more than any ranks. The solver then
    adds without rounding, and what it finds does not depend on the order of the lesions. In a
    group of very many, ranks do not count.
    """
    ranks = np.zeros(weights.size, np.int64)
    for each in rather:
        rank = np.unique(each, return_inverse=True)[1]
        ranks = ranks * (n_rows * int(rank.max()) + 1) + rank
    for tie in (ranks, np.zeros_like(ranks)):
        step = n_rows * int(tie.max()) + 1
        for bits in range(FINEST_BITS, COARSEST_BITS - 1, -1):
            one_more = n_rows * ((step << bits) + step) + 1
            if 2 * n_rows * one_more < EXACT:
                return np.asarray(np.rint(weights * (1 << bits)) * step + tie + one_more)
    return np.asarray(weights * 1.0 + n_rows + 1)


# ---- scores from matches -------------------------------------------------------------------


def recall_from(matched: Matched) -> float:
    """Share of the lesions that are found; NaN where there is none."""
    return _share(matched.true_positives, matched.reference)


def precision_from(matched: Matched) -> float:
    """Share of the predicted lesions that found one; NaN without a lesion on either side."""
    return _share(matched.hits, matched.prediction) if matched.reference else math.nan


def f1_from(matched: Matched) -> float:
    """Harmonic mean of recall and precision; 0 where no lesion is predicted, NaN without one."""
    recall, hits = recall_from(matched), matched.hits
    if math.isnan(recall) or not hits:
        return recall  # which is 0 without a hit
    if hits == matched.true_positives:  # the same, and exact
        return 2 * hits / (matched.reference + matched.prediction)
    precision = precision_from(matched)
    return 2 * recall * precision / (recall + precision)


def quality_from(matched: Matched) -> tuple[float, float]:
    """Segmentation and recognition quality; NaN without a match, and without a lesion."""
    found = matched.true_positives
    sq = math.fsum(matched.iou[matched.found].tolist()) / found if found else math.nan
    return sq, f1_from(matched)


def pq_from(matched: Matched) -> float:
    """`pq` from matches that are one to one."""
    if not matched.reference:
        return math.nan
    total = math.fsum(matched.iou[matched.found].tolist())
    return 2 * total / (matched.reference + matched.prediction)


def count_error_from(matched: Matched) -> float:
    """Difference in the numbers of lesions that count."""
    return float(abs(matched.prediction - matched.reference))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
