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

from segjury.volume import Span, flat, nonzero_spans, nonzero_voxels

MAX_PATTERNS = 2**16
STAPLE_TOLERANCE = 1e-14  # on squared changes, as ITK stops
Region = Literal["background", "dissensus", "foreground"]


@dataclass(frozen=True)
class RaterPatterns:
    """The raters' labels at each voxel as one number, `code = sum_k label_k * n_labels**k`."""

    codes: NDArray[Any]
    n_raters: int
    n_labels: int
    known_spans: tuple[Span, ...] | None = None  # outside which no rater marks anything

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
        return nonzero_voxels(self.codes, self.known_spans)

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


def pack(masks: ArrayLike, *, n_labels: int = 2) -> RaterPatterns:
    """Pack the raters' label maps (labels 0 to `n_labels` - 1) into one array of patterns."""
    arrays = [np.asarray(mask) for mask in np.asarray(masks)]
    if not arrays:
        raise ValueError("no rater was given")
    marks = ((voxels := nonzero_voxels(array), flat(array)[voxels]) for array in arrays)
    return pack_voxels(marks, arrays[0].shape, n_raters=len(arrays), n_labels=n_labels)


def pack_voxels(
    marks: Iterable[tuple[NDArray[np.int64], NDArray[Any]]],
    shape: tuple[int, ...],
    *,
    n_raters: int,
    n_labels: int = 2,
) -> RaterPatterns:
    """`pack` for raters given by their labelled voxels (flat indices, x fastest) and labels."""
    if n_labels**n_raters > MAX_PATTERNS:
        raise ValueError(f"{n_raters} raters with {n_labels} labels are too many to pack")
    dtype = np.min_scalar_type(n_labels**n_raters - 1)
    codes = np.zeros(shape, dtype, order="F")
    first, last = codes.size, 0
    for rater, (voxels, labels) in enumerate(marks):
        if labels.size and not 0 <= labels.min() <= labels.max() < n_labels:
            raise ValueError(f"rater {rater + 1} has labels outside 0 to {n_labels - 1}")
        flat(codes)[voxels] += (labels.astype(np.int64) * n_labels**rater).astype(dtype)
        if voxels.size:
            first, last = min(first, int(voxels[0])), max(last, int(voxels[-1]) + 1)
    spans = nonzero_spans(flat(codes)[first:last])
    shifted = tuple((start + first, stop + first) for start, stop in spans)
    return RaterPatterns(codes, n_raters, n_labels, shifted)


@dataclass(frozen=True)
class SeenPatterns:
    """The patterns that occur, where raters and labels are too many to number all there can be."""

    labels: NDArray[Any]  # (patterns, raters)
    counts: NDArray[np.int64]
    n_labels: int
    of_voxel: NDArray[np.intp]  # which pattern each of the given voxels has

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return int(self.labels.shape[1])

    def marked(self, label: int = 1) -> NDArray[np.bool_]:
        """Whether each rater gives `label`, shape (patterns, raters)."""
        marked: NDArray[np.bool_] = self.labels == label
        return marked


def seen_patterns(labels: NDArray[Any], *, n_labels: int, voxels_elsewhere: int) -> SeenPatterns:
    """The different rows of `labels` (voxels, raters), and one for what nobody labels."""
    n_raters = labels.shape[1]
    rows = np.ascontiguousarray(labels, np.uint8).view(f"V{n_raters}").reshape(-1)
    different, of_voxel, counts = np.unique(rows, return_inverse=True, return_counts=True)
    patterns = different.view(np.uint8).reshape(-1, n_raters)
    nobody = np.zeros((1, n_raters), np.uint8)
    return SeenPatterns(
        np.concatenate([nobody, patterns]),
        np.concatenate([[voxels_elsewhere], counts]),
        n_labels,
        of_voxel + 1,
    )


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


def staple(
    patterns: RaterPatterns | SeenPatterns, *, label: int = 1, max_iterations: int = 2**31
) -> Staple:
    """Binary STAPLE (Warfield 2004) of `label`, step for step as ITK computes it.

    The prior is the mean foreground fraction over raters and the whole image; the first weights
    are the raters' mean. EM alternates sensitivity `p_k = sum_{a_k=1} W / sum W` and specificity
    `q_k = sum_{a_k=0} (1-W) / sum (1-W)` with `W = g A / (g A + (1-g) B)`. Where ITK divides 0 by
    0 (nobody or everybody marks every voxel) the probability is NaN and the mask empty, as ITK's.
    """
    seen = patterns.counts > 0
    counts = patterns.counts[seen].astype(float)
    marked = patterns.marked(label)[seen].T  # (raters, patterns)
    says_yes, says_no = marked.astype(float), (~marked).astype(float)
    prior = float((says_yes @ counts).sum() / (counts.sum() * patterns.n_raters))
    weights = says_yes.mean(axis=0)
    quality = np.full((2, patterns.n_raters), -10.0)
    iteration = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        while True:
            inside, outside = counts * weights, counts * (1 - weights)
            previous = quality
            quality = np.stack(
                [says_yes @ inside / inside.sum(), says_no @ outside / outside.sum()]
            )
            weights = _posterior(marked, quality, prior)
            moved = bool(((quality - previous) ** 2 > STAPLE_TOLERANCE).any())
            if (iteration > 0 and not moved) or iteration >= max_iterations:
                break
            iteration += 1
        everywhere = _posterior(patterns.marked(label).T, quality, prior)
    return Staple(everywhere, quality[0], quality[1], iteration)


def _posterior(
    marked: NDArray[np.bool_], quality: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """Probability of foreground per pattern; products over the raters in ITK's order."""
    sensitivity, specificity = quality[0][:, None], quality[1][:, None]
    inside = prior * np.where(marked, sensitivity, 1 - sensitivity).prod(axis=0)
    outside = (1 - prior) * np.where(marked, 1 - specificity, specificity).prod(axis=0)
    return np.asarray(inside / (inside + outside))


def multilabel_staple(
    patterns: RaterPatterns | SeenPatterns, *, tolerance: float = 1e-5, max_iterations: int = 1000
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


def majority(patterns: RaterPatterns | SeenPatterns) -> NDArray[np.int64]:
    """The most frequent label per pattern, or `n_labels` where two are equally frequent."""
    leading = _leading_labels(patterns)
    return np.where(leading.sum(axis=1) > 1, patterns.n_labels, leading.argmax(axis=1))


def _leading_labels(patterns: RaterPatterns | SeenPatterns) -> NDArray[np.bool_]:
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
