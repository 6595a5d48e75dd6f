"""Calibration against each rater: ECE over all classes, and MR-ECE near a lesion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from segjury.arrays import LONGEST_SPAN, Box, Span, bounding_box, flat
from segjury.consensus import pack
from segjury.metrics.inputs import as_array, as_map, as_raters, with_three_axes
from segjury.metrics.metric import Metric, Options, Reading, check_reading, check_shapes
from segjury.metrics.redrawn import mean_of_raters

__all__ = ["ece", "mr_ece"]

BINS = 50
PADDING_VOXELS = 20
SMALLEST = np.float32(1e-8)  # the released code's lower limit of a class probability
LARGEST_FLOAT32_COUNT = 2**24  # a float32 sum of ones goes no further
MOST_BINS = 10_000


class EceOptions(Options):
    """How finely confidence is divided."""

    bins: int = Field(default=BINS, ge=1, le=MOST_BINS, description="number of confidence bins")


class MrEceOptions(EceOptions):
    """How finely confidence is divided, and how far from the lesion."""

    padding_voxels: int = Field(
        default=PADDING_VOXELS, ge=0, description="margin around the raters' union box"
    )


MR_ECE = Metric(
    name="mr_ece",
    options=MrEceOptions,
    from_raters=mean_of_raters,
    title="MR-ECE",
    formula="mean over raters of Σ over bins of n/N |accuracy - confidence|, near the lesion",
    needs_raters=True,
    failure="population",
    summary="Expected calibration error against each rater near the lesion, mean over raters.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=4,
    flip_invariant=("corrected",),  # the box of the others ends a voxel earlier at its upper side
    needs_probability=True,
)
ECE = Metric(
    name="ece",
    options=EceOptions,
    from_raters=mean_of_raters,
    title="ECE",
    formula="mean over raters of Σ over bins of n/N |accuracy - confidence|",
    needs_raters=True,
    failure="population",
    summary="Expected calibration error of all classes against each rater, mean over raters.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=4,
    scope="case",
    needs_probability=True,
    one_label_per_voxel=True,
)


def ece(
    raters: ArrayLike,
    probabilities: ArrayLike,
    *,
    bins: int = BINS,
    reading: Reading = "corrected",
) -> float:
    """Top-label ECE over several classes and the whole image, averaged over the raters.

    `raters` are label maps (raters, x, y, z) with labels 0 to C, `probabilities` the maps of
    labels 1 to C, (C, x, y, z); the background has the rest, `1 - sum p`. See `mr_ece` for bins
    and readings. Source: CURVAS 2024.
    """
    check_reading(reading)
    labels, maps = label_maps(raters, probabilities)
    patterns = pack(labels, n_labels=len(maps) + 1)
    histogram = calibration_histogram(
        flat(patterns.codes), [flat(p) for p in maps], patterns.n_codes, bins=bins, reading=reading
    )
    return float(np.mean(ece_per_rater(histogram, patterns.labels, reading=reading)))


def mr_ece(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = BINS,
    padding_voxels: int = PADDING_VOXELS,
    reading: Reading = "corrected",
) -> float:
    """Top-label ECE of `(1-p, p)` against each rater, averaged over the raters.

    `ECE_k = sum_b |hits_b - confidence_b| / n` over confidence bins `[j/bins, (j+1)/bins)`, inside
    the raters' union box widened by `padding_voxels` and clipped to the volume, the last bin closed
    at 1, in float64. `published`: the box is widened by one voxel less at the upper end.
    `released`: so it is, float32 probabilities, bin edges and sums, confidence 1 in a bin of its
    own, and a negative start of the box counts from the far end, as the organisers' slicing does.
    NaN where the box is empty or no rater marks anything. Source: CURVAS-PDACVI 6.3.
    """
    check_reading(reading)
    masks, p = as_raters(raters, probability=probability), as_map(probability)
    check_shapes(masks, probability=p)
    patterns = pack(masks)
    around = scored_box(bounding_box(patterns.voxels, p.shape), p.shape, padding_voxels)
    if around is None:
        return float("nan")
    box = around.of(reading)
    histogram = calibration_histogram(
        patterns.codes[box], [p[box]], patterns.n_codes, bins=bins, reading=reading
    )
    return float(np.mean(ece_per_rater(histogram, patterns.labels, reading=reading)))


def label_maps(
    raters: ArrayLike, probabilities: ArrayLike
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """The raters' label maps, (raters, x, y, z), and the probability map of each label."""
    labels = np.stack(
        [
            with_three_axes(as_array(each, f"rater {k}"))
            for k, each in enumerate(_each(raters, "raters"), 1)
        ]
    )
    maps = [
        as_map(each, f"probability {k}")
        for k, each in enumerate(_each(probabilities, "probabilities"), 1)
    ]
    for p in maps:
        check_shapes(labels, probability=p)
    return labels, maps


