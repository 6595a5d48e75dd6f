"""How well each rater agrees with a consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.consensus.patterns import Patterns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Performance:
    """Agreement of each rater with a consensus, shapes (raters, labels); background is label 0."""

    voxels: Floats
    dice: Floats
    sensitivity: Floats
    specificity: Floats


def performance(patterns: Patterns, share: Floats) -> Performance:
    """Performance of the raters against `share`, of each label per pattern (0 or 1 for a mask).

    With `a` the voxels to which a rater gives a label and `W` their share in the consensus: Dice
    `2 sum_a W / (|a| + sum W)`, sensitivity `sum_a W / sum W`, specificity
    `1 - sum_a (1 - W) / sum (1 - W)`. NaN where that is 0/0.
    """
    counts = patterns.counts.astype(float)
    weighted = counts[:, None] * share
    every = np.arange(len(counts))
    voxels, inside = np.zeros((2, patterns.n_raters, patterns.n_labels))
    for rater, labels in enumerate(patterns.labels.T):
        voxels[rater] = np.bincount(labels, counts, patterns.n_labels)
        inside[rater] = np.bincount(labels, weighted[every, labels], patterns.n_labels)
    truth = weighted.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Performance(
            voxels,
            2 * inside / (voxels + truth),
            inside / truth,
            1 - (voxels - inside) / (counts.sum() - truth),
        )


def one_label_each(labels: NDArray[np.int64], n_labels: int) -> Floats:
    """The `share` of a consensus that gives each pattern one label."""
    return np.asarray(labels[:, None] == np.arange(n_labels), float)
