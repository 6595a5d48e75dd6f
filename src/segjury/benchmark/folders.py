"""The folders of methods, and the files of their predictions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from segjury import images
from segjury.arrays import Shape
from segjury.benchmark.layout import (
    CaseFiles,
    Place,
    folder_names,
    is_narrower,
    names_beginning,
    stems_below,
)
from segjury.benchmark.names import check_name, place_in
from segjury.errors import InputError, MissingInputError, did_you_mean
from segjury.protocols import Protocol
from segjury.protocols.patterns import CASE, LABEL, SAMPLE, filled, lies_in_case_folder, matcher
from segjury.runtime.paths import resolved

MOST_DIGITS = 6  # of a sample's number
LARGE_BYTES = 1 << 26  # of a file that is not looked at whole without need

# ---- cases and methods ---------------------------------------------------------------------


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
        if not lies_in_case_folder(mask):
            return bool(masks_by_case(protocol, folder))
        if not inside:  # files as nnU-Net writes them
            return any(images.suffix(path.name) for path in folder.iterdir())
        return all(Place.of(mask, folder, name).candidates for name in inside)
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
    if reference and not any(CaseFiles.of(protocol, reference, case).there for case in cases):
        stem = CaseFiles.of(protocol, reference, cases[0]).first.stem
        raise InputError(
            f"no folder in {reference} has a {stem} (it has {', '.join(cases[:3])}, ...)",
            "Give the folder that has one folder per case",
        )
    mask = protocol.prediction.mask
    if (
        predictions
        and methods
        and lies_in_case_folder(mask)
        and all(Place.of(mask, predictions, name).candidates for name in methods)
    ):
        raise InputError(
            f"the folders in {predictions} are cases, not methods",
            f"Give the folder above it, {predictions.parent}",
        )


def unknown_cases(
    protocol: Protocol,
    cases: Collection[str],
    predictions: Path,
    methods: Sequence[str],
    *,
    follow_links: bool = False,
) -> dict[str, list[str]]:
    """By method, what is named as no case of the reference: probably a misspelt name.

    A method's folder that is a link is not looked into unless `follow_links`.
    """
    known = set(cases)
    unknown = {
        method: [
            name for name in _predicted_names(protocol, predictions / method) if name not in known
        ]
        for method in methods
        if follow_links or not escapes(predictions / method, predictions / method)
        if os.access(predictions / method, os.R_OK | os.X_OK)
    }
    return {method: names for method, names in unknown.items() if names}


def _predicted_names(protocol: Protocol, folder: Path) -> list[str]:
    """The cases that the folders of a method, or its files where these lie flat, are named as."""
    if lies_in_case_folder(protocol.prediction.mask):
        inside = sorted(folder.iterdir())
        return [path.name for path in inside if images.is_folder(path) and path.name[0] != "."]
    return sorted(masks_by_case(protocol, folder))


def masks_by_case(protocol: Protocol, folder: Path) -> dict[str, str]:
    """The masks in a method's folder, where they do not lie in folders of the cases."""
    depth = filled(protocol.prediction.mask).count("/") + 1
    return masks_among(protocol, stems_below(folder, depth))


def masks_among(protocol: Protocol, stems: Iterable[str]) -> dict[str, str]:
    """By case, those of some paths below a method's folder, without endings, that are masks."""
    spec = protocol.prediction
    mask = matcher(spec.mask, {})
    others = [
        matcher(pattern, {"sample": r"\d+"})
        for pattern in (*protocol.probability_stems.values(), numbered_sample(spec.sample))
        if CASE in pattern
    ]
    found = {}
    for stem in stems:
        told = mask.fullmatch(stem)
        if told and not any(is_narrower(other, stem, told["case"]) for other in others):
            found[told["case"]] = stem
    return found


# ---- files of a case -----------------------------------------------------------------------


def reference_inputs(protocol: Protocol, reference: Path, case: str) -> list[Path]:
    """The files that a case's reference is read from, those that there are."""
    return CaseFiles.of(protocol, reference, case).there


