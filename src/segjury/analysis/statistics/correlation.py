"""Which metrics say the same thing: their correlations and groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Floats, Ints
from segjury.rounding import SAME, rounded

Kind = Literal["pearson", "spearman", "kendall"]
Within = Literal["none", "method"]
Column = NDArray[Any]  # scores for Pearson, places in their order for the others

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Correlations:
    """Correlations of all pairs of metrics, and the number of rows that each rests on."""

    matrix: Floats
    n: Ints
    kind: Kind
    within: Within


@dataclass(frozen=True)
class Clusters:
    """Metrics in an order that puts similar ones side by side, and the tree behind it.

    `linkage` has scipy's form: one row per merger, with its distance in the third column.
    """

    order: Ints
    linkage: Floats


def correlations(
    values: Floats,
    higher: Bools,
    *,
    kind: Kind = "pearson",
    within: Within = "none",
    method: Ints | None = None,
) -> Correlations:
    """Correlations of metrics (columns) over rows, one row per method and case.

    `higher` says for which metrics more is better; the others are negated first, so that a
    positive correlation is always agreement on what is good. A pair of metrics is compared on the
    rows that have both. NaN where a metric is constant there.

    Rows pooled over methods mix differences between methods with those between cases.
    `within="method"`, with the index of each row's `method`, leaves only the latter: Pearson
    centres each method's scores on their mean, Spearman ranks within each method and centres the
    ranks, Kendall (tau-b) compares only pairs of cases of the same method.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(KINDS)}")
    oriented = _oriented(values, higher)
    strata = _strata(len(oriented), within, method)
    by_stratum = np.argsort(strata, kind="stable")
    strata, oriented = strata[by_stratum], np.asfortranarray(oriented[by_stratum])
    present = ~np.isnan(oriented)
    columns: Column = oriented if kind == "pearson" else _places(oriented, strata)
    whole = [
        _compared(column[rows], strata[rows], kind)
        for column, rows in zip(columns.T, present.T, strict=True)
    ]
    metrics = len(whole)
    matrix, n = np.full((metrics, metrics), np.nan), np.zeros((metrics, metrics), np.int64)
    for i, j in combinations_with_replacement(range(metrics), 2):
        both = present[:, i] & present[:, j]
        n[i, j] = n[j, i] = size = np.count_nonzero(both)
        if size < 2:
            continue
        x, y = (  # ranks and means change with the rows, where some are missing
            whole[k] if len(whole[k]) == size else _compared(columns[both, k], strata[both], kind)
            for k in (i, j)
        )
        r = _kendall(x, y, strata[both]) if kind == "kendall" else float(x @ y)
        matrix[i, j] = matrix[j, i] = np.clip(r, -1.0, 1.0)
    return Correlations(matrix, n, kind, within)


