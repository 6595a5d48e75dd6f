"""Calibration against each rater: MR-ECE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.consensus import RaterPatterns, pack
from segjury.metrics.metric import Metric, Reading, check_reading, check_shapes
from segjury.volume import Box, bounding_box

BINS = 50
PADDING_VOXELS = 20
SMALLEST = np.float32(1e-8)  # the released code's lower limit of a class probability

MR_ECE = Metric(
    name="mr_ece",
    title="MR-ECE",
    summary="Expected calibration error against each rater near the lesion, mean over raters.",
    direction="lower",
    bounds=(0.0, 1.0),
    unit="",
    symmetric=False,
    needs_probability=True,
)


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
    the raters' union box widened by `padding_voxels` (one less at the upper end, as released).
    `corrected` and `published`: float64, the last bin closed at 1, box clipped to the volume.
    `released`: float32 probabilities and bin edges, confidence 1 in a bin of its own, and a
    negative start of the box counts from the far end, as the organisers' slicing does.
    NaN where the box is empty or no rater marks anything. Source: CURVAS-PDACVI 6.3.
    """
    check_reading(reading)
    masks, p = np.asarray(raters, bool), np.asarray(probability)
    check_shapes(masks, probability=p)
    patterns = pack(masks)
    around = scored_box(patterns, padding_voxels)
    if around is None:
        return float("nan")
    histogram = calibration_histogram(patterns, p, around.of(reading), bins=bins, reading=reading)
    return float(np.mean(ece_per_rater(histogram, patterns.marked())))


@dataclass(frozen=True)
class ScoredBox:
    """The padded box around the raters' marks: as the released code slices it, and clipped."""

    released: Box
    clipped: Box
    wraps: bool  # whether the released box begins before the volume and reads from its far end

    def of(self, reading: Reading) -> Box:
        """The box a reading uses."""
        return self.released if reading == "released" else self.clipped


def scored_box(patterns: RaterPatterns, padding_voxels: int = PADDING_VOXELS) -> ScoredBox | None:
    """Box around the raters' marks from `min - padding` up to, not with, `max + padding`."""
    box = bounding_box(patterns.voxels, patterns.codes.shape)
    if box is None:
        return None
    x, y, z = (slice(s.start - padding_voxels, s.stop - 1 + padding_voxels) for s in box)
    clipped_x, clipped_y, clipped_z = (slice(max(s.start, 0), s.stop) for s in (x, y, z))
    wraps = any(-n < s.start < 0 for s, n in zip((x, y, z), patterns.codes.shape, strict=True))
    return ScoredBox((x, y, z), (clipped_x, clipped_y, clipped_z), wraps)


@dataclass(frozen=True)
class CalibrationHistogram:
    """Voxels by (rater pattern, predicted label, confidence bin), and confidence per bin."""

    voxels: NDArray[np.int64]
    confidence: NDArray[np.float64]


def calibration_histogram(
    patterns: RaterPatterns,
    probability: NDArray[Any],
    box: Box,
    *,
    bins: int = BINS,
    reading: Reading = "corrected",
) -> CalibrationHistogram:
    """Count the box once for all raters; voxels with p = 0 are one number per pattern."""
    codes = patterns.codes[box].reshape(-1, order="F")
    p = probability[box].reshape(-1, order="F")
    uncertain = np.flatnonzero(p)
    shape = (patterns.n_codes, 2, bins + 1)
    confidence, label = _top_label(p[uncertain], reading)
    index = _bin(confidence, bins, reading)
    cell = np.ravel_multi_index((codes[uncertain].astype(np.intp), label, index), shape)
    voxels = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    total = np.bincount(index, weights=confidence, minlength=bins + 1).astype(np.float64)
    certain = np.bincount(codes, minlength=patterns.n_codes) - voxels.sum(axis=(1, 2))
    one = _bin(np.ones(1), bins, reading)[0]
    voxels[:, 0, one] += certain
    total[one] += certain.sum()
    return CalibrationHistogram(voxels, total)


def _top_label(p: NDArray[Any], reading: Reading) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Confidence of the likelier class, and that class; a tie predicts background."""
    if reading == "released":
        foreground = np.maximum(p.astype(np.float32), SMALLEST)
        background = np.maximum(np.float32(1) - p.astype(np.float32), SMALLEST)
        total = background + foreground
        foreground, background = foreground / total, background / total
    else:
        foreground = p.astype(np.float64)
        background = 1 - foreground
    label = (foreground > background).astype(np.intp)
    return np.maximum(foreground, background), label


def _bin(confidence: NDArray[Any], bins: int, reading: Reading) -> NDArray[np.intp]:
    if reading == "released":
        return np.searchsorted(_released_edges(bins), confidence.astype(np.float32), "right") - 1
    edges = np.arange(bins + 1) / bins
    return np.minimum(np.searchsorted(edges, confidence, "right") - 1, bins - 1)


def _released_edges(bins: int) -> NDArray[np.float32]:
    """Edges as a float32 linspace makes them: from each end towards the middle."""
    step = float(np.float32(1) / np.float32(bins))
    k = np.arange(bins + 1)
    return np.where(k < (bins + 1) / 2, k * step, 1 - (bins - k) * step).astype(np.float32)


def ece_per_rater(
    histogram: CalibrationHistogram, marked: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """ECE against each rater, from shared counts; NaN for an empty box."""
    n = histogram.voxels.sum()
    if n == 0:
        return np.full(marked.shape[1], np.nan)
    background, foreground = histogram.voxels[:, 0], histogram.voxels[:, 1]
    hits = marked.T @ foreground + ~marked.T @ background
    error: NDArray[np.float64] = np.abs(hits - histogram.confidence).sum(axis=1) / n
    return error
