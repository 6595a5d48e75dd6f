"""Probability maps that nobody would predict: numbers that differ in every voxel, or hide from 0.

A map is a function of the first and the last plane, so that none is in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Planes = Callable[[int, int], Array]

SMALLEST = 5e-324  # above 0


def hostile_maps(name: str, shape: tuple[int, int, int], count: int) -> tuple[list[Planes], str]:
    """So many maps with a name of `MAPS`, which together are at most 1, and how they are stored."""
    make, suffix = MAPS[name]
    rng = np.random.default_rng(0)

    def planes(first: int, last: int) -> Array:
        return make((*shape[:2], last - first), rng) / count

    return [planes] * count, suffix


def _noise(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.random(shape)


def _single(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.random(shape, np.float32)


def _ones(shape: tuple[int, ...], _rng: np.random.Generator) -> Array:
    return np.ones(shape)


def _nearly_nothing(shape: tuple[int, ...], _rng: np.random.Generator) -> Array:
    return np.full(shape, 10 * SMALLEST)


def _sheets(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Noise in every other plane across x."""
    return rng.random(shape) * (np.arange(shape[0]) % 2)[:, None, None]


def _dust(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """A voxel here and there, so that no stretch of memory is 0."""
    return 0.9 * (rng.random(shape) < 0.002)


MAPS = {
    "noise, float64": (_noise, ".nii"),
    "noise, float64, packed": (_noise, ".nii.gz"),
    "noise, float32, packed": (_single, ".nii.gz"),
    "all ones": (_ones, ".nii.gz"),
    "hardly above 0": (_nearly_nothing, ".nii.gz"),
    "sheets": (_sheets, ".nii.gz"),
    "dust": (_dust, ".nii.gz"),
}
