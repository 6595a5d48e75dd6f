"""The axes of a file beside those of a reference: put in its order, and placed into its grid.

A voxel array keeps its values and changes the order and the direction of its axes alone, so that
nothing is resampled and nothing lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Triple
from segjury.errors import InputError
from segjury.images.grid import (
    MOST_OF_A_VOXEL,
    USUAL_TOLERANCE,
    Direction,
    Doubt,
    Grid,
    Tolerance,
    grid_differences,
)
from segjury.images.volume import Volume

SAME_DIRECTION = 1e-3  # by which a cosine may differ, as in the comparison of grids
NAMES = "xyz"


class Axis(NamedTuple):
    """Where an axis of the reference is in a file: which of its axes, and whether backwards."""

    number: int
    flipped: bool = False


Axes = tuple[Axis, Axis, Axis]
STRAIGHT: Axes = (Axis(0), Axis(1), Axis(2))


def axes_in(grid: Grid, reference: Grid) -> Axes | None:
    """For each axis of the reference the one of a grid that runs along it; None if one does not."""
    ours, theirs = np.array(reference.direction), np.array(grid.direction)
    found = []
    for axis in ours.T:
        cosines = (theirs * axis[:, None]).sum(axis=0)
        number = int(np.abs(cosines).argmax())
        sign = -1.0 if cosines[number] < 0 else 1.0
        if not np.allclose(sign * theirs[:, number], axis, rtol=0, atol=SAME_DIRECTION):
            return None
        found.append(Axis(number, sign < 0))
    x, y, z = found
    return (x, y, z) if {x.number, y.number, z.number} == {0, 1, 2} else None


def reordered_grid(grid: Grid, axes: Axes) -> Grid:
    """The grid of the same voxels, their axes put in another order."""
    spacing, origin = np.array(grid.spacing_mm), np.array(grid.origin_mm)
    direction = np.array(grid.direction)
    for number, flipped in axes:
        if flipped:  # the first voxel is then what was the last
            origin = origin + direction[:, number] * spacing[number] * (grid.shape[number] - 1)
    order = [axis.number for axis in axes]
    signs = np.array([-1.0 if axis.flipped else 1.0 for axis in axes])
    return replace(
        grid,
        shape=_shape(grid.shape[number] for number in order),
        spacing_mm=_triple(spacing[order]),
        origin_mm=_triple(origin),
        direction=_rows(direction[:, order] * signs),
    )


def fitting_axes(
    grid: Grid, reference: Grid, tolerance: Tolerance = USUAL_TOLERANCE
) -> Axes | None:
    """The order of axes in which a grid is the reference's.

    None where it is in that order already, where no order makes it the reference's, and where the
    tolerance says not to heed directions: the header is not to be trusted then.
    """
    if grid == reference or tolerance.direction == "ignore":
        return None
    axes = axes_in(grid, reference)
    if axes is None or axes == STRAIGHT:
        return None
    try:
        differences = grid_differences(
            reference, reordered_grid(grid, axes), tolerance_mm=tolerance.tolerance_mm
        )
    except InputError:  # of another shape
        return None
    return None if differences else axes


def grid_in_order(grid: Grid, reference: Grid, tolerance: Tolerance = USUAL_TOLERANCE) -> Grid:
    """The grid that a volume has once its axes are put in the reference's order."""
    axes = fitting_axes(grid, reference, tolerance)
    return reordered_grid(grid, axes) if axes else grid


def oriented(volume: Volume, reference: Grid, tolerance: Tolerance = USUAL_TOLERANCE) -> Volume:
    """A volume on the reference's grid, where it differs by the order of its axes alone.

    Any other is returned as it is. That the axes were put in order is a doubt of the new grid.
    """
    axes = fitting_axes(volume.grid, reference, tolerance)
    if axes is None:
        return volume
    doubts = (*volume.grid.doubts, Doubt("reoriented", _message(axes), ""))
    return replace(_reordered(volume, axes), grid=replace(reference, doubts=doubts))


