"""What several raters say together: packed patterns, and every consensus as a function of them.

K raters with L labels leave at most L^K different decision patterns. Packing them into one small
integer per voxel turns each consensus (STAPLE, vote, mean, agreement region) and each agreement
measure into arithmetic on at most L^K counts, so its cost does not grow with the image.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.volume import flat, nonzero_voxels

MAX_PATTERNS = 2**16
STAPLE_TOLERANCE = 1e-14  # on squared changes, as ITK stops
Region = Literal["background", "dissensus", "foreground"]


@dataclass(frozen=True)
class RaterPatterns:
    """The raters' labels at each voxel as one number, `code = sum_k label_k * n_labels**k`."""

    codes: NDArray[Any]
    n_raters: int
    n_labels: int

    @property
    def n_codes(self) -> int:
        """How many different patterns there can be."""
        return int(self.n_labels**self.n_raters)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Label of each rater in each pattern, shape (patterns, raters)."""
        powers = self.n_labels ** np.arange(self.n_raters)
        return np.arange(self.n_codes)[:, None] // powers % self.n_labels

    @cached_property
    def voxels(self) -> NDArray[np.int64]:
        """Flat indices (x fastest) of the voxels that at least one rater labelled."""
        return nonzero_voxels(self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of voxels of each pattern over the whole image."""
        counts = np.bincount(flat(self.codes)[self.voxels], minlength=self.n_codes)
        counts[0] = self.codes.size - self.voxels.size
        return counts

    def marked(self, label: int = 1) -> NDArray[np.bool_]:
        """Whether each rater gives `label`, shape (patterns, raters)."""
        marked: NDArray[np.bool_] = self.labels == label
        return marked

    def image(self, per_pattern: NDArray[Any]) -> NDArray[Any]:
        """Spread a value per pattern over the voxels."""
        return flat(per_pattern[flat(self.codes)]).reshape(self.codes.shape, order="F")


def pack(masks: Iterable[ArrayLike], *, n_labels: int = 2) -> RaterPatterns:
    """Pack the raters' label maps (labels 0 to `n_labels` - 1) into one array of patterns."""
    codes: NDArray[Any] | None = None
    n_raters = 0
    for mask in masks:
        array = np.asarray(mask)
        if codes is None:
            codes = np.zeros(array.shape, np.uint16, order="F")
        if array.shape != codes.shape:
            raise ValueError(f"rater {n_raters + 1} has shape {array.shape}, not {codes.shape}")
        voxels = nonzero_voxels(array)
        labels = flat(array)[voxels].astype(np.int64)
        if labels.size and not 0 <= labels.min() <= labels.max() < n_labels:
            raise ValueError(f"rater {n_raters + 1} has labels outside 0 to {n_labels - 1}")
        flat(codes)[voxels] += (labels * n_labels**n_raters).astype(np.uint16)
        n_raters += 1
        if n_labels**n_raters > MAX_PATTERNS:
            raise ValueError(f"{n_raters} raters with {n_labels} labels are too many to pack")
    if codes is None:
        raise ValueError("no rater was given")
    small = n_labels**n_raters <= 256
    return RaterPatterns(codes.astype(np.uint8) if small else codes, n_raters, n_labels)


# ---- consensus per pattern -----------------------------------------------------------------


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


def staple(patterns: RaterPatterns, *, label: int = 1, max_iterations: int = 2**31) -> Staple:
    """Binary STAPLE (Warfield 2004) of `label`, step for step as ITK computes it.

    The prior is the mean foreground fraction over raters and the whole image; the first weights
    are the raters' mean. EM alternates sensitivity `p_k = sum_{a_k=1} W / sum W` and specificity
    `q_k = sum_{a_k=0} (1-W) / sum (1-W)` with `W = g A / (g A + (1-g) B)`. Where ITK divides 0 by
    0 (nobody or everybody marks every voxel) the probability is NaN and the mask empty, as ITK's.
    """
    seen = patterns.counts > 0
    counts = patterns.counts[seen].astype(float)
    marked = patterns.marked(label)[seen]
    prior = float((counts @ marked).sum() / (counts.sum() * patterns.n_raters))
    weights = marked.mean(axis=1)
    previous = np.full((2, patterns.n_raters), -10.0)
    iteration = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        while True:
            inside, outside = counts * weights, counts * (1 - weights)
            sensitivity = inside @ marked / inside.sum()
            specificity = outside @ ~marked / outside.sum()
            weights = _posterior(marked, sensitivity, specificity, prior)
            quality = np.stack([sensitivity, specificity])
            moved = bool(((quality - previous) ** 2 > STAPLE_TOLERANCE).any())
            if (iteration > 0 and not moved) or iteration >= max_iterations:
                break
            previous = quality
            iteration += 1
        everywhere = _posterior(patterns.marked(label), sensitivity, specificity, prior)
    return Staple(everywhere, sensitivity, specificity, iteration)


