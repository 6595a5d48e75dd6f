"""Problems of folders and names: what nothing reads, what is named alike, what is elsewhere."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from segjury import images
from segjury.benchmark.check.problem import MOST_NAMED, Problem, warning
from segjury.benchmark.folders import masks_among, numbered_sample
from segjury.benchmark.names import FORMULA, appearance, groups_alike, is_formula
from segjury.protocols import Protocol
from segjury.protocols.patterns import LABEL, lies_in_case_folder, matcher
from segjury.wording import listed

ENDINGS = (*images.SUFFIXES, ".npz")  # of predictions
TEMPORARY = ("~", ".tmp", ".temp", ".part", ".partial", ".crdownload", ".swp")
DEEPEST = 16  # folders within each other
LEFT_BY_SYSTEMS = ("thumbs.db", "desktop.ini", "__macosx")
# what nnU-Net and BIDS put beside masks, which says something of all of them
COMPANIONS = (
    *("dataset.json", "plans.json", "predict_from_raw_data_args.json", "postprocessing.json"),
    *("dataset_fingerprint.json", "splits_final.json", "summary.json", "postprocessing.pkl"),
    *("dataset_description.json", "participants.tsv", "participants.json", "README", "README.md"),
    *("README.txt", "CHANGES", "LICENSE", "LICENSE.txt"),
)
RAW_FOLDERS = ("imagesTr", "imagesTs", "imagesVal", "labelsTr", "labelsTs", "labelsVal")
CHANNEL = re.compile(r"_\d{4}")  # nnU-Net's ending of an image's name


@dataclass(frozen=True)
class Found:
    """A file below a folder: the names on the way to it, and its size."""

    parts: tuple[str, ...]
    n_bytes: int

    @property
    def name(self) -> str:
        """Its path below the folder."""
        return "/".join(self.parts)

    def lies_in(self, above: Path, folder: Path | None) -> bool:
        """Whether it lies in a folder, where its own path begins `above`."""
        return folder is not None and above.joinpath(*self.parts).is_relative_to(folder)

    @property
    def is_hidden(self) -> bool:
        """Hidden or temporary, or in such a folder."""
        return any(
            part.startswith(".") or part.endswith(TEMPORARY) or part.lower() in LEFT_BY_SYSTEMS
            for part in self.parts
        )


def files_below(folder: Path) -> Iterator[Found]:
    """All files of a folder and its folders; links to folders are not followed.

    Nothing reads below the second folder: one that is nested deeper than `DEEPEST` counts as a
    file, whatever is in it.
    """
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        above = waiting.pop()
        folders, files = _entries(folder.joinpath(*above))
        if len(above) == DEEPEST:
            folders, files = [], files | dict.fromkeys(folders, 0)
        for name in sorted(files):
            yield Found((*above, name), files[name])
        waiting += [(*above, name) for name in sorted(folders, reverse=True)]


def _entries(folder: Path) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in a folder, but for links, and of its files with their sizes."""
    folders, files = [], {}
    with suppress(OSError), os.scandir(folder) as entries:  # it may not be looked into
        for entry in entries:
            with suppress(OSError):  # removed in this moment
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not images.is_folder(Path(entry)):
                    files[entry.name] = entry.stat(follow_symlinks=False).st_size
    return folders, files


def stem_of(name: str, endings: Sequence[str] = images.SUFFIXES) -> str | None:
    """The name of a file without its ending; None if it has none of them."""
    return next((name.removesuffix(end) for end in endings if name.endswith(end)), None)


def check_reference_folder(protocol: Protocol, found: Iterable[Found]) -> list[Problem]:
    """Files of the reference folder that nothing reads."""
    spec = protocol.reference
    patterns = [spec.image, spec.consensus, spec.structures.file if spec.structures else None]
    anyone = {} if spec.rater_names else {"rater": r"\d+"}
    read = [matcher(spec.raters, anyone), *(matcher(each, {}) for each in patterns if each)]

    ours = spec.raters.partition("/")[0]
    channels = [m for m in read[1:] if spec.image and CHANNEL.fullmatch(spec.image[-5:])]

    def is_read(parts: tuple[str, ...]) -> bool:
        alone = stem_of(parts[-1])
        path = "/".join([*parts[:-1], alone]) if alone is not None else ""
        if parts == (protocol.cases.file,) or parts[-1] in COMPANIONS:
            return True
        if len(parts) == 1 and parts[0].endswith(".toml"):
            return True  # the protocol itself
        if ours in RAW_FOLDERS and parts[0] in RAW_FOLDERS and parts[0] != ours:
            return True  # the images, and the other part of the same dataset
        if CHANNEL.fullmatch(path[-5:]) and any(m.fullmatch(f"{path[:-5]}_0000") for m in channels):
            return True
        return any(each.fullmatch(path) for each in read)

    return _unread(found, is_read, file="reference folder")


