"""Voxels of vessels.

A voxel belongs to a vessel when its centre lies within the radius of the centreline. The voxels
that the centreline itself runs through always belong to it, so that a vessel thinner than a voxel
is one voxel wide and 26-connected. Every short piece of a vessel is drawn in its own small cube,
many equal cubes at a time: work and memory follow the vessels, not the volume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints, Shape, flat
from segjury.benchmark.phantoms.fields import Points
from segjury.benchmark.phantoms.smile.tree import Vessel
from segjury.images.grid import Grid

Mask = NDArray[np.bool_]

LONGEST_PIECE = 0.9  # voxels, or the radius where that is more: rounded ends are neighbours
_AT_ONCE = 1 << 20  # voxels looked at together


@dataclass(frozen=True)
class Pieces:
    """Short straight pieces of vessels; lengths and places in voxels."""

    start: Points  # (n, 3)
    step: Points  # (n, 3), from start to end
    first: Points  # (n,), radius at the start
    last: Points  # (n,), radius at the end

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: Any) -> Pieces:
        return Pieces(self.start[which], self.step[which], self.first[which], self.last[which])


@dataclass(frozen=True)
class Near:
    """Voxels near pieces: flat indices, distance inside the wall, radius of the vessel there."""

    voxels: Ints
    inside: Points  # voxels, negative outside
    radius: Points  # voxels


def rasterise(vessels: Iterable[Vessel], grid: Grid) -> Mask:
    """The mask of vessels on a grid of cubic voxels."""
    return rasterise_pieces(pieces_of(vessels, grid), grid.shape)


def rasterise_pieces(pieces: Pieces, shape: Shape) -> Mask:
    """The mask of pieces of vessels."""
    mask = np.zeros(shape, bool, order="F")
    for voxels in voxels_of(pieces, shape):
        flat(mask)[voxels] = True
    return mask


def voxels_of(pieces: Pieces, shape: Shape) -> Iterator[Ints]:
    """Flat indices (x fastest) of the voxels of pieces, in parts, some more than once."""
    for near in surroundings(pieces, shape, reach=0.0):
        yield near.voxels
    for ends in (pieces.start, pieces.start + pieces.step):
        yield _flat_index(_nearest(ends), shape)


def pieces_of(
    vessels: Iterable[Vessel],
    grid: Grid,
    *,
    radii_mm: Callable[[Vessel], Points] = lambda vessel: vessel.radii_mm,
) -> Pieces:
    """Vessels cut into short pieces; `radii_mm` may see them thicker or thinner than they are."""
    vessels = list(vessels)
    if not vessels:
        return Pieces(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    origin, spacing = np.array(grid.origin_mm), grid.spacing_mm[0]
    points = np.concatenate([vessel.points_mm for vessel in vessels])
    points = (points - origin) / spacing
    radii = np.concatenate([radii_mm(vessel) for vessel in vessels]) / spacing
    last_points = np.cumsum([len(vessel.points_mm) for vessel in vessels])[:-1] - 1
    starts = np.delete(np.arange(len(points) - 1), last_points)
    step = points[starts + 1] - points[starts]
    length = np.linalg.norm(step, axis=1)
    longest = np.maximum(np.minimum(radii[starts], radii[starts + 1]), LONGEST_PIECE)
    counts = np.maximum(np.ceil(length / longest), 1).astype(np.int64)
    return _cut(Pieces(points[starts], step, radii[starts], radii[starts + 1]), counts)


def surroundings(pieces: Pieces, shape: Shape, *, reach: float) -> Iterator[Near]:
    """The voxels at most `reach` voxels outside the wall of each piece, those of many at a time.

    A voxel near several pieces comes several times.
    """
    thickest = np.maximum(pieces.first, pieces.last)
    half = np.ceil(thickest + reach + np.linalg.norm(pieces.step, axis=1) / 2 + 0.5)
    for side in np.unique(half).astype(np.int64).tolist():
        group = np.flatnonzero(half == side)
        per_piece = (2 * side + 1) ** 3
        for some in np.array_split(group, max(1, -(-group.size * per_piece // _AT_ONCE))):
            yield _in_cubes(pieces[some], shape, side, reach)


def _in_cubes(pieces: Pieces, shape: Shape, side: int, reach: float) -> Near:
    """The voxels in cubes of 2 `side` + 1 voxels around the middle of each piece."""
    middle = _nearest(pieces.start + pieces.step / 2)
    index = middle[:, :, None] + np.arange(-side, side + 1)  # piece, axis, place in the cube
    place = index - pieces.start[:, :, None]
    squared_step = np.maximum((pieces.step**2).sum(axis=1), 1e-12)
    along = place * (pieces.step / squared_step[:, None])[:, :, None]
    share = np.clip(_cube(along, 0) + _cube(along, 1) + _cube(along, 2), 0, 1)
    squared = sum(
        (_cube(place, axis) - share * pieces.step[:, axis, None, None, None]) ** 2
        for axis in range(3)
    )
    taper = pieces.last - pieces.first
    radius = pieces.first[:, None, None, None] + share * taper[:, None, None, None]
    within = (index >= 0) & (index < np.array(shape)[:, None])
    close = squared <= (radius + reach) ** 2
    close &= _cube(within, 0) & _cube(within, 1) & _cube(within, 2)
    piece, x, y, z = np.nonzero(close)
    voxels = np.stack([index[piece, axis, k] for axis, k in enumerate((x, y, z))], axis=1)
    return Near(
        voxels=_flat_index(voxels, shape),
        inside=radius[close] - np.sqrt(squared[close]),
        radius=radius[close],
    )


def _cube(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """Values along one axis of each cube, shaped to broadcast over the other two."""
    shape = [-1 if a == axis else 1 for a in range(3)]
    return values[:, axis].reshape(len(values), *shape)


def _cut(pieces: Pieces, counts: Ints) -> Pieces:
    """Each piece as `counts` equal ones."""
    which = np.repeat(np.arange(len(pieces)), counts)
    place = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    share = place / counts[which]
    whole = pieces[which]
    slope = whole.last - whole.first
    return Pieces(
        start=whole.start + share[:, None] * whole.step,
        step=whole.step / counts[which, None],
        first=whole.first + share * slope,
        last=whole.first + (share + 1 / counts[which]) * slope,
    )


def _nearest(points: Points) -> Ints:
    """Nearest voxels; halves go up, so that points less than a voxel apart stay neighbours."""
    return np.floor(points + 0.5).astype(np.int64)


def _flat_index(voxels: Ints, shape: Shape) -> Ints:
    """Flat indices (x fastest) of those voxels that lie in the volume."""
    inside = ((voxels >= 0) & (voxels < shape)).all(axis=1)
    x, y, z = voxels[inside].T
    return np.asarray(x + shape[0] * (y + shape[1] * z))
