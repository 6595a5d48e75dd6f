"""Two masks of the same label beside each other: overlap, boundary, volume."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from segjury.metrics.geometry.surfaces.points import contained
from segjury.metrics.overlap import dsc_from_sizes
from segjury.metrics.surface import nsd_from_distances, surface_distances
from segjury.raters.displacement import boundary_mm
from segjury.raters.masks import Mask, Of

UNITS = {
    "dice": "",
    "nsd": "",
    "boundary_mm": "mm",
    "volume_cm3": "cm3",
    "volume_percent": "%",
    "contact_angle": "degree",
}
SIGNED = ("boundary_mm", "volume_cm3", "volume_percent")  # positive: the first is larger


@dataclass(frozen=True)
class PairRow:
    """A measure of two masks of a case; `consensus_of` says of whom a consensus among them is."""

    label: str
    vessel: str
    first: str
    second: str
    consensus_of: Of
    measure: str
    value: float
    unit: str


def pair_rows(
    label: str,
    raters: list[Mask],
    others: list[list[Mask]],
    everyone: list[Mask],
    tolerance_mm: float,
) -> Iterator[PairRow]:
    """All measures of all pairs.

    `others` has the consensuses of the others for each rater, `everyone` those of all raters.
    """
    for first, second in pairs(raters, others, everyone):
        for measure, value in compare(first, second, tolerance_mm).items():
            yield pair_row(label, "", first, second, measure, value)


def pairs(
    raters: list[Mask], others: list[list[Mask]], everyone: list[Mask]
) -> Iterator[tuple[Mask, Mask]]:
    """Rater with rater, rater with each consensus that he or she is not in, consensuses."""
    yield from combinations(raters, 2)
    for rater, consensuses in zip(raters, others, strict=True):
        for consensus in consensuses:
            yield rater, consensus
    yield from combinations(everyone, 2)


def pair_row(
    label: str, vessel: str, first: Mask, second: Mask, measure: str, value: float
) -> PairRow:
    """The row of a measure of two masks."""
    names = first.name, second.name
    return PairRow(label, vessel, *names, second.of, measure, value, UNITS[measure])


def compare(first: Mask, second: Mask, tolerance_mm: float) -> dict[str, float]:
    """Dice, NSD, displacement of the boundary, and difference of volume.

    Differences are first minus second, those in per cent relative to the mean of both.
    """
    common = int(np.count_nonzero(contained(first.voxels, second.voxels)))
    distances = surface_distances(first.features.surface(), second.features.surface())
    apart = first.volume_cm3 - second.volume_cm3
    mean = (first.volume_cm3 + second.volume_cm3) / 2
    return {
        "dice": dsc_from_sizes(first.voxels.size, second.voxels.size, common),
        "nsd": nsd_from_distances(distances, tolerance_mm),
        "boundary_mm": boundary_mm(first.boundary, second.boundary),
        "volume_cm3": apart,
        "volume_percent": 100 * apart / mean if mean else math.nan,
    }
