"""Distances between the surfaces of two masks: NSD, HD, HD95, ASSD and MASD.

The surface of a mask is computed once, the distances between two surfaces once per pair, and
every metric is a short reduction of these. There are two definitions of a surface:

- `surfel`: the surface elements between the voxels, at the voxel corners, weighed by their area
  (Nikolov et al., JMIR 2021, and DeepMind's surface-distance);
- `edge-voxels`: the voxels of the mask with a face neighbour outside, each counted once (MONAI,
  MedPy). It depends on the resolution more, and sees a wall of one voxel as one sheet, not two.

The outside of the image is background in both. In an image of one slice, or in 2D, the surface is
the outline: elements have a length, and an edge pixel has a neighbour outside within the plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Discriminator, Field, Tag

from segjury.arrays import Bools, Floats, Ints, Shape, Spacing, Triple
from segjury.metrics.geometry.dimension import is_volume, stood_up, three_spacings
from segjury.metrics.geometry.surfaces.nearest import nearest_distances
from segjury.metrics.geometry.surfaces.outline import (
    corner_grid,
    corner_patterns,
    edge_voxels,
    flat_masks,
)
from segjury.metrics.geometry.surfaces.points import Points, check_spacing
from segjury.metrics.geometry.surfaces.reach import Reach, within_reach
from segjury.metrics.geometry.surfaces.surfels import surfel_areas_mm2
from segjury.metrics.inputs import spacing_of
from segjury.metrics.metric import Metric, Options, Reading

__all__ = ["assd", "hd", "hd95", "masd", "nsd"]

Definition = Literal["surfel", "edge-voxels"]
Convention = Literal["surfel", "edge-voxels", "edge-voxels-pooled"]
Tolerance = Annotated[float, Field(ge=0)]
Tolerances = Annotated[  # told apart, so that what is wrong with one is not said of both
    Annotated[Tolerance, Tag("number")] | Annotated[dict[str, Tolerance], Tag("table")],
    Discriminator(lambda given: "table" if isinstance(given, dict) else "number"),
]

ROUNDING = 1e-9  # what equals a limit up to rounding has reached it
LARGEST = float(np.finfo(np.float32).max)
MANY_VALUES, BINS = 1 << 22, 1 << 14  # so many are not sorted; they are counted in so many ranges


class NsdOptions(Options):
    """How surfaces are defined, and the distance that counts as none."""

    for_labels = ("tolerance_mm",)

    tolerance_mm: Tolerances = Field(
        default=2.0, description="distance that is no error, or one for each label by its name"
    )
    definition: Definition = Field(
        default="surfel", description="surface as area elements, or as edge voxels counted"
    )
    released_tolerance_voxels: float = Field(
        default=5.0, ge=0, description="the released reading's: edge voxels, in voxel units"
    )

    def remark(self, reading: Reading) -> str:
        """Definition and tolerance."""
        if reading == "released":
            return f"edge-voxels, tolerance {self.released_tolerance_voxels:g} voxels"
        if isinstance(self.tolerance_mm, dict):
            each = ", ".join(f"{name} {value:g} mm" for name, value in self.tolerance_mm.items())
            return f"{self.definition}, tolerance of {each}"
        return f"{self.definition}, tolerance {self.tolerance_mm:g} mm"

    def tolerance_of(self, label: str) -> float:
        """The tolerance of a label."""
        given = self.tolerance_mm
        return given[label] if isinstance(given, dict) else given


class Hd95Options(Options):
    """What the percentile is taken of."""

    convention: Convention = Field(default="surfel", description="what the percentile is taken of")

    def remark(self, _reading: Reading) -> str:
        """The convention."""
        return self.convention


NSD = Metric(
    name="nsd",
    options=NsdOptions,
    title="NSD",
    formula="surface within the tolerance of the other / all surface, both together",
    summary="Share of the two surfaces that lies within a tolerance of the other one.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
)


def _distance(name: str, formula: str, summary: str, *, options: type[Options] = Options) -> Metric:
    return Metric(
        name=name,
        title=name.upper(),
        formula=formula,
        summary=summary,
        options=options,
        direction="lower",
        bounds=(0.0, math.inf),
        unit="mm",
        symmetric=True,
        scales_with="length",
        needs_voxels=True,
    )


HD = _distance(
    "hd",
    "max(max d(r, P), max d(p, R))",
    "Largest distance from a point of one surface to the other surface.",
)
HD95 = _distance(
    "hd95",
    "max(P95 d(r, P), P95 d(p, R))",
    "Distance within which 95 % of each surface lies from the other one.",
    options=Hd95Options,
)
ASSD = _distance(
    "assd",
    "(Σ d(r, P) + Σ d(p, R)) / (|R| + |P|)",
    "Mean distance to the other surface, over both together.",
)
MASD = _distance(
    "masd",
    "(mean d(r, P) + mean d(p, R)) / 2",
    "Mean of the two surfaces' mean distances to each other.",
)


@dataclass(frozen=True)
class Surface:
    """The elements of a mask's surface, and the weight of each: its area (length in 2D), or 1."""

    points: Points
    weights: Floats
    definition: Definition


