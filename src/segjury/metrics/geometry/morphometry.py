"""Morphometry of vessels: length, calibre, branching and tortuosity of one mask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import LONGEST_SPAN, Bools, Floats, Ints, Shape, bounding_box
from segjury.metrics.geometry import skeleton
from segjury.metrics.geometry.calibre import calibre_mm
from segjury.metrics.geometry.dimension import real_axes, three_spacings
from segjury.metrics.geometry.neighbourhood import voxels_of
from segjury.metrics.geometry.thinning import skeleton_voxels
from segjury.metrics.topology import betti_from_voxels

if TYPE_CHECKING:
    import pandas as pd


SMOOTHING_STEPS = 3  # a mean of three neighbours each, against the steps of the grid
FEWEST_BOX_SIZES = 3
BOXES_ALONG_EXTENT = 4  # at the largest size


@dataclass(frozen=True)
class Branch:
    """One branch of the centreline, between two ends or junctions."""

    length_mm: float
    chord_mm: float  # between its ends, 0 for a loop
    tortuosity: float  # length over chord, NaN for a loop
    mean_radius_mm: float
    min_radius_mm: float
    max_radius_mm: float


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (of the population) and quartiles; NaN of nothing."""

    mean: float
    sd: float
    minimum: float
    quartile_1: float
    median: float
    quartile_3: float
    maximum: float


@dataclass(frozen=True)
class Morphometrics:
    """What there is to measure of the vessels in a mask; NaN where there is nothing to measure.

    Tortuosity is a branch's length over its chord (distance metric, Bullitt et al. 2003), loops
    aside. The densities count branches per mm of centreline, and per cm³ of the smallest box
    along the image axes that holds the mask.
    """

    volume_mm3: float
    components: int
    length_mm: float
    junctions: int
    ends: int
    branches: tuple[Branch, ...]
    radius_mm: Summary
    centreline_radius_mm: Floats  # at every voxel of the centreline
    mean_tortuosity: float
    median_tortuosity: float
    weighted_tortuosity: float  # by the branches' lengths
    branches_per_mm: float
    branches_per_cm3: float
    fractal_dimension: float


def morphometrics(mask: ArrayLike, *, spacing_mm: ArrayLike) -> Morphometrics:
    """Morphometry of the vessels in a mask.

    The centreline is the skeleton of the mask, its radius half of `calibre_mm`, without spurs:
    branches with a free end that are no longer than the radius there, so that they do not leave
    the lumen. Branches are smoothed before they are measured, as the steps of the grid would make
    a straight vessel that lies askew up to 13 % too long. In an image of one slice, volumes are
    those of the slice; one of two axes is 1 mm thick.
    """
    voxels, shape = voxels_of(mask)
    return morphometrics_from_voxels(voxels, shape, spacing_mm=spacing_mm)


def morphometrics_from_voxels(
    voxels: Ints, shape: Shape, *, spacing_mm: ArrayLike
) -> Morphometrics:
    """`morphometrics` from flat voxel indices (x fastest, ascending)."""
    spacing = np.array(three_spacings(spacing_mm, shape))
    thin = skeleton_voxels(voxels, shape)
    radius = calibre_mm(voxels, thin, shape, spacing_mm=spacing) / 2
    graph, radius = _without_spurs(thin, radius, shape, spacing)
    branches = tuple(_measured(branch, radius[branch.voxels]) for branch in graph.branches)
    length = math.fsum(branch.length_mm for branch in branches)
    open_branches = [branch for branch in branches if branch.chord_mm > 0]
    tortuosity = np.array([branch.tortuosity for branch in open_branches])
    weight = np.array([branch.length_mm for branch in open_branches])
    return Morphometrics(
        volume_mm3=len(voxels) * float(spacing.prod()),
        components=betti_from_voxels(voxels, shape).components,
        length_mm=length,
        junctions=len(graph.junctions_mm),
        ends=len(graph.ends),
        branches=branches,
        radius_mm=_summary(radius),
        centreline_radius_mm=radius,
        mean_tortuosity=_ratio(tortuosity.sum(), len(tortuosity)),
        median_tortuosity=float(np.median(tortuosity)) if tortuosity.size else math.nan,
        weighted_tortuosity=_ratio(tortuosity @ weight, weight.sum()),
        branches_per_mm=_ratio(len(branches), length),
        branches_per_cm3=_ratio(len(branches), _box_volume_mm3(voxels, shape, spacing) / 1000),
        fractal_dimension=fractal_dimension_from_voxels(voxels, shape, spacing_mm=spacing),
    )


