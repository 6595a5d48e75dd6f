"""A synthetic SMILE-UHURA benchmark: 7 T time-of-flight angiograms, one mask each, methods.

As in the challenge, 4 of 11 cases are of the open data set and 7 of the secret one, which was
acquired with other slabs, other contrast and noise, less motion and saturated veins. The images of
the challenge have 480 x 640 x 163 voxels of 0.3 mm: smaller shapes are cut out of that field of
view around the circle of Willis, larger ones have smaller voxels. The smallest vessels are one
voxel wide in any.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from segjury.arrays import Shape
from segjury.benchmark.phantoms.casting import check_counts
from segjury.benchmark.phantoms.smile.anatomy import grow_tree
from segjury.benchmark.phantoms.smile.image import Scan, render
from segjury.benchmark.phantoms.smile.methods import Dataset, VesselCase, line_up, segment
from segjury.benchmark.phantoms.smile.raster import rasterise
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

FIELD_OF_VIEW_MM = (144.0, 192.0, 48.9)
LARGEST_SPACING_MM = 0.3
BELOW_THE_RING = 1 / 3  # share of the field
LOWEST_MM = -FIELD_OF_VIEW_MM[2] * BELOW_THE_RING
SMALLEST_SHAPE = (48, 48, 24)  # the carotids are then about three voxels wide

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
_TREE, _IMAGE, _METHODS = 1, 2, 3  # independent streams of a case


def write_benchmark(
    out: Path,
    *,
    cases: int = 8,
    methods: int = 6,
    seed: int = 0,
    shape: Shape = (120, 160, 48),
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write `out`/reference and `out`/predictions; `progress` hears of each finished case."""
    _check(cases, methods, shape)
    _write_list(out / "reference" / "cases.csv", cases)
    for index in range(cases):
        case = make_case(index, seed=seed, shape=shape)
        folder = out / "reference" / case.name
        write_volume(folder / "image.nii.gz", Volume(case.image, case.grid))
        write_volume(folder / "annotation_1.nii.gz", Volume(case.annotation, case.grid))
        for number, character in enumerate(line_up(methods)):
            mask = segment(case, character, method_rng(seed, index, number))
            folder = out / "predictions" / character.name / case.name
            write_volume(folder / "segmentation.nii.gz", Volume(mask, case.grid))
        if progress is not None:
            progress(case.name)


def method_rng(seed: int, index: int, number: int) -> np.random.Generator:
    """The random stream of one method on one case."""
    return np.random.default_rng([seed, index, _METHODS, number])


def make_case(index: int, *, seed: int = 0, shape: Shape = (120, 160, 48)) -> VesselCase:
    """Case number `index` (from 0): the same for the same seed and shape, whatever else is made."""
    grid = case_grid(shape)
    tree = grow_tree(grid, np.random.default_rng([seed, index, _TREE]))
    scan = SCANS[dataset(index)]
    return VesselCase(
        name=_name(index),
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


def _name(index: int) -> str:
    return f"S{index + 1:03d}"


def _write_list(path: Path, cases: int) -> None:
    """The data set of each case."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "dataset"])
        rows.writerows([_name(index), dataset(index)] for index in range(cases))


def _check(cases: int, methods: int, shape: Shape) -> None:
    check_counts(cases, methods)
    if any(size < smallest for size, smallest in zip(shape, SMALLEST_SHAPE, strict=True)):
        raise InputError(
            f"a shape of {shape} is too small for a ring of vessels",
            f"Use at least {SMALLEST_SHAPE}",
        )
