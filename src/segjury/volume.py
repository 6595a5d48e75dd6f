"""A voxel array with its place in space, and the one comparison of two grids.

Arrays have axes x, y, z, in the order of the file, and lie in memory with x fastest
(Fortran order), as all formats here store them. Space is LPS millimetres, as in ITK.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Shape = tuple[int, int, int]
Triple = tuple[float, float, float]
Direction = tuple[Triple, Triple, Triple]
Property = Literal["spacing", "origin", "direction"]
Box = tuple[slice, slice, slice]
Span = tuple[int, int]

BLOCK_BYTES = 4096
LONGEST_SPAN = 1 << 18
IDENTITY: Direction = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Grid:
    """Shape, spacing, origin and direction of a volume; columns of `direction` are its axes."""

    shape: tuple[int, int, int]
    spacing_mm: Triple = (1.0, 1.0, 1.0)
    origin_mm: Triple = (0.0, 0.0, 0.0)
    direction: Direction = IDENTITY

    @property
    def voxel_volume_mm3(self) -> float:
        """Volume of one voxel."""
        return float(np.prod(self.spacing_mm))


@dataclass(frozen=True)
class Volume:
    """An array (axes x, y, z) on a grid.

    `known_spans` are the spans outside which every voxel is 0, if its maker knows them.
    """

    array: NDArray[Any]
    grid: Grid
    known_spans: tuple[Span, ...] | None = None

    def __post_init__(self) -> None:
        if self.array.shape != self.grid.shape:
            raise ValueError(f"array has shape {self.array.shape}, its grid {self.grid.shape}")

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Stretches of memory (from, to, in voxels) outside which every voxel is 0."""
        if self.known_spans is not None:
            return self.known_spans
        return tuple(nonzero_spans(self.array))


@dataclass(frozen=True)
class GridDifference:
    """One property in which two grids differ beyond tolerance."""

    property: Property
    message: str


def grid_differences(
    reference: Grid,
    other: Grid,
    *,
    tolerance_mm: float = 1e-3,
    tolerance_direction: float = 1e-3,
    name: str = "reference",
) -> list[GridDifference]:
    """Compare two grids: raise `InputError` for another shape, list what else differs.

    Spacing and origin may differ by `tolerance_mm` along each axis, direction cosines by
    `tolerance_direction`. Messages call the first grid the `name`'s.
    """
    if other.shape != reference.shape:
        raise InputError(
            f"has shape {other.shape}, the {name} has {reference.shape}",
            f"Resample it to the {name} grid",
        )
    checks: tuple[tuple[Property, Any, Any, float], ...] = (
        ("spacing", reference.spacing_mm, other.spacing_mm, tolerance_mm),
        ("origin", reference.origin_mm, other.origin_mm, tolerance_mm),
        ("direction", reference.direction, other.direction, tolerance_direction),
    )
    return [
        GridDifference(kind, f"has {kind} {_rounded(got)}, the {name} has {_rounded(expected)}")
        for kind, expected, got, tolerance in checks
        if not np.allclose(got, expected, rtol=0, atol=tolerance)
    ]


def _rounded(values: Any) -> str:
    return str(np.round(np.asarray(values, float), 4).tolist())


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """The voxels in memory order (x fastest), without a copy where the array allows it."""
    return array.reshape(-1, order="F")