@dataclass(frozen=True)
class SurfaceDistances:
    """How far each element of each of two surfaces is from the other one, with the weights.

    Infinite where the other mask is empty.
    """

    reference_mm: Floats
    prediction_mm: Floats
    reference_weights: Floats
    prediction_weights: Floats
    definition: Definition

    @property
    def both_exist(self) -> bool:
        """Whether neither mask is empty."""
        return self.reference_mm.size > 0 and self.prediction_mm.size > 0


def mask_surface(
    voxels: Ints,
    shape: Shape,
    spacing_mm: Triple,
    *,
    definition: Definition = "surfel",
    dimension: Literal["true", "3D"] = "true",
) -> Surface:
    """The surface of a mask given by flat voxel indices (x fastest, ascending).

    In `3D`, an image of one slice is a volume too, so that all its voxels are edge voxels; surfels
    have the true dimension only.
    """
    check_spacing(spacing_mm)
    if definition == "surfel":
        corners, patterns = corner_patterns(voxels, shape)
        _, stood_mm = stood_up(shape, spacing_mm)
        points = Points(corners, corner_grid(shape), stood_mm)
        return Surface(points, surfel_areas_mm2(stood_mm)[patterns], definition)
    if definition == "edge-voxels":
        is_all_edge = dimension == "3D" and not is_volume(shape)
        edge = voxels if is_all_edge else edge_voxels(voxels, shape)
        points = Points(edge, shape, spacing_mm)
        return Surface(points, np.ones(points.flat.size), definition)
    raise ValueError(f"definition is {definition!r}, expected one of {_listed(Definition)}")


def surface_distances(reference: Surface, prediction: Surface) -> SurfaceDistances:
    """The distances between two surfaces of the same definition on the same grid."""
    return SurfaceDistances(
        nearest_distances(reference.points, prediction.points),
        nearest_distances(prediction.points, reference.points),
        reference.weights,
        prediction.weights,
        reference.definition,
    )


def nsd(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    tolerance_mm: float = 2.0,
    definition: Definition = "surfel",
) -> float:
    """Normalised surface Dice, `(|R: d(r, P) <= t| + |P: d(p, R) <= t|) / (|R| + |P|)`.

    `|.|` is an area (`surfel`) or a number of voxels (`edge-voxels`). One empty mask gives 0, two
    agree and give 1. `edge-voxels` compares and divides in single precision, as MONAI does.
    Source: Nikolov et al., JMIR 2021; Seidlitz et al., Medical Image Analysis 2022.
    """
    return surface_nsd(*_mask_surfaces(reference, prediction, spacing_mm, definition), tolerance_mm)


def hd(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    definition: Definition = "surfel",
) -> float:
    """Hausdorff distance of the surfaces, `max(max_r d(r, P), max_p d(p, R))`, in mm.

    Undefined, NaN, where a mask is empty.
    """
    return hd_from_distances(_mask_distances(reference, prediction, spacing_mm, definition))


