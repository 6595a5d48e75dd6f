"""Frangi's vesselness: how much the Hessian of a voxel looks like that of a bright tube.

    V = (1 - exp(-A² / 2α²)) exp(-B² / 2β²) (1 - exp(-S² / 2γ²)),   the largest over the scales,
    A = |λ2| / |λ3|,   B = |λ1| / √|λ2 λ3|,   S = √(λ1² + λ2² + λ3²),

with |λ1| <= |λ2| <= |λ3|, and V = 0 unless λ2 and λ3 are negative (Frangi et al. 1998). A tells a
tube from a plate, B from a blob, and S structure from noise: γ alone depends on the units of the
image, and only S depends on γ. So one pass over the eigenvalues serves any number of γ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Floats, Ints, Triple
from segjury.methods.vessel_labels.hessian import eigenvalues, hessian, is_bright_tube

Derivatives = Literal["plain", "scale-normalised"]
_PIECE_VOXELS = 1 << 16  # worked on together, so that they stay in the cache


@dataclass(frozen=True)
class Filter:
    """What the filter looks for; scales are the SD of its Gaussians.

    `plain` derivatives are per voxel (its smallest side), as in scikit-image: wide vessels then
    need more contrast than thin ones, and so does noise at the wide scales. `scale-normalised` are
    those of Frangi et al., larger by (σ / voxel)².
    """

    scales_mm: tuple[float, ...]
    spacing_mm: Triple = (1.0, 1.0, 1.0)
    alpha: float = 0.5
    beta: float = 0.5
    derivatives: Derivatives = "plain"

    def sigma_voxels(self, scale_mm: float) -> Triple:
        """A scale in voxels along each axis."""
        x, y, z = (scale_mm / side for side in self.spacing_mm)
        return x, y, z


@dataclass(frozen=True)
class Ridges:
    """The voxels of a box (flat, in C order) where a scale sees a tube."""

    voxels: Ints
    tubeness: Floats  # the two factors that do not depend on gamma
    strength_squared: Floats  # S²

    def vesselness(self, gamma: float) -> Floats:
        """V at these voxels."""
        return np.asarray(self.tubeness * (1 - np.exp(self.strength_squared / (-2 * gamma**2))))


def ridges(image: NDArray[Any], box: Box, scale_mm: float, kind: Filter) -> Ridges:
    """Where a scale sees a tube in a box of the image, and how well it fits."""
    sigma_voxels = kind.sigma_voxels(scale_mm)
    h = [element.reshape(-1) for element in hessian(image, box, sigma_voxels)]
    unit = max(sigma_voxels) ** 2 if kind.derivatives == "plain" else 1.0
    pieces = []
    for start in range(0, h[0].size, _PIECE_VOXELS):
        xx, xy, xz, yy, yz, zz = (element[start : start + _PIECE_VOXELS] for element in h)
        voxels = np.flatnonzero(is_bright_tube((xx, xy, xz, yy, yz, zz)))
        chosen = (xx[voxels], xy[voxels], xz[voxels], yy[voxels], yz[voxels], zz[voxels])
        third, second, first = eigenvalues(chosen)  # by magnitude, as the tubes are
        plate = (second / third) ** 2 / (-2 * kind.alpha**2)
        blob = first**2 / (second * third) / (-2 * kind.beta**2)
        tubeness = (1 - np.exp(plate)) * np.exp(blob)
        squares = (first**2 + second**2 + third**2) / unit**2
        pieces.append((voxels + start, tubeness, squares))
    voxels, tubeness, squares = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Ridges(voxels, tubeness, squares)


def frangi(image: NDArray[Any], kind: Filter, *, gamma: float) -> Floats:
    """Vesselness V of every voxel, 0 to 1; `gamma` in units of the image.

    With plain derivatives and cubic voxels equal to `skimage.filters.frangi` away from the faces of
    the volume. Near them that mirrors the first derivatives once more, so that theirs are no longer
    those of a mirrored image.
    """
    vesselness = np.zeros(image.shape)
    for scale_mm in kind.scales_mm:
        seen = ridges(image, Box.whole(image.shape), scale_mm, kind)
        best = np.maximum(vesselness.reshape(-1)[seen.voxels], seen.vesselness(gamma))
        vesselness.reshape(-1)[seen.voxels] = best
    return vesselness