def _posterior(
    marked: NDArray[np.bool_],
    sensitivity: NDArray[np.float64],
    specificity: NDArray[np.float64],
    prior: float,
) -> NDArray[np.float64]:
    inside = np.ones(marked.shape[0])
    outside = np.ones(marked.shape[0])
    for rater, (p, q) in enumerate(zip(sensitivity, specificity, strict=True)):  # in ITK's order
        inside *= np.where(marked[:, rater], p, 1 - p)
        outside *= np.where(marked[:, rater], 1 - q, q)
    posterior: NDArray[np.float64] = prior * inside / (prior * inside + (1 - prior) * outside)
    return posterior


def multilabel_staple(
    patterns: RaterPatterns, *, tolerance: float = 1e-5, max_iterations: int = 1000
) -> NDArray[np.int64]:
    """Multi-label STAPLE: the label per pattern, or `n_labels` where two are equally likely.

    EM on one confusion matrix per rater (Warfield 2004, Rohlfing 2004) as in ITK: first matrices
    from the majority vote, prior from all raters' label frequencies. A tied vote counts half for
    each of two labels; ITK there writes past a matrix row, so only untied votes compare with it.
    """
    counts = patterns.counts.astype(float)
    labels, n_labels = patterns.labels, patterns.n_labels
    frequency = np.array([(counts @ (labels == label)).sum() for label in range(n_labels)])
    prior = frequency / frequency.sum()
    leading = _leading_labels(patterns)
    weights = leading / leading.sum(axis=1, keepdims=True)
    confusion = _confusion(labels, counts[:, None] * weights, n_labels, of="given")
    for _ in range(max_iterations):
        weights = _label_weights(labels, confusion, prior)
        updated = _confusion(labels, counts[:, None] * weights, n_labels, of="true")
        change = float(np.abs(updated - confusion).max())
        confusion = updated
        if change < tolerance:
            break
    weights = _label_weights(labels, confusion, prior)
    best = weights.max(axis=1)
    winner = weights.argmax(axis=1)
    tied = (weights == best[:, None]).sum(axis=1) > 1
    return np.where(tied, n_labels, winner)


def _confusion(
    labels: NDArray[np.int64],
    weighted: NDArray[np.float64],
    n_labels: int,
    *,
    of: Literal["given", "true"],
) -> NDArray[np.float64]:
    """Per rater the matrix (given label, true label), scaled to 1 over its rows or columns."""
    given = labels[:, :, None] == np.arange(n_labels)
    matrices = np.einsum("crg,ct->rgt", given, weighted)
    total = matrices.sum(axis=2 if of == "given" else 1, keepdims=True)
    return _share(matrices, total)


def _label_weights(
    labels: NDArray[np.int64], confusion: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    weights = np.broadcast_to(prior, (labels.shape[0], prior.size)).copy()
    for rater in range(labels.shape[1]):
        weights *= confusion[rater][labels[:, rater]]
    total = weights.sum(axis=1, keepdims=True)
    return _share(weights, total)


def _share(part: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """`part / total`, 0 where the total is."""
    return np.asarray(np.divide(part, total, out=np.zeros(part.shape), where=total > 0))


def majority(patterns: RaterPatterns) -> NDArray[np.int64]:
    """The most frequent label per pattern, or `n_labels` where two are equally frequent."""
    leading = _leading_labels(patterns)
    return np.where(leading.sum(axis=1) > 1, patterns.n_labels, leading.argmax(axis=1))


def _leading_labels(patterns: RaterPatterns) -> NDArray[np.bool_]:
    """Which labels get the most votes, shape (patterns, labels)."""
    votes = (patterns.labels[:, :, None] == np.arange(patterns.n_labels)).sum(axis=1)
    leading: NDArray[np.bool_] = votes == votes.max(axis=1, keepdims=True)
    return leading


def soft_mean(patterns: RaterPatterns, *, label: int = 1) -> NDArray[np.float64]:
    """Share of the raters that give `label`, per pattern."""
    mean: NDArray[np.float64] = patterns.marked(label).mean(axis=1)
    return mean


def intersection(patterns: RaterPatterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns in which all raters give `label`."""
    return np.asarray(patterns.marked(label).all(axis=1))


def union(patterns: RaterPatterns, *, label: int = 1) -> NDArray[np.bool_]:
    """Patterns in which at least one rater gives `label`."""
    return np.asarray(patterns.marked(label).any(axis=1))


def agreement_region(
    patterns: RaterPatterns, region: Region, *, label: int = 1
) -> NDArray[np.bool_]:
    """Patterns of one region: all give `label` (foreground), none does (background), or some."""
    everyone = intersection(patterns, label=label)
    anyone = union(patterns, label=label)
    return {"foreground": everyone, "background": ~anyone, "dissensus": anyone & ~everyone}[region]
