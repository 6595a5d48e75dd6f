"""Several masks as one: their mean as a probability map, and the value most of them give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from segjury.arrays import Bools, Ints, flat, joined_spans, nonzero_spans
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume

AT_ONCE = 1 << 18  # voxels


def mean_map(samples: Sequence[SparseLabels], grid: Grid, holding: Bools) -> Volume:
    """The share of the samples that give each voxel a value which counts, as float32.

    `holding` says which values count, from 0. Each share is the float32 nearest to k/N, for any
    number of samples up to 2^24. Where there is none, nothing is written, so that such voxels take
    no memory.
    """
    if not samples:
        raise ValueError("there is no sample to take the mean of")
    counts = np.zeros(math.prod(grid.shape), np.min_scalar_type(len(samples)))
    spans = []
    for sample in samples:
        for voxels, values in sample.pieces():
            found = voxels[holding[values]]
            if found.size:
                counts[found] += 1
                spans.append((int(found[0]), int(found[-1]) + 1))
    # Divided in float64, which is exact enough that rounding twice is rounding once.
    shares = (np.arange(len(samples) + 1) / len(samples)).astype(np.float32)
    array, known = np.zeros(grid.shape, np.float32, "F"), []
    for start, stop in joined_spans([spans]):
        for first, last in nonzero_spans(counts[start:stop]):
            here = slice(start + first, start + last)
            flat(array)[here] = shares[counts[here]]
            known.append((here.start, here.stop))
    return Volume(array, grid, tuple(known))


def most_frequent(samples: Sequence[SparseLabels], size: int, n_values: int) -> SparseLabels:
    """The value that most samples give each voxel; of equally frequent ones the lowest, 0 first."""
    image = np.zeros(size, np.uint8)
    for start in range(0, size, AT_ONCE):
        stop = min(start + AT_ONCE, size)
        votes = np.zeros((stop - start) * n_values, np.int32)
        given = 0
        for sample in samples:
            for voxels, values in _between(sample, start, stop):
                given += voxels.size
                np.add.at(votes, (voxels - start) * n_values + values, 1)
        if given:
            counted = votes.reshape(-1, n_values)
            counted[:, 0] = len(samples) - counted[:, 1:].sum(axis=1)
            image[start:stop] = counted.argmax(axis=1)
    return SparseLabels.of(image)


def _between(sample: SparseLabels, start: int, stop: int) -> Iterator[tuple[Ints, Ints]]:
    """The marks of a stretch of memory."""
    if sample.listed:
        voxels, values = sample.listed
        first, last = np.searchsorted(voxels, (start, stop))
        yield voxels[first:last], values[first:last].astype(np.int64)
        return
    here = np.flatnonzero(sample.image[start:stop])
    yield here + start, sample.image[start:stop][here].astype(np.int64)
