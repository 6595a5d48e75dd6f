"""A vote of those raters only who agree with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.consensus.patterns import Patterns
from segjury.consensus.performance import Floats, one_label_each, performance
from segjury.consensus.votes import Ties, break_ties, leaders, votes

FEWEST_RATERS = 3  # of two, the better one alone would decide
ROUNDING = 1e-9  # of a Dice


@dataclass(frozen=True)
class Simple:
    """Result of SIMPLE: the label per pattern, and what became of the raters."""

    labels: NDArray[np.int64]
    weights: Floats  # of the last vote, 0 for a rater who was dropped
    dropped_in: NDArray[np.int64]  # the iteration, 0 for a rater who was kept
    iterations: int


def simple(
    patterns: Patterns,
    *,
    alpha: float = 1.5,
    ties: Ties = "background",
    max_iterations: int = 100,
) -> Simple:
    """Selective vote after SIMPLE (Langerak et al. 2010).

    The first estimate is the majority vote. Each iteration takes as `f_k` the Dice of rater k with
    the estimate (mean over the labels that either has; 1 where neither has any), drops raters
    with `f_k < mean(f) - alpha SD(f)` over those still kept (SD of the population), the worst
    first and never below three, and votes again with weights `f_k`. It ends when nobody was
    dropped and the estimate stays the same. Where all weights are 0, everyone counts the same.

    Parameters
    ----------
    patterns : Patterns
        The raters' label maps, packed by `pack`.
    alpha : float
        How many SDs below the mean a rater is dropped.
    ties : {"background", "lower", "first"}
        The label of a tied vote: none, the lowest, or that of the first rater.
    max_iterations : int
        After which to stop, whatever changes.

    Returns
    -------
    Simple
        The label per pattern, the raters' weights, and who was dropped when.
    """
    kept = np.ones(patterns.n_raters, bool)
    dropped_in = np.zeros(patterns.n_raters, np.int64)
    weights = np.ones(patterns.n_raters)
    estimate = break_ties(patterns, leaders(votes(patterns)), ties=ties)
    occurs = patterns.counts > 0
    iteration = 0
    while iteration < max_iterations:
        iteration += 1
        dice = _mean_dice(patterns, estimate)
        dropped = _to_drop(dice, kept, alpha)
        kept[dropped] = False
        dropped_in[dropped] = iteration
        weights = kept * dice if (kept * dice).any() else kept.astype(float)
        previous = estimate
        estimate = break_ties(patterns, leaders(votes(patterns, weights=weights)), ties=ties)
        if not dropped.size and (estimate == previous)[occurs].all():
            break
    return Simple(estimate, weights, dropped_in, iteration)


def _mean_dice(patterns: Patterns, estimate: NDArray[np.int64]) -> Floats:
    """Mean Dice of each rater with the estimate over the labels that either has."""
    dice = performance(patterns, one_label_each(estimate, patterns.n_labels)).dice[:, 1:]
    defined = ~np.isnan(dice)
    total = np.where(defined, dice, 0).sum(axis=1)
    return np.where(defined.any(axis=1), total / np.maximum(defined.sum(axis=1), 1), 1.0)


def _to_drop(dice: Floats, kept: NDArray[np.bool_], alpha: float) -> NDArray[np.intp]:
    """The raters below the threshold, the worst first, as many as may go."""
    limit = dice[kept].mean() - alpha * dice[kept].std() - ROUNDING
    below = np.flatnonzero(kept & (dice < limit))
    worst_first = below[np.argsort(dice[below], kind="stable")]
    return worst_first[: max(int(kept.sum()) - FEWEST_RATERS, 0)]
