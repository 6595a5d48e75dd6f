"""Problems of probability maps: with themselves, with the mask, and with each other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Span, flat, joined_spans
from segjury.benchmark.check.problem import Problem, warning
from segjury.images.volume import Volume

MOST_BESIDE = 0.1  # of the voxels of mask or map
MOST_SUM = 1.01


@dataclass(frozen=True)
class MapFacts:
    """What a map holds, counted in one pass over what is not 0."""

    nonzero: int
    only_0_and_1: bool
    over_half: int
    digest: str  # of the values in their order


def map_facts(volume: Volume) -> MapFacts:
    """Count the values of a map."""
    voxels = flat(volume.array)
    nonzero = over_half = ones = 0
    total = hashlib.blake2b(digest_size=16)
    for start, stop in volume.spans:
        values = voxels[start:stop]
        values = values[values != 0]
        nonzero += values.size
        ones += int(np.count_nonzero(values == 1))
        over_half += int(np.count_nonzero(values > 0.5))
        total.update(np.ascontiguousarray(values, np.float32).data)
    return MapFacts(nonzero, nonzero > 0 and ones == nonzero, over_half, total.hexdigest())


def check_map(
    name: str, volume: Volume, facts: MapFacts, mask: NDArray[np.int64] | None
) -> list[Problem]:
    """What is odd about a map that scoring takes, given the voxels of its label in the mask."""
    problems = []
    if facts.only_0_and_1:
        fix = "Calibration is scored: store the probabilities, not the mask"
        problems.append(warning("map-is-a-mask", f"{name} holds only 0 and 1", fix, file=name))
    if mask is not None:
        problems += _contradiction(name, volume, facts, mask)
    return problems


def _contradiction(
    name: str, volume: Volume, facts: MapFacts, mask: NDArray[np.int64]
) -> list[Problem]:
    """Mask and p > 0.5 that lie beside each other.

    One inside the other is a mask of another threshold, which a method may choose.
    """
    both = int(np.count_nonzero(flat(volume.array)[mask] > 0.5))
    either = facts.over_half + mask.size - both
    beside = min(facts.over_half, mask.size) - both
    if not either or (both and beside <= MOST_BESIDE * either):
        return []
    share = 100 * (either - both) / either
    message = f"{name} > 0.5 and the mask differ in {share:.0f} % of their {either} voxels"
    fix = "Check that both are of the same case and label"
    return [warning("map-contradicts-mask", message, fix, file=name)]


class MapSums:
    """The sum of the maps of several labels, voxel by voxel.

    Half precision, an error of at most 0.002 here, keeps a large case in memory.
    """

    def __init__(self, shape: Shape) -> None:
        self._sums = np.zeros(shape, np.float16, order="F")
        self._spans: list[Span] = []

    def add(self, volume: Volume) -> None:
        """Add the map of one label."""
        sums, values = flat(self._sums), flat(volume.array)
        for start, stop in volume.spans:
            sums[start:stop] += values[start:stop].astype(np.float16)
        self._spans = joined_spans([self._spans, volume.spans])

    def check(self) -> list[Problem]:
        """Whether the maps add up to more than 1 anywhere."""
        sums = flat(self._sums)
        parts = [sums[start:stop] for start, stop in self._spans]
        over = sum(int(np.count_nonzero(part > MOST_SUM)) for part in parts)
        if not over:
            return []
        most = max(float(part.max()) for part in parts)
        message = (
            f"the probabilities of the labels add up to {most:.2f}, more than 1 in {over} voxels"
        )
        fix = "Give a softmax over the labels and the background"
        return [warning("sum-over-one", message, fix)]
