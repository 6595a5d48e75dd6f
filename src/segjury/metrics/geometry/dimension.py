"""The dimension that an image really has: an axis of size 1 is none.

An image of one slice is a plane, whichever way it lies, and its shapes have outlines and areas, not
surfaces and volumes. Flat voxel indices stay the same when axes of size 1 are left out or moved, so
that a plane needs no voxel moved: only shape and spacing are written in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Shape, Triple

ALONG_NO_AXIS = 1.0  # the spacing of an axis of size 1 counts in nothing


def real_axes(shape: Shape) -> tuple[int, ...]:
    """The axes with more than one voxel; all of an image of one voxel, which counts as a volume."""
    return tuple(axis for axis in range(3) if shape[axis] > 1) or (0, 1, 2)


def flat_axes(shape: Shape) -> tuple[int, ...]:
    """The other axes, along which the image has no extent."""
    return tuple(axis for axis in range(3) if axis not in real_axes(shape))


def is_volume(shape: Shape) -> bool:
    """Whether an image has three dimensions."""
    return not flat_axes(shape)


def stood_up(shape: Shape, spacing: Triple = (1.0, 1.0, 1.0)) -> tuple[Shape, Triple]:
    """Shape and spacing with the real axes in one place: a plane is (a, 1, b), a line (1, 1, a).

    The last axis is thus a real one, along which masks are cut into slabs. A volume stays as it is.
    """
    real = real_axes(shape)
    if len(real) == 3:
        return shape, spacing
    if len(real) == 2:
        a, b = real
        return (shape[a], 1, shape[b]), (spacing[a], ALONG_NO_AXIS, spacing[b])
    (a,) = real
    return (1, 1, shape[a]), (ALONG_NO_AXIS, ALONG_NO_AXIS, spacing[a])


def three_axes(shape: Sequence[int], name: str) -> Shape:
    """The shape of an array as that of a volume: a plane or a line gets axes of size 1 behind."""
    if not 1 <= len(shape) <= 3:
        raise ValueError(f"{name} has {len(shape)} axes, expected 3, or 2 for an image in 2D")
    x, y, z = (*shape, 1, 1)[:3]
    return x, y, z


def three_spacings(spacing: ArrayLike, shape: Shape) -> Triple:
    """The spacing along three axes; one that is not given belongs to an axis of size 1 behind."""
    values = np.asarray(spacing, float)
    given = len(values) if values.ndim == 1 else 0
    if not 1 <= given <= 3 or any(size > 1 for size in shape[given:]):
        raise ValueError(f"spacing is {spacing!r}, expected a positive number for each axis")
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"spacing is {spacing!r}, expected positive numbers")
    x, y, z = (*values.tolist(), ALONG_NO_AXIS, ALONG_NO_AXIS)[:3]
    return x, y, z
