"""How balanced a split is, and how that compares with random splits of the same sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from segjury.arrays import Floats, Ints
from segjury.benchmark.split.differences import (
    category_difference,
    mean_difference,
    total_variation,
)
from segjury.benchmark.split.search import Task
from segjury.benchmark.split.variables import Variable
from segjury.rounding import rounded

MEASURES = ("imbalance", "total_variation", "standardised_difference")


@dataclass(frozen=True)
class Balance:
    """Three measures of each variable, (variables, measures), beside those of random splits."""

    values: Floats
    random_median: Floats
    better_than: Floats  # percentage of the random splits that are worse


def measures(task: Task, parts: Ints) -> Floats:
    """The measures of splits given by the part of each group, (splits, variables, measures).

    The imbalance that the search lowers; the mean over parts, by size, of the total variation of
    a part's levels from the whole's; the largest standardised difference between two parts.
    """
    found = np.empty((len(parts), len(task.variables), len(MEASURES)))
    found[:, :, 0] = task.imbalance(parts)
    of_cases = parts[:, task.groups]
    weights = np.array(task.sizes) / sum(task.sizes)
    for v, variable in enumerate(task.variables):
        shares = level_shares(variable, of_cases, task.sizes)
        found[:, v, 1] = total_variation(shares, variable.shares) @ weights
        found[:, v, 2] = largest_difference(variable, of_cases, task.sizes, shares)
    return rounded(found)


def compare(values: Floats, random: Floats) -> Balance:
    """The measures of one split beside those of many random ones."""
    worse = np.asarray((random > values).mean(axis=0))
    return Balance(values, np.median(random, axis=0), 100 * worse)


def level_shares(variable: Variable, parts: Ints, sizes: tuple[int, ...]) -> Floats:
    """The share of each level in each part, (splits, parts, levels)."""
    k, n_levels = len(sizes), len(variable.levels)
    row = np.arange(len(parts))[:, None] * k
    cells = (row + parts) * n_levels + variable.codes
    counts = np.bincount(cells.ravel(), minlength=len(parts) * k * n_levels)
    return np.asarray(counts.reshape(len(parts), k, n_levels) / np.array(sizes)[:, None])


def part_means(values: Floats, parts: Ints, n_parts: int) -> tuple[Floats, Floats]:
    """Mean and SD (n - 1) of the known values in each part, (splits, parts); NaN where undefined.

    Values are centred first, so that nothing is lost of small differences of large numbers.
    """
    known = ~np.isnan(values)
    centre = values[known].mean()
    x = np.tile(values[known] - centre, len(parts))
    cells = (np.arange(len(parts))[:, None] * n_parts + parts[:, known]).ravel()
    size = len(parts) * n_parts
    count, total, squares = (
        np.bincount(cells, weights, size).astype(np.float64) for weights in (None, x, x * x)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / count
        variance = np.maximum(squares - total * mean, 0.0) / (count - 1)
        variance[count < 2] = np.nan
    shape = (len(parts), n_parts)
    return (mean + centre).reshape(shape), np.sqrt(variance).reshape(shape)


def largest_difference(
    variable: Variable, parts: Ints, sizes: tuple[int, ...], shares: Floats
) -> Floats:
    """The largest standardised difference between two parts: of means, or else of levels.

    Pairs without a difference of means (fewer than two known values in a part) do not count; NaN
    where no pair has one.
    """
    pairs = list(combinations(range(len(sizes)), 2))
    if variable.values is None:
        each = [category_difference(shares[:, a], shares[:, b]) for a, b in pairs]
    else:
        mean, sd = part_means(variable.values, parts, len(sizes))
        each = [mean_difference(mean[:, a], sd[:, a], mean[:, b], sd[:, b]) for a, b in pairs]
    found = np.stack(each)
    undefined = np.isnan(found)
    largest = np.where(undefined, -1.0, found).max(axis=0)
    return np.asarray(np.where(undefined.all(axis=0), np.nan, largest))
