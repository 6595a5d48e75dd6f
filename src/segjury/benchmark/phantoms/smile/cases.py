"""The cases of SMILE-UHURA: 7 T time-of-flight angiograms with one mask each.

As in the challenge, 4 of 11 cases are of the open data set and 7 of the secret one, which was
acquired with other slabs, other contrast and noise, less motion and saturated veins. The images of
the challenge have 480 x 640 x 163 voxels of 0.3 mm: smaller shapes are cut out of that field of
view around the circle of Willis, larger ones have smaller voxels. The smallest vessels are one
voxel wide in any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape
from segjury.benchmark.phantoms.smile.anatomy import grow_tree
from segjury.benchmark.phantoms.smile.image import Scan, render
from segjury.benchmark.phantoms.smile.raster import Mask, rasterise
from segjury.benchmark.phantoms.smile.tree import VesselTree
from segjury.images.grid import Grid

Dataset = Literal["open", "secret"]

FIELD_OF_VIEW_MM = (144.0, 192.0, 48.9)
LARGEST_SPACING_MM = 0.3
BELOW_THE_RING = 1 / 3  # share of the field
LOWEST_MM = -FIELD_OF_VIEW_MM[2] * BELOW_THE_RING

SCANS: dict[Dataset, Scan] = {
    "open": Scan(
        slabs=4,
        lowest_mm=LOWEST_MM,
        slab_mm=15.6,  # 52 slices
        pitch_mm=11.1,
        tissue=110,
        blood=420,
        noise=24,
        fading_mm=40,
        edge_voxels=1.4,
        veins=0.5,
    ),
    "secret": Scan(
        slabs=4,
        lowest_mm=LOWEST_MM,
        slab_mm=18.0,  # 60 slices
        pitch_mm=10.3,
        tissue=70,
        blood=300,
        noise=20,
        fading_mm=32,
        edge_voxels=1.0,
        veins=0.0,
    ),
}

_OPEN, _ALL = 4, 11  # cases of the challenge
_TREE, _IMAGE = 1, 2  # independent streams of a case


@dataclass(frozen=True)
class VesselCase:
    """One case in memory: the vessels as they are, their image and their mask."""

    name: str
    dataset: Dataset
    grid: Grid
    tree: VesselTree
    image: NDArray[np.uint16]
    annotation: Mask


def make_case(index: int, *, seed: int = 0, shape: Shape = (120, 160, 48)) -> VesselCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    grid = case_grid(shape)
    tree = grow_tree(grid, np.random.default_rng([seed, index, _TREE]))
    scan = SCANS[dataset(index)]
    return VesselCase(
        name=f"S{index + 1:03d}",
        dataset=dataset(index),
        grid=grid,
        tree=tree,
        image=render(grid, tree.vessels, scan, np.random.default_rng([seed, index, _IMAGE])),
        annotation=rasterise(tree.vessels, grid),
    )


def dataset(index: int) -> Dataset:
    """The data set of a case: 4 of each 11 are open, evenly spread."""
    return "open" if index * _OPEN % _ALL < _OPEN else "secret"


def case_grid(shape: Shape) -> Grid:
    """Cubic voxels, so small that the shape fits into the field of view; the ring at 0, 0, 0."""
    spacing = min(LARGEST_SPACING_MM, *np.divide(FIELD_OF_VIEW_MM, shape).tolist())
    x, y, z = (spacing * size for size in shape)
    return Grid(shape, (spacing,) * 3, (-x / 2, -y / 2, -z * BELOW_THE_RING))
