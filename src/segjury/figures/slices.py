"""Which slice of a case to show, how much of it, and the contours of masks on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.measure import find_contours

from segjury.volume import IDENTITY, Direction, Triple

Mask = NDArray[Any]

MARGIN_MM = 22.0
LEAST_SIDE_MM = 80.0


@dataclass(frozen=True)
class Slice:
    """A rectangle of one axial slice of arrays that lie along L, P, S."""

    z: int
    x: slice
    y: slice
    spacing_mm: tuple[float, float]

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """Take this part of a volume: axes x, y."""
        return array[self.x, self.y, self.z]

    @property
    def shape(self) -> tuple[int, int]:
        """Voxels along x and y."""
        return self.x.stop - self.x.start, self.y.stop - self.y.start

    @property
    def extent_mm(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top for `imshow(origin="upper")`, pixel edges in mm."""
        columns, rows = self.shape
        return 0.0, columns * self.spacing_mm[0], rows * self.spacing_mm[1], 0.0


def to_lps(array: NDArray[Any], direction: Direction) -> NDArray[Any]:
    """A view of the array whose axes point, as nearly as they can, to L, P and S."""
    if direction == IDENTITY:
        return array
    order = _order(direction)
    flips = [slice(None, None, 1 if direction[i][j] > 0 else -1) for i, j in enumerate(order)]
    return array.transpose(order)[tuple(flips)]


def _order(direction: Direction) -> tuple[int, int, int]:
    """The array axis that lies nearest to each of L, P and S."""
    cosines = np.abs(np.array(direction, float))
    best = max(permutations(range(3)), key=lambda order: cosines[range(3), list(order)].sum())
    return best[0], best[1], best[2]


def choose_slice(
    raters: Mapping[str, Mask],
    predictions: Mapping[str, Mask],
    spacing_mm: Triple,
    direction: Direction = IDENTITY,
) -> Slice:
    """The axial slice where raters differ most, cropped round the lesion.

    Where they agree everywhere, the one with most lesion; where no rater drew anything, the one
    with most prediction.
    """
    everything = [*raters.values(), *predictions.values()]
    if not everything:
        raise ValueError("a panel needs at least one mask, got neither raters nor predictions")
    drawn = [to_lps(mask, direction).astype(bool, copy=False) for mask in raters.values()]
    guessed = [to_lps(mask, direction).astype(bool, copy=False) for mask in predictions.values()]
    union = _union(drawn)
    if union is None or not union.any():
        union = _union(guessed) if guessed else _union(drawn)
        disputed = None
    else:
        disputed = _disputed(drawn, union)
    assert union is not None  # noqa: S101  (there is at least one mask)
    order = _order(direction)
    spacing = spacing_mm[order[0]], spacing_mm[order[1]]
    z = _busiest(disputed if disputed is not None and disputed.any() else union)
    return Slice(z, *_crop(union[:, :, z], spacing), spacing)


def _union(masks: Iterable[Mask]) -> Mask | None:
    union = None
    for mask in masks:
        union = mask.copy() if union is None else np.logical_or(union, mask, out=union)
    return union


def _disputed(masks: list[Mask], union: Mask) -> Mask:
    common = masks[0].copy()
    for mask in masks[1:]:
        np.logical_and(common, mask, out=common)
    return union & ~common


def _busiest(mask: Mask) -> int:
    counts = np.count_nonzero(mask, axis=(0, 1))
    return int(np.argmax(counts)) if counts.any() else mask.shape[2] // 2


def _crop(mask: Mask, spacing_mm: tuple[float, float]) -> tuple[slice, slice]:
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


def contours(view: Slice, mask: Mask) -> list[NDArray[np.float64]]:
    """Outlines of a cut-out mask in the millimetres of the view, each an array of x, y."""
    if not mask.any():
        return []
    padded = np.pad(mask.astype(np.float32), 1)
    scale = np.array(view.spacing_mm)
    return [(line - 0.5) * scale for line in find_contours(padded, 0.5)]
