"""What is a lesion, which lesions of several raters count, and when two are the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from segjury.arrays import Bools, Floats, Ints, Spacing, nonzero_voxels
from segjury.metrics.geometry.components import Components, Connectivity, components
from segjury.metrics.geometry.dimension import three_axes, three_spacings
from segjury.metrics.inputs import spacing_of
from segjury.metrics.matching import Matching, MatchRule, Overlap
from segjury.metrics.metric import Options, Reading

Drawn = Literal["consensus", "union"]

SAME_SIZE = 1e-6  # share by which a volume may miss a limit and still be at it
MOST_BINS = 20
SIZE_BINS_MM3 = (500.0, 5000.0)


class ComponentOptions(Options):
    """What is a lesion, and which ones of several raters count."""

    connectivity: Connectivity = Field(
        default="corners", description="what voxels of one lesion have at least in common"
    )
    smallest_mm3: float = Field(
        default=0.0, ge=0, description="components below it are dropped, on both sides"
    )
    lesions: Drawn = Field(
        default="consensus",
        description="those of the consensus, or components of the union of all raters' masks",
    )
    seen_by: int | None = Field(
        default=None,
        ge=1,
        description="of a union, how many raters must see a lesion that counts; half where absent",
    )

    @model_validator(mode="after")
    def _seen_by_raters(self) -> ComponentOptions:
        if self.seen_by is not None and self.lesions != "union":
            raise ValueError('seen_by counts raters, which needs lesions = "union"')
        return self

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule("any-overlap", threshold=0.0)

    def remark(self, _reading: Reading) -> str:
        """What is a lesion, where that is not the usual."""
        seen = "half of them" if self.seen_by is None else f"{self.seen_by} of them"
        return ", ".join(
            words
            for words, said in (
                (f"connected by {self.connectivity}", self.connectivity != "corners"),
                (f"lesions from {self.smallest_mm3:g} mm3", self.smallest_mm3 > 0),
                (f"union of the raters, seen by at least {seen}", self.lesions == "union"),
            )
            if said
        )


class LesionOptions(ComponentOptions):
    """When two lesions are the same."""

    matching: Matching = Field(
        default="one-to-one", description="whether a lesion may match several of the other side"
    )
    overlap: Overlap = Field(default="iou", description="what says how far two lesions overlap")
    threshold: float = Field(
        default=0.1, ge=0, lt=1, description="lesions match whose overlap is above it"
    )

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule(self.matching, self.overlap, self.threshold)

    def remark(self, reading: Reading) -> str:
        """How lesions match."""
        return ", ".join(filter(None, (self.matching, str(self.rule), super().remark(reading))))


class SmallLesionOptions(LesionOptions):
    """Which lesions are small."""

    size_bins_mm3: tuple[float, ...] = Field(
        default=SIZE_BINS_MM3,
        min_length=1,
        max_length=MOST_BINS,
        description="limits between classes of size; those up to the first are small",
    )

    @field_validator("size_bins_mm3")
    @classmethod
    def _ascending(cls, limits: tuple[float, ...]) -> tuple[float, ...]:
        if list(limits) != sorted(set(limits)) or not limits[0] > 0:
            raise ValueError("size_bins_mm3 must ascend, from above 0")
        return limits


class PqOptions(ComponentOptions):
    """When a lesion counts as found."""

    threshold: float = Field(
        default=0.5, ge=0, lt=1, description="lesions match whose overlap is above it"
    )

    @property
    def rule(self) -> MatchRule:
        """When two lesions are the same."""
        return MatchRule(threshold=self.threshold)

    def remark(self, reading: Reading) -> str:
        """How lesions match."""
        return ", ".join(filter(None, (str(self.rule), super().remark(reading))))


def smallest_voxels(options: ComponentOptions, voxel_mm3: float) -> float:
    """Voxels below which a component is dropped."""
    return options.smallest_mm3 * (1 - SAME_SIZE) / voxel_mm3


def raters_seeing(lesions: Components, raters: Iterable[Ints]) -> Ints:
    """How many raters see each lesion: mark a voxel of it. A rater is the voxels they mark."""
    seeing = np.zeros(lesions.count, np.int64)
    for voxels in raters:
        numbers = lesions.at(voxels)
        seeing[np.unique(numbers[numbers >= 0])] += 1
    return seeing


def counted_lesions(seeing: Ints, n_raters: int, seen_by: int | None) -> Bools:
    """Which lesions count: those that `seen_by` raters see, or at least half of them.

    Where there are fewer raters than `seen_by`, all of them must.
    """
    return np.asarray(seeing >= (min(seen_by, n_raters) if seen_by else (n_raters + 1) // 2))


def size_class(volumes_mm3: Floats, limits_mm3: tuple[float, ...]) -> Ints:
    """The class of size of each lesion, from 0; a volume at a limit is in the class below it."""
    return np.searchsorted(np.array(limits_mm3) * (1 + SAME_SIZE), volumes_mm3)


def size_class_names(limits_mm3: tuple[float, ...]) -> list[str]:
    """What the classes of size are called."""
    limits = [f"{limit:g}" for limit in limits_mm3]
    between = [f"{low} to {high} mm3" for low, high in pairwise(limits)]
    return [f"up to {limits[0]} mm3", *between, f"above {limits[-1]} mm3"]


def voxel_volume_mm3(given: Spacing | None, shape: tuple[int, ...], *images: Any) -> float:
    """The volume of a voxel, by the spacing given or that of the first image that has one."""
    each = [one for image in images for one in _images(image)]
    return math.prod(three_spacings(given or spacing_of(*each), three_axes(shape, "reference")))


def _images(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]


def lesions_of(
    raters: Bools, voxel_mm3: float, options: ComponentOptions
) -> tuple[Components, Bools]:
    """The components of the union of some masks, of one or several raters, and which count."""
    shape = three_axes(raters.shape[1:], "reference")
    union: Bools = np.logical_or.reduce(raters)
    found = components(nonzero_voxels(union), shape, options.connectivity)
    found = found.at_least(smallest_voxels(options, voxel_mm3))
    seeing = raters_seeing(found, map(nonzero_voxels, raters))
    return found, counted_lesions(seeing, len(raters), options.seen_by)
