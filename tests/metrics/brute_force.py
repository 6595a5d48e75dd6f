"""Scores of probability maps, computed a voxel at a time as their definitions say."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def shares(raters):
    """The share of the raters that mark each voxel, exactly."""
    return [Fraction(int(marks), len(raters)) for marks in raters.reshape(len(raters), -1).sum(0)]


def exactly(p):
    """The stored probabilities as fractions."""
    return [Fraction(float(value)) for value in np.ravel(p)]


def binned(raters, p, bins):
    """Voxels, sum of shares and sum of probabilities of each bin of even width that holds any."""
    found = {}
    for s, q in zip(shares(raters), exactly(p), strict=True):
        edges = [Fraction(j / bins) for j in range(bins)]
        cell = found.setdefault(max(j for j in range(bins) if edges[j] <= q), [0, 0, 0])
        for k, value in enumerate((1, s, q)):
            cell[k] += value
    return list(found.values())


def ece(raters, p, bins):
    cells = binned(raters, p, bins)
    return float(sum(abs(s - q) for _, s, q in cells) / sum(n for n, _, _ in cells))


def bin_errors(raters, p, bins):
    return [float(abs(s - q) / n) for n, s, q in binned(raters, p, bins)]


def adaptive_ece(raters, p, bins):
    """Each voxel is cut into as many parts as there are bins, so that all bins hold n parts.

    Parts of equal probability have the mean share of theirs, whichever voxels they come from.
    """
    s, q = shares(raters), exactly(p)
    of = {v: [a for a, b in zip(s, q, strict=True) if b == v] for v in set(q)}
    mean = {v: sum(each) / len(each) for v, each in of.items()}
    parts = [v for v in sorted(q) for _ in range(bins)]
    n = len(q)
    total = 0
    for j in range(bins):
        here = parts[j * n : (j + 1) * n]
        total += abs(sum(mean[v] - v for v in here))
    return float(total / (n * bins))


def errors_and_doubts(raters, p):
    """Share of the raters that `p > 0.5` contradicts, and how unsure the map is."""
    s, q = shares(raters), exactly(p)
    return (
        [1 - a if b > Fraction(1, 2) else a for a, b in zip(s, q, strict=True)],
        [min(b, 1 - b) for b in q],
    )


def orders(doubts):
    """All orders in which the surest voxels come first."""
    groups = [
        [k for k, doubt in enumerate(doubts) if doubt == each] for each in sorted(set(doubts))
    ]
    for order in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [k for group in order for k in group]


def area(errors):
    """The mean over i of the mean of the first i errors."""
    n = len(errors)
    return sum(sum(errors[:i]) / i for i in range(1, n + 1)) / n


def aurc(raters, p):
    """The mean over all orders of equally sure voxels."""
    errors, doubts = errors_and_doubts(raters, p)
    areas = [area([errors[k] for k in order]) for order in orders(doubts)]
    return float(sum(areas) / len(areas))


def lowest_aurc(raters, p):
    errors, _ = errors_and_doubts(raters, p)
    return float(min(area(each) for each in set(itertools.permutations(errors))))


def augrc(raters, p):
    """The area under the straight lines between the points of the generalised curve."""
    errors, doubts = errors_and_doubts(raters, p)
    areas = []
    for order in orders(doubts):
        n, kept = len(order), [Fraction(0)]
        for k in order:
            kept.append(kept[-1] + errors[k] / n)
        areas.append(sum((a + b) / 2 for a, b in itertools.pairwise(kept)) / n)
    return float(sum(areas) / len(areas))
