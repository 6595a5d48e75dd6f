"""Compare two versions of one's own method: score both, test the differences, draw what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from segjury.analysis.versions import Versions, compare_versions
from segjury.benchmark.folders import (
    method_names,
    refuse_output_among_inputs,
    submitted,
)
from segjury.benchmark.layout import case_names
from segjury.benchmark.names import check_name
from segjury.errors import InputError
from segjury.metrics import Reading
from segjury.platforms.notebook import NotebookStudy
from segjury.protocols import Protocol, load_protocol
from segjury.results import Results
from segjury.runtime.paths import make_folder
from segjury.runtime.tables import write_csv
from segjury.scoring.evaluate import run
from segjury.scoring.run import Progress

PICTURE = "slices"


@dataclass(frozen=True)
class Compared:
    """Two versions compared, what could not be scored, and the files that were written."""

    versions: Versions
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def compare(
    first: str | Path,
    second: str | Path,
    *,
    protocol: str | Path | Protocol,
    reference: str | Path,
    out: str | Path | None = None,
    reading: Reading = "corrected",
    pictures: int = 3,
    jobs: int | None = 1,
    allow_code: bool = False,
    progress: Callable[[Progress], None] = lambda _done: None,
) -> Compared:
    """Compare two versions of a method, case by case.

    Parameters
    ----------
    first, second
        The folders of the two versions: with one folder per case, or with the one folder of a
        method.
    protocol, reference
        As for `run`.
    out
        A folder for `versions.csv` (each score), `cases.csv` (each case) and pictures.
    reading
        The reading to compare in.
    pictures
        How many of the cases that changed most are drawn into `out`.
    jobs, allow_code, progress
        As for `run`.

    Returns
    -------
    Compared
        `.versions.table` has a row per score, `.versions.by_case` one per case and score.

    """
    definition, truth = load_protocol(protocol, allow_code=allow_code), Path(reference)
    folders = [
        _version(definition, Path(given), case_names(definition, truth))
        for given in (first, second)
    ]
    if folders[0] == folders[1]:
        raise InputError(f"{first} and {second} are the same folder", "Give two versions")
    place = None if out is None else Path(out)
    if place:
        refuse_output_among_inputs(place, truth, *folders)
        make_folder(place)  # before any work: a wrong place costs none
    with _side_by_side(folders) as (both, names):
        results = run(
            protocol,
            reference=truth,
            predictions=both,
            readings=[reading],
            jobs=jobs,
            follow_links=True,
            allow_code=allow_code,
            progress=progress,
        )
        versions = compare_versions(results, *names)
        files: list[Path] = []
        warnings = list(results.warnings)
        if place:
            files = [place / "versions.csv", place / "cases.csv"]
            for table, file in zip((versions.table, versions.by_case), files, strict=True):
                write_csv(table, file)
            cases = versions.most_changed(pictures)
            drawn, missed = _draw(results, cases, names, place, truth, both)
            files += drawn
            warnings += missed
    return Compared(versions, results.problems, tuple(warnings), tuple(files))


def _version(protocol: Protocol, folder: Path, cases: Sequence[str]) -> Path:
    """The folder of the one method that a folder is, or holds."""
    place, methods = submitted(protocol, folder, cases=cases)
    names = list(methods or method_names(place))
    if len(names) != 1:
        raise InputError(
            f"{folder} has {len(names)} methods, {', '.join(names[:3])}, ...",
            "Give the folder of one",
        )
    return (place / names[0]).resolve()


@contextmanager
def _side_by_side(folders: Sequence[Path]) -> Iterator[tuple[Path, list[str]]]:
    """A folder of links to both versions, and the names that they have in it."""
    names = _names(folders)
    with TemporaryDirectory() as folder:
        for name, version in zip(names, folders, strict=True):
            Path(folder, name).symlink_to(version, target_is_directory=True)
        yield Path(folder), names


def _names(folders: Sequence[Path]) -> list[str]:
    """How the versions are called: as their folders, with those above where these are the same."""
    for parts in range(1, 4):
        names = ["-".join(folder.parts[1:][-parts:]) for folder in folders]
        if len({name.casefold() for name in names}) == 2 and not any(n[0] == "." for n in names):
            return [check_name(name, "method") for name in names]
    return ["first", "second"]


def _draw(
    results: Results,
    cases: Sequence[str],
    names: Sequence[str],
    out: Path,
    reference: Path,
    predictions: Path,
) -> tuple[list[Path], list[str]]:
    """A picture of both versions for each case; a sentence for each that cannot be drawn."""
    files, missed = [], []
    study = NotebookStudy.of(replace(results, path=None), samples=0)
    for case in cases:
        file = out / f"{case}.png"
        try:
            study.figure(
                PICTURE, case=case, method=names, reference=reference, predictions=predictions
            ).save(file)
            files.append(file)
        except InputError as error:
            missed.append(f"case {case} is not drawn: {error}")
    return files, missed
