"""What the rules say of one case: its files are read once, and every rule looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from segjury import images
from segjury.arrays import Ints, bounding_box
from segjury.benchmark.curate.rules import (
    Agreement,
    AnyRule,
    CorruptGeometry,
    EmptyRater,
    MissingFile,
    MissingStructure,
    TouchesBorder,
    VolumeLimits,
)
from segjury.benchmark.layout import CaseFiles, Place
from segjury.benchmark.loading import read_mask
from segjury.consensus import pack_marks
from segjury.errors import InputError, MissingInputError
from segjury.images.grid import Grid, grid_differences
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.orientation import grid_in_order
from segjury.metrics.overlap import mean_pairwise_dsc
from segjury.protocols import Protocol
from segjury.rounding import rounded

MISSING, UNREADABLE, SHAPE = "missing-file", "unreadable-file", "corrupt-geometry"
Number = float | int | None


@dataclass(frozen=True)
class Exclusion:
    """One reason to leave a case out."""

    case: str
    rule: str
    reason: str
    file: str = ""
    measured: Number = None
    limit: Number = None


@dataclass(frozen=True)
class CuratedCase:
    """The masks of a case that can be read, and what is wrong with the others."""

    protocol: Protocol
    files: CaseFiles
    raters: dict[str, LabelMap] = field(default_factory=dict)  # by file name
    structures: dict[str, LabelMap] = field(default_factory=dict)  # one, if there is one
    consensus: dict[str, LabelMap] = field(default_factory=dict)  # likewise
    faults: list[Exclusion] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.files.case

    @property
    def grid(self) -> Grid:
        """That of the first rater who can be read."""
        return next(iter(self.raters.values())).grid

    def voxels(self, mask: LabelMap, labels: tuple[str, ...]) -> Ints:
        """The voxels of some labels, of all where none are named."""
        known = self.protocol.reference.numbers
        numbers = [number for name in labels or known for number in known[name]]
        return np.asarray(mask.voxels[np.isin(mask.labels, numbers)])

    def volumes_cm3(self, labels: tuple[str, ...] = ()) -> dict[str, float]:
        """Each rater's volume of some labels together."""
        return {
            name: self.voxels(mask, labels).size * mask.grid.voxel_volume_mm3 / 1000
            for name, mask in self.raters.items()
        }


@dataclass(frozen=True)
class CurateTask:
    """One case to look at."""

    protocol: Protocol
    reference: Path
    case: str
    rules: tuple[AnyRule, ...]


@dataclass(frozen=True)
class Inspected:
    """Why a case is left out, if it is, and what a table of cases says of it."""

    exclusions: tuple[Exclusion, ...]
    facts: dict[str, Any]


def inspect_case(task: CurateTask) -> Inspected:
    """Read a case and ask every rule; a file that cannot be read is a reason like any other."""
    case = _read(task)
    found: list[Exclusion] = []
    if case.raters:
        for rule in task.rules:
            found += CHECKS[type(rule)](rule, case)
    volumes = list(case.volumes_cm3().values())
    facts = {
        "raters_who_mark": sum(volume > 0 for volume in volumes),
        "volume_cm3": float(np.mean(volumes)) if volumes else float("nan"),
    }
    return Inspected((*case.faults, *found), facts)


def _read(task: CurateTask) -> CuratedCase:
    """The files that scoring needs; a ready consensus only where there is one."""
    spec = task.protocol.reference
    case = CuratedCase(task.protocol, CaseFiles.of(task.protocol, task.reference, task.case))
    if case.files.left_out:
        case.faults.append(Exclusion(case.name, MISSING, case.files.left_out))
    for place in case.files.present().values():
        _add_mask(case, case.raters, place, spec.allowed_labels)
    if spec.structures is not None and case.files.structures:
        known = list(spec.structures.labels.values())
        _add_mask(case, case.structures, case.files.structures, known)
    if case.files.consensus and case.files.consensus.candidates:
        _add_mask(case, case.consensus, case.files.consensus, spec.allowed_labels)
    return case


