"""Problems of one case's reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, bounding_box
from segjury.benchmark.check.companions import check_consensus, check_image, check_structures
from segjury.benchmark.check.masks import absent_names, mask_digest, read_mask
from segjury.benchmark.check.problem import Problem, failed, warning
from segjury.benchmark.layout import CaseFiles, Place
from segjury.benchmark.loading import numbered
from segjury.consensus import MAX_PATTERNS, RaterPatterns, pack_marks
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.labels import Classes, LabelMap
from segjury.protocols import Protocol
from segjury.protocols.reference import Reference

LEAST_SPACING_MM, MOST_SPACING_MM = 0.01, 50.0
MOST_ANISOTROPY = 20.0
LEAST_CONSENSUS_DSC = 0.95


@dataclass(frozen=True)
class ReferenceFacts:
    """What cases are compared in with each other."""

    digest: str = ""  # of all raters' masks; empty where some are missing or mark nothing
    volumes_cm3: Mapping[str, float] | None = None  # median over the raters, by label
    at_border: Mapping[str, tuple[str, ...]] | None = None  # sides of the image, by rater
    has_image: bool = False
    has_consensus: bool = False


@dataclass(frozen=True)
class CheckedReference:
    """The problems of a reference, and what predictions are compared with."""

    problems: list[Problem]
    facts: ReferenceFacts
    grid: Grid | None = None
    patterns: RaterPatterns | None = None  # None unless every rater can be read
    raters: Mapping[str, str] = field(default_factory=dict)  # by the digest of their marks
    left_out: bool = False  # whether the case is scored for no method


def check_reference(protocol: Protocol, root: Path, case: str) -> CheckedReference:
    """Look at every file of a case's reference."""
    spec, files = protocol.reference, CaseFiles.of(protocol, root, case)
    if files.left_out and files.there:
        problem = warning(
            "too-few-raters", f"left out: {files.left_out}", "Add masks, or lower `min_raters`"
        )
        return CheckedReference([problem], ReferenceFacts(), left_out=True)
    if not files.there:
        return CheckedReference([_without_files(files.first)], ReferenceFacts())
    problems: list[Problem] = []
    masks: dict[str, LabelMap] = {}
    grid: Grid | None = None
    raters = files.present()
    for place in raters.values():
        mask = read_mask(protocol, place, spec.allowed_labels, grid, problems)
        if mask is not None:
            name = files.name_of(place)
            masks[name] = mask
            problems += _odd_spacing(mask.grid, name) if grid is None else []
            grid = grid or mask.grid
    for place in files.repeats.values():
        if place.candidates:
            read_mask(protocol, place, spec.allowed_labels, grid, problems)
    problems += [p for stem, mask in masks.items() for p in _absent(stem, mask, spec.numbers)]
    problems += _copied_raters(masks)
    complete = len(masks) == len(raters)
    patterns = _packed(protocol, masks) if complete else None
    consensus, image, structures = files.consensus, files.image, files.structures
    has_consensus = bool(consensus and consensus.candidates)
    if consensus and has_consensus:
        problems += check_consensus(protocol, consensus, grid, patterns)
    if structures is not None:
        problems += check_structures(protocol, structures, grid)
    has_image = bool(image and image.candidates)
    if image and has_image:
        problems += check_image(protocol, image, grid)
    facts = ReferenceFacts(
        digest=_digest_of_all(masks) if complete else "",
        volumes_cm3=_volumes_cm3(spec.numbers, masks),
        at_border={
            stem: sides
            for stem, mask in masks.items()
            if (sides := _sides(numbered(mask, spec).voxels, mask.grid.shape))
        },
        has_image=has_image,
        has_consensus=has_consensus,
    )
    return CheckedReference(problems, facts, grid, patterns, _by_marks(spec, masks))


