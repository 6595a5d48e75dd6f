"""Masks that may overlap, such as channels or segments, as one value per voxel.

A value stands for a set of labels; sets are numbered as they occur, and 0 is the empty one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints, Span, flat, nonzero_spans
from segjury.errors import InputError
from segjury.images.formats.streams import Change
from segjury.images.formats.wanted import MOST_LABELS
from segjury.images.grid import Grid
from segjury.images.volume import Volume

MOST_SETS = 255  # of labels that occur together, besides none: as many as a byte tells apart


class Overlaps:
    """Collects one mask after the other.

    No more sets are numbered than occur: of a set that all of its voxels leave, the number goes on
    as that of the new one. So the number of sets never falls as masks are added, and too many are
    refused at once.
    """

    def __init__(self, n_voxels: int) -> None:
        self._values = np.zeros(n_voxels, np.uint8)
        self._sets: list[frozenset[int]] = [frozenset()]
        self._sizes = [0]

    def add(self, label: int, mask: NDArray[Any], spans: Iterable[Span] | None = None) -> None:
        """Add the mask of a label; looks at `spans` alone, where they are known."""
        if any(label in held for held in self._sets):
            raise label_twice(label)
        marked = flat(mask)
        spans = list(nonzero_spans(marked) if spans is None else spans)
        counts = np.zeros(len(self._sets), np.int64)
        for start, stop in spans:
            here = self._values[start:stop][marked[start:stop] != 0]
            counts += np.bincount(here, minlength=counts.size)
        table = self._joined(label, counts)
        for start, stop in spans:
            here = np.flatnonzero(marked[start:stop]) + start
            self._values[here] = table[self._values[here]]

    def _joined(self, label: int, counts: Ints) -> NDArray[np.uint8]:
        """What becomes of each value where a label is added to as many voxels of it."""
        table = np.arange(256, dtype=np.uint8)
        for value in np.flatnonzero(counts).tolist():
            joined, size = self._sets[value] | {label}, int(counts[value])
            if value and size == self._sizes[value]:
                self._sets[value] = joined
                continue
            self._sizes[value] -= size
            self._sets.append(joined)
            self._sizes.append(size)
            if len(self._sets) > MOST_SETS + 1:
                raise too_many_sets()
            table[value] = len(self._sets) - 1
        return table

    def volume(self, grid: Grid) -> Volume:
        """All masks on a grid."""
        array = self._values.reshape(grid.shape, order="F")
        return Volume(array, grid, members=tuple(self._sets))


class Sets:
    """Numbers sets of labels as they are met, for masks that are read side by side."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[int], int] = {frozenset(): 0}

    def number(self, labels: Iterable[int]) -> int:
        """The number of a set."""
        number = self._numbers.setdefault(frozenset(labels), len(self._numbers))
        if number > MOST_SETS:
            raise too_many_sets()
        return number

    @property
    def members(self) -> tuple[frozenset[int], ...]:
        """The sets, by number."""
        return tuple(self._numbers)


def numbered(known: Sequence[int], where: str) -> Change:
    """What turns some values into their numbers, from 1 in the order given, and 0 into 0.

    Refuses all others, saying where they are.
    """
    order = np.argsort(known) if known else np.zeros(1, np.int64)
    ascending = np.array([known[k] for k in order] if known else [0])
    numbers = (order + 1).astype(np.uint8)

    def change(values: NDArray[Any]) -> NDArray[np.uint8]:
        places = np.searchsorted(ascending, values).clip(max=ascending.size - 1)
        marked = values != 0
        strange = values[marked & (ascending[places] != values)]
        if strange.size:
            what = f"has the value {strange[0]} in {where}, which is no segment"
            raise InputError(what, "Export it again")
        return np.where(marked, numbers[places], np.uint8(0))

    return change


def members_of(labels: Iterable[int | None]) -> tuple[frozenset[int], ...]:
    """The sets of 0, and of one label for each number; None for one that does not occur."""
    held = (frozenset() if label is None else frozenset((label,)) for label in labels)
    return (frozenset(), *held)


def too_many_sets() -> InputError:
    """What to say of masks that overlap in more ways than are told apart."""
    return InputError(
        f"has more than {MOST_SETS} different sets of labels that overlap", "Store fewer labels"
    )


def label_twice(label: int) -> InputError:
    """What to say where two segments stand for one label."""
    return InputError(f"has two segments for label {label}", "Join them, or rename one")


def refuse_absent_channel(sizes: tuple[int, ...], count: int, channel: int) -> None:
    """Refuse a file without the channel that is wanted, or with more than there can be labels."""
    if not 1 <= channel <= count or count > MOST_LABELS:
        raise InputError(
            f"has shape {sizes}, expected a volume with channel {channel}",
            "Store one channel for each label, the first for label 1",
            kind="other-shape",
        )


def refuse_many_channels(sizes: tuple[int, ...], count: int, labels: Collection[int]) -> None:
    """Refuse more channels than there can be labels, before they are read."""
    most = max(labels, default=0)
    if count > min(most, MOST_LABELS):
        raise InputError(
            f"has shape {sizes}: {count} channels, but the labels go up to {most}",
            "Store one channel for each label, the first for label 1",
            kind="unknown-label",
        )


def unknown_label(what: str, labels: Collection[int]) -> InputError:
    """What to say of a channel or segment that holds marks and is none of the labels."""
    return InputError(
        f"has marks in {what}, expected {', '.join(map(str, sorted(labels)))}",
        "Store the mask with the protocol's labels",
        kind="unknown-label",
    )
