"""Vascular invasion as a distribution: contact of lesion and vessel, slice by slice.

All raters, or all thresholds of a prediction, are bits of one integer per voxel, so that their
contact with a vessel's edge is looked up together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Shape, bounding_box, nonzero_voxels
from segjury.metrics.geometry import steady
from segjury.metrics.geometry.dimension import flat_axes
from segjury.metrics.inputs import as_map, as_mask, as_raters
from segjury.metrics.metric import Metric, Reading, check_reading, check_shapes
from segjury.metrics.overlap import THRESHOLDS, ThresholdOptions, threshold_levels
from segjury.metrics.redrawn import angle_distance

__all__ = ["vi"]

FULL_CIRCLE = 360.0
GRID = np.linspace(0.0, FULL_CIRCLE, 1000)
SMALLEST_SD = 1e-6
EMPTY_DENSITY = 1e-8

VI = Metric(
    name="vi",
    options=ThresholdOptions,
    from_raters=angle_distance,
    title="VI",
    formula="largest over the axes of ∫ |F - G|, F and G the distributions of the angles",
    needs_raters=True,
    summary="Wasserstein distance between the raters' and the predicted vessel contact angles.",
    direction="lower",
    bounds=(0.0, FULL_CIRCLE),
    unit="degree",
    decimals=1,
    flip_invariant=("published", "corrected"),
    scope="structure",
    needs_probability=True,
)

REACH = 2  # a lesion voxel farther than this from an edge voxel adds nothing to its contact


def vi(
    vessel: ArrayLike,
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    thresholds: ArrayLike = THRESHOLDS,
    reading: Reading = "corrected",
) -> float:
    """Distance between the raters' contact angles with a vessel and the prediction's.

    `raters` has shape (raters, x, y, z). Angles per array axis and mask are those of
    `invasion_angles`; `vi_score` compares the two sets. NaN without a vessel, except that the
    released code then finds no contact anywhere and gives 0. Source: CURVAS-PDACVI 6.3.
    """
    check_reading(reading)
    array, p = as_mask(vessel, "vessel"), as_map(probability)
    masks = as_raters(raters, vessel=vessel, probability=probability)
    check_shapes(masks, vessel=array, probability=p)
    box = bounding_box(nonzero_voxels(array), array.shape)
    if box is None:
        return 0.0 if reading == "released" else float("nan")
    near = box.grow(REACH, array.shape)
    cuts = np.asarray(thresholds, float)
    edges = vessel_edges(array[near])
    reference = invasion_angles(edges, pack_bits(masks[:, *near]), masks.shape[0])
    prediction = invasion_angles(edges, pack_levels(p[near], cuts), cuts.size)
    return vi_score(reference.of(reading), prediction.of(reading), reading=reading)


def pack_bits(masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Mask k as bit k of one unsigned integer per voxel."""
    dtype = np.min_scalar_type((1 << len(masks)) - 1)
    packed = np.zeros(masks.shape[1:], dtype, order="F")
    for bit, mask in enumerate(masks):
        packed |= mask.astype(dtype) << dtype.type(bit)
    return packed


def pack_levels(probability: NDArray[Any], thresholds: ArrayLike) -> NDArray[Any]:
    """The masks `p > t` as bits of one unsigned integer per voxel; thresholds ascend."""
    cuts = np.asarray(thresholds, np.float64)
    bits = (1 << np.arange(cuts.size + 1)) - 1
    return bits.astype(np.min_scalar_type(bits[-1]))[threshold_levels(probability, cuts)]


# ---- angles --------------------------------------------------------------------------------


@dataclass(frozen=True)
class VesselEdges:
    """In-slice edge voxels of a vessel for each of the three array axes, found once per case."""

    voxels: tuple[NDArray[np.int64], ...]  # per axis: (edge voxels, 3), sorted by slice
    per_slice: tuple[NDArray[np.int64], ...]  # per axis: edge voxels of each slice


