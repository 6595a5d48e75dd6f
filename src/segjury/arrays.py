"""Arrays of voxels: their types, flat indices, stretches of memory, and boxes.

Arrays have axes x, y, z, in the order of the file, and lie in memory with x fastest
(Fortran order), as all formats here store them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Shape = tuple[int, int, int]
Triple = tuple[float, float, float]
Spacing = Triple | tuple[float, float] | tuple[float]  # of an image in 3D, in 2D, of a line
Span = tuple[int, int]

BLOCK_BYTES = 4096
LONGEST_SPAN = 1 << 18


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


Coordinates = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def coordinates(voxels: NDArray[np.int64], shape: tuple[int, int, int]) -> Coordinates:
    """Indices x, y, z of voxels given by flat indices (x fastest)."""
    y_and_z, x = np.divmod(voxels, shape[0])
    z, y = np.divmod(y_and_z, shape[1])
    return x, y, z


class Box(NamedTuple):
    """A part of an image, as ranges of voxels: `image[box]` is what it holds."""

    x: slice
    y: slice
    z: slice

    @classmethod
    def whole(cls, shape: Sequence[int]) -> Box:
        """All of an image."""
        return cls(*(slice(0, size) for size in shape))

    @classmethod
    def around(cls, boxes: Sequence[Box]) -> Box:
        """The smallest box that holds some boxes, at least one."""
        return cls(
            *(
                slice(min(side.start for side in sides), max(side.stop for side in sides))
                for sides in zip(*boxes, strict=True)
            )
        )

    @property
    def shape(self) -> Shape:
        """How many voxels it has along each axis."""
        x, y, z = (side.stop - side.start for side in self)
        return x, y, z

    @property
    def is_empty(self) -> bool:
        """Whether it holds no voxel."""
        return min(self.shape) <= 0

    def grow(self, voxels: int | Sequence[int], shape: Sequence[int]) -> Box:
        """The box with a margin on all sides, or one for each axis, clipped to the image."""
        margins = np.broadcast_to(voxels, 3).tolist()
        return Box(
            *(
                slice(max(side.start - margin, 0), min(side.stop + margin, size))
                for side, margin, size in zip(self, margins, shape, strict=True)
            )
        )

    def __and__(self, other: Box) -> Box | None:
        """What is common to two boxes; None where they do not meet."""
        pairs = zip(self, other, strict=True)
        common = Box(*(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in pairs))
        return None if common.is_empty else common

    def inside(self, outer: Box) -> Box:
        """The same box, counted from the corner of one that holds it."""
        pairs = zip(self, outer, strict=True)
        return Box(*(slice(a.start - b.start, a.stop - b.start) for a, b in pairs))

    def places(self, voxels: Ints, shape: Shape) -> Coordinates:
        """Indices x, y, z in the box of voxels of the image, given by flat indices."""
        axes = coordinates(voxels, shape)
        x, y, z = (axis - side.start for axis, side in zip(axes, self, strict=True))
        return x, y, z


def bounding_box(voxels: Ints, shape: Shape) -> Box | None:
    """Smallest box around voxels given by flat indices (x fastest); None around nothing."""
    boxes = []
    for start in range(0, voxels.size, LONGEST_SPAN):
        axes = coordinates(voxels[start : start + LONGEST_SPAN], shape)
        boxes.append(Box(*(slice(int(axis.min()), int(axis.max()) + 1) for axis in axes)))
    return Box.around(boxes) if boxes else None
