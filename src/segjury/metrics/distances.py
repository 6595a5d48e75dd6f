"""Distances between two sets of voxels: balanced and plain average Hausdorff distance.

All foreground voxels count, not only the surface, as in the EvaluateSegmentation tool. A voxel in
both sets has distance 0, and the nearest voxel of a set is always an edge voxel of it, so only
the difference of the two sets and the edge of the other one are looked at.

Distances are in voxel units, or in mm where the spacing is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import Ints, Shape, Spacing, Triple
from segjury.metrics.geometry.dimension import three_spacings
from segjury.metrics.geometry.surfaces.nearest import nearest_distances
from segjury.metrics.geometry.surfaces.outline import edge_voxels, flat_masks
from segjury.metrics.geometry.surfaces.points import Points, check_spacing, contained
from segjury.metrics.metric import Metric, Options

__all__ = ["ahd", "bavd"]

VOXEL_UNITS: Triple = (1.0, 1.0, 1.0)
AT_ONCE = 1 << 26  # voxels, so that a mask that is nearly full needs little memory


class VoxelDistanceOptions(Options):
    """The unit of distances between voxels."""

    unit: Literal["voxels", "mm"] = Field(default="voxels", description="unit of the distances")


BAVD = Metric(
    name="bavd",
    options=VoxelDistanceOptions,
    title="bAVD",
    formula="(Σ d(missed voxel, P) + Σ d(added voxel, R)) / 2|R|",
    summary="Mean of the summed distances of missed and of added voxels, per reference voxel.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="voxels",
    decimals=3,
    needs_voxels=True,
)
AHD = Metric(
    name="ahd",
    options=VoxelDistanceOptions,
    title="AHD",
    formula="(mean of d(r, P) + mean of d(p, R)) / 2",
    summary="Mean of the two sets' mean distances of their voxels to the other set.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="voxels",
    symmetric=True,
    needs_voxels=True,
)


@dataclass(frozen=True)
class VoxelSet:
    """A mask as flat voxel indices (x fastest, ascending) on a grid."""

    voxels: Ints
    shape: Shape
    spacing: Triple = VOXEL_UNITS

    def __post_init__(self) -> None:
        check_spacing(self.spacing)

    def find_edge(self) -> Points:
        """The voxels with a face neighbour outside."""
        return Points(edge_voxels(self.voxels, self.shape), self.shape, self.spacing)

    @cached_property
    def edge(self) -> Points:
        """`find_edge`, found once and kept."""
        return self.find_edge()

    def distance_outside(self, other: VoxelSet, edge: Points) -> float:
        """Summed distance to another set, given its edge, of the voxels that are not in it."""
        distances, count = np.empty(self.voxels.size), 0
        for start in range(0, self.voxels.size, AT_ONCE):
            voxels = self.voxels[start : start + AT_ONCE]
            only = voxels[~contained(voxels, other.voxels)]
            nearest = nearest_distances(Points(only, self.shape, self.spacing), edge)
            distances[count : count + nearest.size] = nearest
            count += nearest.size
        return float(distances[:count].sum())


@dataclass(frozen=True)
class VoxelDistances:
    """How far the voxels in only one of two sets are from the other set, and the sets' sizes."""

    missed: float  # of the reference, summed
    added: float  # by the prediction, summed
    reference_size: int
    prediction_size: int

    @property
    def both_exist(self) -> bool:
        """Whether neither set is empty."""
        return self.reference_size > 0 and self.prediction_size > 0


def voxel_distances(reference: VoxelSet, prediction: VoxelSet) -> VoxelDistances:
    """The distances between two sets on the same grid, in the unit of its spacing."""
    return VoxelDistances(
        # Not kept: the edge of a bad prediction can be large, and nobody asks for it again.
        reference.distance_outside(prediction, prediction.find_edge()),
        prediction.distance_outside(reference, reference.edge),
        reference.voxels.size,
        prediction.voxels.size,
    )


def bavd(
    reference: ArrayLike, prediction: ArrayLike, *, spacing_mm: Spacing | None = None
) -> float:
    """Balanced average Hausdorff distance, `½ (Σ_{r∈R} d(r, P) + Σ_{p∈P} d(p, R)) / |R|`.

    In voxel units, or in mm where the spacing is given. Undefined, NaN, where a mask is empty.
    Source: Aydin et al., European Radiology Experimental 2021; EvaluateSegmentation.
    """
    return bavd_from_distances(_mask_distances(reference, prediction, spacing_mm))


def ahd(reference: ArrayLike, prediction: ArrayLike, *, spacing_mm: Spacing | None = None) -> float:
    """Average Hausdorff distance, `½ (Σ_{r∈R} d(r, P) / |R| + Σ_{p∈P} d(p, R) / |P|)`.

    In voxel units, or in mm where the spacing is given. Undefined, NaN, where a mask is empty.
    Source: EvaluateSegmentation (AVGDIST); Taha and Hanbury, BMC Medical Imaging 2015, who take
    the larger of the two means.
    """
    return ahd_from_distances(_mask_distances(reference, prediction, spacing_mm))


def bavd_from_distances(distances: VoxelDistances) -> float:
    """`bavd`."""
    if not distances.both_exist:
        return math.nan
    total = distances.missed + distances.added
    return total / 2 / distances.reference_size


def ahd_from_distances(distances: VoxelDistances) -> float:
    """`ahd`."""
    if not distances.both_exist:
        return math.nan
    there = distances.missed / distances.reference_size
    back = distances.added / distances.prediction_size
    return (there + back) / 2


def _mask_distances(
    reference: ArrayLike, prediction: ArrayLike, spacing_mm: Spacing | None
) -> VoxelDistances:
    r, p, shape = flat_masks(reference, prediction)
    spacing = VOXEL_UNITS if spacing_mm is None else three_spacings(spacing_mm, shape)
    return voxel_distances(VoxelSet(r, shape, spacing), VoxelSet(p, shape, spacing))
