"""Consensus by counting: votes, shares, regions of agreement, and the choice among tied labels."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.consensus.patterns import Patterns, RaterPatterns

Region = Literal["background", "dissensus", "foreground"]
Ties = Literal["background", "lower", "first"]

SHARE_DECIMALS = 12  # so that 0.1 + 0.2 of 0.6 is not more than the threshold 0.5
TIED = 1e-12  # relative: sums of weights that differ by less are equal


def majority(patterns: Patterns) -> NDArray[np.int64]:
    """Majority vote.

    Parameters
    ----------
    patterns : Patterns
        The raters' label maps, packed by `pack`.

    Returns
    -------
    ndarray of int
        The most frequent label per pattern, or `n_labels` where two are equally frequent.
    """
    return winners(leaders(votes(patterns)))


def majority_of(patterns: Patterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns whose majority vote is `label`; of labels that overlap, that most raters give it."""
    if isinstance(patterns, RaterPatterns) and patterns.classes:
        return np.asarray(2 * patterns.marked(label).sum(axis=1) > patterns.n_raters)
    return np.asarray(majority(patterns) == label)


def votes(patterns: Patterns, *, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Votes for each label, shape (patterns, labels), each as heavy as its rater."""
    counted = np.zeros((len(patterns.labels), patterns.n_labels))
    every = np.arange(len(counted))
    for rater in range(patterns.n_raters):
        counted[every, patterns.labels[:, rater]] += 1 if weights is None else weights[rater]
    return counted


def leaders(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which labels have the highest score, shape (patterns, labels)."""
    highest = scores.max(axis=1, keepdims=True)
    leading: NDArray[np.bool_] = scores >= highest * (1 - TIED)
    return leading


def winners(leading: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The one leading label per pattern, or the number of labels where several lead."""
    tied = leading.sum(axis=1) > 1
    return np.asarray(np.where(tied, leading.shape[1], leading.argmax(axis=1)))


def break_ties(
    patterns: Patterns, leading: NDArray[np.bool_], *, ties: Ties = "background"
) -> NDArray[np.int64]:
    """The leading label per pattern; of several the lowest, the first rater's, or background.

    `first` is the label of the first rater who gives one of them (the lowest if nobody does).
    """
    lowest: NDArray[np.int64] = leading.argmax(axis=1)
    tied = leading.sum(axis=1) > 1
    if ties == "background":
        return np.asarray(np.where(tied, 0, lowest))
    if ties == "first":
        mine = np.take_along_axis(leading, patterns.labels, axis=1)
        first = patterns.labels[np.arange(len(mine)), mine.argmax(axis=1)]
        return np.asarray(np.where(tied & mine.any(axis=1), first, lowest))
    return lowest


def soft_mean(patterns: Patterns, *, label: int = 1) -> NDArray[np.float64]:
    """Mean of the raters.

    Parameters
    ----------
    patterns : Patterns
        The raters' label maps, packed by `pack`.
    label : int
        The label that counts as 1.

    Returns
    -------
    ndarray of float
        Share of the raters that give `label`, per pattern; of their weights, where they have any.
    """
    marked, weights = patterns.marked(label), patterns.weights
    if not weights:
        return np.asarray(marked.mean(axis=1))
    shares = (marked * np.array(weights)).sum(axis=1) / math.fsum(weights)
    return np.asarray(np.round(shares, SHARE_DECIMALS))


def intersection(patterns: Patterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns in which all raters give `label`."""
    return np.asarray(patterns.marked(label).all(axis=1))


def union(patterns: Patterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns in which at least one rater gives `label`."""
    return np.asarray(patterns.marked(label).any(axis=1))


def agreement_region(patterns: Patterns, region: Region, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns of one region: all give `label` (foreground), none does (background), or some."""
    everyone = intersection(patterns, label=label)
    anyone = union(patterns, label=label)
    return {"foreground": everyone, "background": ~anyone, "dissensus": anyone & ~everyone}[region]
