"""Second reads: how far a rater agrees with himself or herself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from segjury.benchmark.case import ReferenceCase
from segjury.raters.masks import mask_of
from segjury.raters.pairs import compare
from segjury.scoring.scorers.measured import rater_item


@dataclass(frozen=True)
class RepeatRow:
    """A rater's later read of a case beside the first; differences are later minus first."""

    rater: str
    read: str
    label: str
    dice: float
    nsd: float
    boundary_mm: float
    volume_cm3: float
    volume_percent: float


def repeat_rows(
    reference: ReferenceCase, tolerances_mm: Mapping[str, float]
) -> Iterator[RepeatRow]:
    """Every later read of a case, label by label, each with its tolerance."""
    for name, label in reference.labels.items():
        for read in reference.repeats:
            first = mask_of(reference, read.rater, reference.rater_voxels(read.rater, label))
            later = mask_of(reference, read.name, reference.read_again(read, label))
            measured = compare(later, first, tolerances_mm[name])
            yield RepeatRow(rater_item(read.rater), read.name, name, **measured)
