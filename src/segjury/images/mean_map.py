"""The mean of several masks, as a probability map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segjury.arrays import flat, joined_spans, nonzero_spans
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume


def mean_map(samples: Sequence[SparseLabels], grid: Grid, label: int) -> Volume:
    """The share of the samples that give a label to each voxel, as float32.

    Each value is the float32 nearest to k/N, for any number of samples up to 2^24. Where no sample
    has the label, nothing is written, so that such voxels take no memory.
    """
    if not samples:
        raise ValueError("there is no sample to take the mean of")
    counts = np.zeros(int(np.prod(grid.shape)), np.min_scalar_type(len(samples)))
    spans = []
    for sample in samples:
        for voxels, labels in sample.pieces():
            found = voxels[labels == label]
            if found.size:
                counts[found] += 1
                spans.append((int(found[0]), int(found[-1]) + 1))
    # Divided in float64, which is exact enough that rounding twice is rounding once.
    shares = (np.arange(len(samples) + 1) / len(samples)).astype(np.float32)
    values, known = np.zeros(grid.shape, np.float32, "F"), []
    for start, stop in joined_spans([spans]):
        for first, last in nonzero_spans(counts[start:stop]):
            here = slice(start + first, start + last)
            flat(values)[here] = shares[counts[here]]
            known.append((here.start, here.stop))
    return Volume(values, grid, tuple(known))
