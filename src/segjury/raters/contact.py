"""Contact of the raters' lesions with each vessel, and on which sides of the limits they fall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from segjury.arrays import Floats
from segjury.benchmark.case import ReferenceCase, Structure
from segjury.raters.masks import Mask, packed
from segjury.raters.pairs import PairRow, pair_row, pairs

Way = Literal["anatomical", "slice-wise"]

ENCASED_DEG = 180.0  # more than this around a vessel is encasement
MASKS_AT_ONCE = 32


@dataclass(frozen=True)
class ContactRow:
    """The raters' contact angles with a vessel of a case, in degrees, by one of two ways.

    `anatomical` goes round the vessel's own cross-section; `slice-wise` is the corrected reading of
    `vi`, the largest of the three array axes.
    """

    vessel: str
    way: Way
    raters: tuple[str, ...]
    angles_deg: tuple[float, ...]

    @property
    def touching(self) -> int:
        """How many raters see any contact."""
        return sum(angle > 0 for angle in self.angles_deg)

    @property
    def encasing(self) -> int:
        """How many raters see more than 180 degrees."""
        return sum(angle > ENCASED_DEG for angle in self.angles_deg)

    @property
    def split_at_0(self) -> bool:
        """Whether some raters see contact and some do not."""
        return 0 < self.touching < len(self.angles_deg)

    @property
    def split_at_180(self) -> bool:
        """Whether some raters see more than 180 degrees and some do not."""
        return 0 < self.encasing < len(self.angles_deg)


def contact_rows(reference: ReferenceCase) -> Iterator[ContactRow]:
    """The raters' angles with each vessel of a case, both ways."""
    for vessel, angles in reference.contact_angles.items():
        yield ContactRow(vessel, "anatomical", reference.rater_names, tuple(angles.tolist()))
    for vessel, found in reference.invasion_angles.items():
        largest = found.of("corrected").max(axis=0, initial=0.0)
        yield ContactRow(vessel, "slice-wise", reference.rater_names, tuple(largest.tolist()))


def contact_pairs(
    reference: ReferenceCase,
    label: str,
    raters: list[Mask],
    others: list[list[Mask]],
    everyone: list[Mask],
) -> Iterator[PairRow]:
    """How far the anatomical contact angles of all pairs of masks are apart, per vessel."""
    consensuses = [mask for masks in (*others, everyone) for mask in masks]
    for vessel, structure in reference.structures.items():
        if structure is None:
            continue
        angles = dict(zip(map(id, raters), reference.contact_angles[vessel], strict=True))
        angles |= dict(zip(map(id, consensuses), _angles(structure, consensuses), strict=True))
        yield from _differences(label, vessel, angles, pairs(raters, others, everyone))


def _differences(
    label: str, vessel: str, angles: Mapping[int, float], of: Iterator[tuple[Mask, Mask]]
) -> Iterator[PairRow]:
    for first, second in of:
        apart = abs(float(angles[id(first)] - angles[id(second)]))
        yield pair_row(label, vessel, first, second, "contact_angle", apart)


def _angles(structure: Structure, masks: list[Mask]) -> Floats:
    """Anatomical contact angles of masks with a vessel."""
    found = [np.zeros(0)]
    for start in range(0, len(masks), MASKS_AT_ONCE):
        some = masks[start : start + MASKS_AT_ONCE]
        found.append(structure.contact_angles(packed(some, structure.box), len(some)))
    return np.concatenate(found)