def vessel_edges(vessel: NDArray[np.bool_]) -> VesselEdges:
    """Vessel pixels with a 4-neighbour in their slice outside the vessel or the image."""
    padded = np.pad(vessel, 1)
    inner = (slice(1, -1),) * 3
    enclosed = [
        np.roll(padded, 1, axis)[inner] & np.roll(padded, -1, axis)[inner] for axis in range(3)
    ]
    voxels, per_slice = [], []
    for axis in range(3):
        first, second = (a for a in range(3) if a != axis)
        edge = vessel & ~(enclosed[first] & enclosed[second])
        found = np.argwhere(np.moveaxis(edge, axis, 0))  # sorted by slice
        found = np.insert(found[:, 1:], axis, found[:, 0], axis=1)
        voxels.append(found)
        per_slice.append(np.bincount(found[:, axis], minlength=vessel.shape[axis]))
    return VesselEdges(tuple(voxels), tuple(per_slice))


@dataclass(frozen=True)
class InvasionAngles:
    """Largest contact angle in degrees over the slices, shape (3 axes, masks), both ways.

    `planes` are the axes across which slices are planes: all of a volume, one of an image of one
    slice, whose other slices are lines and have no angle.
    """

    released: NDArray[np.float64]
    overlap: NDArray[np.float64]
    planes: tuple[int, ...]

    def axes(self, reading: Reading) -> tuple[int, ...]:
        """The axes a reading looks along: the corrected one only across planes."""
        return self.planes if reading == "corrected" else (0, 1, 2)

    def of(self, reading: Reading) -> NDArray[np.float64]:
        """The angles a reading uses, (axes, masks)."""
        angles = self.released if reading == "released" else self.overlap
        return angles[list(self.axes(reading))]


def invasion_angles(edges: VesselEdges, lesions: NDArray[Any], n_masks: int) -> InvasionAngles:
    """Contact angle of each packed lesion mask with the vessel, along each array axis.

    In each slice: `lesion'` is the lesion dilated by the 4-neighbour cross and the angle is
    `360 * |edge in lesion'| / |edge|`. The released angle adds, for every edge pixel (i, j) not in
    lesion' and with L = lesion' without the edge, `E + S + D + (E or S)`, where E = L(i, j+1),
    S = L(i+1, j), D = L(i+1, j+1). The largest slice counts. `lesions` lies on the vessel's grid,
    which may be cut out of the image with a margin of `REACH` voxels.
    """
    released, overlap = np.zeros((3, n_masks)), np.zeros((3, n_masks))
    planes = _planes(lesions.shape)
    box = bounding_box(nonzero_voxels(lesions), lesions.shape)
    if box is None:
        return InvasionAngles(released, overlap, planes)
    near = box.grow(REACH, lesions.shape)
    start = np.array([side.start for side in near])
    lesions = lesions[near]
    bits = np.arange(n_masks)
    for axis in range(3):
        voxels = edges.voxels[axis] - start
        voxels = voxels[((voxels >= 0) & (voxels < lesions.shape)).all(axis=1)]
        if voxels.size == 0:
            continue
        touched, extra = _contact(lesions, voxels, axis)
        slices, first = np.unique(voxels[:, axis], return_index=True)
        inside = np.add.reduceat(touched[:, None] >> bits & 1, first, axis=0)
        more = sum(np.add.reduceat(term[:, None] >> bits & 1, first, axis=0) for term in extra)
        total = edges.per_slice[axis][slices + start[axis]][:, None]
        overlap[axis] = (FULL_CIRCLE * inside / total).max(axis=0)
        released[axis] = (FULL_CIRCLE * (inside + more) / total).max(axis=0)
    return InvasionAngles(released, overlap, planes)


def _planes(shape: Shape) -> tuple[int, ...]:
    """The axes across which the slices of an image are planes."""
    flat = flat_axes(shape)
    return {0: (0, 1, 2), 1: flat}.get(len(flat), ())


