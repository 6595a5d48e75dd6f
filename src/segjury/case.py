"""One case: the reference prepared once, and a method's prediction of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury import files
from segjury.consensus import RaterPatterns, pack_voxels, staple
from segjury.errors import InputError, MissingInputError
from segjury.execution import ahead
from segjury.metrics.contact import VesselSections, contact_angles, vessel_sections
from segjury.metrics.invasion import (
    REACH,
    InvasionAngles,
    VesselEdges,
    invasion_angles,
    vessel_edges,
)
from segjury.metrics.overlap import mean_pairwise_dsc
from segjury.protocols import Protocol
from segjury.volume import (
    Box,
    Grid,
    LabelMap,
    Triple,
    Volume,
    bounding_box,
    flat,
    grid_differences,
    grow,
)


@dataclass(frozen=True)
class Structure:
    """A further structure of the reference, such as a vessel, cut out with a small margin."""

    mask: NDArray[np.bool_]
    box: Box
    spacing_mm: Triple

    @cached_property
    def edges(self) -> VesselEdges:
        """Its in-slice edge voxels."""
        return vessel_edges(self.mask)

    @cached_property
    def sections(self) -> VesselSections:
        """Its cross-sections perpendicular to the centreline."""
        return vessel_sections(self.mask, self.spacing_mm)

    @cached_property
    def shell(self) -> NDArray[np.bool_]:
        """The structure and the 26 neighbours of its voxels: all that can be in contact."""
        shell = self.mask.copy()
        for axis in range(3):
            along = np.moveaxis(shell, axis, 0)  # a view: what is written lands in the shell
            before = along.copy()
            along[1:] |= before[:-1]
            along[:-1] |= before[1:]
        return shell

    def invasion_angles(self, lesions: NDArray[Any], n_masks: int) -> InvasionAngles:
        """Slice-wise contact angles of packed lesions in the box."""
        return invasion_angles(self.edges, lesions, n_masks)

    def contact_angles(self, lesions: NDArray[Any], n_masks: int) -> NDArray[np.float64]:
        """Anatomical contact angles of packed lesions in the box."""
        if not lesions[self.shell].any():
            return np.zeros(n_masks)  # spares the centreline of vessels that no lesion touches
        return contact_angles(self.sections, lesions, n_masks=n_masks)


@dataclass(frozen=True)
class ReferenceCase:
    """What the raters say of a case, in the form that scoring any number of methods needs."""

    grid: Grid
    patterns: RaterPatterns
    consensus_voxels: NDArray[np.int64]  # flat indices, x fastest
    structures: dict[str, Structure | None]  # None where the case has no such structure
    warnings: tuple[str, ...] = ()

    @cached_property
    def consensus(self) -> NDArray[np.bool_]:
        """The consensus mask, flat."""
        mask = np.zeros(self.patterns.codes.size, bool)
        mask[self.consensus_voxels] = True
        return mask

    @cached_property
    def volumes_cm3(self) -> NDArray[np.float64]:
        """The raters' volumes."""
        sizes = self.patterns.counts @ self.patterns.marked()
        return sizes * self.grid.voxel_volume_mm3 / 1000

    @cached_property
    def mean_pairwise_dsc(self) -> float:
        """Mean Dice over the pairs of raters."""
        return mean_pairwise_dsc(self.patterns.counts, self.patterns.marked())

    @cached_property
    def invasion_angles(self) -> dict[str, InvasionAngles]:
        """The raters' slice-wise contact angles with each structure there is."""
        n_raters = self.patterns.n_raters
        return {
            name: structure.invasion_angles(self._marks(structure.box), n_raters)
            for name, structure in self.structures.items()
            if structure
        }

    @cached_property
    def contact_angles(self) -> dict[str, NDArray[np.float64]]:
        """The raters' anatomical contact angles with each structure there is."""
        n_raters = self.patterns.n_raters
        return {
            name: structure.contact_angles(self._marks(structure.box), n_raters)
            for name, structure in self.structures.items()
            if structure
        }

    def prepare(self, metrics: Collection[str]) -> None:
        """Compute now what every method will be compared with in these metrics."""
        needed = {"dsc": "consensus", "vi": "invasion_angles", "contact_angle": "contact_angles"}
        for metric, name in needed.items():
            if metric in metrics:
                getattr(self, name)

    def _marks(self, box: Box) -> NDArray[Any]:
        """The raters' masks in a box, as bits."""
        bits = self.patterns.marked() @ (1 << np.arange(self.patterns.n_raters))
        table = bits.astype(np.min_scalar_type(int(bits.max())))
        return np.asarray(table[self.patterns.codes[box]])