def placed(volume: Volume, reference: Grid, tolerance: Tolerance = USUAL_TOLERANCE) -> Volume:
    """A part of an image put where it belongs on the reference's grid, with 0 around it.

    Its axes may have another order. Refused is what is not on the voxels of the reference.
    """
    if volume.grid == reference:
        return volume
    axes, start = place(volume.grid, reference, tolerance)
    part = volume if axes == STRAIGHT else _reordered(volume, axes)
    doubts = volume.grid.doubts
    if axes != STRAIGHT:
        doubts = (*doubts, Doubt("reoriented", _message(axes), ""))
    own = replace(reference, doubts=doubts)
    if part.grid.shape == reference.shape:
        return replace(part, grid=own)
    whole = np.zeros(reference.shape, part.array.dtype, order="F")
    box = tuple(slice(a, a + size) for a, size in zip(start, part.grid.shape, strict=True))
    whole[box] = part.array
    return Volume(whole, own, members=volume.members)


def place(
    grid: Grid, reference: Grid, tolerance: Tolerance = USUAL_TOLERANCE
) -> tuple[Axes, tuple[int, ...]]:
    """The order of axes, and the first voxel, by which a part of an image is on a grid."""
    axes = axes_in(grid, reference)
    if axes is None:
        fix, kind = "Resample it to the reference grid", "other-direction"
        raise InputError("has axes in other directions than the reference's", fix, kind=kind)
    return axes, _start(reordered_grid(grid, axes), reference, tolerance)


def _start(grid: Grid, reference: Grid, tolerance: Tolerance) -> tuple[int, ...]:
    """The voxel of the reference on which the first one of a part lies."""
    most_mm = min(tolerance.tolerance_mm, MOST_OF_A_VOXEL * min(reference.spacing_mm))
    steps = np.array(grid.spacing_mm) - reference.spacing_mm
    # what the spacings differ by adds up along the part
    if (np.abs(steps) * np.maximum(np.array(grid.shape) - 1, 1) > most_mm).any():
        raise InputError(
            f"has spacing {_shown(grid.spacing_mm)}, the reference has "
            f"{_shown(reference.spacing_mm)}",
            "Resample it to the reference grid",
            kind="other-spacing",
        )
    off_mm = np.array(grid.origin_mm) - reference.origin_mm
    along_mm = (np.array(reference.direction) * off_mm[:, None]).sum(axis=0)
    start = np.rint(along_mm / reference.spacing_mm)
    if not (np.abs(along_mm - start * reference.spacing_mm) <= most_mm).all():
        raise InputError(
            "lies between the voxels of the reference",
            "Resample it to the reference grid",
            kind="other-origin",
        )
    if (start < 0).any() or (start + grid.shape > reference.shape).any():
        raise InputError(
            f"reaches from voxel {_shown(start)} to {_shown(start + grid.shape - 1)}, "
            f"the reference has shape {reference.shape}",
            "Crop it to the reference grid",
            kind="other-shape",
        )
    return tuple(int(step) for step in start)


def _reordered(volume: Volume, axes: Axes) -> Volume:
    """The same voxels in another order of axes, in our order in memory.

    What lies outside the slices with any mark is left untouched, so that it takes no memory.
    """
    slice_size = volume.grid.shape[0] * volume.grid.shape[1]
    first = min((start for start, _ in volume.spans), default=0) // slice_size
    last = -(-max((stop for _, stop in volume.spans), default=0) // slice_size)
    grid = reordered_grid(volume.grid, axes)
    array = np.zeros(grid.shape, volume.array.dtype, order="F")
    # both are views: what is written into the one in the order of the file lands in the other
    _in_file_order(array, axes)[:, :, first:last] = volume.array[:, :, first:last]
    return Volume(array, grid, members=volume.members)


def _in_file_order(array: NDArray[Any], axes: Axes) -> NDArray[Any]:
    """A view of an array in the reference's order of axes, as the file has them."""
    flipped = array[tuple(slice(None, None, -1 if axis.flipped else 1) for axis in axes)]
    order = [axis.number for axis in axes]
    return flipped.transpose([order.index(number) for number in range(3)])


def _message(axes: Axes) -> str:
    """How the axes were stored, as axes of the reference."""
    stored = [""] * 3
    for name, axis in zip(NAMES, axes, strict=True):
        stored[axis.number] = f"-{name}" if axis.flipped else name
    order = ", ".join(stored)
    return f"has its axes stored as {order}; they were put in the order of the reference"


def _shape(sizes: Any) -> Shape:
    x, y, z = (int(size) for size in sizes)
    return x, y, z


def _triple(values: Any) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _rows(matrix: NDArray[Any]) -> Direction:
    x, y, z = (_triple(row) for row in matrix)
    return x, y, z


def _shown(values: Any) -> str:
    return str(np.round(np.asarray(values, float), 4).tolist())
