"""The responses of an image to several settings, tile by tile.

Kept are the voxels that any setting responds to (about two in five), with each response as a whole
number of steps of 1/65535: so ten settings need no more memory than two images of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Ints, Shape, flat
from segjury.methods.vessel_labels.frangi import Filter, ridges
from segjury.methods.vessel_labels.settings import Setting
from segjury.runtime import prefetch

STEPS = 65535  # of a response of 1
TILE_VOXELS = 128  # side of a tile


@dataclass(frozen=True)
class TileResponses:
    """The voxels of a tile that respond: flat indices in the volume, x fastest."""

    voxels: NDArray[np.uint32]
    steps: NDArray[np.uint16]  # (settings, voxels)


@dataclass(frozen=True)
class Responses:
    """The responses of a whole volume, in steps of 1/65535; 0 at the voxels that no tile has."""

    shape: Shape
    settings: tuple[Setting, ...]
    parts: tuple[TileResponses, ...]

    def counts(self, setting: int) -> Ints:
        """How many voxels have each number of steps."""
        counts = np.zeros(STEPS + 1, np.int64)
        for part in self.parts:
            counts += np.bincount(part.steps[setting], minlength=STEPS + 1)
        counts[0] += int(np.prod(self.shape)) - counts.sum()
        return counts

    def above(self, setting: int, steps: float) -> Ints:
        """Flat indices of the voxels with more than so many steps."""
        voxels = [part.voxels[part.steps[setting] > steps] for part in self.parts]
        return np.concatenate([np.zeros(0, np.int64), *voxels])

    def image(self, setting: int) -> NDArray[np.float32]:
        """The response of every voxel, 0 to 1."""
        image = np.zeros(self.shape, np.float32, order="F")
        for part in self.parts:
            flat(image)[part.voxels] = part.steps[setting] / np.float32(STEPS)
        return image


def responses(
    image: NDArray[np.float32],
    kind: Filter,
    settings: Sequence[Setting],
    *,
    tile: int = TILE_VOXELS,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Responses:
    """Filter an image once for all settings; the same to the last bit whatever the tiles.

    `progress` hears how many tiles of how many are done.
    """
    shape = (image.shape[0], image.shape[1], image.shape[2])
    boxes = tiles(shape, tile)
    work = partial(_of_tile, image, kind=kind, settings=settings)
    parts = []
    for done in prefetch(work, boxes, depth=jobs, threads=jobs):
        parts.append(done.result())
        if progress is not None:
            progress(len(parts), len(boxes))
    return Responses(shape, tuple(settings), tuple(parts))


def tiles(shape: Shape, side: int) -> list[Box]:
    """Boxes with sides of up to `side` voxels that fill a volume."""
    x_sides, y_sides, z_sides = (_cut(size, side) for size in shape)
    return [Box(x, y, z) for z in z_sides for y in y_sides for x in x_sides]


def _cut(size: int, side: int) -> list[slice]:
    parts = -(-size // side)
    edges = [size * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _of_tile(
    image: NDArray[np.float32], box: Box, *, kind: Filter, settings: Sequence[Setting]
) -> TileResponses:
    size = box.shape
    steps = np.zeros((len(settings), int(np.prod(size))), np.uint16)
    for number, scale_mm in enumerate(kind.scales_mm):
        seen = ridges(image, box, scale_mm, kind)
        for setting, best in zip(settings, steps, strict=True):
            if number in range(*setting.scales.indices(len(kind.scales_mm))):
                response = np.rint(seen.vesselness(setting.gamma) * STEPS).astype(np.uint16)
                best[seen.voxels] = np.maximum(best[seen.voxels], response)
    kept = np.flatnonzero(steps.any(axis=0))
    x, y, z = (
        place + side.start for place, side in zip(np.unravel_index(kept, size), box, strict=True)
    )
    voxels = x + image.shape[0] * (y + image.shape[1] * z)
    return TileResponses(voxels.astype(np.uint32), steps[:, kept])