def _add_mask(case: CuratedCase, to: dict[str, LabelMap], place: Place, labels: list[int]) -> None:
    """Read a mask by its file's name; a fault where it is missing, unreadable or of another shape.

    The shape to have is that of the first rater who can be read.
    """
    name = case.files.name_of(place)
    try:
        path = place.find()
        name += path.name.removeprefix(place.stem)
        grid = case.grid if case.raters else None
        to[name] = read_mask(case.protocol, path, labels, grid)
    except InputError as error:
        rule, reason = _rule_of(error), str(error)
        what, apart, expected = error.what.partition(", the reference has ")
        if error.kind == "other-shape" and apart:
            rule, reason = SHAPE, f"{what}, the first rater's file {expected}"
        case.faults.append(Exclusion(case.name, rule, reason, name))


def _rule_of(error: InputError) -> str:
    """The rule by which a file that cannot be used leaves its case out."""
    if isinstance(error, MissingInputError):
        return MISSING
    return SHAPE if error.kind == "sheared-axes" else UNREADABLE


# ---- one function per rule -----------------------------------------------------------------


def _empty_rater(rule: EmptyRater, case: CuratedCase) -> Iterator[Exclusion]:
    n_raters = len(case.files.present())
    needed = rule.at_least or n_raters
    empty = [n for n, mask in case.raters.items() if not case.voxels(mask, rule.labels).size]
    if len(empty) > n_raters - needed:
        what = ", ".join(rule.labels or case.protocol.label_names)
        marking = len(case.raters) - len(empty)
        yield Exclusion(
            case.name,
            rule.kind,
            f"{len(empty)} of {n_raters} raters mark no {what}",
            ";".join(empty),
            marking,
            needed,
        )


def _touches_border(rule: TouchesBorder, case: CuratedCase) -> Iterator[Exclusion]:
    faces: frozenset[str] = frozenset(rule.faces)
    touching = {}
    for name, mask in case.raters.items():
        free = _free_layers(case.voxels(mask, rule.labels), mask.grid)
        near = {f: n for f, n in free.items() if f in faces and n < rule.margin_voxels}
        if near:
            touching[name] = near
    if rule.raters == "all" and len(touching) < len(case.raters):
        return
    for name, near in touching.items():
        reason = f"the mask comes to {', '.join(near)}"
        measured = min(near.values())
        yield Exclusion(case.name, rule.kind, reason, name, measured, rule.margin_voxels)


def _free_layers(voxels: Ints, grid: Grid) -> dict[str, int]:
    """Layers of voxels between a mask and each face; none for axes of one voxel, all border."""
    box = bounding_box(voxels, grid.shape)
    free: dict[str, int] = {}
    for axis, side, size in zip("xyz", box or (), grid.shape, strict=False):
        if size > 1:
            free |= {f"{axis}-low": side.start, f"{axis}-high": size - side.stop}
    return free


def _corrupt_geometry(rule: CorruptGeometry, case: CuratedCase) -> Iterator[Exclusion]:
    masks = case.raters | case.structures | case.consensus
    grids = {name: mask.grid for name, mask in masks.items()}
    image = case.files.image
    for path in image.candidates if image else ():
        try:
            grids[path.name] = grid_in_order(images.read_grid(path), case.grid, case.protocol.grid)
        except InputError as error:
            yield Exclusion(case.name, _rule_of(error), str(error), path.name)
    for name, grid in grids.items():
        for reason in _differences(rule, case, grid):
            yield Exclusion(case.name, rule.kind, f"{name} {reason}", name)
        yield from _unsound(rule, case.name, name, grid)


def _differences(rule: CorruptGeometry, case: CuratedCase, grid: Grid) -> list[str]:
    """In what a grid is not that of the first rater."""
    try:
        found = grid_differences(
            case.grid,
            grid,
            tolerance_mm=rule.tolerance_mm or case.protocol.grid.tolerance_mm,
            tolerance_direction=rule.tolerance_direction,
        )
    except InputError as error:  # the image has another shape
        return [error.what]
    return [difference.message for difference in found if difference.property in rule.properties]


