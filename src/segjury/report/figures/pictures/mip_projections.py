"""Projections of a case on a plane, and the part of them that is worth a closer look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Floats, Triple, coordinates, nonzero_voxels
from segjury.report.figures.pictures.shared.images import CaseImages, Labels
from segjury.report.figures.pictures.shared.outcomes import Classes, Outcome
from segjury.report.figures.pictures.shared.slicing import Pair

Window = tuple[slice, slice]
CLOSER = 3  # times a zoomed part is enlarged
_MARGIN = 0.08  # of its size, left around the reference
_SLENDEREST = 0.5  # shortest by longest side of a view, where the image is as wide


@dataclass(frozen=True)
class Plane:
    """A plane that upright arrays are projected on along one axis, and how it is seen.

    `away` says whether the eye looks along the axis, from its first voxel. Pictures have axes
    column and row, from the upper left.
    """

    name: str
    axis: int
    away: bool
    upside_down: bool
    up: str
    right: str

    def seen(self, flat: NDArray[Any]) -> NDArray[Any]:
        """What is left of an array when the axis is gone, as a picture."""
        return flat[:, ::-1] if self.upside_down else flat

    def size_mm(self, shape: Sequence[int], spacing_mm: Triple) -> Pair:
        """Width and height of the picture."""
        across, down = (a for a in range(3) if a != self.axis)
        return shape[across] * spacing_mm[across], shape[down] * spacing_mm[down]


AXIAL = Plane("axial", 2, away=True, upside_down=False, up="A", right="L")  # from the feet
CORONAL = Plane("coronal", 1, away=True, upside_down=True, up="S", right="L")  # from the front
SAGITTAL = Plane("sagittal", 0, away=False, upside_down=True, up="S", right="P")  # from the left
PLANES = (AXIAL, CORONAL, SAGITTAL)


def project(array: NDArray[Any], plane: Plane) -> NDArray[Any]:
    """The maximum-intensity projection."""
    return plane.seen(array.max(axis=plane.axis))


def project_labels(labels: Labels, plane: Plane) -> tuple[Labels, Floats]:
    """The label nearest to the eye, 0 where there is none, and how deep it lies, from 0 to 1."""
    voxels = nonzero_voxels(labels)  # few: most of a label map is empty
    places = coordinates(voxels, labels.shape)
    far = places[plane.axis] if plane.away else labels.shape[plane.axis] - 1 - places[plane.axis]
    farthest_first = np.argsort(-far, kind="stable")
    across, down = (places[a][farthest_first] for a in range(3) if a != plane.axis)
    shape = [size for axis, size in enumerate(labels.shape) if axis != plane.axis]
    nearest, depth = np.zeros(shape, labels.dtype), np.zeros(shape)
    nearest[across, down] = labels[tuple(place[farthest_first] for place in places)]
    depth[across, down] = far[farthest_first] / max(labels.shape[plane.axis] - 1, 1)
    return plane.seen(nearest), plane.seen(depth)


def main_plane(images: CaseImages) -> Plane:
    """The plane on which the reference spreads most."""
    shape = _bounds(images.consensus).shape

    def area(plane: Plane) -> float:
        width, height = plane.size_mm(shape, images.spacing_mm)
        return width * height

    return max(PLANES, key=area)


def reference_part(images: CaseImages) -> Box:
    """The part of an upright case that holds the reference, with a margin, not too slender."""
    box = _bounds(images.consensus)
    lengths = list(zip(box.shape, images.spacing_mm, strict=True))
    least_mm = _SLENDEREST * max(length * mm for length, mm in lengths)
    sides = []
    for side, (length, mm), size in zip(box, lengths, images.consensus.shape, strict=True):
        wanted = max(round((1 + 2 * _MARGIN) * length), round(least_mm / mm), length + 4)
        first = side.start - (wanted - length) // 2
        sides.append(slice(max(first, 0), min(first + wanted, size)))
    return Box(*sides)


def _bounds(mask: Labels) -> Box:
    """The smallest box around a mask; everything where it is empty."""
    sides = []
    for axis, size in enumerate(mask.shape):
        hit = np.flatnonzero(mask.any(axis=tuple(a for a in range(3) if a != axis)))
        sides.append(slice(int(hit[0]), int(hit[-1]) + 1) if hit.size else slice(0, size))
    return Box(*sides)


def closer_window(outcomes: Sequence[Classes]) -> Window:
    """The part of a picture where methods differ most from the reference, each with the same say.

    It is the window, a third as wide and high as the picture, with the largest sum of errors.
    """
    shape = outcomes[0].shape
    errors = np.zeros(shape)
    for each in outcomes:
        wrong = each > Outcome.RIGHT
        errors += wrong / max(wrong.sum(), 1)
    sizes = [max(1, -(-size // CLOSER)) for size in shape]
    summed = np.pad(errors, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    wide = summed[sizes[0] :] - summed[: -sizes[0]]
    held = wide[:, sizes[1] :] - wide[:, : -sizes[1]]
    if not errors.any():
        column, row = ((size - part) // 2 for size, part in zip(shape, sizes, strict=True))
    else:
        column, row = _middle_of_best(held)
    return slice(column, column + sizes[0]), slice(row, row + sizes[1])


def _middle_of_best(held: Floats) -> tuple[int, int]:
    """Of the windows that hold as much, the middle one: errors then lie inside, not at its rim."""
    best = np.argwhere(held >= held.max() - 1e-9)
    near = np.abs(best - best.mean(axis=0)).sum(axis=1).argmin()
    return int(best[near, 0]), int(best[near, 1])