def nonzero_spans(array: NDArray[Any]) -> list[Span]:
    """Stretches of memory (from, to, in voxels) outside which every voxel is 0.

    One pass over blocks of 4096 bytes, as fast as memory is read; almost all of a mask or a
    probability map is 0, so that whatever follows looks at little. Stretches are cut at 2^18
    voxels, so that repeated work on one stays in the cache.
    """
    voxels = np.ascontiguousarray(flat(array))
    per_block = BLOCK_BYTES // voxels.itemsize
    whole = voxels.size // per_block
    words = voxels[: whole * per_block].view(np.uint64).reshape(whole, BLOCK_BYTES // 8)
    hit = np.zeros(whole + 2, np.int8)
    hit[1:-1] = np.bitwise_or.reduce(words, axis=1) != 0
    borders = np.flatnonzero(np.diff(hit)).reshape(-1, 2) * per_block
    spans = [
        (start, min(start + LONGEST_SPAN, stop))
        for first, stop in borders.tolist()
        for start in range(first, stop, LONGEST_SPAN)
    ]
    rest = (whole * per_block, voxels.size)
    return [*spans, rest] if rest[0] < rest[1] else spans


def joined_spans(each: Iterable[Iterable[Span]]) -> list[Span]:
    """Spans outside which all of several volumes are 0, cut at 2^18 voxels."""
    joined: list[list[int]] = []
    for start, stop in sorted(span for spans in each for span in spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    return [
        (start, min(start + LONGEST_SPAN, stop))
        for first, stop in joined
        for start in range(first, stop, LONGEST_SPAN)
    ]


def nonzero_voxels(array: NDArray[Any], spans: Iterable[Span] | None = None) -> NDArray[np.int64]:
    """Flat (x fastest) indices of the voxels that are not 0, in ascending order.

    Looks only at `spans`, where they are known.
    """
    voxels = flat(array)
    spans = nonzero_spans(array) if spans is None else spans
    found = [np.flatnonzero(voxels[start:stop]) + start for start, stop in spans]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


@dataclass(frozen=True)
class LabelMap:
    """A mask or label map as its labelled voxels: flat indices, ascending, and their labels."""

    voxels: NDArray[np.int64]
    labels: NDArray[Any]
    grid: Grid

    def where(self, label: int) -> NDArray[np.int64]:
        """Flat indices of the voxels with a label."""
        return np.asarray(self.voxels[self.labels == label])

    def dense(self, label: int | None = None) -> NDArray[np.bool_]:
        """The mask of a label, or of all, on the whole grid."""
        mask = np.zeros(self.grid.shape, bool, order="F")
        flat(mask)[self.voxels if label is None else self.where(label)] = True
        return mask

    def crop(self, label: int, box: Box) -> NDArray[np.bool_]:
        """The mask of a label in a box that holds all its voxels."""
        x, y, z = coordinates(self.where(label), self.grid.shape)
        mask = np.zeros([side.stop - side.start for side in box], bool, order="F")
        mask[x - box[0].start, y - box[1].start, z - box[2].start] = True
        return mask


Coordinates = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def coordinates(voxels: NDArray[np.int64], shape: tuple[int, int, int]) -> Coordinates:
    """Indices x, y, z of voxels given by flat indices (x fastest)."""
    y_and_z, x = np.divmod(voxels, shape[0])
    z, y = np.divmod(y_and_z, shape[1])
    return x, y, z


def bounding_box(voxels: NDArray[np.int64], shape: tuple[int, int, int]) -> Box | None:
    """Smallest box around voxels given by flat indices (x fastest); None around nothing."""
    if voxels.size == 0:
        return None
    x, y, z = (slice(int(axis.min()), int(axis.max()) + 1) for axis in coordinates(voxels, shape))
    return x, y, z


def grow(box: Box, voxels: int, shape: tuple[int, int, int]) -> Box:
    """The box with a margin on all sides, clipped to the image."""
    x, y, z = (
        slice(max(side.start - voxels, 0), min(side.stop + voxels, size))
        for side, size in zip(box, shape, strict=True)
    )
    return x, y, z


def intersection(first: Box, second: Box) -> Box | None:
    """The box common to two boxes; None where they do not meet."""
    x, y, z = (
        slice(max(a.start, b.start), min(a.stop, b.stop))
        for a, b in zip(first, second, strict=True)
    )
    return None if any(side.start >= side.stop for side in (x, y, z)) else (x, y, z)
