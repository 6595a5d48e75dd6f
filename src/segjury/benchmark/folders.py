"""The folders of a benchmark: its cases and methods, and the files of each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from segjury import images
from segjury.arrays import Shape
from segjury.benchmark.names import check_name, place_in
from segjury.errors import InputError, MissingInputError, did_you_mean
from segjury.protocols import Protocol
from segjury.runtime.paths import resolved

LARGE_BYTES = 1 << 26  # of a file that is not looked at whole without need

# ---- cases and methods ---------------------------------------------------------------------


def case_names(reference: Path) -> list[str]:
    """The cases of a benchmark: the folders of the reference."""
    return [check_name(name, "case") for name in folder_names(reference, "case")]


def method_names(predictions: Path) -> list[str]:
    """The methods of a benchmark: the folders of the predictions."""
    return [check_name(name, "method") for name in folder_names(predictions, "method")]


def chosen_methods(predictions: Path, methods: Sequence[str] | None) -> list[str]:
    """The methods that were asked for, each once, or all there are."""
    found = folder_names(predictions, "method")
    absent = [name for name in methods or [] if name not in found]
    if absent:
        raise InputError(
            f"{predictions} has no method {', '.join(absent)}",
            did_you_mean(absent[0], found, "It has"),
        )
    return [check_name(name, "method") for name in dict.fromkeys(methods or found)]


def folder_names(folder: Path, of: str) -> list[str]:
    """The folders in a folder, but hidden ones, whatever their names."""
    fix = f"Give the folder that has one folder per {of}"
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", fix)
    names = sorted(p.name for p in folder.iterdir() if images.is_folder(p) and p.name[0] != ".")
    if not names:
        raise InputError(f"{folder} has no {of} folders", fix)
    return names


def submitted(
    protocol: Protocol,
    predictions: Path,
    methods: Sequence[str] | None = None,
    *,
    cases: Sequence[str] | None = None,
) -> tuple[Path, Sequence[str] | None]:
    """The folder of all predictions and the methods asked for, where one submission may be given.

    That is a method's own folder, which holds predictions of the `cases` themselves; without
    them, all folders in it look like cases. Other folders are returned as they are.
    """
    if not predictions.is_dir() or not _is_submission(protocol, predictions, cases):
        return predictions, methods
    place = predictions.resolve()
    if methods and list(methods) != [place.name]:
        raise InputError(
            f"{predictions} holds predictions of the cases, of one method",
            "Leave out `methods`, or give the folder that has one folder per method",
        )
    return place.parent, [place.name]


def _is_submission(protocol: Protocol, folder: Path, cases: Sequence[str] | None) -> bool:
    inside = [p.name for p in folder.iterdir() if images.is_folder(p) and p.name[0] != "."]
    if cases is None:
        mask = protocol.prediction.mask
        return bool(inside) and all(images.candidates(folder / name, mask) for name in inside)
    holds = any(prediction_inputs(protocol, folder, case) for case in cases)
    methods = (name for name in inside if name not in set(cases))
    return holds and not any(
        prediction_inputs(protocol, folder / method, case) for method in methods for case in cases
    )


def refuse_output_among_inputs(out: Path, *inputs: Path) -> None:
    """Refuse to write into a folder that is read from: results would be taken for cases."""
    for folder in inputs:
        if resolved(out).is_relative_to(resolved(folder)):
            raise InputError(f"--out {out} is in {folder}", "Give a folder of its own")


def refuse_wrong_folders(
    protocol: Protocol,
    reference: Path | None,
    cases: Sequence[str],
    predictions: Path | None,
    methods: Sequence[str],
) -> None:
    """Refuse folders of the wrong level, in which nothing could be scored."""
    if reference and not any(reference_inputs(protocol, reference / case) for case in cases):
        stem = protocol.reference.rater_stems[0]
        raise InputError(
            f"no folder in {reference} has a {stem} (it has {', '.join(cases[:3])}, ...)",
            "Give the folder that has one folder per case",
        )
    mask = protocol.prediction.mask
    if (
        predictions
        and methods
        and all(images.candidates(predictions / name, mask) for name in methods)
    ):
        raise InputError(
            f"the folders in {predictions} are cases, not methods",
            f"Give the folder above it, {predictions.parent}",
        )


def unknown_cases(
    reference: Path, predictions: Path, methods: Sequence[str], *, follow_links: bool = False
) -> dict[str, list[str]]:
    """By method, folders named as no case of the reference: probably a misspelt name.

    A method's folder that is a link is not looked into unless `follow_links`.
    """
    cases = set(case_names(reference))
    unknown = {
        method: [
            path.name
            for path in sorted((predictions / method).iterdir())
            if images.is_folder(path) and path.name[0] != "." and path.name not in cases
        ]
        for method in methods
        if follow_links or not escapes(predictions / method, predictions / method)
        if os.access(predictions / method, os.R_OK | os.X_OK)
    }
    return {method: names for method, names in unknown.items() if names}


# ---- files of a case -----------------------------------------------------------------------


def reference_inputs(protocol: Protocol, folder: Path) -> list[Path]:
    """The files that a case's reference is read from, those that there are."""
    spec = protocol.reference
    stems = [*spec.rater_stems, spec.consensus, spec.structures.file if spec.structures else None]
    return [path for stem in stems if stem for path in images.candidates(folder, stem)]