def hd95(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    convention: Convention = "surfel",
) -> float:
    """95th percentile of the distances between the surfaces, in mm.

    `surfel`: the larger one of the two directed percentiles, by area, as surface-distance does.
    `edge-voxels`: the same by number, with linear interpolation, as MONAI does.
    `edge-voxels-pooled`: one percentile of both directions together, as MedPy does.
    Undefined, NaN, where a mask is empty.
    """
    if convention not in get_args(Convention):
        raise ValueError(f"convention is {convention!r}, expected one of {_listed(Convention)}")
    definition: Definition = "surfel" if convention == "surfel" else "edge-voxels"
    distances = _mask_distances(reference, prediction, spacing_mm, definition)
    if convention == "edge-voxels-pooled":
        return pooled_hd95_from_distances(distances)
    return hd95_from_distances(distances)


def assd(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    definition: Definition = "surfel",
) -> float:
    """Average symmetric surface distance, `(Σ_r d(r, P) + Σ_p d(p, R)) / (|R| + |P|)`, in mm.

    Sums over both surfaces, weighed by area (`surfel`). Undefined, NaN, where a mask is empty.
    Source: Heimann et al., IEEE TMI 2009.
    """
    return assd_from_distances(_mask_distances(reference, prediction, spacing_mm, definition))


def masd(
    reference: ArrayLike,
    prediction: ArrayLike,
    *,
    spacing_mm: Spacing | None = None,
    definition: Definition = "surfel",
) -> float:
    """Mean average surface distance, `½ (mean_r d(r, P) + mean_p d(p, R))`, in mm.

    Means weighed by area (`surfel`). Undefined, NaN, where a mask is empty. Some call it ASSD.
    Source: Beneš and Zitová, J. Microscopy 2015.
    """
    return masd_from_distances(_mask_distances(reference, prediction, spacing_mm, definition))


def surface_nsd(
    reference: Surface, prediction: Surface, tolerance_mm: float, *, elsewhere: float = 0.0
) -> float:
    """`nsd` of two surfaces, without the distances that only other metrics need.

    `elsewhere` is the weight of what else the prediction's surface has, out of the tolerance of
    any of the reference's.
    """
    is_within = _tolerated(tolerance_mm, reference.definition)
    reach = Reach(tolerance_mm, is_within, reference.points.spacing)
    pairs = (reference, prediction), (prediction, reference)
    within = [within_reach(first.points, second.points, reach) for first, second in pairs]
    weights = np.concatenate([reference.weights, prediction.weights])
    return _share(np.concatenate(within), weights, elsewhere, reference.definition)


def nsd_from_distances(distances: SurfaceDistances, tolerance_mm: float) -> float:
    """`nsd` at one tolerance."""
    is_within = _tolerated(tolerance_mm, distances.definition)
    d = np.concatenate([distances.reference_mm, distances.prediction_mm])
    weights = np.concatenate([distances.reference_weights, distances.prediction_weights])
    return _share(is_within(d), weights, 0.0, distances.definition)


def _tolerated(tolerance_mm: float, definition: Definition) -> Callable[[Floats], Bools]:
    """Which distances are within a tolerance; of edge voxels in single precision."""
    if not (math.isfinite(tolerance_mm) and tolerance_mm >= 0):
        raise ValueError(f"tolerance_mm is {tolerance_mm}, expected a finite number from 0 on")
    if definition == "edge-voxels":
        single = np.float32(min(tolerance_mm, LARGEST))
        return lambda d: np.asarray(d.astype(np.float32) <= single)
    return lambda d: np.asarray(d <= tolerance_mm * (1 + ROUNDING))


def _share(within: Bools, weights: Floats, elsewhere: float, definition: Definition) -> float:
    """The weight within of all weight."""
    total = weights.sum() + elsewhere
    if total == 0:
        return 1.0  # two empty masks have no surface that is out of place
    if definition == "edge-voxels":
        return float(np.float32(weights[within].sum()) / np.float32(total))
    return float(weights[within].sum() / total)


