"""NSD of labels in a map that marks very many voxels, such as noise all over the image.

What the surface of a label weighs is counted for all labels at once. Listed is only what of it is
near the reference, for only that can be within the tolerance. So time and memory are bounded by the
image and the boxes of the reference's labels, whatever the map holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Ints, Shape, coordinates
from segjury.metrics.geometry.surfaces.label_outlines import LabelOutlines
from segjury.metrics.geometry.surfaces.outline import (
    corner_grid,
    corner_patterns,
    edge_voxels,
    placed,
)
from segjury.metrics.geometry.surfaces.points import Points
from segjury.metrics.geometry.surfaces.reach import margins_of
from segjury.metrics.geometry.surfaces.surfels import PATTERNS, surfel_areas_mm2
from segjury.metrics.surface import Surface, surface_nsd

MANY_VOXELS = 1 << 21  # below, all of a surface is listed


@dataclass(frozen=True)
class CrowdedMap:
    """A map of labels from 1 to 255, flat (x fastest)."""

    image: NDArray[np.uint8]
    shape: Shape

    @cached_property
    def outlines(self) -> LabelOutlines:
        """How much outline each label has."""
        return LabelOutlines.of(self.image, self.shape)

    def voxels(self, label: int, box: Box) -> Ints:
        """Flat indices of the voxels of a label in a box, ascending."""
        here = self.image.reshape(self.shape, order="F")[box] == label
        start = box.x.start, box.y.start, box.z.start
        return placed(np.flatnonzero(here.reshape(-1, order="F")), here.shape, start, self.shape)


def label_nsd(reference: Surface, prediction: CrowdedMap, label: int, tolerance_mm: float) -> float:
    """`surface.nsd` of a reference's surface and a label of a map."""
    near, elsewhere = _surface_near(reference, prediction, label, tolerance_mm)
    return surface_nsd(reference, near, tolerance_mm, elsewhere=elsewhere)


def _surface_near(
    reference: Surface, prediction: CrowdedMap, label: int, tolerance_mm: float
) -> tuple[Surface, float]:
    """The surface of a label near the reference's, and the weight of what it has elsewhere."""
    shape, spacing = prediction.shape, reference.points.spacing
    margins = margins_of(tolerance_mm, spacing)
    box, voxels = reference.points.box, np.zeros(0, np.int64)
    if box:
        # Two voxels further, so that all around a corner or edge voxel that counts is known.
        voxels = prediction.voxels(label, box.grow([m + 2 for m in margins], shape))
        box = box.grow(margins, reference.points.shape)
    if reference.definition == "edge-voxels":
        edges = edge_voxels(voxels, shape)
        points = Points(edges[_inside(edges, shape, box)], shape, spacing)
        elsewhere = float(prediction.outlines.edges[label] - points.flat.size)
        return Surface(points, np.ones(points.flat.size), "edge-voxels"), elsewhere
    corners, patterns = corner_patterns(voxels, shape)
    grid = corner_grid(shape)
    here = _inside(corners, grid, box)
    patterns, areas = patterns[here], surfel_areas_mm2(spacing)
    rest = prediction.outlines.patterns[label] - np.bincount(patterns, minlength=PATTERNS)
    points = Points(corners[here], grid, spacing)
    return Surface(points, areas[patterns], "surfel"), float((rest * areas).sum())


def _inside(places: Ints, shape: Shape, box: Box | None) -> Bools:
    """Which places on a grid, given by flat indices, are in a box."""
    inside = np.full(places.size, box is not None)
    for place, side in zip(coordinates(places, shape), box or (), strict=bool(box)):
        inside &= (place >= side.start) & (place < side.stop)
    return inside