def check_method_folder(
    protocol: Protocol, found: Collection[Found], method: str, cases: Collection[str]
) -> list[Problem]:
    """Files of a method that nothing reads, and predictions of cases that there are not."""
    known, named = set(cases), predicted_cases(protocol, found)
    spec, stems = protocol.prediction, set(protocol.probability_stems.values())
    stems |= {spec.mask, spec.probability, numbered_sample(spec.sample)}
    if LABEL not in spec.probability:
        stems |= {f"{spec.probability}_{name}" for name in protocol.label_names}
    read = [matcher(stem, {"sample": r"\d+"}) for stem in sorted(stems)]
    nested = lies_in_case_folder(spec.mask)

    def is_read(parts: tuple[str, ...]) -> bool:
        if len(parts) == 1 and parts[0] in COMPANIONS:
            return True
        if nested and len(parts) == 1:
            return stem_of(parts[0], ENDINGS) is not None  # else it is listed as an unknown case
        if nested and parts[0] not in known:
            return True  # likewise
        alone = stem_of(parts[-1], ENDINGS if not nested else images.SUFFIXES)
        path = "/".join([*parts[:-1], alone]) if alone is not None else ""
        return any(each.fullmatch(path) for each in read)

    problems = []
    for case in sorted(named.keys() - known):
        like = [name for name in cases if appearance(name) == appearance(case)]
        fix = f"Is it {like[0]}?" if like else ""
        message = f"{case} is no case of the reference"
        problems.append(warning("unknown-case", message, fix, method=method, file=case))
    for case in sorted(known & named.keys()):
        if len(named[case]) > 1:
            message = "is there as a folder and as nnU-Net's files, and the folder is read"
            fix = "Keep one of them"
            problems.append(warning("both-layouts", message, fix, case=case, method=method))
    return problems + _unread(found, is_read, method=method)


def check_beside_methods(predictions: Path) -> list[Problem]:
    """Files beside the folders of the methods."""
    names = sorted(path.name for path in predictions.iterdir() if not images.is_folder(path))
    found = [Found((name,), 0) for name in names]
    return _unread(found, lambda parts: parts[-1] in COMPANIONS, file="predictions folder")


def predicted_cases(protocol: Protocol, found: Iterable[Found]) -> dict[str, set[str]]:
    """The cases that a method predicts, each with its layouts."""
    cases: dict[str, set[str]] = defaultdict(set)
    seen = [file for file in found if not file.is_hidden]
    if not lies_in_case_folder(protocol.prediction.mask):
        stems = ("/".join([*f.parts[:-1], stem_of(f.parts[-1]) or ""]) for f in seen)
        return {case: {"pattern"} for case in masks_among(protocol, stems)}
    for file in seen:
        folder, alone = file.parts[0], stem_of(file.parts[0], ENDINGS)
        if len(file.parts) > 1:
            cases[folder].add("folder")
        elif alone is not None:
            cases[alone].add("nnU-Net")
    return cases


def check_names(names: Collection[str], of: str) -> list[Problem]:
    """Names of cases or methods that look alike, or that a spreadsheet would compute."""
    fix = "Check that each is one of its own"
    alike = [
        warning(f"look-alike-{of}", f"{', '.join(same)} look alike", fix)
        for same in groups_alike(names)
    ]
    formulas = [name for name in names if is_formula(name)]
    return alike + [warning("formula-name", f"{name} {FORMULA}", "Rename it") for name in formulas]


def _unread(
    found: Iterable[Found],
    is_read: Callable[[tuple[str, ...]], bool],
    *,
    file: str | None = None,
    method: str | None = None,
) -> list[Problem]:
    """One line for all files that nothing reads, and one for hidden ones."""
    hidden, stray = [], []
    for one in found:
        if one.is_hidden:
            hidden.append(one.name)
        elif not is_read(one.parts):
            stray.append(one.name)
    problems = []
    for kind, names, what in (
        ("stray-files", stray, "not read"),
        ("hidden-files", hidden, "hidden or temporary"),
    ):
        if names:
            count = "1 file is" if len(names) == 1 else f"{len(names)} files are"
            message = f"{count} {what}: {listed(names, most=MOST_NAMED)}"
            problems.append(warning(kind, message, method=method, file=file))
    return problems
