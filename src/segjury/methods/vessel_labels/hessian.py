"""The Hessian of an image at a scale, and the eigenvalues of the voxels that look like a vessel.

The scale σ is in mm, so along an axis with voxels of h mm the Gaussian has SD σ/h voxels. With
scale-normalised derivatives σ² ∂²/∂a∂b (Lindeberg 1993) a structure has the same response at the
scale of its size, whatever that is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.arrays import Box, Floats, Triple

TRUNCATE = 6.0  # SDs after which a kernel ends: what is cut off is below 1e-6 of its height
_WIDE = 9.0  # SDs of the two kernels it is made of, so that only the last cut counts

Hessian = tuple[Floats, Floats, Floats, Floats, Floats, Floats]  # xx, xy, xz, yy, yz, zz


def reach_voxels(sigma_voxels: float) -> int:
    """How far from a voxel its derivatives look."""
    return math.ceil(TRUNCATE * sigma_voxels)


@lru_cache(maxsize=64)
def derivative_kernels(sigma_voxels: float) -> tuple[Floats, Floats, Floats]:
    """A Gaussian and its first and second derivative, times σ^order.

    Each is made of two sampled kernels with SD σ/√2: the Gaussian twice, the Gaussian and its
    slope, the slope twice, as in scikit-image. At a scale of one voxel the second derivative of x²
    is too small by half a percent, from 1.5 voxels on by less than 1e-5.
    """
    half = sigma_voxels / math.sqrt(2)
    x = np.arange(-math.ceil(_WIDE * half), math.ceil(_WIDE * half) + 1)
    smooth = np.exp(-((x / half) ** 2) / 2)
    smooth /= smooth.sum()
    slope = -x / half**2 * smooth
    wide_kernels = [
        np.convolve(smooth, smooth),
        np.convolve(smooth, slope),
        np.convolve(slope, slope),
    ]
    middle = wide_kernels[0].size // 2
    kept = min(reach_voxels(sigma_voxels), middle)
    kernels = []
    for order, kernel in enumerate(wide_kernels):
        cut = kernel[middle - kept : middle + kept + 1] * sigma_voxels**order
        sign = -1 if order == 1 else 1
        kernels.append((cut + sign * cut[::-1]) / 2)  # symmetric to the last bit
    return kernels[0], kernels[1], kernels[2]


def hessian(image: NDArray[Any], box: Box, sigma_voxels: Triple) -> Hessian:
    """The scale-normalised Hessian of an image in a box: xx, xy, xz, yy, yz, zz.

    The image goes on behind its faces as its mirror image. Each voxel is computed by the same sums
    in the same order whatever the box, so that boxes can be put together without a seam.
    """
    of_x, of_y, of_z = (derivative_kernels(sigma) for sigma in sigma_voxels)
    region, inner = _with_surroundings(box, image.shape, sigma_voxels)
    around = np.array(image[region], np.float64, order="C")
    derivatives = {}
    for z in range(3):
        along_z = _filtered(around, of_z[z], 2, inner)
        for y in range(3 - z):
            along_y = _filtered(along_z, of_y[y], 1, inner)
            derivatives[2 - y - z, y, z] = _filtered(along_y, of_x[2 - y - z], 0, inner)
    xx, xy, xz = derivatives[2, 0, 0], derivatives[1, 1, 0], derivatives[1, 0, 1]
    return xx, xy, xz, derivatives[0, 2, 0], derivatives[0, 1, 1], derivatives[0, 0, 2]


def _with_surroundings(box: Box, shape: tuple[int, ...], sigma_voxels: Triple) -> tuple[Box, Box]:
    """What a box needs of the image, and where the box is in that."""
    region = box.grow([reach_voxels(sigma) for sigma in sigma_voxels], shape)
    return region, box.inside(region)


def _filtered(values: Floats, kernel: Floats, axis: int, inner: tuple[slice, ...]) -> Floats:
    """Filter along an axis and keep the box along it."""
    kept = [slice(None)] * 3
    kept[axis] = inner[axis]
    return np.asarray(ndimage.correlate1d(values, kernel, axis, mode="reflect")[tuple(kept)])


def is_bright_tube(h: Hessian) -> NDArray[np.bool_]:
    """Whether the two eigenvalues of largest magnitude are negative.

    With e1 <= e2 <= e3 that is e2 + e3 < 0, as e1 + e2 and e1 + e3 are then negative too: these
    sums are the eigenvalues of tr(H) I - H, so H - tr(H) I must be positive definite, which its
    leading minors tell without an eigenvalue.
    """
    xx, xy, xz, yy, yz, zz = h
    a, b, c = -(yy + zz), -(xx + zz), -(xx + yy)
    minor = a * b - xy * xy
    determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)
    return np.asarray((a > 0) & (minor > 0) & (determinant > 0))


def eigenvalues(h: Hessian) -> tuple[Floats, Floats, Floats]:
    """The eigenvalues of symmetric 3 x 3 matrices, ascending, in closed form.

    e = q + 2 p cos(φ + 2πk/3) with q the mean of the diagonal, p² a sixth of the sum of squares of
    H - q I, and cos 3φ = det((H - q I) / p) / 2 (Smith 1961). The error is about 1e-8 of the
    largest one where two are equal, and a rounding error elsewhere.
    """
    xx, xy, xz, yy, yz, zz = h
    q = (xx + yy + zz) / 3
    squares = (xx - q) ** 2 + (yy - q) ** 2 + (zz - q) ** 2 + 2 * (xy * xy + xz * xz + yz * yz)
    p = np.sqrt(squares / 6)
    by = 1 / np.where(p > 0, p, 1)
    a, b, c, d, e, f = (xx - q) * by, (yy - q) * by, (zz - q) * by, xy * by, xz * by, yz * by
    cosine = (a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)) / 2
    phi = np.arccos(np.clip(cosine, -1, 1)) / 3
    largest = q + 2 * p * np.cos(phi)
    smallest = q + 2 * p * np.cos(phi + 2 * math.pi / 3)
    return smallest, 3 * q - smallest - largest, largest
