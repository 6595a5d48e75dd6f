"""Which slice of a case to show, how much of it, and the contours of masks on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.measure import find_contours

from segjury.arrays import Bools, Floats
from segjury.report.figures.pictures.shared.images import CaseImages, Labels

MARGIN_MM = 22.0
LEAST_SIDE_MM = 80.0
Pair = tuple[float, float]


@dataclass(frozen=True)
class Slice:
    """A rectangle of one axial slice of arrays that lie along L, P, S, and why it is shown."""

    z: int
    x: slice
    y: slice
    spacing_mm: Pair
    why: str = ""

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """Take this part of a volume: axes x, y."""
        return array[self.x, self.y, self.z]

    @property
    def shape(self) -> tuple[int, int]:
        """Voxels along x and y."""
        return self.x.stop - self.x.start, self.y.stop - self.y.start

    @property
    def size_mm(self) -> Pair:
        """Width and height."""
        columns, rows = self.shape
        return columns * self.spacing_mm[0], rows * self.spacing_mm[1]


def choose_slice(images: CaseImages, label: int | None = None) -> Slice:
    """The axial slice that tells most of an upright case, cropped round what is drawn there.

    It is the one where the raters differ most. Where they agree, or there is one, it is the one
    with reference on which the methods differ most from it, each method having the same say; else
    the one with most reference, and without any, with most prediction. With a `label`, only that
    counts.
    """
    return images.kept.once(("slice", label), lambda: _chosen(images, label))


def _chosen(images: CaseImages, label: int | None) -> Slice:
    drawn = _union((_marks(mask, label) for mask in images.raters.values()), images.consensus.shape)
    counts, why = _per_slice(disputed(images, label)), "where the raters differ most"
    if not counts.any():
        counts = _errors_per_slice(images, label) * (_per_slice(drawn) > 0)
        why = "where the methods differ most from the reference"
    if not counts.any() and drawn.any():
        counts, why = _per_slice(drawn), "with most of the reference"
    if not counts.any():
        guesses = (_marks(mask, label) for mask in images.predictions.values())
        drawn = _union(guesses, drawn.shape)
        counts, why = _per_slice(drawn), "with most of the predictions"
    spacing = images.spacing_mm[0], images.spacing_mm[1]
    z = int(np.argmax(counts)) if counts.any() else drawn.shape[2] // 2
    return Slice(z, *_crop(drawn[:, :, z], spacing), spacing, why)


def disputed(images: CaseImages, label: int | None = None) -> Bools:
    """Where the raters do not all say the same; of a label, where some but not all give it."""
    differ = np.zeros(images.consensus.shape, bool, order="F")
    first, *others = images.raters.values()
    for other in others:
        if label is None:
            differ |= other != first
        else:
            differ |= (other == label) != (first == label)
    return differ


def _marks(mask: Labels, label: int | None) -> Bools:
    return np.asarray(mask != 0 if label is None else mask == label)


def _union(masks: Iterable[Bools], shape: tuple[int, ...]) -> Bools:
    union = np.zeros(shape, bool, order="F")
    for mask in masks:
        union |= mask
    return union


def _per_slice(mask: Bools) -> Floats:
    return np.asarray(np.count_nonzero(mask, axis=(0, 1)), float)


def _errors_per_slice(images: CaseImages, label: int | None) -> Floats:
    """Share of each method's errors on every slice, summed over the methods."""
    total = np.zeros(images.consensus.shape[2])
    for mask in images.predictions.values():
        if label is None:
            errors = _per_slice(mask != images.consensus)
        else:
            errors = _per_slice((mask == label) != (images.consensus == label))
        total += errors / max(errors.sum(), 1)
    return total


def _crop(mask: Bools, spacing_mm: Pair) -> tuple[slice, slice]:
    """A square (in mm) round what is set, with a margin; all of the slice if nothing is."""
    if not mask.any():
        return slice(0, mask.shape[0]), slice(0, mask.shape[1])
    bounds = []
    for axis, spacing in enumerate(spacing_mm):
        hit = np.flatnonzero(mask.any(axis=1 - axis))
        bounds.append((hit[0] * spacing, (hit[-1] + 1) * spacing))
    side = max(LEAST_SIDE_MM, *(high - low + 2 * MARGIN_MM for low, high in bounds))
    spans = [
        _span((low + high) / 2, side, spacing, size)
        for (low, high), spacing, size in zip(bounds, spacing_mm, mask.shape, strict=True)
    ]
    return spans[0], spans[1]


def _span(centre_mm: float, side_mm: float, spacing_mm: float, size: int) -> slice:
    """Voxels of a window, moved into the image where it would leave it."""
    count = min(size, max(1, round(side_mm / spacing_mm)))
    start = round(centre_mm / spacing_mm - count / 2)
    start = min(max(start, 0), size - count)
    return slice(start, start + count)


def contours(spacing_mm: Pair, values: NDArray[Any], level: float = 0.5) -> list[Floats]:
    """Outlines of a mask, or of a map at a level, in the millimetres of a view: arrays of x, y."""
    if not (values > level).any():
        return []
    padded = np.pad(values.astype(np.float32), 1)
    return [(line - 0.5) * np.array(spacing_mm) for line in find_contours(padded, level)]
