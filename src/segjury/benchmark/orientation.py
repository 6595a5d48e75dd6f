"""Suspicions that a prediction lies otherwise than the image: mirrored, turned, without a header.

Voxels are compared in the order in which they are stored. A mask that meets the raters far better
when it is flipped, or when two axes are exchanged, was probably written in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints, Shape, coordinates, flat
from segjury.consensus import RaterPatterns
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels

LEAST_IF_MOVED = 0.5  # of its voxels inside the raters' when moved, and twice as many as now
ENOUGH = 100_000  # voxels to tell it by
AXES = "xyz"
NO_HEADER = "without a position in its header: voxels of 1 mm, origin 0, as if it had been lost"


def how_moved(
    patterns: RaterPatterns, marks: SparseLabels, shape: Shape
) -> tuple[str, float, float] | None:
    """How a mask seems to be moved, the share of it that is inside now, and that when moved back.

    Inside is where some rater gives the same value. None where the mask is right, or is wrong
    otherwise.
    """
    voxels, values = marks.some(ENOUGH)
    if not voxels.size:
        return None
    share = float(_inside(patterns, voxels, values).mean())
    if 2 * share > 1:  # no move could hold twice as many
        return None
    places = coordinates(voxels, shape)
    found = {
        words: float(_inside(patterns, moved, values).mean())
        for words, moved in _moves(places, shape)
    }
    best = max(found, key=lambda words: found[words], default="")  # of equals the simplest
    enough = found and found[best] >= max(LEAST_IF_MOVED, 2 * share)
    return (best, share, found[best]) if enough else None


def meets_raters(patterns: RaterPatterns, marks: SparseLabels) -> bool:
    """Whether a mask shares a voxel with any rater, of the same value."""
    return any(_inside(patterns, voxels, values).any() for voxels, values in marks.pieces())


def _moves(places: tuple[Ints, Ints, Ints], shape: Shape) -> Iterator[tuple[str, Ints]]:
    """The voxels after each move that keeps the shape, in words: the simplest first."""
    axes = range(3)
    orders = [o for o in permutations(axes) if tuple(shape[axis] for axis in o) == shape]
    for order in sorted(orders, key=lambda o: sum(o[axis] != axis for axis in axes)):
        for flips in sorted(product((False, True), repeat=3), key=sum):
            nothing = order == (0, 1, 2) and not any(flips)
            if nothing or any(flip and shape[to] == 1 for to, flip in enumerate(flips)):
                continue
            x, y, z = (
                shape[to] - 1 - places[axis] if flip else places[axis]
                for to, (axis, flip) in enumerate(zip(order, flips, strict=True))
            )
            yield _words(order, flips), x + shape[0] * (y + shape[1] * z)


def _words(order: tuple[int, ...], flips: tuple[bool, ...]) -> str:
    parts = []
    if order != (0, 1, 2):
        stored = ", ".join(AXES[order.index(axis)] for axis in range(3))
        parts.append(f"stored with its axes in the order {stored}")
    if any(flips):
        axes = " and ".join(axis for axis, flip in zip(AXES, flips, strict=True) if flip)
        parts.append(f"mirrored along {axes}")
    return " and ".join(parts)


def _inside(patterns: RaterPatterns, voxels: Ints, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether any rater gives each voxel the value that the prediction gives it."""
    given = range(patterns.n_labels)
    anyone = np.stack([(patterns.labels == value).any(axis=1) for value in given], axis=1)
    return np.asarray(anyone[flat(patterns.codes)[voxels], values])


def lost_header(grid: Grid, reference: Grid) -> bool:
    """Whether a file has the geometry of no header at all, and the reference another one.

    That is of voxels of 1 mm at the origin, along the axes of NIfTI or of ITK.
    """
    return _is_blank(grid) and not _is_blank(reference)


def _is_blank(grid: Grid) -> bool:
    direction = np.array(grid.direction)
    along = np.allclose(np.abs(direction), np.eye(3)) and direction[2, 2] > 0
    turned = direction[0, 0] == direction[1, 1]  # NIfTI's axes in ITK's space, or ITK's own
    at_origin = np.allclose(grid.origin_mm, 0)
    return bool(along and turned and at_origin and np.allclose(grid.spacing_mm, 1))
