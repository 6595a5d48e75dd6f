"""Masks and label maps as their labelled voxels alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import (
    LONGEST_SPAN,
    Bools,
    Box,
    Ints,
    Span,
    flat,
    nonzero_spans,
)
from segjury.errors import InputError
from segjury.images.grid import Grid


@dataclass(frozen=True)
class Classes:
    """What the values 1, 2, ... of a mask stand for: one label each, or a set where they overlap.

    Labels count from 1.
    """

    sets: tuple[frozenset[int], ...]

    @classmethod
    def plain(cls, n_labels: int) -> Classes:
        """Those of labels that do not overlap: each value is a label."""
        return cls(tuple(frozenset({label}) for label in range(1, n_labels + 1)))

    @property
    def is_plain(self) -> bool:
        """Whether each value is the label itself."""
        return all(labels == {value} for value, labels in enumerate(self.sets, 1))

    def holding(self, label: int) -> Bools:
        """Whether each value, 0 included, stands for a label; 0 is that of no label."""
        if label == 0:
            return np.asarray(np.arange(len(self.sets) + 1) == 0)
        return np.array([False, *(label in labels for labels in self.sets)])


MANY = 16  # more marks than one voxel in so many are kept as the image itself


@dataclass(frozen=True)
class SparseLabels:
    """The labelled voxels of an image, by flat index in ascending order, and their labels.

    Few are kept as lists, many as the image itself, whose voxels then cost their own size and not
    the eight bytes more of an index. What looks at all of them looks at a piece at a time.
    """

    listed: tuple[Ints, NDArray[Any]] | None
    image: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))  # flat
    spans: tuple[Span, ...] = ()  # of the image, outside which every voxel is 0

    @classmethod
    def of(cls, array: NDArray[Any], spans: Iterable[Span] | None = None) -> SparseLabels:
        """The marks of an image; looks only at `spans`, where they are known."""
        image = flat(array)
        spans = tuple(nonzero_spans(array) if spans is None else spans)
        parts, left = [np.zeros(0, np.int64)], image.size // MANY
        for start, stop in spans:
            parts.append(np.flatnonzero(image[start:stop]) + start)
            left -= parts[-1].size
            if left < 0:
                return cls(None, image, spans)
        voxels = np.concatenate(parts)
        return cls((voxels, image[voxels]))

    def pieces(self) -> Iterator[tuple[Ints, NDArray[Any]]]:
        """Voxels and their labels, at most 2^18 at a time."""
        if self.listed:
            voxels, labels = self.listed
            for start in range(0, voxels.size, LONGEST_SPAN):
                yield voxels[start : start + LONGEST_SPAN], labels[start : start + LONGEST_SPAN]
        for start, stop in self.spans:
            span = self.image[start:stop]
            here = np.flatnonzero(span)
            yield here + start, span[here]

    @property
    def voxels(self) -> Ints:
        """All labelled voxels as one list."""
        return self.listed[0] if self.listed else self.select(lambda labels: labels != 0)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each of `voxels`."""
        if self.listed:
            return self.listed[1]
        return np.concatenate([labels for _, labels in self.pieces()])

    def some(self, most: int) -> tuple[Ints, NDArray[Any]]:
        """At most so many labelled voxels, spread over the image, and their labels."""
        if self.listed:
            voxels, labels = self.listed
            step = max(1, -(-voxels.size // most))
            return voxels[::step], labels[::step]
        step = -(-self.image.size // most) | 1  # odd, so as not to follow a row of the image
        places = np.flatnonzero(self.image[::step]) * step
        return places, self.image[places]

    def painted(self, size: int) -> NDArray[Any]:
        """The labels of all voxels of an image of a given size, flat; 0 where there is none."""
        if self.listed is None:
            return self.image
        voxels, labels = self.listed
        image = np.zeros(size, labels.dtype)
        image[voxels] = labels
        return image

    def select(self, wanted: Callable[[NDArray[Any]], Bools]) -> Ints:
        """The voxels with a wanted label as one list; 0 is never wanted."""
        if self.listed:
            voxels, labels = self.listed
            return np.asarray(voxels[wanted(labels)])
        sizes = [np.count_nonzero(wanted(self.image[first:last])) for first, last in self.spans]
        selected, ends = np.empty(sum(sizes), np.int64), np.cumsum(sizes)
        for (first, last), size, end in zip(self.spans, sizes, ends, strict=True):
            selected[end - size : end] = np.flatnonzero(wanted(self.image[first:last])) + first
        return selected

    def where(self, label: int) -> Ints:
        """The voxels with a label as one list."""
        return self.select(lambda labels: np.asarray(labels == label))

    def relabelled(self, new: Callable[[NDArray[Any]], NDArray[Any]]) -> SparseLabels:
        """The marks with other labels; what becomes 0 is none."""
        if self.listed:
            voxels, labels = self.listed[0], new(self.listed[1])
            kept = labels != 0
            return SparseLabels((voxels, labels) if kept.all() else (voxels[kept], labels[kept]))
        image = np.zeros(self.image.size, new(self.image[:0]).dtype)
        for start, stop in self.spans:
            image[start:stop] = new(self.image[start:stop])
        return SparseLabels.of(image, self.spans)


@dataclass(frozen=True)
class LabelMap:
    """A mask or label map on a grid, as its labelled voxels.

    Where labels may overlap, `members` are the sets of labels that the values 0, 1, 2, ... of
    `marks` stand for, the first of them empty; without it, a value is the label itself.
    """

    marks: SparseLabels
    grid: Grid
    members: tuple[frozenset[int], ...] | None = None

    def __post_init__(self) -> None:
        if self.members is not None and (not self.members or self.members[0]):
            raise ValueError("the value 0 stands for no label")

    @property
    def voxels(self) -> Ints:
        """Flat indices of the labelled voxels, ascending."""
        return self.marks.voxels

    @property
    def labels(self) -> NDArray[Any]:
        """Their labels, or the values that stand for these where there are `members`."""
        return self.marks.labels

    @property
    def present(self) -> frozenset[int]:
        """The labels that some voxel has."""
        counts = np.zeros(256, np.int64)
        for _, values in self.marks.pieces():
            counts += np.bincount(values, minlength=256)
        found = np.flatnonzero(counts).tolist()
        if self.members is None:
            return frozenset(found)
        return frozenset().union(*(self.members[value] for value in found))

    def where(self, *labels: int) -> Ints:
        """Flat indices of the voxels with a label, or with any of several."""
        if self.members is None and len(labels) == 1:
            return self.marks.where(labels[0])
        wanted = np.zeros(256, bool)
        for value, held in enumerate(self._members):
            wanted[value] = not held.isdisjoint(labels)
        return self.marks.select(lambda values: wanted[values])

    def single(self) -> LabelMap:
        """The map with labels as values; refuse a voxel with several of them."""
        if self.members is None:
            return self
        table = np.zeros(256, np.uint8)
        for value, held in enumerate(self.members):
            if len(held) > 1 and self.marks.where(value).size:
                shown = ", ".join(map(str, sorted(held)))
                raise InputError(
                    f"has voxels with several labels: {shown}",
                    "Store masks that do not overlap",
                    kind="overlapping-labels",
                )
            table[value] = min(held, default=0)
        return LabelMap(self.marks.relabelled(lambda values: table[values]), self.grid)

    @property
    def _members(self) -> Sequence[frozenset[int]]:
        if self.members is not None:
            return self.members
        return [frozenset(), *(frozenset((value,)) for value in range(1, 256))]

    def dense(self, label: int | None = None) -> Bools:
        """The mask of a label, or of all, on the whole grid."""
        mask = np.zeros(self.grid.shape, bool, order="F")
        flat(mask)[self.voxels if label is None else self.where(label)] = True
        return mask

    def crop(self, label: int, box: Box) -> Bools:
        """The mask of a label in a box that holds all its voxels."""
        mask = np.zeros(box.shape, bool, order="F")
        mask[box.places(self.where(label), self.grid.shape)] = True
        return mask
