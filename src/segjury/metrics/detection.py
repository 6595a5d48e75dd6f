"""Lesions detected by a probability map: FROC, how many at how many false positives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, field_validator

from segjury.arrays import Bools, Floats, Ints, Shape, Spacing, flat
from segjury.metrics.geometry.components import Components, Connectivity, components
from segjury.metrics.geometry.dimension import three_axes
from segjury.metrics.inputs import as_map, as_raters
from segjury.metrics.lesion_rules import (
    ComponentOptions,
    Drawn,
    lesions_of,
    smallest_voxels,
    voxel_volume_mm3,
)
from segjury.metrics.matching import Matched, MatchRule, Overlap, Overlaps, match
from segjury.metrics.metric import Metric, Reading, check_shapes

__all__ = ["froc"]

Confidence = Literal["max", "mean"]
FALSE_POSITIVES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_RATES, MOST_FALSE_POSITIVES = 50, 1000.0
STEPS = 1 << 24  # of the probabilities that a mean is taken of
NEVER = -1.0  # the confidence of what nobody predicts


class FrocOptions(ComponentOptions):
    """What is a candidate, when it is a lesion, and at how many false positives to look."""

    candidate_threshold: float = Field(
        default=0.1, ge=0, lt=1, description="candidates are the components of the map above it"
    )
    confidence: Confidence = Field(
        default="max", description="which of its probabilities ranks a candidate"
    )
    overlap: Overlap = Field(default="iou", description="what says how far two lesions overlap")
    threshold: float = Field(
        default=0.1, ge=0, lt=1, description="lesions match whose overlap is above it"
    )
    false_positives: tuple[float, ...] = Field(
        default=FALSE_POSITIVES,
        min_length=1,
        max_length=MOST_RATES,
        description="numbers of false positives at which the sensitivity is taken",
    )

    @field_validator("false_positives")
    @classmethod
    def _ascending(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if (
            list(rates) != sorted(set(rates))
            or not 0 <= rates[0] <= rates[-1] <= MOST_FALSE_POSITIVES
        ):
            raise ValueError(f"false_positives must ascend, from 0 to {MOST_FALSE_POSITIVES:g}")
        return rates

    @property
    def rule(self) -> MatchRule:
        """When a candidate finds a lesion."""
        return MatchRule("any-overlap", self.overlap, self.threshold)

    def remark(self, reading: Reading) -> str:
        """What is a candidate, and when it is a lesion."""
        how = f"candidates above {self.candidate_threshold:g} by {self.confidence}"
        return ", ".join(filter(None, (how, str(self.rule), super().remark(reading))))


FROC = Metric(
    name="froc",
    options=FrocOptions,
    title="FROC",
    formula="mean over n of the sensitivity at n false positives, n from 1/8 to 8",
    summary="Mean share of the lesions that are found at several numbers of false positives.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    needs_probability=True,
    readings=("corrected",),
)


def froc(
    reference: ArrayLike,
    probability: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    connectivity: Connectivity = "corners",
    smallest_mm3: float = 0.0,
    lesions: Drawn = "consensus",
    seen_by: int | None = None,
    candidate_threshold: float = 0.1,
    confidence: Confidence = "max",
    overlap: Overlap = "iou",
    threshold: float = 0.1,
    false_positives: Sequence[float] = FALSE_POSITIVES,
) -> float:
    """Mean sensitivity of a map for lesions at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives.

    Candidates are the components of `p > candidate_threshold`; their confidence is the highest p.
    A candidate whose overlap with a lesion is above the threshold finds it, however many do; one
    that finds none is a false positive. The sensitivity at n is the largest share of the lesions
    found by the candidates from some confidence upwards of which at most n are false positives.
    NaN where the reference has no lesion. With `lesions="union"`, `reference` is the masks of all
    raters. `FrocOptions` says what the options mean. Source: Setio et al., Medical Image Analysis
    2017, whose curve is one of all cases, not of each.
    """
    chosen = FrocOptions(
        connectivity=connectivity,
        smallest_mm3=smallest_mm3,
        lesions=lesions,
        seen_by=seen_by,
        candidate_threshold=candidate_threshold,
        confidence=confidence,
        overlap=overlap,
        threshold=threshold,
        false_positives=tuple(false_positives),
    )
    given = reference if chosen.lesions == "union" else [reference]
    raters, p = as_raters(given, probability=probability), as_map(probability)
    check_shapes(raters, probability=p)
    voxel_mm3 = voxel_volume_mm3(spacing_mm, p.shape, reference, probability)
    known, counted = lesions_of(raters, voxel_mm3, chosen)
    voxels = np.flatnonzero(flat(p) > np.float64(chosen.candidate_threshold))
    candidates = Candidates.of(
        voxels,
        flat(p)[voxels],
        three_axes(p.shape, "probability"),
        connectivity=chosen.connectivity,
        confidence=chosen.confidence,
    )
    candidates = candidates.at_least(smallest_voxels(chosen, voxel_mm3))
    detected = detect(candidates, Overlaps.of(known, candidates.components), counted, chosen.rule)
    return froc_from(detected.sensitivities(chosen.false_positives))


@dataclass(frozen=True)
class Candidates:
    """The components of a map above a threshold, and how confident each is."""

    components: Components
    confidence: Floats

    @classmethod
    def of(
        cls,
        voxels: Ints,
        probability: NDArray[Any],
        shape: Shape,
        *,
        connectivity: Connectivity,
        confidence: Confidence,
    ) -> Candidates:
        """The components of voxels, given by flat indices (ascending) and probabilities."""
        found = components(voxels, shape, connectivity)
        if not found.count:
            return cls(found, np.zeros(0))
        lengths = found.stops - found.starts
        first = np.cumsum(lengths) - lengths
        if confidence == "max":
            highest = np.full(found.count, NEVER)
            of_run = np.maximum.reduceat(probability, first).astype(np.float64)
            np.maximum.at(highest, found.of_run, of_run)
            return cls(found, highest)
        # Whole numbers, whose sum does not depend on the order in which they are added.
        steps = np.rint(probability * np.float64(STEPS))
        total = np.bincount(found.of_run, weights=np.add.reduceat(steps, first))
        return cls(found, total / found.sizes / STEPS)

    def at_least(self, voxels: float) -> Candidates:
        """Those with at least so many voxels."""
        kept = self.components.at_least(voxels)
        return Candidates(kept, self.confidence[: kept.count])


@dataclass(frozen=True)
class Detected:
    """How confidently each lesion of the reference is found, and each false positive is told.

    `lesions` has the highest confidence of the candidates that find a lesion, `NEVER` where none
    does.
    """

    matched: Matched
    lesions: Floats
    candidates: Floats

    @property
    def false_positives(self) -> Floats:
        """The confidences of the candidates that are none."""
        return self.candidates[self.matched.false_positive]

    def sensitivities(self, false_positives: tuple[float, ...]) -> list[tuple[int, int]]:
        """Lesions found at each number of false positives, and how many there are.

        With room for n false positives, a candidate counts if it is more confident than the
        false positive n + 1. Candidates of equal confidence count together.
        """
        highest = np.sort(self.false_positives)[::-1]
        of_lesions = self.lesions[self.matched.counted]
        found = []
        for room in map(int, false_positives):
            needed = highest[room] if room < highest.size else NEVER
            found.append((int((of_lesions > needed).sum()), of_lesions.size))
        return found


def detect(candidates: Candidates, overlaps: Overlaps, counted: Bools, rule: MatchRule) -> Detected:
    """Which candidates find which lesions, and how confidently."""
    close = overlaps.measured(rule.overlap) > rule.threshold
    lesions = np.full(counted.size, NEVER)
    found, by = overlaps.reference[close], overlaps.prediction[close]
    np.maximum.at(lesions, found, candidates.confidence[by])
    return Detected(match(overlaps, counted, rule), lesions, candidates.confidence)


def froc_from(sensitivities: list[tuple[int, int]]) -> float:
    """`froc` from the lesions found and those there are at each number of false positives."""
    found, lesions = (sum(counts) for counts in zip(*sensitivities, strict=True))
    return found / lesions if lesions else math.nan