def prediction_inputs(protocol: Protocol, method_folder: Path, case: str) -> list[Path]:
    """The files that a prediction is read from in either layout, those that there are."""
    spec = protocol.prediction
    stems = [spec.mask, *protocol.probability_stems.values()]
    found = [path for stem in stems for path in Place.of(stem, method_folder, case).candidates]
    if protocol.probability_stems:
        found += map_of_all(protocol, method_folder, case)
    if reads_samples(protocol):
        found += [path for place in sample_places(protocol, method_folder, case) for path in place]
    if CASE not in spec.mask:
        found += images.candidates(method_folder, case)
    archive = _archive(protocol, method_folder, case)
    if images.is_file(archive):
        found.append(archive)
    return list(dict.fromkeys(found))


def prediction_layout(protocol: Protocol, method_folder: Path, case: str) -> str:
    """Which layout a prediction is looked for in, as it decides what is read."""
    folder = place_in(method_folder, case, "case")
    if CASE in protocol.prediction.mask:
        return "pattern"
    if images.is_folder(folder):
        return "folder"
    return "link" if os.access(method_folder, os.X_OK) and folder.is_symlink() else "files"


def _archive(protocol: Protocol, method_folder: Path, case: str) -> Path:
    """Where nnU-Net's probabilities are: beside the mask, where the masks lie flat."""
    if CASE not in protocol.prediction.mask:
        return method_folder / f"{case}.npz"
    place = Place.of(protocol.prediction.mask, method_folder, case)
    return place.folder / f"{place.stem}.npz"


# ---- samples -------------------------------------------------------------------------------


def reads_samples(protocol: Protocol) -> bool:
    """Whether samples are looked for: for their own metrics, or as the map that is not there."""
    return protocol.needs_samples or bool(protocol.probability_stems)


def numbered_sample(pattern: str) -> str:
    """The pattern of samples with the place of their number."""
    return pattern if SAMPLE in pattern else f"{pattern}_{SAMPLE}"


def sample_places(protocol: Protocol, method_folder: Path, case: str) -> list[list[Path]]:
    """The files of each sample of a prediction, in the order of their numbers."""
    pattern = numbered_sample(protocol.prediction.sample)
    place = Place.of(pattern, method_folder, case)
    before, _, after = place.stem.partition(SAMPLE)
    found: dict[int, list[Path]] = {}
    for name in names_beginning(place.folder, before):
        end = images.suffix(name) or ""
        stem = name.removesuffix(end)
        number = stem.removeprefix(before).removesuffix(after)
        is_number = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS
        if end and is_number and stem == f"{before}{number}{after}":
            found.setdefault(int(number), []).append(place.folder / name)
    return [found[number] for number in sorted(found)]


def sample_files(protocol: Protocol, method_folder: Path, case: str) -> tuple[Path, ...]:
    """The file of each sample; an `InputError` where there is none, or too many."""
    places, most = sample_places(protocol, method_folder, case), protocol.prediction.most_samples
    if not places:
        pattern = Place.of(numbered_sample(protocol.prediction.sample), method_folder, case)
        first = f"{pattern.stem.replace(SAMPLE, '01')}{images.SUFFIXES[0]}"
        raise MissingInputError(f"{first} is missing", "Give a mask for each sample")
    if len(places) > most:
        what = f"there are {len(places)} samples, at most {most} are read"
        raise InputError(what, "Give fewer", kind="too-many-samples")
    for place in places:
        if len(place) > 1:
            names = ", ".join(path.name for path in place)
            raise InputError(f"there are {names}", "Keep one of them", kind="two-files")
    return tuple(path for (path,) in places)


