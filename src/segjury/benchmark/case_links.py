"""A folder of links to some of the cases of a benchmark, in place of copies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segjury.benchmark.layout import CaseFiles
from segjury.benchmark.names import place_in
from segjury.errors import InputError
from segjury.images import suffix
from segjury.protocols import Protocol
from segjury.protocols.patterns import lies_in_case_folder
from segjury.runtime.paths import make_folder, resolved
from segjury.wording import listed


def check_cases(reference: Path, cases: Sequence[str]) -> None:
    """Refuse cases that have no folder in the reference, and paths that lead out of it."""
    absent = [case for case in cases if not place_in(reference, case, "case").is_dir()]
    if absent:
        raise InputError(
            f"{reference} has no folder {listed(absent, most=5)}",
            "Give the folder that has one folder per case",
        )


def check_empty(folder: Path) -> None:
    """Refuse a folder with something in it: old and new links would be mixed."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already", "Remove it, or give a new folder")


def link_files(protocol: Protocol, reference: Path, cases: Sequence[str], out: Path) -> None:
    """`link_cases`, of files where these lie flat."""
    if lies_in_case_folder(protocol.reference.raters):
        link_cases(reference, cases, out)
        return
    files = [path for path in reference.iterdir() if path.is_file() and suffix(path.name) is None]
    for case in cases:
        found = CaseFiles.of(protocol, reference, case)
        files += [*found.there, *(found.image.candidates if found.image else ())]
    for path in files:
        link = out / path.relative_to(reference)
        make_folder(link.parent)
        link.symlink_to(resolved(path))


def link_cases(reference: Path, cases: Sequence[str], out: Path) -> None:
    """Make `out` a benchmark of these cases: links to their folders and to the reference's files.

    The files beside the folders, such as a table of cases, may say more of the cases.
    """
    make_folder(out)
    files = [path.name for path in reference.iterdir() if path.is_file()]
    links = {case: place_in(reference, case, "case") for case in cases}
    for name, place in (links | {name: reference / name for name in files}).items():
        (out / name).symlink_to(resolved(place))