def _each(given: Any, name: str) -> Any:
    """The members of a list or of the first axis of an array."""
    return given if isinstance(given, list | tuple) else as_array(given, name)


@dataclass(frozen=True)
class ScoredBox:
    """The padded box around the raters' marks, as each reading has it."""

    released: Box
    published: Box
    corrected: Box
    wraps: bool  # whether the released box begins before the volume and reads from its far end

    def of(self, reading: Reading) -> Box:
        """The box a reading uses."""
        boxes: dict[Reading, Box] = {"released": self.released, "published": self.published}
        return boxes.get(reading, self.corrected)


def scored_box(
    box: Box | None, shape: tuple[int, int, int], padding_voxels: int = PADDING_VOXELS
) -> ScoredBox | None:
    """The box of the marked voxels, padded on all sides and clipped to the volume.

    As released, it reaches from `min - padding` up to, not with, `max + padding`, and is not
    clipped, but sliced; as published, it is clipped.
    """
    if box is None:
        return None
    sliced = Box(*(slice(s.start - padding_voxels, s.stop - 1 + padding_voxels) for s in box))
    clipped = Box(
        *(slice(max(s.start, 0), min(s.stop, n)) for s, n in zip(sliced, shape, strict=True))
    )
    wraps = any(-n < s.start < 0 for s, n in zip(sliced, shape, strict=True))
    return ScoredBox(sliced, clipped, box.grow(padding_voxels, shape), wraps)


@dataclass(frozen=True)
class CalibrationHistogram:
    """Voxels by (rater pattern, predicted label, confidence bin), and confidence per bin."""

    voxels: NDArray[np.int64]
    confidence: NDArray[np.float64]


def calibration_histogram(
    codes: NDArray[Any],
    probabilities: Sequence[NDArray[Any]],
    n_codes: int,
    *,
    bins: int = BINS,
    reading: Reading = "corrected",
    spans: Iterable[Span] | None = None,
    counts: NDArray[np.int64] | None = None,
) -> CalibrationHistogram:
    """Count voxels once for all raters; those where every map is 0 are one number.

    Looks only at `spans` of flat arrays, where it is known that the maps are 0 elsewhere. `counts`
    are the numbers of voxels of each code, where these are known. Other arrays are looked at some
    planes at a time, in the order of memory.
    """
    pieces = list(_planes(codes.shape) if spans is None else spans)
    if counts is None:
        counts = np.zeros(n_codes, np.int64)
        for start, stop in pieces:
            counts += np.bincount(flat(codes[..., start:stop]), minlength=n_codes)
    shape = (n_codes, len(probabilities) + 1, bins + 1)
    voxels = np.zeros(shape, np.int64)
    total = np.zeros(bins + 1, np.float32 if reading == "released" else np.float64)
    for start, stop in pieces:
        maps = [flat(p[..., start:stop]) for p in probabilities]
        uncertain = _where_any(maps)
        confidence, label = _top_label([p[uncertain] for p in maps], reading)
        index = _bin(confidence, bins, reading)
        pattern = flat(codes[..., start:stop])[uncertain].astype(np.intp)
        cells = np.ravel_multi_index((pattern, label, index), shape)
        found = np.bincount(cells)  # as long as needed: all patterns of many labels are many
        voxels.reshape(-1)[: found.size] += found
        _add(total, index, confidence, one_by_one=spans is None or reading == "released")
    certain = counts - voxels.sum(axis=(1, 2))
    one = _bin(np.ones(1), bins, reading)[0]
    voxels[:, 0, one] += certain
    confidence_sum = total.astype(np.float64)
    confidence_sum[one] += certain.sum()
    return CalibrationHistogram(voxels, confidence_sum)


def _where_any(maps: Sequence[NDArray[Any]]) -> Any:
    """An index of the voxels where any map is not 0: of all at once, in a map without a zero."""
    if any(p.all() for p in maps):
        return slice(None)
    return np.flatnonzero(np.logical_or.reduce([p != 0 for p in maps]))


