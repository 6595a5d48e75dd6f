"""Moments of the voxels of a mask, and the Mahalanobis distance of two masks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import LONGEST_SPAN, flat
from segjury.metrics.inputs import as_mask, as_masks
from segjury.metrics.metric import Metric

__all__ = ["mahalanobis"]

Exact = NDArray[Any]  # of Fractions

MAHALANOBIS = Metric(
    name="mahalanobis",
    title="Mahalanobis distance",
    formula="√(Δᵀ S⁻¹ Δ), Δ between the centres, S their common covariance",
    summary="Distance of the centres of the two masks, in units of their common spread.",
    direction="lower",
    bounds=(0.0, math.inf),
    symmetric=True,
    needs_voxels=True,
)


@dataclass(frozen=True)
class Moments:
    """Number of voxels, sums of their coordinates, and sums of the products of these.

    Integers, so that nothing is lost where a small mask lies far from the origin.
    """

    voxels: int
    sums: tuple[int, ...]
    products: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, mask: ArrayLike) -> Moments:
        """The moments of a mask."""
        array = as_mask(mask, "mask")
        return cls.of_voxels(np.flatnonzero(flat(array)), array.shape)

    @classmethod
    def of_voxels(cls, voxels: NDArray[np.int64], shape: tuple[int, ...]) -> Moments:
        """The moments of voxels given by flat indices (x fastest)."""
        sums, products = np.zeros(len(shape), np.int64), np.zeros((len(shape),) * 2, np.int64)
        for start in range(0, voxels.size, LONGEST_SPAN):
            some = voxels[start : start + LONGEST_SPAN]
            axes = np.stack(np.unravel_index(some, shape, order="F"))
            sums += axes.sum(axis=1)
            products += axes @ axes.T
        return cls(voxels.size, tuple(sums.tolist()), tuple(map(tuple, products.tolist())))

    @property
    def centre(self) -> Exact:
        """Mean coordinates."""
        return np.array([Fraction(total, self.voxels) for total in self.sums], object)

    @property
    def scatter(self) -> Exact:
        """Covariance times the number of voxels."""
        return np.asarray(np.array(self.products, object) - np.outer(self.centre, self.sums))


def mahalanobis(reference: ArrayLike, prediction: ArrayLike) -> float:
    """Mahalanobis distance of the centres of two masks, `√(dᵀ C⁻¹ d)`.

    d joins the mean coordinates; C is the covariance of the voxels about the centre of their own
    mask, pooled: `(n_R C_R + n_P C_P) / (n_R + n_P)`, each with its population covariance. Free of
    the voxel size, which cancels. In directions in which neither mask extends only d = 0 has a
    distance, 0; otherwise NaN, as for an empty mask. Equal to the EvaluateSegmentation tool's.
    Source: Taha and Hanbury 2015.
    """
    r, p = as_masks(reference, prediction)
    return mahalanobis_from(Moments.of(r), Moments.of(p))


def mahalanobis_from(reference: Moments, prediction: Moments) -> float:
    """`mahalanobis` from the moments of the two masks on one grid."""
    if reference.voxels == 0 or prediction.voxels == 0:
        return math.nan
    apart = reference.centre - prediction.centre
    covariance = (reference.scatter + prediction.scatter) / (reference.voxels + prediction.voxels)
    squared = _squared_length(apart, covariance)
    return math.nan if squared is None else math.sqrt(squared)


def _squared_length(vector: Exact, covariance: Exact) -> Fraction | None:
    """`vᵀ C⁻¹ v` by elimination; None where v leaves the span of a singular C."""
    squared = Fraction(0)
    while vector.size:
        first, variance, across = vector[0], covariance[0, 0], covariance[0, 1:]
        vector, covariance = vector[1:], covariance[1:, 1:]
        if variance:
            squared += first**2 / variance
            vector = vector - across * (first / variance)
            covariance = covariance - np.outer(across, across / variance)
        elif first:  # without variance there is no covariance either, so C does not span this
            return None
    return squared
