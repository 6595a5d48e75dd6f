"""How scores follow from numbers per rater, so that they can be taken again with other raters.

Each function takes what the raters and what others (the prediction) contribute, arrays (quantities,
items, structures, cases, methods), and returns the score when each rater counts so often.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from segjury.arrays import Floats
from segjury.metrics.geometry import steady

_erf = np.frompyfunc(math.erf, 1, 1)  # as in the metric, where a library's own may differ

Again = Callable[[Floats], Floats]
FromRaters = Callable[[Floats, Floats], Again]


def how_it_follows(
    declared: FromRaters | None, n_quantities: int, n_others: int
) -> FromRaters | None:
    """How a score follows from its parts: as declared, or as the mean of one number per rater."""
    if n_quantities == 1 and not n_others:
        return mean_of_raters
    return declared if n_others else None


def mean_of_raters(raters: Floats, _others: Floats) -> Again:
    """The mean of one number per rater."""
    return lambda counts: _weighted(raters[0], counts)


def crps_of_raters(raters: Floats, others: Floats) -> Again:
    """The closed form of `segjury.metrics.crps` of a predicted volume and the raters' volumes."""
    volumes, predicted = raters[0], others[0, 0]

    def crps(counts: Floats) -> Floats:
        drawn = volumes[counts > 0]
        mean = _weighted(volumes, counts)
        sd = np.sqrt(_weighted((volumes - mean) ** 2, counts))
        same = drawn.max(axis=0) == drawn.min(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            z = (predicted - mean) / sd
            density = steady.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            centred = _erf(z / math.sqrt(2)).astype(float)  # 2Φ(z) - 1
            spread = sd * (z * centred + 2 * density - 1 / math.sqrt(math.pi))
        return np.asarray(np.where(same, np.abs(predicted - drawn[0]), np.maximum(spread, 0.0)))

    return crps


def empirical_crps_of_raters(raters: Floats, others: Floats) -> Again:
    """`segjury.metrics.crps_empirical` of a predicted volume and the raters' volumes."""
    volumes, predicted = raters[0], others[0, 0]
    apart, among = np.abs(volumes - predicted), np.abs(volumes[:, None] - volumes)

    def crps(counts: Floats) -> Floats:
        pairs = _weighted(_weighted(among, counts), counts)
        return np.maximum(_weighted(apart, counts) - pairs / 2, 0.0)

    return crps


def angle_distance(raters: Floats, others: Floats) -> Again:
    """W1 between the raters' and the predicted angles, the largest over the array's axes.

    Both samples are merged and sorted once; W1 is the area between their step functions.
    """
    angles = np.moveaxis(np.concatenate([raters, others], axis=1), 1, 0)
    order = np.argsort(angles, axis=0)
    gaps = np.diff(np.take_along_axis(angles, order, axis=0), axis=0)
    n_others = others.shape[1]

    def distance(counts: Floats) -> Floats:
        steps = np.concatenate([counts / counts.sum(), np.full(n_others, -1 / n_others)])
        apart = np.abs(np.cumsum(steps[order], axis=0)[:-1])
        found: Floats = (apart * gaps).sum(axis=0).max(axis=0)
        return found

    return distance


def _weighted(of_raters: Floats, counts: Floats) -> Floats:
    """Mean over the first axis, each rater counted so often; scores with weights are made so."""
    shares = (counts / counts.sum()).reshape(-1, *[1] * (of_raters.ndim - 1))
    return np.asarray((shares * of_raters).sum(axis=0))
