"""Read the files of a case: what its raters drew, and what a method predicts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from segjury import images
from segjury.arrays import Ints, Shape, bounding_box, flat
from segjury.benchmark.case import PredictedCase, ReferenceCase, SecondRead, Structure
from segjury.benchmark.folders import (
    PredictionFiles,
    file_stats,
    prediction_files,
    prediction_inputs,
)
from segjury.benchmark.layout import CaseFiles
from segjury.benchmark.orientation import lost_header
from segjury.consensus import MAX_PATTERNS, RaterPatterns, pack_marks
from segjury.errors import InputError, MissingInputError
from segjury.images.grid import Grid, doubts_of, tolerated_differences
from segjury.images.labels import Classes, LabelMap, SparseLabels
from segjury.images.mean_map import mean_map, most_frequent
from segjury.images.volume import Volume
from segjury.metrics.invasion import REACH
from segjury.protocols import Protocol
from segjury.protocols.patterns import is_named_as, lies_in_case_folder
from segjury.protocols.reference import Reference
from segjury.runtime import prefetch

READ_AHEAD_BYTES = 2 << 30  # for the predictions of a case that are in memory together
MOST_AHEAD = 2
WELL_COMPRESSED = 16
MOST_SETS = 255  # of labels, as many as a byte can number

# ---- reference -----------------------------------------------------------------------------


def load_reference(protocol: Protocol, root: Path, case: str) -> ReferenceCase:
    """Read and prepare a case's reference, from the folder of all cases."""
    spec, files = protocol.reference, CaseFiles.of(protocol, root, case)
    if lies_in_case_folder(spec.raters) and not (root / case).is_dir():
        raise MissingInputError("the case has no reference folder")
    if files.left_out:
        raise MissingInputError(files.left_out, kind="too-few-raters")
    raters, classes = files.present(), Classes(spec.classes)
    n_labels = len(classes.sets) + 1
    if n_labels ** len(raters) > MAX_PATTERNS:
        what = f"{len(raters)} raters with so many labels ({len(spec.labels)}) are too many"
        raise InputError(what, "Leave some out of `reference.rater_names`")
    first_path, *paths = (place.find() for place in raters.values())
    first = read_mask(protocol, first_path, spec.allowed_labels, None)
    grid = first.grid
    warnings = grid_warnings(protocol, grid, grid, first_path.name)
    ignoring = _Ignored(spec)

    def read(path: Path) -> LabelMap:
        return read_mask(protocol, path, spec.allowed_labels, grid)

    def marks() -> Iterator[SparseLabels]:
        ignoring.add(first)
        yield numbered(first, spec)
        for path, loaded in zip(paths, prefetch(read, paths, depth=2), strict=True):
            mask = loaded.result()
            warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
            ignoring.add(mask)
            yield numbered(mask, spec)

    patterns = pack_marks(marks(), grid.shape, n_raters=len(raters), n_labels=n_labels)
    ignored = ignoring.voxels
    patterns = with_weights(spec, raters, without_ignored(patterns, ignored))
    overlapping = None if classes.is_plain else classes
    return ReferenceCase(
        grid,
        replace(patterns, classes=overlapping),
        tuple(spec.labels),
        _structures(protocol, files, grid, warnings),
        _given_consensus(protocol, files, grid, ignored, warnings),
        tuple(warnings),
        raters=tuple(raters),
        panel=() if spec.anonymous else spec.panel,
        repeats=_second_reads(protocol, files, grid, ignored, warnings),
        ignored=ignored,
    )


@dataclass
class _Ignored:
    """The voxels that any rater leaves out of the scoring."""

    spec: Reference
    _parts: list[Ints] = field(default_factory=list)

    def add(self, mask: LabelMap) -> None:
        """Take those of a rater's mask."""
        if self.spec.ignore is not None:
            self._parts.append(mask.where(self.spec.ignore))

    @property
    def voxels(self) -> Ints:
        """Their flat indices, ascending."""
        return np.unique(np.concatenate(self._parts)) if self._parts else np.zeros(0, np.int64)


def without_ignored(patterns: RaterPatterns, ignored: Ints) -> RaterPatterns:
    """The patterns with some voxels marked by nobody and not counted."""
    flat(patterns.codes)[ignored] = 0
    return replace(patterns, ignored=ignored.size)


def with_weights(spec: Reference, raters: Iterable[str], patterns: RaterPatterns) -> RaterPatterns:
    """The patterns of raters who do not all count alike."""
    weights = tuple(spec.rater_weights.get(name, 1.0) for name in raters)
    return replace(patterns, weights=weights if len(set(weights)) > 1 else ())