def prediction_inputs(protocol: Protocol, method_folder: Path, case: str) -> list[Path]:
    """The files that a prediction is read from in either layout, those that there are."""
    folder = place_in(method_folder, case, "case")
    stems = [protocol.prediction.mask, *protocol.probability_stems.values()]
    found = [path for stem in stems for path in images.candidates(folder, stem)]
    found += images.candidates(method_folder, case)
    archive = method_folder / f"{case}.npz"
    return [*found, archive] if images.is_file(archive) else found


def prediction_layout(method_folder: Path, case: str) -> str:
    """Which layout a prediction is looked for in, as it decides what is read."""
    folder = place_in(method_folder, case, "case")
    if images.is_folder(folder):
        return "folder"
    return "link" if os.access(method_folder, os.X_OK) and folder.is_symlink() else "files"


@dataclass(frozen=True)
class PredictionFiles:
    """The mask of a prediction, and for each label the file with its probability map.

    `no_maps` says what is missing where not all of them are there; then none is named.
    """

    mask: Path
    probabilities: dict[str, Path]
    no_maps: MissingInputError | None = None


def prediction_files(
    protocol: Protocol, method_folder: Path, case: str, *, follow_links: bool = False
) -> PredictionFiles:
    """The files of a prediction, in either layout.

    Unless `follow_links`, none may be reached by a link that leaves the folder of the method: it
    could lead to the reference, or to another's files.
    """
    if not follow_links and escapes(method_folder, method_folder):
        raise link_refused(method_folder)
    found = _find_prediction(protocol, method_folder, case)
    for path in () if follow_links else (found.mask, *found.probabilities.values()):
        if escapes(path, method_folder):
            raise link_refused(path)
    return found


def _find_prediction(protocol: Protocol, method_folder: Path, case: str) -> PredictionFiles:
    folder, stems = place_in(method_folder, case, "case"), protocol.probability_stems
    layout = prediction_layout(method_folder, case)
    if layout == "link":
        raise InputError(f"{case} is a link that leads to no folder", "Copy the folder")
    if layout == "folder":
        mask = images.find(folder, protocol.prediction.mask)
        try:
            maps = {name: images.find(folder, stem) for name, stem in stems.items()}
        except MissingInputError as error:
            return PredictionFiles(mask, {}, error)
        return PredictionFiles(mask, maps)
    try:
        mask = images.find(method_folder, case)
    except MissingInputError:
        and_map = " and a map" if stems else ""
        raise MissingInputError(
            "no prediction",
            f"Expected {method_folder.name}/{case}/ with a mask{and_map}",
            kind="missing-prediction",
        ) from None
    archive = method_folder / f"{case}.npz"
    if stems and not images.is_file(archive):
        wanted = [use.name for use in protocol.metrics if use.metric.needs_probability]
        no_maps = MissingInputError(
            f"{archive.name} is missing",
            f"{', '.join(wanted)} need probabilities: predict with --save_probabilities",
        )
        return PredictionFiles(mask, {}, no_maps)
    return PredictionFiles(mask, dict.fromkeys(stems, archive))


def link_refused(path: Path) -> InputError:
    """What to say of a path that `leaves` the folder of its method."""
    return InputError(
        f"{path.name} is reached by a link that leaves the folder of the method",
        "Copy the file there, or say --follow-links",
        kind="link-outside",
    )


def escapes(path: Path, method_folder: Path) -> bool:
    """Whether links lead from a path of a method to a place out of its folder, or in a circle.

    The folder may not be a link itself; that of all predictions may.
    """
    place = method_folder.parent.resolve() / method_folder.name
    try:
        return not path.resolve(strict=True).is_relative_to(place)
    except PermissionError:
        return False  # which reading it will tell
    except (OSError, RuntimeError):
        return True


# ---- what files hold -----------------------------------------------------------------------


def content(path: Path, expected_shape: Shape | None = None) -> bytes:
    """Fingerprint of what a file holds; a missing one counts as such.

    A large one is first refused as reading would refuse it, and then counts as its refusal: its
    gigabytes may be nothing but a number in the folder.
    """
    try:
        if path.stat().st_size > LARGE_BYTES:
            images.check_header(path, expected_shape=expected_shape)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").digest()
    except OSError:
        return b"missing"
    except InputError as error:  # with its place, as no other file is known to be the same
        return f"{path}: {error}".encode(errors="surrogateescape")


def digest(paths: Iterable[Path], content: Callable[[Path], bytes] = content) -> str:
    """Fingerprint of files by name and content."""
    total = hashlib.blake2b(digest_size=16)
    for path in paths:
        total.update(path.name.encode(errors="surrogateescape") + b"\0" + content(path))
    return total.hexdigest()


def file_stats(paths: Iterable[Path]) -> list[tuple[Path, int, int, int]]:
    """What changes when a file is written anew: a quick look, where `digest` reads it."""
    found = []
    for path in paths:
        try:
            about = path.stat()
            found.append((path, about.st_ino, about.st_size, about.st_mtime_ns))
        except OSError:
            found.append((path, -1, -1, -1))
    return found
