"""How experts draw the same structure differently.

Rater k marks a voxel where

    phi + b_k + A (rho G + s_k G_k) + N(0, tau² A²) > 0

with phi the latent signed distance (mm, positive inside), b_k the rater's style, s_k the size of
his or her own errors, G and G_k smooth noise that all raters share and that is the rater's own, and
A the ambiguity of the case (0 clear, 1 hopeless). Where nobody can tell where the lesion ends,
raters also leave parts out, or draw another finding altogether.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms.fields import Field, axes_mm, smooth_noise
from segjury.images.grid import Grid

Mask = NDArray[np.bool_]

_BESIDE_MM = 15.0  # a missed part ends in an arc of about this radius


@dataclass(frozen=True)
class Rater:
    """One expert: `bias_mm` is style (draws large or small), `error_mm` the lack of skill."""

    bias_mm: float
    error_mm: float
    miss_rate: float = 0.0


@dataclass(frozen=True)
class Noise:
    """What the raters of a study have in common: size, smoothness and sharing of their errors."""

    shared_mm: float = 1.6
    level_mm: float = 1.4
    length_mm: float = 14.0


USUAL_NOISE = Noise()


def draw(
    phi_mm: Field,
    grid: Grid,
    rater: Rater,
    *,
    ambiguity: float,
    shared: Field,
    rng: np.random.Generator,
    noise: Noise = USUAL_NOISE,
) -> Mask:
    """What one rater marks, given the latent signed distance and the noise all raters share."""
    level = rater.bias_mm + rng.normal(0, noise.level_mm * ambiguity)
    own = smooth_noise(grid, noise.length_mm, rng)
    wander = np.float32(ambiguity) * (noise.shared_mm * shared + rater.error_mm * own)
    seen = phi_mm
    if rng.random() < (rater.miss_rate + 0.5 * ambiguity) * ambiguity:
        seen = miss_part(phi_mm, grid, share=rng.uniform(0.1, 0.2 + 0.5 * ambiguity), rng=rng)
    drawn = np.asarray(seen + wander + np.float32(level), np.float32)
    return without_specks(_never_empty(drawn, phi_mm))


def miss_part(phi_mm: Field, grid: Grid, *, share: float, rng: np.random.Generator) -> Field:
    """The structure without the share of it that is farthest from a random point beside it."""
    way = rng.normal(size=3)
    inside = phi_mm > 0
    if not inside.any():
        return phi_mm
    axes = axes_mm(grid)
    middle = [float(np.broadcast_to(axis, inside.shape)[inside].mean()) for axis in axes]
    beside = np.array(middle) + _BESIDE_MM * way / np.linalg.norm(way)
    squared = sum((axis - b) ** 2 for axis, b in zip(axes, beside, strict=True))
    far = np.sqrt(np.asarray(squared, np.float32))
    edge = np.float32(np.quantile(far[inside], 1 - share))
    return np.asarray(np.minimum(phi_mm, edge - far))


def without_specks(mask: Mask, *, smallest_share: float = 0.1) -> Mask:
    """The mask without connected parts smaller than a share of the largest one."""
    labels, count = ndimage.label(mask)
    if count <= 1:
        return mask
    sizes = np.bincount(labels.reshape(-1))
    sizes[0] = 0
    return np.asarray((sizes >= smallest_share * sizes.max())[labels] & mask)


def _never_empty(seen_mm: Field, phi_mm: Field, *, smallest_share: float = 0.1) -> Mask:
    """Where `seen_mm` > 0, or else its highest voxels: every rater was told there is a lesion."""
    mask = seen_mm > 0
    fewest = max(int(smallest_share * np.count_nonzero(phi_mm > 0)), 1)
    if np.count_nonzero(mask) >= fewest:
        return mask
    level = np.partition(seen_mm.reshape(-1), -fewest)[-fewest]
    return np.asarray(seen_mm >= level)
