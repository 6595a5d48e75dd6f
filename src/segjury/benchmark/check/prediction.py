"""Problems of one method's prediction of one case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segjury import images
from segjury.arrays import Shape
from segjury.benchmark.check.maps import MapSums, check_map, map_facts
from segjury.benchmark.check.masks import geometry, mask_digest
from segjury.benchmark.check.problem import Problem, failed, warning
from segjury.benchmark.folders import (
    escapes,
    link_refused,
    map_of_all,
    prediction_files,
    prediction_layout,
    sample_files,
    sample_places,
)
from segjury.benchmark.layout import Place
from segjury.benchmark.loading import numbered, read_predicted_mask, read_probability_map
from segjury.benchmark.orientation import NO_HEADER, how_moved, lost_header, meets_raters
from segjury.consensus import RaterPatterns
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels
from segjury.protocols import Protocol

MOST_OF_IMAGE = 0.5
FIX_HEADER = "Save it with the position of the image: its affine, or its origin and direction"


@dataclass(frozen=True)
class CheckedPrediction:
    """The problems of a prediction, and what predictions are compared in with each other."""

    problems: list[Problem]
    digest: str = ""  # of mask and maps; empty where the mask marks nothing, or one failed
    marks: str = ""  # digest of the scored labels in the mask; empty where it marks nothing
    meets: bool | None = None  # whether it shares a voxel with any rater; None if unknown


def check_prediction(
    protocol: Protocol,
    method_folder: Path,
    case: str,
    *,
    grid: Grid | None = None,
    patterns: RaterPatterns | None = None,
    follow_links: bool = False,
) -> CheckedPrediction:
    """Look at every file of a prediction; without a grid, at how its files fit each other."""
    problems: list[Problem] = []
    if not follow_links and escapes(method_folder, method_folder):
        return CheckedPrediction([_linked(method_folder)])
    mask_path, map_paths = _found(protocol, method_folder, case, problems)
    if not follow_links:
        mask_path, map_paths = _without_links(mask_path, map_paths, method_folder, problems)
    mask = _read_mask(protocol, mask_path, grid, problems) if mask_path else None
    common = grid or (mask.grid if mask else None)
    digests = []
    if common is not None:
        digests = _check_maps(protocol, map_paths, mask, common, problems, alone=grid is None)
    if protocol.needs_samples:
        _check_samples(protocol, method_folder, case, common, problems)
    if mask is None:
        return CheckedPrediction(problems)
    problems += _check_size(mask)
    classes = list(protocol.reference.classes)
    try:
        marks = numbered(mask, protocol.reference, classes)
    except InputError as error:
        return CheckedPrediction([*problems, failed(error, None)])
    voxels, numbers = marks.voxels, marks.labels
    meets = None
    comparable = len(classes) == len(protocol.reference.classes)
    if patterns is not None and voxels.size and comparable:
        meets = meets_raters(patterns, marks)
        problems += _moved(patterns, marks, mask.grid.shape)
    if grid is not None and lost_header(mask.grid, grid):
        problems.append(warning("lost-header", f"the mask is {NO_HEADER}", FIX_HEADER))
    complete = voxels.size and not any(problem.severity == "error" for problem in problems)
    whole = ";".join([mask_digest(mask.voxels, mask.labels), *digests]) if complete else ""
    of_marks = mask_digest(voxels, numbers) if voxels.size else ""
    return CheckedPrediction(problems, whole, of_marks, meets)


def _found(
    protocol: Protocol, method_folder: Path, case: str, problems: list[Problem]
) -> tuple[Path | None, dict[str, Path]]:
    """The files there are, in either layout; those that are missing go to the problems."""
    stems = protocol.probability_stems
    if prediction_layout(protocol, method_folder, case) in ("files", "link"):
        try:
            found = prediction_files(protocol, method_folder, case, follow_links=True)
        except InputError as error:
            problems.append(failed(error, None))
            found_masks = images.candidates(method_folder, case)
            return (found_masks[0] if len(found_masks) == 1 else None), {}
        missing = dict.fromkeys(found.no_maps.values())
        problems += [failed(no_map, f"{case}.npz") for no_map in missing]
        return found.mask, found.probabilities
    paths: dict[str | None, Path] = {}
    samples = protocol.needs_samples and sample_places(protocol, method_folder, case)
    for name, stem in ((None, protocol.prediction.mask), *stems.items()):
        place = Place.of(stem, method_folder, case)
        if samples and not place.candidates:
            continue  # they stand for the mask and for the maps
        shared = map_of_all(protocol, method_folder, case) if name and not place.candidates else []
        try:
            paths[name] = shared[0] if shared else place.find()
        except InputError as error:
            problems.append(failed(error, place.usual_name))
    return paths.get(None), {name: path for name, path in paths.items() if name is not None}


def _without_links(
    mask: Path | None, maps: dict[str, Path], method_folder: Path, problems: list[Problem]
) -> tuple[Path | None, dict[str, Path]]:
    """The files but those that links lead out to; these go to the problems, each once."""
    refused = set()
    for path in dict.fromkeys([*([mask] if mask else []), *maps.values()]):
        if escapes(path, method_folder):
            problems.append(_linked(path))
            refused.add(path)
    kept = {name: path for name, path in maps.items() if path not in refused}
    return (None if mask in refused else mask), kept


def _linked(path: Path) -> Problem:
    return failed(link_refused(path), path.name)


def _read_mask(
    protocol: Protocol, path: Path, grid: Grid | None, problems: list[Problem]
) -> LabelMap | None:
    try:
        mask = read_predicted_mask(protocol, path, grid)
        problems += geometry(protocol, grid, mask.grid, path.name)
    except InputError as error:
        problems.append(failed(error, path.name))
        return None
    return mask


def _check_maps(
    protocol: Protocol,
    paths: dict[str, Path],
    mask: LabelMap | None,
    grid: Grid,
    problems: list[Problem],
    *,
    alone: bool,
) -> list[str]:
    """Look at one map after the other; the fingerprints of their values."""
    digests = []
    sums = MapSums(grid.shape) if len(paths) > 1 and not protocol.reference.overlap else None
    for name, path in paths.items():
        try:
            volume = read_probability_map(protocol, path, name, grid)
            problems += geometry(protocol, grid, volume.grid, path.name)
        except InputError as error:
            problems.append(failed(_of_mask(error) if alone else error, path.name))
            sums = None
            continue
        facts = map_facts(volume)
        digests.append(facts.digest)
        shown = path.name if len(set(paths.values())) == len(paths) else f"{path.name} ({name})"
        of_label = _voxels(mask, protocol, name) if mask else None
        problems += check_map(shown, volume, facts, of_label)
        if sums is not None:
            sums.add(volume)
        del volume  # before the next is read
    if sums is not None:
        problems += sums.check()
    return digests


def _voxels(mask: LabelMap, protocol: Protocol, name: str) -> NDArray[np.int64]:
    """The voxels of a label in a mask."""
    spec = protocol.reference
    if mask.members is None:
        return mask.where(*spec.numbers[name])
    return mask.where(list(spec.labels).index(name) + 1)


def _check_samples(
    protocol: Protocol,
    method_folder: Path,
    case: str,
    grid: Grid | None,
    problems: list[Problem],
) -> None:
    """Look at each sample of a prediction as at a mask."""
    try:
        files = sample_files(protocol, method_folder, case)
    except InputError as error:
        problems.append(failed(error, case))
        return
    for path in files:
        _read_mask(protocol, path, grid, problems)


def _of_mask(error: InputError) -> InputError:
    """The words for a map that is compared with the mask, there being no reference."""
    return type(error)(
        error.what.replace("the reference has", "the mask has"),
        error.fix.replace("the reference grid", "the grid of the mask"),
        kind=error.kind,
        hint=error.hint,
    )


def _check_size(mask: LabelMap) -> list[Problem]:
    if not mask.voxels.size:
        return [warning("empty-prediction", "the mask marks nothing")]
    share = mask.voxels.size / np.prod(mask.grid.shape)
    if share <= MOST_OF_IMAGE:
        return []
    message = f"the mask marks {100 * share:.0f} % of the image"
    return [warning("covers-image", message, "Check that it is not inverted")]


def _moved(patterns: RaterPatterns, marks: SparseLabels, shape: Shape) -> list[Problem]:
    """Suspicion of axes that run the other way, or in another order."""
    moved = how_moved(patterns, marks, shape)
    if moved is None:
        return []
    words, now, then = moved
    back = "when flipped" if words.startswith("mirrored") else "when put back"
    message = (
        f"the mask seems {words}: {100 * now:.0f} % of its voxels are inside a rater's, "
        f"{100 * then:.0f} % {back}"
    )
    return [warning("mirrored", message, "Check the order of its slices and its orientation")]
