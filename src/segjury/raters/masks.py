"""The masks of a case that are compared with each other: the raters', and every consensus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Ints
from segjury.benchmark.case import Consensus, ReferenceCase
from segjury.consensus import RaterPatterns, intersection, majority_of, staple_foreground, union
from segjury.raters.displacement import Boundary
from segjury.runtime.memo import Memo
from segjury.scoring.features import MaskFeatures
from segjury.scoring.scorers.measured import rater_item

Of = Literal["", "all", "others"]


def rater_items(reference: ReferenceCase) -> list[str]:
    """What the raters of a case are called in tables: `rater 1`, or `rater A`."""
    return [rater_item(name) for name in reference.rater_names]


@dataclass(frozen=True)
class Mask:
    """A mask of one label and its features.

    `of` says of whom a consensus is: of `all` raters, or of the `others` than it is compared with.
    """

    name: str
    features: MaskFeatures
    of: Of = ""

    @property
    def voxels(self) -> Ints:
        """Its flat indices (x fastest, ascending)."""
        return self.features.voxels()

    @property
    def volume_cm3(self) -> float:
        """Its volume."""
        return self.voxels.size * self.features.grid.voxel_volume_mm3 / 1000

    @cached_property
    def boundary(self) -> Boundary:
        """Its boundary as points, for who draws larger."""
        return Boundary.of(self.voxels, self.features.grid)


def without_rater(reference: ReferenceCase, rater: int) -> ReferenceCase:
    """The reference that the other raters make.

    A consensus given in a file is left out, as the rater is in it; STAPLE of the others is taken.
    Voxels that the rater ignores stay ignored, so that all are judged on the same ones.
    """
    names = reference.rater_names
    return replace(
        reference,
        patterns=reference.patterns.without(rater),
        given_consensus=None,
        raters=names[:rater] + names[rater + 1 :],
        repeats=tuple(read for read in reference.repeats if read.rater != names[rater]),
        memo=Memo(),
    )


def rater_masks(reference: ReferenceCase, label: int) -> list[Mask]:
    """The mask of each rater."""
    marked = reference.patterns.marked(label)
    return [
        mask_of(reference, name, _voxels(reference.patterns, marked[:, k]))
        for k, name in enumerate(rater_items(reference))
    ]


def consensus_masks(reference: ReferenceCase, label: int, of: Of) -> list[Mask]:
    """Every consensus of the raters: STAPLE, the given one, majority, intersection, union."""
    return [mask_of(reference, *each, of) for each in _consensuses(reference, label)]


def mask_of(reference: ReferenceCase, name: str, voxels: Ints, of: Of = "") -> Mask:
    """A mask by its voxels, on the grid of a case."""
    return Mask(name, MaskFeatures(lambda: voxels, reference.grid), of)


def _consensuses(reference: ReferenceCase, label: int) -> Iterator[tuple[str, Ints]]:
    patterns = reference.patterns
    yield "staple", _voxels(patterns, staple_foreground(patterns, label=label))
    if reference.given_consensus is not None:
        yield "given", reference.consensus.voxels(label)
    yield "majority", _voxels(patterns, majority_of(patterns, label=label))
    yield "intersection", _voxels(patterns, intersection(patterns, label=label))
    yield "union", _voxels(patterns, union(patterns, label=label))


def _voxels(patterns: RaterPatterns, holds: Bools) -> Ints:
    return Consensus(patterns, holds[:, None]).voxels(1)


def packed(masks: list[Mask], box: Box) -> NDArray[Any]:
    """The masks in a box, mask k as bit k of one integer per voxel."""
    found = np.zeros(box.shape, np.uint64, order="F")
    for bit, mask in enumerate(masks):
        places = box.places(mask.voxels, mask.features.grid.shape)
        inside = np.logical_and.reduce(
            [(p >= 0) & (p < size) for p, size in zip(places, box.shape, strict=True)]
        )
        x, y, z = (p[inside] for p in places)
        found[x, y, z] |= np.uint64(1 << bit)
    return found