@dataclass(frozen=True)
class PredictionFiles:
    """The mask of a prediction, for each label the file with its probability map, and samples.

    The mask may be missing where there are samples. `no_maps` says, of each label without a map,
    what is missing; `no_samples` why there are none.
    """

    mask: Path | None
    probabilities: dict[str, Path]
    no_maps: Mapping[str, MissingInputError] = field(default_factory=dict)
    samples: tuple[Path, ...] = ()
    no_samples: InputError | None = None

    @property
    def all(self) -> list[Path]:
        """Every file."""
        return [*filter(None, [self.mask]), *self.probabilities.values(), *self.samples]


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
    for path in () if follow_links else found.all:
        if escapes(path, method_folder):
            raise link_refused(path)
    return found


def _find_prediction(protocol: Protocol, method_folder: Path, case: str) -> PredictionFiles:
    layout = prediction_layout(protocol, method_folder, case)
    if layout == "link":
        raise InputError(f"{case} is a link that leads to no folder", "Copy the folder")
    if layout == "files":
        return _in_flat_files(protocol, method_folder, case)
    place = Place.of(protocol.prediction.mask, method_folder, case)
    only_samples = protocol.needs_samples and sample_places(protocol, method_folder, case)
    mask = None if only_samples and not place.candidates else place.find()
    maps, no_maps = {}, {}
    shared = map_of_all(protocol, method_folder, case)
    archive = _archive(protocol, method_folder, case)
    for name, stem in protocol.probability_stems.items():
        place = Place.of(stem, method_folder, case)
        if layout == "pattern" and not place.candidates and images.is_file(archive):
            maps[name] = archive
            continue
        try:
            maps[name] = place.find() if place.candidates or not shared else shared[0]
        except MissingInputError as error:
            no_maps[name] = error
    return _with_samples(protocol, method_folder, case, PredictionFiles(mask, maps, no_maps))


def map_of_all(protocol: Protocol, method_folder: Path, case: str) -> list[Path]:
    """The file with a channel for the map of each label, if there are several labels."""
    pattern = protocol.prediction.probability
    if LABEL in pattern or len(protocol.label_names) == 1:
        return []
    return Place.of(pattern, method_folder, case).candidates


def _in_flat_files(protocol: Protocol, method_folder: Path, case: str) -> PredictionFiles:
    """A prediction as nnU-Net writes it: a mask named as the case, and an archive of maps."""
    stems = protocol.probability_stems
    try:
        mask = images.find(method_folder, case)
    except MissingInputError:
        and_map = " and a map" if stems else ""
        raise MissingInputError(
            "no prediction",
            f"Expected {method_folder.name}/{case}/ with a mask{and_map}",
            kind="missing-prediction",
        ) from None
    archive = _archive(protocol, method_folder, case)
    found = PredictionFiles(mask, dict.fromkeys(stems, archive))
    if stems and not images.is_file(archive):
        wanted = [use.name for use in protocol.metrics if use.metric.needs_probability]
        no_maps = MissingInputError(
            f"{archive.name} is missing",
            f"{', '.join(wanted)} need probabilities: predict with --save_probabilities",
        )
        found = PredictionFiles(mask, {}, dict.fromkeys(stems, no_maps))
    return _with_samples(protocol, method_folder, case, found)


def _with_samples(
    protocol: Protocol, method_folder: Path, case: str, found: PredictionFiles
) -> PredictionFiles:
    """The files and those of samples, if a metric wants these, or a map that is not there."""
    if not reads_samples(protocol):
        return found
    try:
        return replace(found, samples=sample_files(protocol, method_folder, case))
    except InputError as error:
        if found.mask is None:
            raise
        return replace(found, no_samples=error)


def link_refused(path: Path) -> InputError:
    """What to say of a path that `escapes` the folder of its method."""
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


def digest(paths: Iterable[Path], root: Path, content: Callable[[Path], bytes] = content) -> str:
    """Fingerprint of files by their place below `root` and content.

    The name alone would not do: in folders of raters, all files of a case have the same.
    """
    total = hashlib.blake2b(digest_size=16)
    for path in paths:
        place = os.fspath(path.relative_to(root)).encode(errors="surrogateescape")
        total.update(place + b"\0" + content(path))
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
