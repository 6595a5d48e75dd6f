"""Consensus by estimating the raters: STAPLE of one label, and of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.consensus.patterns import Patterns
from segjury.consensus.votes import leaders, votes, winners

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STAPLE_TOLERANCE = 1e-14  # on squared changes, as ITK stops


@dataclass(frozen=True)
class Staple:
    """Result of binary STAPLE: foreground probability per pattern, and each rater's quality."""

    probability: NDArray[np.float64]
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]
    iterations: int

    @property
    def foreground(self) -> NDArray[np.bool_]:
        """Patterns whose probability is over 0.5."""
        return self.probability > 0.5


def staple(patterns: Patterns, *, label: int = 1, max_iterations: int = 2**31) -> Staple:
    """Binary STAPLE (Warfield 2004) of `label`, step for step as ITK computes it.

    The prior is the mean foreground fraction over raters and the whole image; the first weights
    are the raters' mean. EM alternates sensitivity `p_k = sum_{a_k=1} W / sum W` and specificity
    `q_k = sum_{a_k=0} (1-W) / sum (1-W)` with `W = g A / (g A + (1-g) B)`. Where ITK divides 0 by
    0 (nobody or everybody marks every voxel) the probability is NaN and the mask empty, as ITK's.

    Parameters
    ----------
    patterns : Patterns
        The raters' masks, packed by `pack`.
    label : int
        The label that is foreground; all others are background.
    max_iterations : int
        After which to stop, converged or not.

    Returns
    -------
    Staple
        Foreground and its probability per pattern, sensitivity and specificity per rater.
    """
    seen = patterns.counts > 0
    counts = patterns.counts[seen].astype(float)
    marked = patterns.marked(label)[seen].T  # (raters, patterns)
    says_yes, says_no = marked.astype(float), (~marked).astype(float)
    prior = float((says_yes * counts).sum() / (counts.sum() * patterns.n_raters))
    weights = says_yes.mean(axis=0)
    quality = np.full((2, patterns.n_raters), -10.0)
    iteration = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        while True:
            inside, outside = counts * weights, counts * (1 - weights)
            previous = quality
            right = (says_yes * inside).sum(axis=1), (says_no * outside).sum(axis=1)
            quality = np.stack([right[0] / inside.sum(), right[1] / outside.sum()])
            weights = _posterior(marked, quality, prior)
            moved = bool(((quality - previous) ** 2 > STAPLE_TOLERANCE).any())
            if (iteration > 0 and not moved) or iteration >= max_iterations:
                break
            iteration += 1
        everywhere = _posterior(patterns.marked(label).T, quality, prior)
    return Staple(everywhere, quality[0], quality[1], iteration)


def staple_foreground(patterns: Patterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns that STAPLE calls foreground; all there are where all raters mark the whole image.

    There ITK divides 0 by 0, and its mask is empty although nobody doubts the label.
    """
    everyone: NDArray[np.bool_] = np.asarray(patterns.marked(label).all(axis=1))
    if patterns.counts[~everyone].sum() == 0:
        return everyone
    return staple(patterns, label=label).foreground


def _posterior(
    marked: NDArray[np.bool_], quality: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """Probability of foreground per pattern; products over the raters in ITK's order."""
    sensitivity, specificity = quality[0][:, None], quality[1][:, None]
    inside = prior * np.where(marked, sensitivity, 1 - sensitivity).prod(axis=0)
    outside = (1 - prior) * np.where(marked, 1 - specificity, specificity).prod(axis=0)
    return np.asarray(inside / (inside + outside))


@dataclass(frozen=True)
class MultiLabelStaple:
    """Result of multi-label STAPLE; the first label is the background."""

    probability: NDArray[np.float64]  # (patterns, labels)
    confusion: NDArray[np.float64]  # (raters, given label, true label); columns sum to 1
    prior: NDArray[np.float64]
    iterations: int

    @property
    def leading(self) -> NDArray[np.bool_]:
        """Whether each label is the likeliest, or one of several, shape (patterns, labels)."""
        best = self.probability.max(axis=1, keepdims=True)
        leading: NDArray[np.bool_] = self.probability == best
        return leading

    @property
    def labels(self) -> NDArray[np.int64]:
        """The likeliest label per pattern, or the number of labels where two are equally likely."""
        return winners(self.leading)


def multilabel_staple(
    patterns: Patterns, *, tolerance: float = 1e-5, max_iterations: int = 1000
) -> MultiLabelStaple:
    """Multi-label STAPLE: EM on one confusion matrix per rater (Warfield 2004, Rohlfing 2004).

    As in ITK: first matrices from the majority vote, prior from all raters' label frequencies. A
    tied vote counts half for each of two labels; ITK there writes past a matrix row, so only
    untied votes compare with it. A column of a matrix is 0 where no voxel has that label.

    Parameters
    ----------
    patterns : Patterns
        The raters' label maps, packed by `pack`.
    tolerance : float
        Largest change of an entry of a matrix at which to stop.
    max_iterations : int
        After which to stop, converged or not.

    Returns
    -------
    MultiLabelStaple
        The likeliest label and the probability of each per pattern, a matrix per rater.
    """
    counts = patterns.counts.astype(float)
    labels, n_labels = patterns.labels, patterns.n_labels
    one_hot = [_one_hot(labels[:, rater], n_labels) for rater in range(patterns.n_raters)]
    frequency = np.sum([matrix @ counts for matrix in one_hot], axis=0)
    prior = frequency / frequency.sum()
    leading = leaders(votes(patterns))
    weights = leading / leading.sum(axis=1, keepdims=True)
    confusion = _confusion(one_hot, counts[:, None] * weights, of="given")
    iteration = 0
    while iteration < max_iterations:
        iteration += 1
        weights = _label_weights(labels, confusion, prior)
        updated = _confusion(one_hot, counts[:, None] * weights, of="true")
        change = float(np.abs(updated - confusion).max())
        confusion = updated
        if change < tolerance:
            break
    return MultiLabelStaple(_label_weights(labels, confusion, prior), confusion, prior, iteration)


def _one_hot(labels: NDArray[Any], n_labels: int) -> csr_array:
    """Which label a rater gives in each pattern, as a matrix (labels, patterns) of 0 and 1."""
    from scipy.sparse import csr_array

    ones, patterns = np.ones(labels.size), np.arange(labels.size)
    return csr_array((ones, (labels, patterns)), shape=(n_labels, labels.size))


def _confusion(
    one_hot: Sequence[csr_array], weighted: NDArray[np.float64], *, of: Literal["given", "true"]
) -> NDArray[np.float64]:
    """Per rater the matrix (given label, true label), scaled to 1 over its rows or columns."""
    matrices = np.stack([matrix @ weighted for matrix in one_hot])
    total = matrices.sum(axis=2 if of == "given" else 1, keepdims=True)
    return _share(matrices, total)


def _label_weights(
    labels: NDArray[Any], confusion: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of each label per pattern, shape (patterns, labels)."""
    weights = np.broadcast_to(prior, (labels.shape[0], prior.size)).copy()
    for rater in range(labels.shape[1]):
        weights *= confusion[rater][labels[:, rater]]
    total = weights.sum(axis=1, keepdims=True)
    return _share(weights, total)


def _share(part: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """`part / total`, 0 where the total is."""
    return np.asarray(np.divide(part, total, out=np.zeros(part.shape), where=total > 0))