def hd_from_distances(distances: SurfaceDistances) -> float:
    """`hd`."""
    if not distances.both_exist:
        return math.nan
    return float(max(distances.reference_mm.max(), distances.prediction_mm.max()))


def hd95_from_distances(distances: SurfaceDistances) -> float:
    """`hd95`, the larger one of the two directed percentiles."""
    if not distances.both_exist:
        return math.nan
    if distances.definition == "edge-voxels":
        directed = (distances.reference_mm, distances.prediction_mm)
        return float(max(np.percentile(d, 95) for d in directed))
    return max(
        _weighed_percentile(distances.reference_mm, distances.reference_weights, 95),
        _weighed_percentile(distances.prediction_mm, distances.prediction_weights, 95),
    )


def pooled_hd95_from_distances(distances: SurfaceDistances) -> float:
    """`hd95`, one percentile of both directions together, each element counted once."""
    if not distances.both_exist:
        return math.nan
    both = np.concatenate([distances.reference_mm, distances.prediction_mm])
    return float(np.percentile(both, 95))


def assd_from_distances(distances: SurfaceDistances) -> float:
    """`assd`."""
    if not distances.both_exist:
        return math.nan
    there = (distances.reference_mm * distances.reference_weights).sum()
    back = (distances.prediction_mm * distances.prediction_weights).sum()
    return float(
        (there + back) / (distances.reference_weights.sum() + distances.prediction_weights.sum())
    )


def masd_from_distances(distances: SurfaceDistances) -> float:
    """`masd`."""
    there, back = average_distances_mm(distances)
    return (there + back) / 2


def average_distances_mm(distances: SurfaceDistances) -> tuple[float, float]:
    """Mean distance from the reference to the prediction, and back; NaN for an empty mask."""
    if not distances.both_exist:
        return math.nan, math.nan
    return (
        float(np.average(distances.reference_mm, weights=distances.reference_weights)),
        float(np.average(distances.prediction_mm, weights=distances.prediction_weights)),
    )


def _mask_surfaces(
    reference: ArrayLike, prediction: ArrayLike, given_mm: Spacing | None, definition: Definition
) -> tuple[Surface, Surface]:
    r, p, shape = flat_masks(reference, prediction)
    spacing_mm = three_spacings(given_mm or spacing_of(reference, prediction), shape)
    return (
        mask_surface(r, shape, spacing_mm, definition=definition),
        mask_surface(p, shape, spacing_mm, definition=definition),
    )


def _mask_distances(
    reference: ArrayLike, prediction: ArrayLike, given_mm: Spacing | None, definition: Definition
) -> SurfaceDistances:
    return surface_distances(*_mask_surfaces(reference, prediction, given_mm, definition))


def _weighed_percentile(values: Floats, weights: Floats, percent: float) -> float:
    """The smallest value up to which lies that share of the weight."""
    below = above = 0.0
    if values.size > MANY_VALUES:
        values, weights, below, above = _around_percentile(values, weights, percent)
    order = np.argsort(values)
    share = below + np.cumsum(weights[order])
    place = np.searchsorted(share, (share[-1] + above) * percent / 100 * (1 - ROUNDING))
    return float(values[order[min(place, order.size - 1)]])


def _around_percentile(
    values: Floats, weights: Floats, percent: float
) -> tuple[Floats, Floats, float, float]:
    """The values among which a percentile is, their weights, and the weights below and above.

    Spares sorting all: they are counted in equal ranges, and those of one range are left.
    """
    scale = BINS / (float(values.max()) or 1.0)
    ranges = np.empty(values.size, np.int16)
    np.multiply(values, scale, out=ranges, casting="unsafe")
    shares = np.cumsum(np.bincount(ranges, weights))
    at = int(np.searchsorted(shares, shares[-1] * percent / 100 * (1 - ROUNDING)))
    here = ranges == at
    below = float(shares[at - 1]) if at else 0.0
    return values[here], weights[here], below, float(shares[-1] - shares[at])


def _listed(choice: object) -> str:
    return ", ".join(get_args(choice))
