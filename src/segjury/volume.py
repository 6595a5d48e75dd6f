"""A voxel array with its place in space, and the one comparison of two grids.

Arrays have axes x, y, z, in the order of the file, and lie in memory with x fastest
(Fortran order), as all formats here store them. Space is LPS millimetres, as in ITK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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
MANY = 16  # more marks than one voxel in so many are kept as the image itself
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
class Marks:
    """The labelled voxels of an image, by flat index in ascending order, and their labels.

    Few are kept as lists, many as the image itself, whose voxels then cost their own size and not
    the eight bytes more of an index. What looks at all of them looks at a piece at a time.
    """

    listed: tuple[Ints, NDArray[Any]] | None
    image: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))  # flat
    spans: tuple[Span, ...] = ()  # of the image, outside which every voxel is 0

    @classmethod
    def of(cls, array: NDArray[Any], spans: Iterable[Span] | None = None) -> Marks:
        """The marks of an image; looks only at `spans`, where they are known."""
        image = flat(array)
        spans = tuple(nonzero_spans(array) if spans is None else spans)
        found, left = [np.zeros(0, np.int64)], image.size // MANY
        for start, stop in spans:
            found.append(np.flatnonzero(image[start:stop]) + start)
            left -= found[-1].size
            if left < 0:
                return cls(None, image, spans)
        voxels = np.concatenate(found)
        return cls((voxels, image[voxels]))

    def pieces(self) -> Iterator[tuple[Ints, NDArray[Any]]]:
        """Voxels and their labels, at most 2^18 at a time."""
        if self.listed:
            voxels, labels = self.listed
            for start in range(0, voxels.size, LONGEST_SPAN):
                yield voxels[start : start + LONGEST_SPAN], labels[start : start + LONGEST_SPAN]
        for start, stop in self.spans:
            span = self.image[start:stop]
            here = np.flatnonzero(span)
            yield here + start, span[here]

    @property
    def voxels(self) -> Ints:
        """All labelled voxels as one list."""
        return self.listed[0] if self.listed else self.select(lambda labels: labels != 0)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each of `voxels`."""
        if self.listed:
            return self.listed[1]
        return np.concatenate([labels for _, labels in self.pieces()])

    def select(self, wanted: Callable[[NDArray[Any]], Bools]) -> Ints:
        """The voxels with a wanted label as one list; 0 is never wanted."""
        if self.listed:
            voxels, labels = self.listed
            return np.asarray(voxels[wanted(labels)])
        sizes = [np.count_nonzero(wanted(self.image[first:last])) for first, last in self.spans]
        selected, ends = np.empty(sum(sizes), np.int64), np.cumsum(sizes)
        for (first, last), size, end in zip(self.spans, sizes, ends, strict=True):
            selected[end - size : end] = np.flatnonzero(wanted(self.image[first:last])) + first
        return selected

    def where(self, label: int) -> Ints:
        """The voxels with a label as one list."""
        return self.select(lambda labels: np.asarray(labels == label))

    def relabelled(self, new: Callable[[NDArray[Any]], NDArray[Any]]) -> Marks:
        """The marks with other labels; what becomes 0 is none."""
        if self.listed:
            voxels, labels = self.listed[0], new(self.listed[1])
            kept = labels != 0
            return Marks((voxels, labels) if kept.all() else (voxels[kept], labels[kept]))
        image = np.zeros(self.image.size, new(self.image[:0]).dtype)
        for start, stop in self.spans:
            image[start:stop] = new(self.image[start:stop])
        return Marks.of(image, self.spans)


@dataclass(frozen=True)
class LabelMap:
    """A mask or label map on a grid, as its labelled voxels."""

    marks: Marks
    grid: Grid

    @property
    def voxels(self) -> Ints:
        """Flat indices of the labelled voxels, ascending."""
        return self.marks.voxels

    @property
    def labels(self) -> NDArray[Any]:
        """Their labels."""
        return self.marks.labels

    def where(self, label: int) -> Ints:
        """Flat indices of the voxels with a label."""
        return self.marks.where(label)

    def dense(self, label: int | None = None) -> Bools:
        """The mask of a label, or of all, on the whole grid."""
        mask = np.zeros(self.grid.shape, bool, order="F")
        flat(mask)[self.voxels if label is None else self.where(label)] = True
        return mask

    def crop(self, label: int, box: Box) -> Bools:
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


def bounding_box(voxels: Ints, shape: Shape) -> Box | None:
    """Smallest box around voxels given by flat indices (x fastest); None around nothing."""
    boxes = []
    for start in range(0, voxels.size, LONGEST_SPAN):
        axes = coordinates(voxels[start : start + LONGEST_SPAN], shape)
        x, y, z = (slice(int(axis.min()), int(axis.max()) + 1) for axis in axes)
        boxes.append((x, y, z))
    return enclosing(boxes)


def enclosing(boxes: Iterable[Box]) -> Box | None:
    """Smallest box around boxes; None around nothing."""
    each = list(boxes)
    if not each:
        return None
    x, y, z = (
        slice(min(side.start for side in sides), max(side.stop for side in sides))
        for sides in zip(*each, strict=True)
    )
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
