"""Connected components of a mask, as runs of voxels along x.

A mask has far fewer runs than voxels, and components, sizes and overlaps follow from runs alone.
Few runs are joined one by one, so that what is small costs little in a large image; many, by
labelling all voxels, so that no mask costs more than the image does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import LONGEST_SPAN, Ints, Shape, coordinates

Connectivity = Literal["faces", "edges", "corners"]
REACH: dict[Connectivity, int] = {"faces": 1, "edges": 2, "corners": 3}

DENSE = 64  # with more runs than one in so many voxels, all of its planes are labelled


@dataclass(frozen=True)
class Components:
    """The components of a mask, numbered from 0 by size, the largest first, then by position.

    `starts` and `stops` are the flat indices (x fastest) of the first voxel of each run, ascending,
    and of the one behind its last; `of_run` is the component it belongs to, and `sizes` are the
    voxels of each component. The position of a component is its first voxel.
    """

    starts: Ints
    stops: Ints
    of_run: NDArray[np.int32]
    sizes: Ints

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.sizes.size)

    def at(self, voxels: Ints) -> Ints:
        """The component that each voxel, given by its flat index, lies in; -1 for none."""
        if not self.starts.size:
            return np.full(voxels.size, -1)
        run = np.searchsorted(self.starts, voxels, "right") - 1
        inside = (run >= 0) & (voxels < self.stops[run])
        return np.where(inside, self.of_run[run], -1).astype(np.int64)

    def at_least(self, voxels: float) -> Components:
        """Those with at least so many voxels."""
        kept = int(np.count_nonzero(self.sizes >= voxels))  # the first ones
        if kept == self.count:
            return self
        here = self.of_run < kept
        return Components(self.starts[here], self.stops[here], self.of_run[here], self.sizes[:kept])


def components(voxels: Ints, shape: Shape, connectivity: Connectivity = "corners") -> Components:
    """The components of a mask, given by flat voxel indices (x fastest, ascending).

    Voxels belong together that have a face in common; with `edges` also those with a common edge,
    with `corners` those with a common corner. In an image of one slice, faces are the sides of
    pixels, and edges and corners are their corners.
    """
    if connectivity not in REACH:
        raise ValueError(f"connectivity is {connectivity!r}, expected one of {', '.join(REACH)}")
    starts, stops = _runs(voxels, shape[0])
    if not starts.size:
        return Components(starts, stops, np.zeros(0, np.int32), starts)
    plane = shape[0] * shape[1]
    planes = range(int(starts[0]) // plane, int(stops[-1] - 1) // plane + 1)
    if starts.size * DENSE > len(planes) * plane:
        of_run = _labelled(voxels, starts, shape, planes, REACH[connectivity])
    else:
        of_run = _joined(starts, stops, shape, REACH[connectivity])
    return _numbered(starts, stops, of_run)


def _runs(voxels: Ints, width: int) -> tuple[Ints, Ints]:
    """Where rows of voxels along x begin and end."""
    found = [np.zeros(min(voxels.size, 1), np.int64)]  # the first voxel begins one
    for first in range(1, voxels.size, LONGEST_SPAN):
        piece = voxels[first : first + LONGEST_SPAN]
        begins = piece != voxels[first - 1 : first + piece.size - 1] + 1
        begins |= piece % width == 0
        found.append(np.flatnonzero(begins) + first)
    places = np.concatenate(found)
    starts = voxels[places]
    stops = starts - places
    stops[:-1] += places[1:]
    stops[-1:] += voxels.size
    return starts, stops


def _joined(starts: Ints, stops: Ints, shape: Shape, reach: int) -> NDArray[np.int32]:
    """A number for each run, the same for those that hang together."""
    from scipy.sparse import coo_array, csgraph

    # In an image with one more voxel on every side, whose rows do not touch across its border.
    x, y, z = coordinates(starts, shape)
    row, plane = shape[0] + 2, (shape[0] + 2) * (shape[1] + 2)
    first = x + 1 + (y + 1) * row + (z + 1) * plane
    last = first + (stops - starts) - 1
    pairs = [
        ranges(
            np.searchsorted(last, first + shift - sideways),
            np.searchsorted(first, last + shift + sideways, "right"),
        )
        for shift, sideways in _rows_ahead(row, plane, reach)
    ]
    here, there = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    links = coo_array((np.ones(here.size, bool), (here, there)), shape=(starts.size, starts.size))
    return np.asarray(csgraph.connected_components(links, directed=False)[1], np.int32)


def _rows_ahead(row: int, plane: int, reach: int) -> Iterator[tuple[int, int]]:
    """How far on each neighbouring row behind is, and by how much a run there may be beside."""
    for dy, dz in product((-1, 0, 1), (0, 1)):
        steps = abs(dy) + dz
        if (dz, dy) > (0, 0) and steps <= reach:
            yield dy * row + dz * plane, int(steps < reach)


def ranges(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """All whole numbers of some ranges, and before them the number of the range of each."""
    counts = np.maximum(stop - first, 0)
    of_range = np.repeat(np.arange(first.size), counts)
    within = np.arange(of_range.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return of_range, first[of_range] + within


def _labelled(
    voxels: Ints, starts: Ints, shape: Shape, planes: range, reach: int
) -> NDArray[np.int32]:
    """`_joined`, from the labels of all voxels of some planes."""
    from scipy import ndimage

    before = planes.start * shape[0] * shape[1]
    mask = np.zeros((len(planes), shape[1], shape[0]), np.uint8)  # z, y, x
    for first in range(0, voxels.size, LONGEST_SPAN):
        mask.reshape(-1)[voxels[first : first + LONGEST_SPAN] - before] = 1
    labels: NDArray[np.int32] = np.empty(mask.shape, np.int32)
    ndimage.label(mask, ndimage.generate_binary_structure(3, reach), output=labels)
    return labels.reshape(-1)[starts - before] - np.int32(1)


def _numbered(starts: Ints, stops: Ints, of_run: NDArray[np.int32]) -> Components:
    """Components from runs with any numbers, from 0 without a gap."""
    sizes = np.bincount(of_run, weights=stops - starts).astype(np.int64)
    first = np.empty(sizes.size, np.int64)
    first[of_run[::-1]] = starts[::-1]  # of several, the last one stays
    order = np.lexsort((first, -sizes))
    number = np.empty(sizes.size, np.int32)
    number[order] = np.arange(sizes.size, dtype=np.int32)
    return Components(starts, stops, number[of_run], sizes[order])


def common_voxels(first: Components, second: Components) -> tuple[Ints, Ints, Ints]:
    """The pairs of components of two masks that have voxels in common, and how many these are."""
    here, there = ranges(
        np.searchsorted(second.stops, first.starts, "right"),
        np.searchsorted(second.starts, first.stops),
    )
    lengths = np.minimum(first.stops[here], second.stops[there])
    lengths -= np.maximum(first.starts[here], second.starts[there])
    keys = first.of_run[here].astype(np.int64) * max(second.count, 1) + second.of_run[there]
    pairs, of_pair = np.unique(keys, return_inverse=True)
    a, b = np.divmod(pairs, max(second.count, 1))
    common = np.bincount(of_pair, weights=lengths, minlength=pairs.size)
    return a, b, common.astype(np.int64)