def _unsound(rule: CorruptGeometry, case: str, name: str, grid: Grid) -> Iterator[Exclusion]:
    """Faults of one grid alone: skewed axes, a spacing that no scanner has."""
    axes = np.array(grid.direction)
    skew = float(np.abs(axes.T @ axes - np.eye(3)).max())
    if not skew <= rule.tolerance_direction:
        reason = f"{name} has axes that are not at right angles"
        yield Exclusion(case, rule.kind, reason, name, skew, rule.tolerance_direction)
    low, high = min(grid.spacing_mm), max(grid.spacing_mm)
    for spacing, limit, wrong, word in (
        (low, rule.min_spacing_mm, low < rule.min_spacing_mm, "below"),
        (high, rule.max_spacing_mm, high > rule.max_spacing_mm, "above"),
    ):
        if wrong:
            reason = f"{name} has a spacing of {spacing:g} mm, {word} {limit:g}"
            yield Exclusion(case, rule.kind, reason, name, spacing, limit)


def _volume(rule: VolumeLimits, case: CuratedCase) -> Iterator[Exclusion]:
    volumes = case.volumes_cm3(rule.labels)
    if rule.of == "mean":
        volumes = {"": float(np.mean(list(volumes.values())))}
    whose = "mean volume" if rule.of == "mean" else "volume"
    for limit, sign, word in ((rule.min_cm3, 1, "below"), (rule.max_cm3, -1, "above")):
        if limit is None:
            continue
        wrong = {name: v for name, v in volumes.items() if sign * _same(v) < sign * limit}
        if rule.of == "all" and len(wrong) < len(volumes):
            continue
        for name, volume in wrong.items():
            reason = f"the {whose} is {volume:.4g} cm3, {word} {limit:g}"
            yield Exclusion(case.name, rule.kind, reason, name, volume, limit)


def _agreement(rule: Agreement, case: CuratedCase) -> Iterator[Exclusion]:
    masks = list(case.raters.values())
    if len(masks) < 2:
        return
    of_labels = []
    for label in rule.labels or case.protocol.label_names:
        drawn = (case.voxels(mask, (label,)) for mask in masks)
        marks = (SparseLabels((voxels, np.ones(voxels.size, np.uint8))) for voxels in drawn)
        patterns = pack_marks(marks, case.grid.shape, n_raters=len(masks))
        of_labels.append(mean_pairwise_dsc(patterns.counts, patterns.marked()))
    dsc, limit = float(np.mean(of_labels)), rule.min_mean_pairwise_dsc
    if _same(dsc) < limit:
        reason = f"the mean pairwise DSC of the raters is {dsc:.4g}, below {limit:g}"
        yield Exclusion(case.name, rule.kind, reason, "", dsc, limit)


def _missing_structure(rule: MissingStructure, case: CuratedCase) -> Iterator[Exclusion]:
    spec = case.protocol.reference.structures
    assert spec is not None  # noqa: S101 - a rule that does not fit the protocol is refused
    for name, mask in case.structures.items():  # a file that is not there is a fault already
        for structure in rule.structures or spec.labels:
            size = int(mask.where(spec.labels[structure]).size)
            if size < rule.min_voxels:
                reason = f"{structure} has {size} voxels, fewer than {rule.min_voxels}"
                yield Exclusion(case.name, rule.kind, reason, name, size, rule.min_voxels)


def _missing_file(rule: MissingFile, case: CuratedCase) -> Iterator[Exclusion]:
    for pattern in rule.files:
        place = Place.of(pattern, case.files.root, case.name)
        if not place.candidates:
            yield Exclusion(case.name, rule.kind, f"there is no file {place.stem}", place.stem)


def _same(value: float) -> float:
    """Without the last digits, which depend on the order of sums."""
    return float(rounded(np.array(value)))


CHECKS: dict[type[Any], Callable[[Any, CuratedCase], Iterator[Exclusion]]] = {
    EmptyRater: _empty_rater,
    TouchesBorder: _touches_border,
    CorruptGeometry: _corrupt_geometry,
    VolumeLimits: _volume,
    Agreement: _agreement,
    MissingStructure: _missing_structure,
    MissingFile: _missing_file,
}
