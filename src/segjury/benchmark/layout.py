"""Where the files of each case are, by the patterns of a protocol, and which cases there are."""

from __future__ import annotations

import bisect
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from segjury import images
from segjury.benchmark.names import check_name
from segjury.errors import InputError
from segjury.protocols import Protocol
from segjury.protocols.patterns import CASE, filled, lies_in_case_folder, matcher
from segjury.protocols.reference import Reference

MOST_FILES = 1_000_000  # that are looked through for cases
AT_REST_NS = 2_000_000_000  # since its last change, a folder's time tells whether it changed again


@dataclass(frozen=True)
class Place:
    """Where one image is looked for: a folder, and the file's name without its ending."""

    folder: Path
    stem: str

    @classmethod
    def of(cls, pattern: str, root: Path, case: str, **values: str) -> Place:
        """That of a pattern below a folder."""
        *folders, stem = filled(pattern, case=check_name(case, "case"), **values).split("/")
        return cls(root.joinpath(*folders), stem)

    @property
    def candidates(self) -> list[Path]:
        """The files there are, with any known ending."""
        return images.candidates(self.folder, self.stem)

    def find(self) -> Path:
        """The one file; an `InputError` where there is none, or more than one."""
        return images.find(self.folder, self.stem)

    @property
    def usual_name(self) -> str:
        """The file's name as it usually is."""
        return f"{self.stem}{images.SUFFIXES[0]}"


@dataclass(frozen=True)
class CaseFiles:
    """The files of a case's reference, whether they are there or not."""

    spec: Reference
    root: Path
    case: str

    @classmethod
    def of(cls, protocol: Protocol, root: Path, case: str) -> CaseFiles:
        """Those of a case below the folder of the reference."""
        return cls(protocol.reference, root, case)

    @cached_property
    def raters(self) -> dict[str, Place]:
        """That of each rater of the panel."""
        return {name: self._rater(name) for name in self.spec.panel}

    @property
    def repeats(self) -> dict[str, Place]:
        """Those of second reads."""
        return {name: self._rater(name) for name in self.spec.repeats}

    def _rater(self, name: str) -> Place:
        return Place.of(self.spec.raters, self.root, self.case, rater=name)

    def name_of(self, place: Place) -> str:
        """What tells a file from the others of the case: its name, if need be with its folders."""
        beside = filter(None, (self.image, self.consensus, self.structures))
        others = [*self.raters.values(), *self.repeats.values(), *beside]
        if [other.stem for other in others].count(place.stem) < 2:
            return place.stem
        return (place.folder.relative_to(self.root) / place.stem).as_posix()

    @property
    def first(self) -> Place:
        """That of the first rater who has one, else of the first."""
        there = (place for place in self.raters.values() if place.candidates)
        return next(there, next(iter(self.raters.values())))

    @property
    def image(self) -> Place | None:
        """That of the image."""
        return self._beside(self.spec.image)

    @property
    def consensus(self) -> Place | None:
        """That of a ready consensus."""
        return self._beside(self.spec.consensus)

    @property
    def structures(self) -> Place | None:
        """That of the label map of structures."""
        return self._beside(self.spec.structures.file if self.spec.structures else None)

    def _beside(self, pattern: str | None) -> Place | None:
        return Place.of(pattern, self.root, self.case) if pattern else None

    @property
    def there(self) -> list[Path]:
        """The files that scoring reads, those that there are."""
        beside = [self.consensus, self.structures]
        places = [*self.raters.values(), *filter(None, beside), *self.repeats.values()]
        return [path for place in places for path in place.candidates]

    def present(self) -> dict[str, Place]:
        """The raters who marked the case, where the panel may be incomplete; else all of them.

        One who is missing from a complete panel is an error when the file is read.
        """
        if self.spec.is_complete:
            return self.raters
        return {name: place for name, place in self.raters.items() if _is_there(place)}

    @property
    def left_out(self) -> str:
        """Why the case is not scored, for want of raters; nothing where there are enough."""
        return "" if self.spec.is_complete else _too_few(self.spec, list(self.present()))


def _too_few(spec: Reference, raters: Sequence[str]) -> str:
    """Why a case that these raters marked is not scored; nothing where they are enough."""
    if len(raters) >= spec.fewest:
        return ""
    names = f" ({', '.join(raters)})" if raters else ""
    needed = f"at least {spec.fewest} {'is' if spec.fewest == 1 else 'are'} needed"
    return f"{len(raters)} of {len(spec.panel)} raters marked it{names}, {needed}"


def _is_there(place: Place) -> bool:
    """Whether there is anything of that name, be it a link that leads nowhere."""
    if place.candidates:
        return True
    return any((place.folder / f"{place.stem}{end}").is_symlink() for end in images.SUFFIXES)


# ---- cases ---------------------------------------------------------------------------------


def case_names(protocol: Protocol, reference: Path) -> list[str]:
    """The cases of a benchmark, from the names of their files or folders."""
    return [check_name(name, "case") for name in found_cases(protocol, reference)]


def found_cases(protocol: Protocol, reference: Path) -> list[str]:
    """The cases in a folder, whatever their names."""
    spec = protocol.reference
    if lies_in_case_folder(spec.raters):
        return folder_names(reference, "case")
    _refuse_no_folder(reference, f"the files {spec.raters}")
    others = [
        matcher(pattern, {})
        for pattern in (spec.image, spec.consensus, spec.structures and spec.structures.file)
        if pattern and CASE in pattern
    ]
    raters = matcher(spec.raters, rater_choices(spec))
    cases = set()
    for path in stems_below(reference, spec.raters.count("/") + 1):
        found = raters.fullmatch(path)
        if found and not any(is_narrower(other, path, found["case"]) for other in others):
            cases.add(found["case"])
    if not cases:
        shown = f"{spec.raters}{images.SUFFIXES[0]}"
        raise InputError(
            f"{reference} has no file {shown}",
            "Give the folder that `reference.raters` begins in, or change that pattern",
        )
    return sorted(cases)