@dataclass(frozen=True)
class PredictedCase:
    """A method's mask and probability map of a case, on the reference grid."""

    mask_voxels: NDArray[np.int64]  # flat indices, x fastest
    probability: Volume
    warnings: tuple[str, ...] = ()


# ---- reference -----------------------------------------------------------------------------


def case_names(reference: Path) -> list[str]:
    """The cases of a benchmark: the folders of the reference."""
    return _folder_names(reference, "case")


def method_names(predictions: Path) -> list[str]:
    """The methods of a benchmark: the folders of the predictions."""
    return _folder_names(predictions, "method")


def _folder_names(folder: Path, of: str) -> list[str]:
    todo = f"Give the folder that has one folder per {of}"
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", todo)
    names = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name[0] != ".")
    if not names:
        raise InputError(f"{folder} has no {of} folders", todo)
    return names


def unknown_cases(reference: Path, predictions: Path, methods: Sequence[str]) -> list[str]:
    """Predictions of cases that the reference does not have: probably a misspelt name."""
    cases = set(case_names(reference))
    return [
        f"method {method}: {path.name} is no case of the reference"
        for method in methods
        for path in sorted((predictions / method).iterdir())
        if path.is_dir() and path.name[0] != "." and path.name not in cases
    ]


def load_reference(protocol: Protocol, folder: Path) -> ReferenceCase:
    """Read and prepare a case's reference."""
    warnings: list[str] = []
    form = protocol.reference
    if not folder.is_dir():
        raise MissingInputError("the case has no reference folder")
    labels = [form.label, *form.other_labels.values()]
    first = files.read_mask(files.find(folder, form.rater_stems[0]), labels=labels)
    grid = first.grid

    def marks() -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        voxels = first.where(form.label)
        yield voxels, np.ones(voxels.size, np.uint8)
        paths = [files.find(folder, stem) for stem in form.rater_stems[1:]]

        def read(path: Path) -> LabelMap:
            return files.read_mask(path, labels=labels, expected_shape=grid.shape)

        for path, loaded in zip(paths, ahead(read, paths, depth=2), strict=True):
            mask = loaded.result()
            warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
            voxels = mask.where(form.label)
            yield voxels, np.ones(voxels.size, np.uint8)

    patterns = pack_voxels(marks(), grid.shape, n_raters=form.n_raters)
    consensus = _consensus(protocol, folder, grid, patterns, warnings)
    structures = _structures(protocol, folder, grid, warnings)
    return ReferenceCase(grid, patterns, consensus, structures, tuple(warnings))


def _consensus(
    protocol: Protocol, folder: Path, grid: Grid, patterns: RaterPatterns, warnings: list[str]
) -> NDArray[np.int64]:
    """Voxels of the consensus from its file, or of the raters' STAPLE where there is none."""
    stem = protocol.reference.consensus
    try:
        path = files.find(folder, stem) if stem else None
    except MissingInputError:
        path = None
    if path is not None:
        mask = files.read_mask(path, labels=[1], expected_shape=grid.shape)
        warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
        return mask.voxels
    foreground = staple(patterns).foreground
    codes = flat(patterns.codes)
    if foreground[0]:  # STAPLE may call foreground what no rater marked
        return np.flatnonzero(foreground[codes])
    return np.asarray(patterns.voxels[foreground[codes[patterns.voxels]]])


