"""How many voxels each two of many masks have in common, from masks packed into bits.

`RaterPatterns` number all that a few raters can say of a voxel. Many masks, or masks of noise,
leave as many patterns as voxels. As words of 64 voxels they take the same time whatever they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import LONGEST_SPAN, Ints

WORD_VOXELS = 64
WORD_SHIFT = 6  # 64 is two to this power
STRETCH_WORDS = 2048  # of all masks, which then stay in the cache

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class PackedMask:
    """The words of a mask that are not 0; voxel `v` is bit `v % 64` of word `v // 64`."""

    places: Ints  # numbers of the words, ascending
    words: Words

    @classmethod
    def of(cls, voxels: Ints) -> PackedMask:
        """The mask of some voxels, by flat index in ascending order."""
        places, words, start = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)], 0
        while start < voxels.size:
            stop = min(start + LONGEST_SPAN, voxels.size)
            if stop < voxels.size:  # a word is not cut in two
                stop = int(np.searchsorted(voxels, voxels[stop] >> WORD_SHIFT << WORD_SHIFT))
            here = voxels[start:stop]
            place = here >> WORD_SHIFT
            first = np.flatnonzero(np.diff(place, prepend=-1))
            bits = np.left_shift(np.uint64(1), (here & (WORD_VOXELS - 1)).view(np.uint64))
            places.append(place[first])
            words.append(np.bitwise_or.reduceat(bits, first))
            start = stop
        return cls(np.concatenate(places), np.concatenate(words))


@dataclass(frozen=True)
class Overlaps:
    """Voxels that the masks of raters and the samples of a prediction have in common.

    `common` has them for each two masks, the raters' first, and the size of each on its diagonal.
    `votes` has the voxels by number of raters and number of samples that mark them; those that
    nobody marks are left out.
    """

    n_raters: int
    common: Ints
    votes: Ints

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.common) - self.n_raters

    @property
    def sizes(self) -> Ints:
        """Voxels of each mask, the raters' first."""
        return self.common.diagonal()

    @property
    def volumes(self) -> tuple[list[int], list[int]]:
        """Voxels of each rater's mask, and of each sample."""
        sizes = self.sizes.tolist()
        return sizes[: self.n_raters], sizes[self.n_raters :]


def overlaps(raters: Sequence[PackedMask], samples: Sequence[PackedMask]) -> Overlaps:
    """Count what each two masks have in common, a stretch of the image at a time."""
    masks, n_raters, n_samples = [*raters, *samples], len(raters), len(samples)
    common = np.zeros((len(masks), len(masks)), np.int64)
    votes = np.zeros((n_raters + 1) * (n_samples + 1), np.int64)
    for rows in _stretches(masks):
        for k, row in enumerate(rows):
            common[k, k:] += np.bitwise_count(row & rows[k:]).sum(axis=1, dtype=np.uint32)
        cells = _sum_of_bits(rows[:n_raters]).astype(np.intp) * (n_samples + 1)
        cells += _sum_of_bits(rows[n_raters:])
        votes += np.bincount(cells, minlength=votes.size)
    votes[0] = 0  # they lie in a word with others; all other words are not looked at
    common += np.triu(common, 1).T
    return Overlaps(n_raters, common, votes.reshape(n_raters + 1, n_samples + 1))


def _stretches(masks: Sequence[PackedMask]) -> Iterator[Words]:
    """All masks side by side, (masks, words), without the words that are 0 in all of them."""
    last = max((int(mask.places[-1]) for mask in masks if mask.places.size), default=-1)
    used = np.zeros(last + 1, bool)
    for mask in masks:
        used[mask.places] = True
    column, places = np.cumsum(used) - 1, np.flatnonzero(used)
    for start in range(0, places.size, STRETCH_WORDS):
        here = places[start : start + STRETCH_WORDS]
        rows = np.zeros((len(masks), here.size), np.uint64)
        for row, mask in zip(rows, masks, strict=True):
            first, stop = np.searchsorted(mask.places, [here[0], here[-1] + 1])
            row[column[mask.places[first:stop]] - start] = mask.words[first:stop]
        yield rows


def _sum_of_bits(rows: Words) -> NDArray[np.unsignedinteger]:
    """How many of the masks mark each voxel."""
    total = np.zeros(rows.shape[1] * WORD_VOXELS, np.min_scalar_type(len(rows)))
    for row in rows:
        total += np.unpackbits(row.view(np.uint8))
    return total
