"""Small random panels of raters, and maps of all kinds beside them."""

from __future__ import annotations

import numpy as np


def row(*values):
    """A volume of one row of voxels."""
    return np.array(values)[None, None, :]


def scene(seed, shape=(5, 4, 3)):
    """Up to six raters, and a map: even or skewed, with ties or without, float32 or float64."""
    rng = np.random.default_rng(seed)
    raters = rng.random((rng.integers(1, 7), *shape)) < rng.choice([0.05, 0.4, 0.9])
    p = rng.random(shape) ** rng.choice([0.1, 1.0, 8.0])
    if rng.random() < 0.5:
        p = np.round(p, rng.integers(0, 2))
    if rng.random() < 0.3:
        p[rng.random(shape) < 0.6] = 0
    return raters, p.astype(rng.choice([np.float32, np.float64]))