def _without_spurs(
    thin: Ints, radius: Floats, shape: Shape, spacing: Floats
) -> tuple[skeleton.SkeletonGraph, Floats]:
    """The graph of a skeleton without spurs, and the radius at the voxels that are left."""
    while True:
        graph = skeleton.graph_of_voxels(thin, shape, spacing_mm=spacing)
        spurs = [
            branch.voxels
            for branch in graph.branches
            if branch.junctions == 1 and branch.length_mm <= radius[branch.voxels].max()
        ]
        if not spurs:
            return graph, radius
        # Thinned again, as the junction of a spur may be wider than the line it stood on.
        left = skeleton_voxels(np.delete(thin, np.concatenate(spurs)), shape)
        radius = radius[np.isin(thin, left)]
        thin = left


def _measured(branch: skeleton.Branch, radius: Floats) -> Branch:
    length = _arc_mm(branch.points_mm)
    return Branch(
        length_mm=length,
        chord_mm=branch.chord_mm,
        tortuosity=_ratio(length, branch.chord_mm),
        mean_radius_mm=float(radius.mean()),
        min_radius_mm=float(radius.min()),
        max_radius_mm=float(radius.max()),
    )


def _arc_mm(points: Floats) -> float:
    """Length of a curve without the steps of the grid; its ends stay in place."""
    for _ in range(SMOOTHING_STEPS):
        inner = (points[:-2] + points[1:-1] + points[2:]) / 3
        points = np.concatenate([points[:1], inner, points[-1:]])
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _summary(values: Floats) -> Summary:
    if not values.size:
        return Summary(*[math.nan] * 7)
    low, first, median, third, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return Summary(float(values.mean()), float(values.std()), low, first, median, third, high)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan


def _box_volume_mm3(voxels: Ints, shape: Shape, spacing: Floats) -> float:
    box = bounding_box(voxels, shape)
    return float(np.prod(box.shape * spacing)) if box else 0.0


def fractal_dimension(mask: ArrayLike, *, spacing_mm: ArrayLike) -> float:
    """Box-counting dimension of a mask: minus the slope of `log N(s)` over `log s`.

    N(s) is the number of cubes with edges s, laid from the corner of the mask's box, that hold a
    voxel; s doubles from the longest side of a voxel up to a quarter of the mask's extent. NaN if
    that leaves fewer than three sizes. In 2D the boxes are squares.
    Source: Falconer, Fractal Geometry, 3.1.
    """
    voxels, shape = voxels_of(mask)
    return fractal_dimension_from_voxels(voxels, shape, spacing_mm=spacing_mm)


def fractal_dimension_from_voxels(voxels: Ints, shape: Shape, *, spacing_mm: ArrayLike) -> float:
    """`fractal_dimension` from flat voxel indices (x fastest, ascending)."""
    box = bounding_box(voxels, shape)
    if box is None:
        return math.nan
    spacing = np.array(three_spacings(spacing_mm, shape))
    longest_mm = max(spacing[axis] for axis in real_axes(shape))
    scale = spacing / longest_mm
    # A hair more, so that a multiple of the edge does not fall into the box before.
    wide, high, deep = ((np.array(box.shape) - 1) * scale + 1e-9).astype(np.int64).tolist()
    filled = np.zeros((wide + 1, high + 1, deep + 1), bool)
    for start in range(0, voxels.size, LONGEST_SPAN):
        place = np.stack(box.places(voxels[start : start + LONGEST_SPAN], shape), axis=1)
        filled[tuple((place * scale + 1e-9).astype(np.int64).T)] = True
    counts = []
    for _ in range(int(math.log2(max(max(filled.shape) / BOXES_ALONG_EXTENT, 1))) + 1):
        counts.append(int(np.count_nonzero(filled)))
        filled = _in_larger_boxes(filled)
    if len(counts) < FEWEST_BOX_SIZES:
        return math.nan
    return -float(np.polyfit(np.arange(len(counts)), np.log2(counts), 1)[0])


def _in_larger_boxes(filled: Bools) -> Bools:
    """Which boxes twice as large hold a filled one."""
    for axis in range(3):
        along = np.moveaxis(filled, axis, 0)
        pairs = along[::2].copy()
        pairs[: len(along) // 2] |= along[1::2]
        filled = np.moveaxis(pairs, 0, axis)
    return filled


def tables(
    measured: Mapping[str, Morphometrics],
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """One line per mask, per branch, and per voxel of the centreline; `mask` names the mask."""
    import pandas as pd

    summaries, branches, radii = [], [], []
    for name, one in measured.items():
        summary = {k: v for k, v in asdict(one).items() if isinstance(v, int | float)}
        summary["branches"] = len(one.branches)
        summary |= {f"radius_mm_{k}": v for k, v in asdict(one.radius_mm).items()}
        summaries.append({"mask": name, **summary})
        branches += [{"mask": name, **asdict(branch)} for branch in one.branches]
        radii += [{"mask": name, "radius_mm": float(r)} for r in one.centreline_radius_mm]
    columns = ["mask", *(f.name for f in fields(Branch))]
    return (
        pd.DataFrame(summaries),
        pd.DataFrame(branches, columns=columns),
        pd.DataFrame(radii, columns=["mask", "radius_mm"]),
    )
