"""A time-of-flight angiogram of the head: fresh blood is bright, and fades on its way up a slab.

    S = bias · gain · (T + v f (B - T)),   f = exp(-depth / (λ √(r / 1 mm)))

with T the tissue, B fresh blood, v the share of the voxel that a vessel of radius r fills, and the
depth counted from the lower face of the slab. The image is the magnitude |S + n| with n complex
Gaussian noise, so that its values are Rician, and Rayleigh in air.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import flat
from segjury.benchmark.phantoms.fields import Field, Points, axes_mm, curve, smooth_noise
from segjury.benchmark.phantoms.smile.raster import pieces_of, surroundings
from segjury.benchmark.phantoms.smile.tree import Vessel
from segjury.images.grid import Grid

_SLICES = 16  # rendered together
_COARSE_MM = 2.5  # grid on which smooth fields are made
_FULL = 255  # stored brightness of a voxel full of fresh blood
_TEXTURE_MM, _TEXTURE = 6.0, 0.10  # length and SD
_BIAS_MM, _BIAS = 70.0, 0.12
_GAIN = 0.05  # SD between slabs
_FALL_OFF = 0.15  # of the gain at the faces of a slab


@dataclass(frozen=True)
class Scan:
    """How images were acquired; brightness in units of the image."""

    slabs: int
    lowest_mm: float  # lower face of the first slab
    slab_mm: float  # thickness
    pitch_mm: float  # from slab to slab; neighbours share what they overlap
    tissue: float
    blood: float
    noise: float  # SD of each of the two channels
    fading_mm: float  # depth at which blood in a vessel of 1 mm radius is down to 1/e
    edge_voxels: float  # width of a vessel's edge: 1, or more where the head moved
    veins: float  # brightness relative to fresh blood; 0 where they are saturated


@dataclass(frozen=True)
class Slabs:
    """Number of the slab, depth in it and gain of each slice."""

    number: NDArray[np.int64]
    depth_mm: Points
    gain: Points


def lay_slabs(grid: Grid, scan: Scan, rng: np.random.Generator) -> Slabs:
    """Which slab each slice is from, each with a gain of its own and weaker towards its faces."""
    z_mm = grid.origin_mm[2] + np.arange(grid.shape[2]) * grid.spacing_mm[2]
    height_mm = z_mm - scan.lowest_mm
    half_overlap_mm = (scan.slab_mm - scan.pitch_mm) / 2
    number = np.floor((height_mm - half_overlap_mm) / scan.pitch_mm).astype(np.int64)
    number = np.clip(number, 0, scan.slabs - 1)
    depth_mm = height_mm - number * scan.pitch_mm
    off_centre = 2 * depth_mm / scan.slab_mm - 1
    gains = rng.normal(1, _GAIN, scan.slabs)
    return Slabs(number, depth_mm, gains[number] * (1 - _FALL_OFF * off_centre**4))


def render(
    grid: Grid, vessels: Iterable[Vessel], scan: Scan, rng: np.random.Generator
) -> NDArray[np.uint16]:
    """The angiogram of a head with these vessels, made some slices at a time."""
    slabs = lay_slabs(grid, scan, rng)
    blood = np.zeros(grid.shape, np.uint8, order="F")
    add_blood(blood, grid, vessels, slabs, scan)
    if scan.veins:
        add_blood(blood, grid, _veins(rng), slabs, scan, brightness=scan.veins)
    texture, bias = _smooth(grid, _TEXTURE_MM, rng), _smooth(grid, _BIAS_MM, rng)
    tissue = np.float32(scan.tissue) * _head(grid)
    image = np.empty(grid.shape, np.uint16, order="F")
    for start in range(0, grid.shape[2], _SLICES):
        part = slice(start, min(start + _SLICES, grid.shape[2]))
        signal = tissue * (1 + np.float32(_TEXTURE) * _on_slices(texture, part))
        signal += blood[:, :, part] * np.float32((scan.blood - scan.tissue) / _FULL)
        signal *= 1 + np.float32(_BIAS) * _on_slices(bias, part)
        signal *= slabs.gain[part].astype(np.float32)
        image[:, :, part] = np.rint(np.minimum(rician(signal, scan.noise, rng), 65535))
    return image


def add_blood(
    blood: NDArray[np.uint8],
    grid: Grid,
    vessels: Iterable[Vessel],
    slabs: Slabs,
    scan: Scan,
    *,
    brightness: float = 1.0,
) -> None:
    """Brighten the voxels of vessels; 255 is a voxel full of fresh blood."""
    fading = scan.fading_mm * np.sqrt(grid.spacing_mm[0])  # in a vessel of one voxel's radius
    slice_voxels = grid.shape[0] * grid.shape[1]
    reach = scan.edge_voxels / 2
    for near in surroundings(pieces_of(vessels, grid), grid.shape, reach=reach):
        filled = np.minimum(near.inside / scan.edge_voxels + 0.5, 1)
        depth_mm = slabs.depth_mm[near.voxels // slice_voxels]
        fresh = np.exp(-depth_mm / (fading * np.sqrt(near.radius)))
        value = np.rint(_FULL * brightness * filled * fresh).astype(np.uint8)
        np.maximum.at(flat(blood), near.voxels, value)


def rician(signal: Field, noise: float, rng: np.random.Generator) -> Field:
    """The magnitude of a signal with Gaussian noise of SD `noise` in two channels."""
    width, height, depth = signal.shape
    channels = rng.standard_normal((depth, 2, height, width), dtype=np.float32)
    channels *= np.float32(noise)
    real, imaginary = channels[:, 0].T + signal, channels[:, 1].T
    return np.asarray(np.hypot(real, imaginary))


def _head(grid: Grid) -> Field:
    """Brightness relative to brain in one slice: air, scalp, skull, brain (columns are alike)."""
    x, y, _ = axes_mm(grid)
    level = np.sqrt((x / 68) ** 2 + ((y - 4) / 90) ** 2)
    layers = [level > 1, level > 0.96, level > 0.9]
    return np.asarray(np.select(layers, [0.0, 1.3, 0.25], 1.0), np.float32)


def _veins(rng: np.random.Generator) -> list[Vessel]:
    """Large veins, which nobody annotates: basal, internal cerebral, straight, sagittal."""
    courses: list[tuple[list[tuple[float, float, float]], float]] = [
        ([(0, 34, 15), (0, 55, 8), (0, 80, 0)], 1.8),
        ([(0, 80, 0), (0, 83, 15), (0, 82, 40)], 2.6),
    ]
    for side in (-1, 1):
        courses.append(([(side * 13, -6, 4), (side * 15, 10, 6), (0, 34, 15)], 0.9))
        courses.append(([(side * 3, -12, 20), (side * 2, 12, 21), (0, 34, 15)], 0.8))
    lines = [curve(np.array(points) + rng.normal(0, 0.7, 3), r) for points, r in courses]
    return [Vessel((0, 1), points, radii) for points, radii in lines]


# ---- smooth fields -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Smooth:
    """A field on a coarse grid, and the weights that carry it to each axis of the image."""

    coarse: Field
    weights: tuple[Field, Field, Field]


def _smooth(grid: Grid, length_mm: float, rng: np.random.Generator) -> _Smooth:
    """Smooth noise of SD 1, without an array as large as the image."""
    steps = np.array(grid.spacing_mm) / _COARSE_MM
    x, y, z = (np.ceil((np.array(grid.shape) - 1) * steps) + 1).astype(int).tolist()
    coarse = smooth_noise(Grid((x, y, z), (_COARSE_MM,) * 3), length_mm, rng)
    weights = [
        _linear(size, step, count)
        for size, step, count in zip(grid.shape, steps, (x, y, z), strict=True)
    ]
    return _Smooth(coarse, (weights[0], weights[1], weights[2]))


def _linear(size: int, step: float, count: int) -> Field:
    """Weights (voxel, knot) of linear interpolation between `count` knots."""
    distance = np.abs(np.arange(size)[:, None] * step - np.arange(count))
    return np.asarray(np.maximum(1 - distance, 0), np.float32)


def _on_slices(field: _Smooth, part: slice) -> Field:
    x, y, z = field.weights
    slices = field.coarse @ z[part].T  # coarse x, coarse y, slice
    return np.asarray(np.einsum("xa,yb,abz->xyz", x, y, slices, optimize=True))
