"""Read the files of a case: what its raters drew, and what a method predicts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from segjury import images
from segjury.arrays import bounding_box
from segjury.benchmark.case import PredictedCase, ReferenceCase, Structure
from segjury.benchmark.folders import file_stats, prediction_files, prediction_inputs
from segjury.consensus import RaterPatterns, pack_marks
from segjury.errors import MissingInputError
from segjury.images.grid import (
    USUAL_TOLERANCE,
    Grid,
    Tolerance,
    doubts_of,
    tolerated_differences,
)
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.volume import Volume
from segjury.metrics.invasion import REACH
from segjury.protocols import Protocol
from segjury.runtime import prefetch

READ_AHEAD_BYTES = 2 << 30  # for the predictions of a case that are in memory together
MOST_AHEAD = 2
WELL_COMPRESSED = 16

# ---- reference -----------------------------------------------------------------------------


def load_reference(protocol: Protocol, folder: Path) -> ReferenceCase:
    """Read and prepare a case's reference."""
    spec = protocol.reference
    if not folder.is_dir():
        raise MissingInputError("the case has no reference folder")
    first_path = images.find(folder, spec.rater_stems[0])
    first = _read_mask(protocol, first_path, spec.allowed_labels, None)
    grid = first.grid
    warnings = grid_warnings(protocol, grid, grid, first_path.name)

    def marks() -> Iterator[SparseLabels]:
        yield numbered(first, spec.labels)
        paths = [images.find(folder, stem) for stem in spec.rater_stems[1:]]

        def read(path: Path) -> LabelMap:
            return _read_mask(protocol, path, spec.allowed_labels, grid)

        for path, loaded in zip(paths, prefetch(read, paths, depth=2), strict=True):
            mask = loaded.result()
            warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
            yield numbered(mask, spec.labels)

    n_labels = len(spec.labels) + 1
    patterns = pack_marks(marks(), grid.shape, n_raters=spec.n_raters, n_labels=n_labels)
    consensus = _given_consensus(protocol, folder, grid, warnings)
    structures = _structures(protocol, folder, grid, warnings)
    names = tuple(spec.labels)
    return ReferenceCase(grid, patterns, names, structures, consensus, tuple(warnings))


def numbered(mask: LabelMap, labels: Mapping[str, int]) -> SparseLabels:
    """Voxels of the scored labels, and these as 1, 2, ... in their order."""
    table = np.zeros(256, np.uint8)  # no label is larger
    table[list(labels.values())] = np.arange(1, len(labels) + 1)
    return mask.marks.relabelled(lambda labels: table[labels])


def _given_consensus(
    protocol: Protocol, folder: Path, grid: Grid, warnings: list[str]
) -> RaterPatterns | None:
    """The consensus that the case brings along, if it does."""
    spec = protocol.reference
    if not spec.consensus or not images.candidates(folder, spec.consensus):
        return None
    path = images.find(folder, spec.consensus)
    mask = _read_mask(protocol, path, spec.labels.values(), grid)
    warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
    marks = [numbered(mask, spec.labels)]
    return pack_marks(marks, grid.shape, n_raters=1, n_labels=len(spec.labels) + 1)


def _structures(
    protocol: Protocol, folder: Path, grid: Grid, warnings: list[str]
) -> dict[str, Structure | None]:
    spec = protocol.reference.structures
    if spec is None:
        return {}
    path = images.find(folder, spec.file)
    found = _read_mask(protocol, path, spec.labels.values(), grid)
    warnings.extend(grid_warnings(protocol, grid, found.grid, path.name))
    structures: dict[str, Structure | None] = dict.fromkeys(spec.labels)
    for name, label in spec.labels.items():
        tight = bounding_box(found.where(label), grid.shape)
        if tight is not None:
            box = tight.grow(REACH, grid.shape)
            structures[name] = Structure(found.crop(label, box), box, grid.spacing_mm)
    return structures


# ---- prediction ----------------------------------------------------------------------------


def load_prediction(
    protocol: Protocol, method_folder: Path, case: str, grid: Grid, *, follow_links: bool = False
) -> PredictedCase:
    """Read a method's prediction of a case and compare its grid with the reference's.

    See `prediction_files` for `follow_links`. The policy says whether a mask without its
    probability maps is a prediction.
    """
    found = prediction_files(protocol, method_folder, case, follow_links=follow_links)
    if found.no_maps and protocol.policy.missing_map == "missing":
        raise found.no_maps
    labels = protocol.reference.labels
    mask = read_predicted_mask(protocol, found.mask, grid)
    warnings = grid_warnings(protocol, grid, mask.grid, found.mask.name)
    marks = numbered(mask, labels)
    del mask  # so that it does not lie beside the maps
    maps = []
    for name, path in found.probabilities.items():
        maps.append(read_probability_map(path, labels[name], grid, tolerance=protocol.grid))
        warnings += grid_warnings(protocol, grid, maps[-1].grid, path.name)
    no_maps = str(found.no_maps) if found.no_maps else ""
    return PredictedCase(marks, tuple(maps), tuple(warnings), no_maps)


def read_ahead(
    protocol: Protocol, predictions: Path, methods: Iterable[str], case: str, grid: Grid
) -> int:
    """How many predictions may wait in memory while another is scored.

    A map that was compressed well is mostly 0, which takes no memory; one that was not holds
    a float32 or, if even that would not do, a float64 per voxel.
    """
    voxels, largest = math.prod(grid.shape), 1
    for method in methods:
        size = voxels  # of the mask
        for _, _, stored, _ in file_stats(prediction_inputs(protocol, predictions / method, case)):
            size += min(WELL_COMPRESSED * stored, (8 if stored > 4 * voxels else 4) * voxels)
        largest = max(largest, size)
    return max(0, min(MOST_AHEAD, READ_AHEAD_BYTES // largest - 1))


def read_predicted_mask(protocol: Protocol, path: Path, grid: Grid | None) -> LabelMap:
    """A predicted mask with the labels of the protocol."""
    return _read_mask(protocol, path, protocol.reference.labels.values(), grid)


def _read_mask(
    protocol: Protocol, path: Path, labels: Collection[int], grid: Grid | None
) -> LabelMap:
    return images.read_mask(path, labels=labels, grid=grid, tolerance=protocol.grid, overlap=False)


def read_probability_map(
    path: Path, label: int, grid: Grid, *, tolerance: Tolerance = USUAL_TOLERANCE
) -> Volume:
    """A label's probability map in either layout; nnU-Net's archive has no grid of its own."""
    if path.suffix == ".npz":
        return images.read_nnunet_probability(path, channel=label, grid=grid)
    return images.read_probability(path, grid=grid, tolerance=tolerance)


# ---- grids ---------------------------------------------------------------------------------


def grid_warnings(protocol: Protocol, grid: Grid, other: Grid, name: str) -> list[str]:
    """Warnings for doubts of a grid, and for differences that are tolerated; others are errors."""
    tolerated = tolerated_differences(protocol.grid, grid, other, name)
    return [*doubts_of(other, name), *(each.message for each in tolerated)]