def _contact(
    lesions: NDArray[Any], voxels: NDArray[np.int64], axis: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """At each edge voxel: the bits of lesion', and those of the released form's four terms."""
    i, j = (a for a in range(3) if a != axis)
    grown = lesions | _shifted(lesions, i, 1) | _shifted(lesions, i, -1)
    grown |= _shifted(lesions, j, 1)
    grown |= _shifted(lesions, j, -1)
    at = tuple(voxels.T)
    touched = grown[at].astype(np.int64)
    grown[at] = 0  # from here on lesion' without the edge
    east, south = _shifted(grown, j, -1), _shifted(grown, i, -1)
    diagonal = _shifted(east, i, -1)
    e, s, d = (part[at].astype(np.int64) & ~touched for part in (east, south, diagonal))
    return touched, [e, s, d, e | s]


def _shifted(array: NDArray[Any], axis: int, by: int) -> NDArray[Any]:
    """The array moved by one along an axis, 0 where nothing moves in."""
    moved = np.zeros_like(array)
    source: list[slice] = [slice(None)] * 3
    target: list[slice] = [slice(None)] * 3
    source[axis], target[axis] = (
        (slice(None, -by), slice(by, None)) if by > 0 else (slice(-by, None), slice(None, by))
    )
    moved[tuple(target)] = array[tuple(source)]
    return moved


# ---- distance between two sets of angles ---------------------------------------------------


def vi_score(
    reference: NDArray[np.float64],
    prediction: NDArray[np.float64],
    *,
    reading: Reading = "corrected",
) -> float:
    """Distance of two sets of angles, each (axes, masks), taken over the axes.

    `corrected`: exact Wasserstein distance of the two samples, largest over the axes. The others
    compare Gaussians sampled on 1000 points (see `gaussian_distance`): `published` takes the
    largest over the axes, `released` their mean. NaN without any axis.
    """
    if reading == "corrected":
        samples = zip(reference, prediction, strict=True)
        return max((sample_distance(a, b) for a, b in samples), default=math.nan)
    distances = [
        gaussian_distance(a, b, reading=reading) for a, b in zip(reference, prediction, strict=True)
    ]
    return float(np.mean(distances)) if reading == "released" else max(distances)


def sample_distance(reference: NDArray[np.float64], prediction: NDArray[np.float64]) -> float:
    """Exact W1 of two samples, `∫ |F - G|`."""
    cuts = np.sort(np.concatenate([reference, prediction]))
    f = np.searchsorted(np.sort(reference), cuts[:-1], "right") / reference.size
    g = np.searchsorted(np.sort(prediction), cuts[:-1], "right") / prediction.size
    return float((np.abs(f - g) * np.diff(cuts)).sum())


def gaussian_distance(
    reference: NDArray[np.float64], prediction: NDArray[np.float64], *, reading: Reading
) -> float:
    """Discrete W1 of two Gaussians on the grid, with the fallbacks for empty densities.

    A density is empty when every sample is at most 1e-8, which happens when all angles agree and
    fall between grid points. Both empty: 0. One empty: if the other has no spread, the distance
    of its mean from 0, else 360. `released` forgets to normalise the prediction's density first.
    """
    if _moments(reference) == _moments(prediction):
        return 0.0  # equal densities, or both empty
    p, q = _density(reference), _density(prediction)
    p_empty, q_empty = bool((p <= EMPTY_DENSITY).all()), bool((q <= EMPTY_DENSITY).all())
    if p_empty and q_empty:
        return 0.0
    if p_empty or q_empty:
        other = q if p_empty else p
        forgotten = reading == "released" and p_empty
        return _distance_from_nothing(other if forgotten else other / other.sum())
    step = GRID[1] - GRID[0]
    return float(step * np.abs(np.cumsum(p / p.sum()) - np.cumsum(q / q.sum())).sum())


def _moments(angles: NDArray[np.float64]) -> tuple[float, float]:
    return float(angles.mean()), float(angles.std()) + SMALLEST_SD


def _density(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    mean, sd = _moments(angles)
    away = (GRID - mean) / sd
    return np.asarray(steady.exp(-away * away / 2) / (sd * math.sqrt(2 * math.pi)))


def _distance_from_nothing(weights: NDArray[np.float64]) -> float:
    mean = float((GRID * weights).sum())
    sd = float(np.sqrt(((GRID - mean) ** 2 * weights).sum()))
    return abs(mean) if np.isclose(sd, 0) else FULL_CIRCLE