def numbered(
    mask: LabelMap, spec: Reference, classes: list[frozenset[int]] | None = None
) -> SparseLabels:
    """Voxels of the scored labels, and of these the classes of the protocol.

    Where labels do not overlap, these are 1, 2, ... in the order of the labels. The sets of labels
    that a file with channels holds are added to `classes` where they are not in it, as far as a
    byte can number them.
    """
    table = np.zeros(256, np.uint8)  # no number in a file is larger
    if mask.members is None:
        for number, value in spec.class_of_number.items():
            table[number] = value
    else:
        known = list(spec.classes) if classes is None else classes
        for number, labels in enumerate(mask.members):
            if labels and labels not in known:
                if len(known) == MOST_SETS:
                    what = f"the labels overlap in more than {MOST_SETS} different ways"
                    raise InputError(what, "Store fewer labels", kind="overlapping-labels")
                known.append(labels)
            table[number] = known.index(labels) + 1 if labels else 0
    return mask.marks.relabelled(lambda labels: table[labels])


def without_voxels(marks: SparseLabels, voxels: Ints, shape: Shape) -> SparseLabels:
    """The marks but for some voxels."""
    if not voxels.size:
        return marks
    image = np.array(marks.painted(math.prod(shape)))
    image[voxels] = 0
    return SparseLabels.of(image)


def _given_consensus(
    protocol: Protocol, files: CaseFiles, grid: Grid, ignored: Ints, warnings: list[str]
) -> RaterPatterns | None:
    """The consensus that the case brings along, if it does."""
    spec, place = protocol.reference, files.consensus
    if place is None or not place.candidates:
        return None
    path = place.find()
    labels = [*spec.scored_numbers, *([spec.ignore] if spec.ignore else [])]
    mask = read_mask(protocol, path, labels, grid)
    warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
    classes = Classes(spec.classes)
    packed = pack_marks(
        [numbered(mask, spec)], grid.shape, n_raters=1, n_labels=len(classes.sets) + 1
    )
    overlapping = None if classes.is_plain else classes
    return replace(without_ignored(packed, ignored), classes=overlapping)


def _second_reads(
    protocol: Protocol, files: CaseFiles, grid: Grid, ignored: Ints, warnings: list[str]
) -> tuple[SecondRead, ...]:
    """What raters of the case marked when they read it again."""
    spec, reads = protocol.reference, []
    present = files.present()
    for name, place in files.repeats.items():
        rater = spec.repeats[name]
        if rater in present and place.candidates:
            path = place.find()
            mask = read_mask(protocol, path, spec.allowed_labels, grid)
            warnings.extend(grid_warnings(protocol, grid, mask.grid, path.name))
            marks = without_voxels(numbered(mask, spec), ignored, grid.shape)
            reads.append(SecondRead(rater, name, marks))
    return tuple(reads)


def _structures(
    protocol: Protocol, files: CaseFiles, grid: Grid, warnings: list[str]
) -> dict[str, Structure | None]:
    spec, place = protocol.reference.structures, files.structures
    if spec is None or place is None:
        return {}
    path = place.find()
    found = images.read_mask(
        path, labels=spec.labels.values(), grid=grid, tolerance=protocol.grid, overlap=False
    )
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
    protocol: Protocol,
    method_folder: Path,
    case: str,
    grid: Grid,
    *,
    ignored: Ints | None = None,
    follow_links: bool = False,
) -> PredictedCase:
    """Read a method's prediction of a case and compare its grid with the reference's.

    See `prediction_files` for `follow_links`. The policy says whether a mask without its
    probability maps is a prediction. In the `ignored` voxels there is nothing.
    """
    spec, sets = protocol.reference, list(protocol.reference.classes)
    found = prediction_files(protocol, method_folder, case, follow_links=follow_links)
    samples, no_samples, warnings = _samples(protocol, found, grid, ignored, sets)
    missing = {} if samples else found.no_maps
    if missing and protocol.policy.missing_map == "missing":
        raise next(iter(missing.values()))
    no_header = False
    if found.mask:
        mask = read_predicted_mask(protocol, found.mask, grid)
        no_header = lost_header(mask.grid, grid)
        warnings += grid_warnings(protocol, grid, mask.grid, found.mask.name)
        marks = _counted(numbered(mask, spec, sets), ignored, grid)
        del mask  # so that it does not lie beside the maps
    else:
        marks = most_frequent(samples, math.prod(grid.shape), len(sets) + 1)
    classes = Classes(tuple(sets))
    maps: list[Volume | None] = []
    for label, name in enumerate(protocol.probability_stems, 1):
        path = found.probabilities.get(name)
        if path is None:
            maps.append(mean_map(samples, grid, classes.holding(label)) if samples else None)
            continue
        volume = read_probability_map(protocol, path, name, grid)
        warnings += grid_warnings(protocol, grid, volume.grid, path.name)
        maps.append(_zero(volume, ignored))
    order = {name: label for label, name in enumerate(spec.labels, 1)}
    return PredictedCase(
        marks,
        tuple(maps),
        tuple(warnings),
        {order[name]: str(error) for name, error in missing.items()},
        samples,
        no_samples if protocol.needs_samples else "",
        None if classes.is_plain else classes,
        no_header,
    )