def _structures(
    protocol: Protocol, folder: Path, grid: Grid, warnings: list[str]
) -> dict[str, Structure | None]:
    form = protocol.reference.structures
    if form is None:
        return {}
    path = files.find(folder, form.file)
    found = files.read_mask(path, labels=form.labels.values(), expected_shape=grid.shape)
    warnings.extend(grid_warnings(protocol, grid, found.grid, path.name))
    structures: dict[str, Structure | None] = dict.fromkeys(form.labels)
    for name, label in form.labels.items():
        tight = bounding_box(found.where(label), grid.shape)
        if tight is not None:
            box = grow(tight, REACH, grid.shape)
            structures[name] = Structure(found.crop(label, box), box, grid.spacing_mm)
    return structures


# ---- prediction ----------------------------------------------------------------------------


def prediction_files(protocol: Protocol, method_folder: Path, case: str) -> tuple[Path, Path]:
    """The mask and the probability map of a case, in either layout."""
    folder = method_folder / case
    if folder.is_dir():
        form = protocol.prediction
        return files.find(folder, form.mask), files.find(folder, form.probability)
    try:
        mask = files.find(method_folder, case)
    except MissingInputError:
        raise MissingInputError(
            "no prediction", f"Expected {method_folder.name}/{case}/ with a mask and a map"
        ) from None
    probability = method_folder / f"{case}.npz"
    if not probability.is_file():
        raise MissingInputError(f"{probability.name} is missing")
    return mask, probability


def load_prediction(
    protocol: Protocol, method_folder: Path, case: str, grid: Grid
) -> PredictedCase:
    """Read a method's prediction of a case and compare its grid with the reference's."""
    mask_path, probability_path = prediction_files(protocol, method_folder, case)
    mask = files.read_mask(mask_path, labels=[1], expected_shape=grid.shape)
    warnings = grid_warnings(protocol, grid, mask.grid, mask_path.name)
    probability = read_probability_map(probability_path, grid)
    warnings += grid_warnings(protocol, grid, probability.grid, probability_path.name)
    return PredictedCase(mask.voxels, probability, tuple(warnings))


def read_probability_map(path: Path, grid: Grid) -> Volume:
    """A probability map in either layout; nnU-Net's archive has no grid of its own."""
    if path.suffix == ".npz":
        return files.read_nnunet_probability(path, channel=1, grid=grid)
    return files.read_probability(path, expected_shape=grid.shape)


def grid_warnings(protocol: Protocol, grid: Grid, other: Grid, name: str) -> list[str]:
    """Warnings for differences the protocol tolerates; the others are errors."""
    warnings = []
    rules = protocol.grid
    for difference in grid_differences(grid, other, tolerance_mm=rules.tolerance_mm):
        severity = getattr(rules, difference.property)
        if severity == "error":
            raise InputError(f"{name} {difference.message}", "Resample it to the reference grid")
        if severity == "warn":
            warnings.append(f"{name} {difference.message}")
    return warnings


def reference_inputs(protocol: Protocol, folder: Path) -> list[Path]:
    """The files that a case's reference is read from, those that there are."""
    form = protocol.reference
    stems = [*form.rater_stems, form.consensus, form.structures.file if form.structures else None]
    return [path for stem in stems if stem for path in files.candidates(folder, stem)]


def prediction_inputs(protocol: Protocol, method_folder: Path, case: str) -> list[Path]:
    """The files that a prediction is read from in either layout, those that there are."""
    form = protocol.prediction
    found = [
        path
        for folder, stem in (
            (method_folder / case, form.mask),
            (method_folder / case, form.probability),
            (method_folder, case),
        )
        for path in files.candidates(folder, stem)
    ]
    archive = method_folder / f"{case}.npz"
    return [*found, archive] if archive.is_file() else found


def digest(paths: Iterable[Path]) -> str:
    """Fingerprint of files by name and content; a missing one counts as such."""
    total = hashlib.blake2b(digest_size=16)
    for path in paths:
        total.update(path.name.encode(errors="surrogateescape") + b"\0")
        try:
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "blake2b").digest())
        except OSError:
            total.update(b"missing")
    return total.hexdigest()