def _without_files(first: Place) -> Problem:
    try:
        first.find()
    except InputError as error:
        hint = "The folder has no file of the protocol: fill it, or move it away"
        empty = InputError(error.what, error.fix, kind="empty-case", hint=hint)
        return failed(empty, first.usual_name)
    raise AssertionError("a folder without files has a first rater")


def _odd_spacing(grid: Grid, stem: str) -> list[Problem]:
    spacing = np.array(grid.spacing_mm)
    usual = (spacing >= LEAST_SPACING_MM) & (spacing <= MOST_SPACING_MM)
    if usual.all() and spacing.max() <= MOST_ANISOTROPY * spacing.min():
        return []
    shown = " x ".join(f"{length:g}" for length in grid.spacing_mm)
    fix = "Check the header, which should be in mm"
    return [warning("odd-spacing", f"{stem} has voxels of {shown} mm", fix, file=stem)]


def _absent(stem: str, mask: LabelMap, labels: Mapping[str, Collection[int]]) -> list[Problem]:
    absent = absent_names(mask, labels)
    if len(absent) == len(labels):
        return [warning("empty-rater", f"{stem} marks nothing", file=stem)]
    if absent:
        return [warning("absent-label", f"{stem} has no {', '.join(absent)}", file=stem)]
    return []


def _copied_raters(masks: Mapping[str, LabelMap]) -> list[Problem]:
    first: dict[str, str] = {}
    problems = []
    for stem, mask in masks.items():
        if mask.voxels.size:
            same = first.setdefault(mask_digest(mask.voxels, mask.labels), stem)
            if same != stem:
                message = f"{stem} marks the same voxels as {same}"
                fix = "Check whether a file was copied"
                problems.append(warning("copied-rater", message, fix, file=stem))
    return problems


def _by_marks(spec: Reference, masks: Mapping[str, LabelMap]) -> dict[str, str]:
    """The first rater with each set of marks of the scored labels, by its digest."""
    first: dict[str, str] = {}
    for stem, mask in masks.items():
        marks = numbered(mask, spec)
        if marks.voxels.size:
            first.setdefault(mask_digest(marks.voxels, marks.labels), stem)
    return first


def _digest_of_all(masks: Mapping[str, LabelMap]) -> str:
    if not all(mask.voxels.size for mask in masks.values()):
        return ""
    return ";".join(mask_digest(mask.voxels, mask.labels) for mask in masks.values())


def _volumes_cm3(
    labels: Mapping[str, Collection[int]], masks: Mapping[str, LabelMap]
) -> dict[str, float]:
    """The median of the raters' volumes of each label, of those who mark it."""
    volumes = {}
    for name, numbers in labels.items():
        sizes = [
            float(np.isin(mask.labels, list(numbers)).sum()) * mask.grid.voxel_volume_mm3 / 1000
            for mask in masks.values()
        ]
        marked = [size for size in sizes if size > 0]
        if marked:
            volumes[name] = float(np.median(marked))
    return volumes


def _sides(voxels: NDArray[np.int64], shape: Shape) -> tuple[str, ...]:
    """The sides of the image that voxels reach; a flat image has none across."""
    box = bounding_box(voxels, shape)
    if box is None:
        return ()
    sides = []
    for axis, side, size in zip("xyz", box, shape, strict=True):
        if size > 2:
            sides += [f"first {axis}"] * (side.start == 0) + [f"last {axis}"] * (side.stop == size)
    return tuple(sides)


def _packed(protocol: Protocol, masks: Mapping[str, LabelMap]) -> RaterPatterns | None:
    spec, classes = protocol.reference, Classes(protocol.reference.classes)
    if not masks or (len(classes.sets) + 1) ** len(masks) > MAX_PATTERNS:
        return None
    marks = [numbered(mask, spec) for mask in masks.values()]
    shape = next(iter(masks.values())).grid.shape
    packed = pack_marks(marks, shape, n_raters=len(marks), n_labels=len(classes.sets) + 1)
    return replace(packed, classes=None if classes.is_plain else classes)
