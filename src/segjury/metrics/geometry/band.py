"""The band around the outlines that raters draw of a label."""

from __future__ import annotations

import numpy as np

from segjury.arrays import Bools, Box, Ints, Shape, Triple, flat, nonzero_voxels
from segjury.consensus import RaterPatterns
from segjury.metrics.geometry.surfaces.points import Points
from segjury.metrics.geometry.surfaces.reach import (
    MOST_STEPS,
    Reach,
    margins_of,
    widened,
    within_reach,
)

ROUNDING = 1e-9  # what equals a limit up to rounding has reached it


def outline_band(
    patterns: RaterPatterns,
    label: int,
    box: Box | None,
    spacing_mm: Triple,
    band_mm: float,
    *,
    ignored: Ints | None = None,
) -> Ints:
    """Flat indices of the voxels that are at most so far from an edge voxel, centre to centre.

    A voxel is an edge voxel if some rater gives it the label and not one of its face neighbours in
    the image, or the neighbour and not the voxel. `box` is the one around all voxels that a rater
    gives the label, None where there is none. Nobody draws an outline beside `ignored` voxels, and
    they are in no band.
    """
    left = np.zeros(0, np.int64) if ignored is None else ignored
    shape = _shape(patterns)
    if box is None:
        return np.zeros(0, np.int64)
    nearby = box.grow(1, shape)
    edges = _edge_voxels(patterns, label, nearby, left)
    rx, ry, rz = margins_of(band_mm, spacing_mm)
    margins = min(rx, shape[0] - 1), min(ry, shape[1] - 1), min(rz, shape[2] - 1)
    around = nearby.grow(margins, shape)
    reach = Reach(band_mm, lambda mm: np.asarray(mm <= band_mm * (1 + ROUNDING)), spacing_mm)
    if 4 * margins[1] * margins[2] > MOST_STEPS:
        inside = np.zeros(shape, bool, order="F")
        inside[around] = True
        points = Points(nonzero_voxels(inside), shape, spacing_mm)
        placed = np.zeros(shape, bool, order="F")
        placed[nearby] = edges
        others = Points(nonzero_voxels(placed), shape, spacing_mm)
        return np.setdiff1d(points.flat[within_reach(points, others, reach)], left)
    mask = np.zeros(around.shape[::-1], bool)  # axes z, y, x
    mask[nearby.inside(around)[::-1]] = edges.T
    near = np.unpackbits(widened(mask, reach.widths_up_to(margins)), axis=-1, count=mask.shape[2])
    voxels, size = np.empty(int(np.count_nonzero(near)), np.int64), 0
    for z, plane in enumerate(near, around.z.start):
        y, x = np.nonzero(plane)
        rows = (y + around.y.start) + shape[1] * z
        voxels[size : size + x.size] = (x + around.x.start) + shape[0] * rows
        size += x.size
    return np.setdiff1d(voxels, left, assume_unique=True) if left.size else voxels


def _edge_voxels(patterns: RaterPatterns, label: int, box: Box, ignored: Ints) -> Bools:
    """The edge voxels in a box, which holds all marks and the voxels beside them."""
    counted = np.ones(patterns.codes.shape if ignored.size else (0, 0, 0), bool, order="F")
    flat(counted)[ignored] = False
    marks = patterns.marked(label)
    who = (marks * (1 << np.arange(patterns.n_raters))).sum(axis=1)
    of_voxel = who.astype(np.min_scalar_type(int(who.max())))[patterns.codes[box]]
    edges = np.zeros(box.shape, bool, order="F")
    for axis in range(3):
        along, beside = np.moveaxis(of_voxel, axis, 0), np.moveaxis(edges, axis, 0)
        differ = along[1:] != along[:-1]
        if ignored.size:
            of_both = np.moveaxis(counted[box], axis, 0)
            differ &= of_both[1:] & of_both[:-1]
        beside[1:] |= differ
        beside[:-1] |= differ
    return edges


def _shape(patterns: RaterPatterns) -> Shape:
    x, y, z = patterns.codes.shape
    return x, y, z
