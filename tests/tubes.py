"""Masks whose topology or shape is known: tubes, blobs, and their Betti numbers by GUDHI."""

from __future__ import annotations

import itertools

import gudhi
import numpy as np
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import ndimage
from scipy.spatial import cKDTree

from segjury.metrics.topology import BettiNumbers

masks = arrays(bool, array_shapes(min_dims=3, max_dims=3, max_side=8))


def gudhi_numbers(mask):
    """Betti numbers of the union of closed voxels, by persistent homology."""
    values = np.where(np.pad(mask, 1), 0.0, 1.0)
    cells = gudhi.CubicalComplex(top_dimensional_cells=values)
    cells.compute_persistence(homology_coeff_field=2)
    return BettiNumbers(*cells.persistent_betti_numbers(0.0, 0.5)[:3])


def moves():
    """All flips and axis permutations of a volume."""
    for axes in itertools.permutations(range(3)):
        for flips in itertools.product((0, 1), repeat=3):
            flipped = tuple(np.flatnonzero(flips))
            yield lambda a, axes=axes, flipped=flipped: np.flip(a.transpose(axes), flipped)


def blob(seed, share=0.3, size=20):
    smooth = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(size,) * 3), 2)
    return smooth > np.quantile(smooth, 1 - share)


def tube(diameter, direction, *, length=40, size=52, offset=0.0):
    """Voxels whose centres lie in a cylinder through the middle of a cube."""
    direction = np.array(direction, float) / np.linalg.norm(direction)
    from_middle = np.indices((size,) * 3).reshape(3, -1).T - (size // 2 + np.asarray(offset))
    along = from_middle @ direction
    across = np.linalg.norm(from_middle - along[:, None] * direction, axis=1)
    inside = (across <= diameter / 2 + 1e-9) & (np.abs(along) <= length / 2)
    return inside.reshape((size,) * 3)


def bent_tube(diameter, seed, *, length=45, bend_radius=30.0, size=60):
    """Voxels whose centres lie within a tube around an arc of a circle."""
    rng = np.random.default_rng(seed)
    along, side, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
    angle = np.linspace(-0.5, 0.5, 8 * length) * length / bend_radius
    arc = bend_radius * (np.sin(angle)[:, None] * along + (1 - np.cos(angle))[:, None] * side)
    voxels = np.indices((size,) * 3).reshape(3, -1).T
    distance = cKDTree(arc + size / 2 - arc.mean(axis=0)).query(voxels)[0]
    return (distance <= diameter / 2).reshape((size,) * 3)
