"""What headers claim, checked before memory is taken for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Triple
from segjury.errors import InputError
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Direction, Doubt, Grid, at_right_angles

MAX_VOXELS = 2**30
DEFLATE_LIMIT = 1032  # no deflate stream expands more than this, so a header that says so lies
SPARE_BYTES = 1 << 26  # of a file beside its voxels, and between a NIfTI header and these
SMALLEST_DETERMINANT = 1e-6  # axes flatter than this span no volume


def check_size(
    shape: Shape,
    itemsize: int,
    n_bytes: int,
    wanted: Wanted,
    *,
    grid: Callable[[], Grid],
    packed: bool,
    channels: int = 1,
) -> None:
    """Refuse a shape that is not the wanted one, too large, or not that of a file's `n_bytes`.

    These may be far fewer where they are packed. `grid` is the header's. What follows the voxels is
    left, yet nobody looks at, or takes the fingerprint of, much more than a header needs: a file of
    gigabytes takes no room on a disk if they are zeros.
    """
    wanted.refuse_other_shape(shape, grid)
    if math.prod(shape) > MAX_VOXELS:
        raise InputError(f"claims {shape} voxels in its header, more than {MAX_VOXELS}", "Crop it")
    needed = math.prod(shape) * channels * itemsize
    if needed > n_bytes * (DEFLATE_LIMIT if packed else 1):
        raise InputError(
            f"claims {shape} voxels in its header, more than the file can hold",
            "Write or copy it again",
        )
    refuse_much_more(n_bytes, needed)


def refuse_much_more(n_bytes: int, needed: int) -> None:
    """Refuse a file that is far longer than its header needs."""
    if n_bytes > 2 * needed + SPARE_BYTES:
        raise InputError(f"has {n_bytes} bytes, its header needs {needed}", "Write it again")


def three_dimensions(sizes: Sequence[int]) -> Shape:
    """The shape with three axes: one of a single voxel is added, or left out, at the end."""
    shape = [*sizes]
    while len(shape) > 3 and shape[-1] == 1:
        shape.pop()
    shape += [1] * (3 - len(shape))
    if len(shape) > 3 or min(shape) < 1:
        fix = "Store one three-dimensional volume"
        raise InputError(f"has shape {tuple(sizes)}", fix, kind="other-shape")
    return shape[0], shape[1], shape[2]


def numeric(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of voxels, if it is one of plain numbers."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise InputError(f"has voxels of type {dtype}", "Store integers or floats")
    return dtype


def checked_grid(
    shape: Shape,
    spacing: Any,
    origin: Any,
    direction: NDArray[Any],
    doubts: tuple[Doubt, ...] = (),
) -> Grid:
    """The grid of a volume; refuse spacing, origin and axes that none can have.

    Nor may it be sheared: distances are measured along the axes, as if these were at right angles.
    """
    numbers = np.concatenate([spacing, origin, direction.ravel()])
    sound = np.isfinite(numbers).all() and (np.asarray(spacing) > 0).all()
    if not sound or not abs(np.linalg.det(direction)) > SMALLEST_DETERMINANT:
        raise InputError("has a broken orientation in its header", "Write it again")
    if not at_right_angles(direction):
        raise InputError(
            "has axes that are not at right angles",
            "Resample it to a grid without shear",
            kind="sheared-axes",
        )
    return Grid(shape, _triple(spacing), _triple(origin), _rows(direction), doubts)


def _triple(values: Any) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _rows(matrix: NDArray[Any]) -> Direction:
    x, y, z = (_triple(row) for row in matrix)
    return x, y, z
