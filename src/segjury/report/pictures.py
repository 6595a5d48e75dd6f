"""Pictures of cases: finds and reads their images, and says which cases a report shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Ints, bounding_box, coordinates
from segjury.benchmark.case import ReferenceCase
from segjury.benchmark.folders import PredictionFiles, prediction_files
from segjury.benchmark.layout import CaseFiles
from segjury.benchmark.loading import (
    grid_warnings,
    load_prediction,
    load_reference,
    numbered,
    read_predicted_mask,
    read_probability_map,
    without_voxels,
)
from segjury.benchmark.names import place_in
from segjury.errors import InputError
from segjury.images import is_picture, read_volume
from segjury.images.grid import Grid, Tolerance
from segjury.images.labels import LabelMap
from segjury.metrics.overlap import THRESHOLDS
from segjury.protocols import Protocol
from segjury.report.figures.cases.highlights import Role, TellingCase
from segjury.report.figures.illustration import Illustration, Picture
from segjury.report.figures.pictures.agreement import AGREEMENT
from segjury.report.figures.pictures.contact import CONTACT
from segjury.report.figures.pictures.mip import MIP
from segjury.report.figures.pictures.probability_maps import PROBABILITY_MAPS, most_disputed_label
from segjury.report.figures.pictures.shared.images import CaseImages, Labels
from segjury.report.figures.pictures.slices import SLICES

PICTURES: dict[str, Picture] = {
    picture.name: picture for picture in (SLICES, PROBABILITY_MAPS, AGREEMENT, MIP, CONTACT)
}

MOST_TILES = 6  # methods shown in a picture of a report: the first of the leaderboard
MARGIN_MM = 40.0  # image kept around what is drawn


def _always(_images: CaseImages) -> bool:
    return True


def _one_rater(images: CaseImages) -> bool:
    return not images.several_raters


# Which pictures a report shows of which case, and on what condition.
SHOWN: tuple[tuple[Role, str, Callable[[CaseImages], bool]], ...] = (
    ("typical", "slices", _always),
    ("typical", "mip", _one_rater),
    ("hardest", "slices", _always),
    ("disputed", "slices", _always),
    ("disputed", "agreement", _always),
    ("disputed", "probability-maps", _always),
    ("contact", "contact", _always),
)


def report_pictures(
    protocol: Protocol,
    reference: Path,
    predictions: Path,
    cases: Sequence[TellingCase],
    methods: Sequence[str],
    *,
    follow_links: bool = False,
) -> Iterator[Illustration]:
    """The pictures of a report, case by case; `methods` in the order of the leaderboard."""
    for telling in cases:
        wanted = {name: when for role, name, when in SHOWN if role in telling.roles}
        images = case_images(
            protocol,
            reference,
            predictions,
            telling.case,
            methods[:MOST_TILES],
            everyone=methods,
            follow_links=follow_links,
        )
        for name, condition in wanted.items():
            if condition(images) and PICTURES[name].applies(images):
                yield PICTURES[name].illustrate(images, telling.why)


# ---- their images --------------------------------------------------------------------------


def case_images(
    protocol: Protocol,
    reference: Path,
    predictions: Path,
    case: str,
    methods: Sequence[str],
    *,
    everyone: Sequence[str] = (),
    follow_links: bool = False,
) -> CaseImages:
    """Read what can be drawn of a case: the part of its images around the masks.

    A method whose prediction is missing or cannot be used is left out, as is one without the
    probability map that the protocol asks for; its rows say why.
    """
    loaded = load_reference(protocol, reference, case)
    masks: dict[str, LabelMap] = {}
    files_of: dict[str, PredictionFiles] = {}
    for method in methods:
        with suppress(InputError):
            place = place_in(predictions, method, "method")
            paths = prediction_files(protocol, place, case, follow_links=follow_links)
            files_of[method] = paths
            masks[method] = _predicted(
                protocol, place, case, paths, loaded, follow_links=follow_links
            )
    box = _region(loaded, masks.values())
    placed = {method: _placed(mask, box, loaded.label_names) for method, mask in masks.items()}
    images = CaseImages(
        case=case,
        labels=loaded.label_names,
        raters=_raters(protocol, loaded, box),
        consensus=_consensus(protocol, loaded, box),
        predictions={method: labels for method, (labels, _) in placed.items()},
        outside={method: outside for method, (_, outside) in placed.items()},
        structures=_structures(loaded, box),
        image=_image(CaseFiles.of(protocol, reference, case), loaded.grid, box, protocol.grid),
        thresholds=_thresholds(protocol),
        spacing_mm=loaded.grid.spacing_mm,
        direction=loaded.grid.direction,
        corner=(box[0].start, box[1].start, box[2].start),
        everyone=tuple(everyone or methods),
        has_sides=not is_picture(CaseFiles.of(protocol, reference, case).first.find()),
    )
    if not protocol.probability_stems:
        return images
    label, maps = most_disputed_label(images), {}
    for method in images.predictions:
        with suppress(InputError):
            place, paths = place_in(predictions, method, "method"), files_of[method]
            values = _map(protocol, place, case, paths, label, loaded.grid, follow_links)
            if values is not None:
                maps[method] = {label: values[box].copy(order="F")}  # a view would keep all of it
    drawn = {method: mask for method, mask in images.predictions.items() if method in maps}
    return replace(images, predictions=drawn, probabilities=maps)


def _map(
    protocol: Protocol,
    method_folder: Path,
    case: str,
    paths: PredictionFiles,
    label: str,
    grid: Grid,
    follow_links: bool,
) -> NDArray[Any] | None:
    """The probability map of a label, or the mean of the samples; None where there is neither.

    Maps stay as precise as stored, since what is above a threshold depends on it.
    """
    if path := paths.probabilities.get(label):
        return read_probability_map(protocol, path, label, grid).array
    if not paths.samples:
        return None
    read = load_prediction(protocol, method_folder, case, grid, follow_links=follow_links)
    mean = read.probabilities[list(protocol.probability_stems).index(label)]
    return None if mean is None else mean.array


def _predicted(
    protocol: Protocol,
    method_folder: Path,
    case: str,
    paths: PredictionFiles,
    loaded: ReferenceCase,
    *,
    follow_links: bool,
) -> LabelMap:
    """A predicted mask, its labels counted from 1 in the order of the protocol."""
    grid, classes = loaded.grid, list(protocol.reference.classes)
    if paths.mask is None:  # it follows from the samples
        marks = load_prediction(
            protocol, method_folder, case, grid, follow_links=follow_links
        ).marks
    else:
        mask = read_predicted_mask(protocol, paths.mask, grid)
        grid_warnings(protocol, grid, mask.grid, paths.mask.name)  # or the error that it is
        marks = numbered(mask, protocol.reference, classes)
    marks = without_voxels(marks, loaded.ignored, grid.shape)
    shown = _shown(protocol, classes)
    return LabelMap(marks.relabelled(lambda values: shown[values]), grid)


def _shown(
    protocol: Protocol, classes: Sequence[frozenset[int]] | None = None
) -> NDArray[np.uint8]:
    """The label that a picture shows for each value: of several the one with the fewest numbers."""
    spec = protocol.reference
    sizes = [len(numbers) for numbers in spec.numbers.values()]
    sets = spec.classes if classes is None else classes
    smallest = [min(labels, key=lambda label: sizes[label - 1]) for labels in sets]
    return np.array([0, *smallest], np.uint8)


def _thresholds(protocol: Protocol) -> tuple[float, ...]:
    """Where the protocol cuts probability maps."""
    uses = (getattr(use, "thresholds", None) for use in protocol.metrics)
    return next((tuple(each) for each in uses if each), THRESHOLDS)


def _image(files: CaseFiles, grid: Grid, box: Box, tolerance: Tolerance) -> NDArray[Any] | None:
    if files.image is None or not files.image.candidates:
        return None
    image = read_volume(files.image.find(), grid=grid, tolerance=tolerance)
    return image.array[box].copy(order="F")  # a view would keep the whole of it


# ---- the reference in the box --------------------------------------------------------------


def _region(loaded: ReferenceCase, masks: Iterable[LabelMap]) -> Box:
    """The part of the image around the reference; if it is empty, around the predictions."""
    shape = loaded.grid.shape
    drawn = [loaded.consensus.voxels(number) for number in loaded.labels.values()]
    around = [bounding_box(voxels, shape) for voxels in (loaded.patterns.voxels, *drawn)]
    if not any(around):
        around = [bounding_box(mask.voxels, shape) for mask in masks]
    boxes = [box for box in around if box]
    boxes += [structure.box for structure in loaded.structures.values() if structure]
    if not boxes:
        return Box.whole(shape)
    margins = [int(np.ceil(MARGIN_MM / spacing)) for spacing in loaded.grid.spacing_mm]
    return Box.around(boxes).grow(margins, shape)


def _raters(protocol: Protocol, loaded: ReferenceCase, box: Box) -> dict[str, Labels]:
    patterns = loaded.patterns
    codes, labels = patterns.codes[box], _shown(protocol)[patterns.labels]
    names = [f"Rater {name}" for name in loaded.rater_names]
    if len(names) == 1:
        names = ["Reference"]
    return {name: labels[:, k][codes] for k, name in enumerate(names)}


def _consensus(protocol: Protocol, loaded: ReferenceCase, box: Box) -> Labels:
    consensus, sizes = _empty(box), [len(held) for held in protocol.reference.numbers.values()]
    for number in sorted(loaded.labels.values(), key=lambda label: -sizes[label - 1]):
        _mark(consensus, loaded.consensus.voxels(number), number, loaded.grid, box)
    return consensus


def _placed(mask: LabelMap, box: Box, names: Sequence[str]) -> tuple[Labels, dict[str, int]]:
    """The part of a mask in the box, and how many voxels of each label are not in it."""
    placed = _empty(box)
    inside = np.ones(mask.voxels.size, bool)
    for place, side in zip(coordinates(mask.voxels, mask.grid.shape), box, strict=True):
        inside &= (place >= side.start) & (place < side.stop)
    _mark(placed, mask.voxels[inside], mask.labels[inside], mask.grid, box)
    outside = np.bincount(mask.labels[~inside], minlength=len(names) + 1)[1:]
    return placed, {name: int(count) for name, count in zip(names, outside, strict=True)}


def _structures(loaded: ReferenceCase, box: Box) -> dict[str, Bools]:
    structures = {}
    for name, structure in loaded.structures.items():
        mask = _empty(box).astype(bool)
        if structure:
            mask[structure.box.inside(box)] = structure.mask
        structures[name] = mask
    return structures


def _empty(box: Box) -> Labels:
    return np.zeros(box.shape, np.uint8, order="F")


def _mark(target: Labels, voxels: Ints, labels: Any, grid: Grid, box: Box) -> None:
    """Write labels at voxels (flat indices of the whole image) into the box, which holds them."""
    target[box.places(voxels, grid.shape)] = labels
