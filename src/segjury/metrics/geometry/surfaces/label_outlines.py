"""How much outline each label of a map has: all labels in one pass, whatever their number.

A map of noise has every label everywhere, so that one pass per label would cost the whole image
each time. Here each corner is looked at once, with its eight voxels. A few planes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Ints, Shape
from segjury.metrics.geometry.surfaces.outline import corner_grid
from segjury.metrics.geometry.surfaces.surfels import PATTERNS

SLAB_VOXELS = 1 << 18  # all its arrays together stay in the cache
FEW = 4  # where less than one in so many counts, these are picked

Labels = NDArray[np.uint8]


@dataclass(frozen=True)
class LabelOutlines:
    """Per label: the number of its edge voxels, and of its voxel corners by pattern.

    Patterns are those of `outline.corner_patterns`; none is counted in which the label fills all.
    """

    edges: Ints
    patterns: Ints  # (labels, 256)

    @classmethod
    def of(cls, image: NDArray[Any], shape: Shape) -> LabelOutlines:
        """The outlines in a map of bytes, given flat (x fastest)."""
        edges, patterns = np.zeros(256, np.int64), np.zeros((256, PATTERNS), np.int64)
        plane = shape[0] * shape[1]
        planes = max(1, SLAB_VOXELS // plane)
        for first in range(0, shape[2] + 1, planes):
            start, stop = max(0, first - 1) * plane, (first + planes + 1) * plane
            some = image[start:stop]
            if some.any():
                slab = _Slab.of(some, first, planes, shape)
                edges += slab.count_edges()
                patterns += slab.count_patterns()
        return cls(edges, patterns)


@dataclass(frozen=True)
class _Slab:
    """Some planes of a map, with one before and one after, and a 0 before each row and plane.

    Flat, so that the neighbours of a voxel are the same steps away everywhere, and 0 outside the
    image. The place of a voxel is also that of its lower corner.
    """

    labels: Labels
    steps: tuple[int, int, int]
    size: int  # of what counts, which is the planes without the one before and the one after

    @classmethod
    def of(cls, image: Labels, first: int, planes: int, shape: Shape) -> _Slab:
        wide, tall, _ = corner_grid(shape)
        inner = image.reshape((-1, shape[1], shape[0]))
        ends = wide + 1  # what follows the last voxel, for the steps beyond
        labels = np.zeros((planes + 2) * tall * wide + ends, np.uint8)
        padded = labels[:-ends].reshape((planes + 2, tall, wide))
        lowest = 1 if first == 0 else 0
        padded[lowest : lowest + len(inner), 1:, 1:] = inner
        return cls(labels, (1, wide, wide * tall), planes * wide * tall)

    def _moved(self, step: int) -> Labels:
        """The labels a step further, from that of the first voxel that counts on."""
        start = sum(self.steps) + step
        return self.labels[start : start + self.size]

    def count_edges(self) -> Ints:
        """Edge voxels of each label."""
        here = self._moved(0)
        edge = np.zeros(self.size, bool)
        for step in self.steps:
            edge |= self._moved(step) != here
            edge |= self._moved(-step) != here
        counts = np.bincount(here[edge], minlength=256)
        counts[0] = 0
        return np.asarray(counts)

    def count_patterns(self) -> Ints:
        """Corners of each label by pattern.

        At each corner, the pattern of the label of each of the eight voxels; the first voxel of a
        label counts it.
        """
        dx, dy, dz = self.steps
        around = [
            self._moved(-dx * (1 - (bit & 1)) - dy * (1 - (bit >> 1 & 1)) - dz * (1 - (bit >> 2)))
            for bit in range(8)
        ]
        keys = []
        pattern, bits = np.empty((2, self.size), np.uint8)
        same: Bools = bits.view(bool)
        for bit, labels in enumerate(around):
            counted = labels != 0
            for before in around[:bit]:
                np.not_equal(before, labels, out=same)
                counted &= same
            pattern[:] = 1 << bit
            for later in range(bit + 1, 8):
                np.equal(around[later], labels, out=same)
                np.left_shift(bits, later, out=bits)
                pattern |= bits
            counted &= pattern != 255
            keys.append(_keys(labels, pattern, counted))
        counts = np.bincount(np.concatenate(keys), minlength=256 * PATTERNS)
        counts[0] = 0
        return np.asarray(counts.reshape(256, PATTERNS))


def _keys(labels: Labels, pattern: Labels, counted: Bools) -> NDArray[np.uint16]:
    """Label and pattern as one number, where it is counted; maybe 0 where it is not."""
    if np.count_nonzero(counted) < counted.size // FEW:  # picking them is slow where they are many
        labels, pattern, counted = labels[counted], pattern[counted], counted[:0]
    keys = labels.astype(np.uint16)
    keys <<= 8
    keys |= pattern
    return keys * counted if counted.size else keys