def _planes(shape: tuple[int, ...]) -> Iterator[Span]:
    """From and to which plane along the last axis to look at once."""
    planes = max(1, LONGEST_SPAN // max(math.prod(shape[:-1]), 1))
    return ((first, min(first + planes, shape[-1])) for first in range(0, shape[-1], planes))


def _top_label(
    maps: Sequence[NDArray[Any]], reading: Reading
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Confidence of the likeliest class, and that class; among equals the first, background."""
    precision: Any = np.float32 if reading == "released" else np.float64
    foreground = [p.astype(precision) for p in maps]
    rest = precision(1) - sum(foreground[1:], start=foreground[0])
    classes = [np.maximum(rest, precision(0)), *foreground]
    if reading == "released":
        classes = [np.maximum(p, SMALLEST) for p in classes]
        total = sum(classes[1:], start=classes[0])
        classes = [p / total for p in classes]
    confidence, label = classes[0], np.zeros(rest.size, np.intp)
    for number, p in enumerate(classes[1:], 1):
        label[p > confidence] = number
        confidence = np.maximum(confidence, p)
    return confidence, label


def _bin(confidence: NDArray[Any], bins: int, reading: Reading) -> NDArray[np.intp]:
    if reading == "released":
        return last_edges(_released_edges(bins), confidence.astype(np.float32))
    return np.minimum(last_edges(_edges(bins), confidence), bins - 1)


def last_edges(edges: NDArray[Any], values: NDArray[Any]) -> NDArray[np.intp]:
    """Number of the last edge that is not above each value, from 0 to 1.

    As a search finds it, but faster: edges are even, so that a product is at most one off.
    """
    bins = edges.size - 1
    number = np.minimum((values * bins).astype(np.intp), bins)
    number -= edges[number] > values
    number += np.append(edges[1:], np.inf).astype(edges.dtype)[number] <= values
    return number


def _edges(bins: int) -> NDArray[np.float64]:
    return np.arange(bins + 1) / bins


def _released_edges(bins: int) -> NDArray[np.float32]:
    """Edges as a float32 linspace makes them: from each end towards the middle."""
    step = float(np.float32(1) / np.float32(bins))
    k = np.arange(bins + 1)
    return np.where(k < (bins + 1) / 2, k * step, 1 - (bins - k) * step).astype(np.float32)


def _add(
    total: NDArray[Any], index: NDArray[np.intp], confidence: NDArray[Any], *, one_by_one: bool
) -> None:
    """Add confidences to the sums of their bins, in the precision of these.

    One by one, how many are added at once does not matter. In float32 the order does: the released
    sums lose up to 1e-3 of the score that way.
    """
    if total.dtype == np.float64 and not one_by_one:
        total += np.bincount(index, weights=confidence, minlength=total.size)
        return
    if total.dtype == np.float64:
        index = np.concatenate([np.arange(total.size), index])
        total[:] = np.bincount(index, weights=np.concatenate([total, confidence]))
        return
    order = np.argsort(index.astype(np.uint8 if total.size <= 256 else np.intp), kind="stable")
    ends = np.cumsum(np.bincount(index, minlength=total.size))
    for b, members in enumerate(np.split(confidence[order], ends[:-1])):
        total[b] = np.add.accumulate(np.concatenate([total[b : b + 1], members]))[-1]


@dataclass(frozen=True)
class RaterHits:
    """Per bin: voxels, the sum of their confidence, and those whose label is the rater's."""

    voxels: NDArray[np.int64]
    confidence: NDArray[np.float64]
    hits: NDArray[np.int64]  # (raters, bins)

    def edges(self, reading: Reading) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where each bin begins and ends; the last one of `released` holds confidence 1 alone."""
        bins = self.voxels.size - 1
        low = _released_edges(bins).astype(np.float64) if reading == "released" else _edges(bins)
        return low, np.append(low[1:], 1.0)


def rater_hits(histogram: CalibrationHistogram, labels: NDArray[np.int64]) -> RaterHits:
    """Counts against each rater, from shared ones and the raters' labels (patterns, raters)."""
    by_label = histogram.voxels
    hits = np.zeros((labels.shape[1], by_label.shape[2]), np.int64)
    for label in range(by_label.shape[1]):
        hits += (labels == label).T.astype(np.int64) @ by_label[:, label]
    return RaterHits(by_label.sum(axis=(0, 1)), histogram.confidence, hits)


def ece_per_rater(
    histogram: CalibrationHistogram, labels: NDArray[np.int64], *, reading: Reading = "corrected"
) -> NDArray[np.float64]:
    """ECE against each rater, from shared counts and the raters' labels (patterns, raters)."""
    return ece_from_hits(rater_hits(histogram, labels), reading=reading)


def ece_from_hits(counted: RaterHits, *, reading: Reading = "corrected") -> NDArray[np.float64]:
    """ECE against each rater, `sum_b |hits_b - confidence_b| / sum_b voxels_b`.

    NaN where nothing was counted. `released` counts in float32, which stops at 2^24 in a bin.
    """
    hits, counts, confidence = counted.hits, counted.voxels, counted.confidence
    if reading == "released":
        hits, counts, confidence = (
            np.minimum(values, LARGEST_FLOAT32_COUNT) for values in (hits, counts, confidence)
        )
    n = counts.sum()
    if n == 0:
        return np.full(len(hits), np.nan)
    error: NDArray[np.float64] = np.abs(hits - confidence).sum(axis=1) / n
    return error