def _samples(
    protocol: Protocol,
    found: PredictionFiles,
    grid: Grid,
    ignored: Ints | None,
    classes: list[frozenset[int]],
) -> tuple[tuple[SparseLabels, ...], str, list[str]]:
    """The samples of a prediction, or why there are none, and warnings.

    Where the mask is there, a sample that cannot be used costs the samples alone.
    """
    wanted = protocol.needs_samples or found.no_maps
    if found.no_samples or not wanted:
        return (), str(found.no_samples or ""), []
    read, warnings, before = [], list[str](), len(classes)
    try:
        for path in found.samples:
            mask = read_predicted_mask(protocol, path, grid)
            warnings += grid_warnings(protocol, grid, mask.grid, path.name)
            read.append(_counted(numbered(mask, protocol.reference, classes), ignored, grid))
    except InputError as error:
        if found.mask is None:
            raise
        del classes[before:]  # so that the mask may have as many of its own
        return (), str(error), []
    return tuple(read), "", list(dict.fromkeys(warnings))


def _counted(marks: SparseLabels, ignored: Ints | None, grid: Grid) -> SparseLabels:
    """The marks in voxels that are scored."""
    return marks if ignored is None else without_voxels(marks, ignored, grid.shape)


def _zero(volume: Volume, voxels: Ints | None) -> Volume:
    """The map with 0 in some voxels."""
    if voxels is None or not voxels.size:
        return volume
    array = np.array(volume.array, order="F")
    flat(array)[voxels] = 0
    return replace(volume, array=array)


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
    """A predicted mask with the labels of the protocol; a file with channels keeps its members."""
    return _read_any(protocol, path, protocol.reference.scored_numbers, grid)


def read_mask(
    protocol: Protocol, path: Path, labels: Collection[int], grid: Grid | None
) -> LabelMap:
    """A mask with some of the numbers of the protocol, also if it has a channel for each label."""
    mask, spec = _read_any(protocol, path, labels, grid), protocol.reference
    if mask.members is None:
        return mask
    number_of = {spec.classes[value - 1]: n for n, value in reversed(spec.class_of_number.items())}
    table = np.zeros(256, np.uint8)
    for value, held in enumerate(mask.members):
        if held and held not in number_of and mask.marks.where(value).size:
            names = " and ".join(list(spec.labels)[label - 1] for label in sorted(held))
            raise InputError(
                f"{path.name} has voxels in {names} alone, which no number of the protocol means",
                "Let its channels lie within each other as in `reference.labels`",
                kind="overlapping-labels",
            )
        table[value] = number_of.get(held, 0)
    return LabelMap(mask.marks.relabelled(lambda values: table[values]), mask.grid)


def _read_any(
    protocol: Protocol, path: Path, labels: Collection[int], grid: Grid | None
) -> LabelMap:
    """A mask; where labels are regions, its members are these in the order of the protocol.

    Segments go by their names where these are labels.
    """
    spec = protocol.reference
    order = {name: position for position, name in enumerate(spec.labels, 1)}
    if not spec.has_regions:
        names = {name: held[0] for name, held in spec.numbers.items()}
        return images.read_mask(
            path, labels=labels, grid=grid, tolerance=protocol.grid, names=names, overlap=False
        )
    either = {*labels, *order.values()}
    mask = images.read_mask(path, labels=either, grid=grid, tolerance=protocol.grid, names=order)
    stray = mask.present - {0, *(labels if mask.members is None else order.values())}
    if stray:
        expected = ", ".join(map(str, sorted(labels)))
        found = ", ".join(map(str, sorted(stray)))
        what = f"{path.name} has unknown labels {found}, expected 0, {expected}"
        raise InputError(what, "Store the mask with the protocol's labels", kind="unknown-label")
    return mask


def read_probability_map(protocol: Protocol, path: Path, name: str, grid: Grid) -> Volume:
    """A label's probability map in any layout; nnU-Net's archive has no grid of its own.

    It has a channel per number, the background first, or one per label where these are regions. A
    file for all labels has a channel for each, in the order of the protocol.
    """
    spec = protocol.reference
    position = list(spec.labels).index(name)
    if path.suffix == ".npz":
        channel = position if spec.has_regions else spec.numbers[name][0]
        return images.read_nnunet_probability(path, channel=channel, grid=grid)
    shared = not is_named_as(protocol.probability_stems[name], path)
    return images.read_probability(
        path, channel=position + 1 if shared else None, grid=grid, tolerance=protocol.grid
    )


# ---- grids ---------------------------------------------------------------------------------


def grid_warnings(protocol: Protocol, grid: Grid, other: Grid, name: str) -> list[str]:
    """Warnings for doubts of a grid, and for differences that are tolerated; others are errors."""
    tolerated = tolerated_differences(protocol.grid, grid, other, name)
    return [*doubts_of(other, name), *(each.message for each in tolerated)]
