"""The labels of several raters at each voxel as one number.

K raters with L labels leave at most L^K different decision patterns. Packing them into one small
integer per voxel turns each consensus (STAPLE, vote, mean, agreement region) and each agreement
measure into arithmetic on at most L^K counts, so its cost does not grow with the image.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Span, flat, nonzero_spans
from segjury.images.labels import Classes, SparseLabels

MAX_PATTERNS = 2**16
LABEL_BITS = 32  # of a number that holds a pattern and a label

Piece = tuple[slice | NDArray[np.int64], NDArray[Any]]  # voxels, and their labels
Patterns: TypeAlias = "RaterPatterns | SeenPatterns"


@dataclass(frozen=True)
class RaterPatterns:
    """The raters' labels at each voxel as one number, `code = sum_k label_k * n_labels**k`."""

    codes: NDArray[Any]
    n_raters: int
    n_labels: int
    known_spans: tuple[Span, ...] | None = None  # outside which no rater marks anything
    classes: Classes | None = None  # what label numbers stand for, where labels overlap
    ignored: int = 0  # voxels that are not counted; nobody marks them
    weights: tuple[float, ...] = ()  # of the raters; all alike where there are none

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
    def marks(self) -> SparseLabels:
        """The voxels that at least one rater labelled, and their patterns."""
        return SparseLabels.of(self.codes, self.known_spans)

    @property
    def voxels(self) -> NDArray[np.int64]:
        """Flat indices (x fastest) of the voxels that at least one rater labelled."""
        return self.marks.voxels

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of voxels of each pattern over the whole image."""
        counts = np.zeros(self.n_codes, np.int64)
        for _, codes in self.marks.pieces():
            counts += np.bincount(codes, minlength=self.n_codes)
        counts[0] = self.codes.size - self.ignored - counts.sum()
        return counts

    def marked(self, label: int = 1) -> NDArray[np.bool_]:
        """Whether each rater gives `label`, shape (patterns, raters)."""
        if self.classes:
            return np.asarray(self.classes.holding(label)[self.labels])
        marked: NDArray[np.bool_] = self.labels == label
        return marked

    def without(self, rater: int) -> RaterPatterns:
        """The patterns of all raters but one, who counts from 0."""
        if not (0 <= rater < self.n_raters and self.n_raters > 1):
            raise ValueError(f"rater is {rater}, expected one of {self.n_raters}, and another left")
        before, code = self.n_labels**rater, np.arange(self.n_codes)
        left = code % before + code // (before * self.n_labels) * before
        dtype = np.min_scalar_type(self.n_codes // self.n_labels - 1)
        weights = self.weights[:rater] + self.weights[rater + 1 :]
        return replace(
            self,
            codes=self.image(left.astype(dtype)),
            n_raters=self.n_raters - 1,
            weights=weights if len(set(weights)) > 1 else (),
        )

    def image(self, per_pattern: NDArray[Any]) -> NDArray[Any]:
        """Spread a value per pattern over the voxels."""
        return flat(per_pattern[flat(self.codes)]).reshape(self.codes.shape, order="F")


def pack(masks: ArrayLike, *, n_labels: int = 2) -> RaterPatterns:
    """Pack the label maps of several raters into one array of patterns.

    Parameters
    ----------
    masks : array_like
        One label map per rater on the first axis.
    n_labels : int
        Labels are 0 to `n_labels` - 1; 2 for masks of one structure.

    Returns
    -------
    RaterPatterns
        What all functions of `segjury.consensus` take; `image(...)` turns what they return, a
        value per pattern, into an image.
    """
    arrays = [np.asarray(mask) for mask in np.asarray(masks)]
    if not arrays:
        raise ValueError("no rater was given")
    marks = (SparseLabels.of(array) for array in arrays)
    return pack_marks(marks, arrays[0].shape, n_raters=len(arrays), n_labels=n_labels)


def pack_marks(
    marks: Iterable[SparseLabels],
    shape: tuple[int, ...],
    *,
    n_raters: int,
    n_labels: int = 2,
) -> RaterPatterns:
    """`pack` for raters given by their labelled voxels."""
    if n_labels**n_raters > MAX_PATTERNS:
        raise ValueError(f"{n_raters} raters with {n_labels} labels are too many to pack")
    dtype = np.min_scalar_type(n_labels**n_raters - 1)
    codes = np.zeros(shape, dtype, order="F")
    first, last = codes.size, 0
    for rater, marked in enumerate(marks):
        for voxels, labels in marked.pieces():
            if not voxels.size:
                continue
            if not 0 <= labels.min() <= labels.max() < n_labels:
                raise ValueError(f"rater {rater + 1} has labels outside 0 to {n_labels - 1}")
            flat(codes)[voxels] += (labels.astype(np.int64) * n_labels**rater).astype(dtype)
            first, last = min(first, int(voxels[0])), max(last, int(voxels[-1]) + 1)
    spans = nonzero_spans(flat(codes)[first:last])
    shifted = tuple((start + first, stop + first) for start, stop in spans)
    return RaterPatterns(codes, n_raters, n_labels, shifted)


@dataclass(frozen=True)
class SeenPatterns:
    """The patterns that occur, where raters and labels are too many to number all there can be."""

    labels: NDArray[Any]  # (patterns, raters); in the first one nobody gives any
    counts: NDArray[np.int64]
    n_labels: int
    of_voxel: NDArray[Any]  # which pattern each of the given voxels has
    weights: tuple[float, ...] = ()  # as those of `RaterPatterns`

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return int(self.labels.shape[1])

    def marked(self, label: int = 1) -> NDArray[np.bool_]:
        """Whether each rater gives `label`, shape (patterns, raters)."""
        marked: NDArray[np.bool_] = self.labels == label
        return marked

    def spread(self, per_pattern: NDArray[Any]) -> NDArray[Any]:
        """A value per pattern, spread over the given voxels a stretch at a time."""
        values = np.zeros(self.of_voxel.size, per_pattern.dtype)
        if per_pattern[0] != 0:
            values[:] = per_pattern[0]
        for start, stop in nonzero_spans(self.of_voxel):
            values[start:stop] = per_pattern[self.of_voxel[start:stop]]
        return values


def number_patterns(raters: Iterable[Iterable[Piece]], n_voxels: int) -> SeenPatterns:
    """Number the patterns of `n_voxels` voxels as they turn up, one rater after the other.

    A rater comes as parts of memory, no voxel twice, with the labels (below 2^32) there. Between
    raters only a number per voxel is kept, in as few bytes as it needs. Labels mostly stay the
    same along a row, so that what is sorted are runs, not voxels.
    """
    codes: NDArray[Any] = np.zeros(n_voxels, np.uint8)
    patterns = np.zeros((1, 0), np.int64)
    for marks in raters:
        numbers: dict[int, int] = {}  # of new patterns, by the pattern so far and the label
        codes = _add_rater(codes, marks, numbers, len(patterns))
        patterns = _with_rater(patterns, list(numbers))
    counts = np.zeros(len(patterns), np.int64)
    counts[0] = n_voxels
    for start, stop in nonzero_spans(codes):
        counts += np.bincount(codes[start:stop], minlength=counts.size)
        counts[0] -= stop - start
    return SeenPatterns(patterns, counts, int(patterns.max(initial=0)) + 1, codes)


def _add_rater(
    codes: NDArray[Any], marks: Iterable[Piece], numbers: dict[int, int], known: int
) -> NDArray[Any]:
    """The codes after one more rater; `numbers` learns the new ones, which follow the known."""
    for where, labels in marks:
        keys = codes[where].astype(np.uint64) << LABEL_BITS | labels.astype(np.uint64)
        runs = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: keys.size])
        different, of_run = np.unique(keys[runs], return_inverse=True)
        pattern_of_key = [_number(key, numbers, known) for key in different.tolist()]
        codes = _widened(codes, known + len(numbers) - 1)
        lengths = np.diff(runs, append=keys.size)
        codes[where] = np.repeat(np.array(pattern_of_key, codes.dtype)[of_run], lengths)
    return codes


def _number(key: int, numbers: dict[int, int], known: int) -> int:
    """The pattern after one more rater: as before where that one gives no label."""
    before, label = key >> LABEL_BITS, key & (1 << LABEL_BITS) - 1
    return numbers.setdefault(key, known + len(numbers)) if label else before


def _widened(codes: NDArray[Any], most: int) -> NDArray[Any]:
    """The codes in a type that can hold numbers up to `most`; zeros cost no memory."""
    dtype = np.min_scalar_type(most)
    if dtype.itemsize <= codes.dtype.itemsize:
        return codes
    wider = np.zeros(codes.size, dtype)
    for start, stop in nonzero_spans(codes):
        wider[start:stop] = codes[start:stop]
    return wider


def _with_rater(patterns: NDArray[np.int64], keys: list[int]) -> NDArray[np.int64]:
    """The patterns with one more rater, and those that he or she makes new."""
    before = np.array([key >> LABEL_BITS for key in keys], np.int64)
    labels = np.array([key & (1 << LABEL_BITS) - 1 for key in keys], np.int64)
    none = np.zeros(len(patterns), np.int64)
    return np.concatenate(
        [np.column_stack([patterns, none]), np.column_stack([patterns[before], labels])]
    )
