"""Masks that nobody would predict, but that anybody may hand in: each is costly in some way.

A mask is a label map of bytes, 0 outside and 1 to `classes`, made for a shape, a number of classes
and a seed. None takes more than a few bytes per voxel to make.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Shape = tuple[int, int, int]
Labels = np.ndarray[Any, np.dtype[np.uint8]]
Maker = Callable[[Shape, int, np.random.Generator], Labels]

SINGLES = 20_000  # single voxels
TUNNEL = 3  # voxels from one tunnel of the foam to the next


def hostile_mask(name: str, shape: Shape, *, classes: int = 1, seed: int = 0) -> Labels:
    """The mask with a name of `MASKS` or `THICK_OR_TANGLED`."""
    return (MASKS | THICK_OR_TANGLED)[name](shape, classes, np.random.default_rng(seed))


def _sheets(axis: int) -> Maker:
    """Every other plane across an axis, a class for each plane in turn."""

    def make(shape: Shape, classes: int, _rng: np.random.Generator) -> Labels:
        mask = np.zeros(shape, np.uint8, "F")
        along = np.moveaxis(mask, axis, 0)
        for number, plane in enumerate(along[::2]):
            plane[:] = number % classes + 1
        return mask

    return make


def _checkerboard(shape: Shape, classes: int, _rng: np.random.Generator) -> Labels:
    """Every other voxel along each axis; the classes lie one above the other."""
    x, y = np.ogrid[: shape[0], : shape[1]]
    mask = np.zeros(shape, np.uint8, "F")
    for plane in range(shape[2]):
        mask[:, :, plane] = (x + y + plane) % 2 * (plane * classes // shape[2] + 1)
    return mask


def _noise(share: float) -> Maker:
    """A share of the voxels, each of any class."""

    def make(shape: Shape, classes: int, rng: np.random.Generator) -> Labels:
        mask = np.zeros(shape, np.uint8, "F")
        for plane in range(shape[2]):
            labels = rng.integers(1, classes + 1, shape[:2], np.uint8)
            mask[:, :, plane] = labels * (rng.random(shape[:2], np.float32) < share)
        return mask

    return make


def _ones(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    return np.ones(shape, np.uint8, "F")


def _last_class(shape: Shape, classes: int, _rng: np.random.Generator) -> Labels:
    return np.full(shape, classes, np.uint8, "F")


def _foam(shape: Shape, classes: int, _rng: np.random.Generator) -> Labels:
    """Full but for thin tunnels along all axes; the classes lie one above the other."""
    mask = np.empty(shape, np.uint8, "F")
    mask[:] = np.arange(shape[2]) * classes // shape[2] + 1
    mask[::TUNNEL, ::TUNNEL] = 0
    mask[::TUNNEL, :, ::TUNNEL] = 0
    mask[:, ::TUNNEL, ::TUNNEL] = 0
    return mask


def _singles(shape: Shape, classes: int, rng: np.random.Generator) -> Labels:
    """Thousands of single voxels anywhere."""
    mask = np.zeros(shape, np.uint8, "F")
    count = min(SINGLES, mask.size // 8)
    at = tuple(rng.integers(0, size, count) for size in shape)
    mask[at] = rng.integers(1, classes + 1, count, np.uint8)
    return mask


def _corner(shape: Shape, classes: int, rng: np.random.Generator) -> Labels:
    """Half of the voxels in one corner, an eighth of the image; nothing elsewhere."""
    mask = np.zeros(shape, np.uint8, "F")
    x, y, z = (size // 2 for size in shape)
    mask[:x, :y, :z] = _noise(0.5)((x, y, z), classes, rng)
    return mask


def _two_corners(shape: Shape, classes: int, _rng: np.random.Generator) -> Labels:
    """A row of all classes in each of two opposite corners."""
    mask = np.zeros(shape, np.uint8, "F")
    row = np.resize(np.arange(1, classes + 1, dtype=np.uint8), min(classes, shape[0] // 2))
    mask[: row.size, 0, 0] = row
    mask[-row.size :, -1, -1] = row
    return mask


MASKS: dict[str, Maker] = {
    "sheets across x": _sheets(0),
    "sheets across y": _sheets(1),
    "sheets across z": _sheets(2),
    "checkerboard": _checkerboard,
    "noise, 5 %": _noise(0.05),
    "noise, 50 %": _noise(0.5),
    "all ones": _ones,
    "last class full": _last_class,
    "foam": _foam,
    "single voxels": _singles,
    "one corner": _corner,
    "two corners": _two_corners,
}


# ---- costly to thin, and one class each --------------------------------------------------------


def _inner(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    mask = np.zeros(shape, np.uint8, "F")
    mask[1:-1, 1:-1, 1:-1] = 1
    return mask


def _ball(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """All that is within reach of the middle, as far as the image goes."""
    x, y, z = (np.linspace(-1, 1, size) ** 2 for size in shape)
    mask = np.zeros(shape, np.uint8, "F")
    for plane, square in enumerate(z):
        mask[:, :, plane] = x[:, None] + y + square <= 1
    return mask


def _lattice(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """One in eight voxels, none beside another."""
    mask = np.zeros(shape, np.uint8, "F")
    mask[::2, ::2, ::2] = 1
    return mask


def _cavities(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """Full but for closed cavities of a voxel, one in eight."""
    mask = np.ones(shape, np.uint8, "F")
    mask[1:-1:2, 1:-1:2, 1:-1:2] = 0
    return mask


def _cells(shape: Shape, _classes: int, rng: np.random.Generator) -> Labels:
    """The same, but only half of the cavities."""
    mask = _cavities(shape, 1, rng)
    inner = mask[1:-1:2, 1:-1:2, 1:-1:2]
    for plane in range(inner.shape[2]):
        inner[:, :, plane] = rng.random(inner.shape[:2]) < 0.5
    return mask


def _snake(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """A line one voxel wide, forth and back through all of the image."""
    mask = _sheets(2)(shape, 1, _rng)
    mask[:, 1::2, ::2] = 0
    mask[-1, 1::4, ::2] = mask[0, 3::4, ::2] = 1
    mask[0, 0, 1::2] = 1
    return mask


def _shells(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """Boxes in boxes, each with a wall of one voxel."""
    x, y, z = (np.minimum(np.arange(size), np.arange(size)[::-1]) for size in shape)
    mask = np.zeros(shape, np.uint8, "F")
    for plane, depth in enumerate(z):
        mask[:, :, plane] = np.minimum(np.minimum(x[:, None], y), depth) % 2 == 0
    return mask


def _comb(shape: Shape, _classes: int, _rng: np.random.Generator) -> Labels:
    """Teeth of a voxel on one plane."""
    mask = np.zeros(shape, np.uint8, "F")
    mask[1::2, :, ::2] = 1
    mask[:, 0] = 1
    return mask


THICK_OR_TANGLED: dict[str, Maker] = {
    "all but the border": _inner,
    "ball": _ball,
    "lattice": _lattice,
    "cavities": _cavities,
    "half of the cavities": _cells,
    "snake": _snake,
    "shells": _shells,
    "comb": _comb,
    "noise, 30 %": _noise(0.3),
    "noise, 90 %": _noise(0.9),
}