def clustered(matrix: Floats) -> Clusters:
    """Hierarchical clustering of metrics by average linkage on the distance `1 - r`.

    Not `1 - |r|`: scores are oriented, so metrics with a negative correlation call good what the
    other calls bad, and lie farthest apart, at 2. An undefined correlation counts as none, at 1.
    The order of leaves keeps neighbours as close as the tree allows (Bar-Joseph and others 2001).
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix has shape {matrix.shape}, expected a square one")
    if not np.allclose(matrix, matrix.T, rtol=0, atol=SAME, equal_nan=True):
        raise ValueError("matrix is not symmetric, expected correlations of all pairs")
    if len(matrix) < 2:
        return Clusters(np.arange(len(matrix)), np.zeros((0, 4)))
    distance = np.where(np.isnan(matrix), 1.0, rounded(1.0 - matrix))
    np.fill_diagonal(distance, 0.0)
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    pairs = squareform(distance, checks=False)
    linkage = hierarchy.linkage(pairs, method="average", optimal_ordering=True)
    return Clusters(hierarchy.leaves_list(linkage).astype(np.int64), np.asarray(linkage))


def _oriented(values: Floats, higher: Bools) -> Floats:
    """Scores of which more is better, without their last digits."""
    values, higher = np.asarray(values, dtype=np.float64), np.asarray(higher, dtype=bool)
    if values.ndim != 2:
        raise ValueError(f"values has shape {values.shape}, expected (rows, metrics)")
    if higher.shape != values.shape[1:]:
        raise ValueError(f"higher has shape {higher.shape}, expected one per metric of values")
    if np.isinf(values).any():
        raise ValueError("values has infinite scores, expected finite ones or NaN")
    return np.where(higher, 1.0, -1.0) * rounded(values)


def _strata(rows: int, within: Within, method: Ints | None) -> Ints:
    """Number from 0 of the rows that may be compared: all alike, or those of a method."""
    if within not in ("none", "method"):
        raise ValueError(f"within is {within!r}, expected 'none' or 'method'")
    if within == "none":
        return np.zeros(rows, np.int64)
    if method is None or np.shape(method) != (rows,):
        got = "None" if method is None else f"shape {np.shape(method)}"
        raise ValueError(f"method is {got}, expected the method's index of each of {rows} rows")
    return np.unique(np.asarray(method), return_inverse=True)[1].astype(np.int64)


def _places(columns: Floats, strata: Ints) -> Ints:
    """Number of each score among the distinct ones of its stratum, and of those before it.

    Scores in the same order as before, of which `_ranks` can be counted instead of sorted.
    """
    places = np.zeros_like(columns, dtype=np.int64)
    for column, place in zip(columns.T, places.T, strict=True):
        order = np.lexsort((column, strata))
        new = (np.diff(column[order]) != 0) | (np.diff(strata[order]) != 0)
        place[order[1:]] = np.cumsum(new)
    return places


def _compared(column: Column, strata: Ints, kind: Kind) -> Column:
    """What a column is compared by: Kendall's places, or unit vectors of scores or ranks."""
    if kind == "kendall":
        return column
    return _unit(column if kind == "pearson" else _ranks(column), strata)


def _unit(values: Floats, strata: Ints) -> Floats:
    """Deviations from the stratum's mean, over their norm; NaN where all of them are 0.

    The product of two such vectors is their correlation.
    """
    sizes, sums = np.bincount(strata), np.bincount(strata, weights=values)
    centred = values - (sums / np.maximum(sizes, 1))[strata]
    largest = np.abs(centred).max(initial=0.0)
    if largest <= SAME * np.abs(values).max(initial=0.0):
        return np.full(values.shape, np.nan)
    scaled = centred / largest  # squares of tiny deviations would vanish
    return np.asarray(scaled / np.sqrt(scaled @ scaled))


def _ranks(places: Ints) -> Floats:
    """Ranks within each stratum, but for a constant per stratum, from `_places`.

    Ties share their mean. Ranks go on counting from one stratum to the next; centring them
    takes that away.
    """
    ties = np.bincount(places)
    return np.asarray((np.cumsum(ties) - (ties - 1) / 2)[places])


def _kendall(x: Ints, y: Ints, strata: Ints) -> float:
    """Kendall's tau-b over the pairs of rows in the same stratum; strata are ascending.

    Σ(C - D) / √(Σ pairs not tied in x · Σ pairs not tied in y), sums over strata; the C - D of a
    stratum is its own tau-b times the root of its own pairs. NaN without any pair.
    """
    from scipy import stats

    score = untied_x = untied_y = 0.0
    ends = np.flatnonzero(np.diff(strata)) + 1
    for a, b in zip(np.split(x, ends), np.split(y, ends), strict=True):
        in_x, in_y = _untied_pairs(a), _untied_pairs(b)
        untied_x, untied_y = untied_x + in_x, untied_y + in_y
        if in_x and in_y:
            score += float(stats.kendalltau(a, b).statistic) * np.sqrt(in_x) * np.sqrt(in_y)
    spread = np.sqrt(untied_x) * np.sqrt(untied_y)
    return float(score / spread) if spread > 0 else float("nan")


def _untied_pairs(places: Ints) -> float:
    """Number of pairs with different places."""
    ties = np.bincount(places - places.min()).astype(np.float64)
    return float(ties.sum() ** 2 - (ties**2).sum()) / 2