def rater_choices(spec: Reference) -> dict[str, str]:
    """What may stand for a rater in the name of a file, and for a case: as little as may be.

    So of raters A and B-A the second is the one of a file P1-B-A.
    """
    return {"rater": "|".join(map(re.escape, spec.all_names)), "case": "[^/]+?"}


def is_narrower(other: re.Pattern[str], path: str, case: str) -> bool:
    """Whether a file that could be a rater's of `case` is better told by another pattern."""
    found = other.fullmatch(path)
    return found is not None and len(found["case"]) < len(case)


def stems_below(folder: Path, depth: int) -> Iterator[str]:
    """The images so many folders deep, by their paths below a folder, without their endings."""
    for parts in files_at(folder, depth):
        if end := images.suffix(parts[-1]):
            yield "/".join([*parts[:-1], parts[-1].removesuffix(end)])


def files_at(folder: Path, depth: int) -> Iterator[tuple[str, ...]]:
    """The files so many folders deep; hidden ones are left out."""
    waiting: list[tuple[str, ...]] = [()]
    seen = 0
    while waiting:
        above = waiting.pop()
        with suppress(OSError), os.scandir(folder.joinpath(*above)) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.startswith("."):
                    continue
                seen += 1
                if seen > MOST_FILES:
                    fix = "Give a folder with fewer"
                    raise InputError(f"{folder} has more than {MOST_FILES} files", fix)
                is_last = len(above) + 1 == depth
                if is_last and not images.is_folder(Path(entry.path)):
                    yield (*above, entry.name)
                elif not is_last and images.is_folder(Path(entry.path)):
                    waiting.append((*above, entry.name))


def names_beginning(folder: Path, start: str) -> list[str]:
    """The names in a folder that begin so, in order; none where it cannot be looked into."""
    try:
        changed_ns = folder.stat().st_mtime_ns
        at_rest = time.time_ns() - changed_ns > AT_REST_NS
        names = (_listed if at_rest else _listed.__wrapped__)(folder, changed_ns)
    except OSError:
        return []
    first = bisect.bisect_left(names, start)
    return names[first : bisect.bisect_left(names, f"{start}{chr(sys.maxunicode)}", first)]


@lru_cache(maxsize=4)
def _listed(folder: Path, _changed_ns: int) -> list[str]:
    """The names in a folder since it last changed: where files lie flat, each case asks for it."""
    return sorted(path.name for path in folder.iterdir())


def folder_names(folder: Path, of: str) -> list[str]:
    """The folders in a folder, but hidden ones, whatever their names."""
    _refuse_no_folder(folder, f"one folder per {of}")
    names = sorted(p.name for p in folder.iterdir() if images.is_folder(p) and p.name[0] != ".")
    if not names:
        fix = f"Give the folder that has one folder per {of}"
        if of == "case" and any(images.suffix(path.name) for path in folder.iterdir()):
            fix += (
                ". Where files lie side by side, the protocol has to say so: `segjury init` finds "
                "out how, and `reference.raters` of a copy is changed to that"
            )
        raise InputError(f"{folder} has no {of} folders", fix)
    return names


def _refuse_no_folder(folder: Path, what: str) -> None:
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", f"Give the folder that has {what}")


def scored_cases(
    protocol: Protocol, reference: Path, cases: Iterable[str]
) -> tuple[list[str], dict[str, str]]:
    """The cases that enough raters marked, and why each of the others is left out."""
    spec = protocol.reference
    if spec.is_complete:
        return list(cases), {}
    there = set(stems_below(reference, filled(spec.raters).count("/") + 1))
    reasons = {}
    for case in cases:
        raters = [
            name for name in spec.panel if filled(spec.raters, case=case, rater=name) in there
        ]
        reasons[case] = _too_few(spec, raters)
    scored = [case for case, why in reasons.items() if not why]
    left_out = {case: why for case, why in reasons.items() if why}
    if left_out and not scored:
        case, why = next(iter(left_out.items()))
        raise InputError(
            f"no case has enough raters ({case}: {why})", "Lower `reference.min_raters`"
        )
    return scored, left_out


def unknown_raters(
    protocol: Protocol, reference: Path, cases: Iterable[str]
) -> Mapping[str, list[str]]:
    """By case, files named as a rater's of whom the protocol does not know: perhaps misspelt."""
    spec, known = protocol.reference, set(cases)
    if "{rater}" not in spec.raters:
        return {}
    anyone = matcher(spec.raters, {"rater": "[^/]+?" if spec.rater_names else r"\d+"})
    ours = matcher(spec.raters, rater_choices(spec))
    others = [
        matcher(pattern, {})
        for pattern in (spec.image, spec.consensus, spec.structures and spec.structures.file)
        if pattern
    ]
    depth = filled(spec.raters).count("/") + 1
    found: dict[str, list[str]] = {}
    for path in stems_below(reference, depth):
        told = anyone.fullmatch(path)
        known_rater = ours.fullmatch(path) or any(other.fullmatch(path) for other in others)
        if told and told["case"] in known and not known_rater:
            found.setdefault(told["case"], []).append(path.rpartition("/")[2])
    return found
