"""Paths split into cases and raters: the one split that explains all files best."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from segjury.benchmark.init.words import (
    SEPARATORS,
    is_known_word,
    is_rater_word,
    names_a_mask,
    names_a_rater,
    parts_of,
    role_of,
)
from segjury.protocols.patterns import CASE, MOST_FOLDERS, RATER
from segjury.protocols.reference import LARGEST_PANEL

MOST_SEPARATORS = 8  # from the end of a name at which it may be split
MOST_TEMPLATES = 2 * LARGEST_PANEL
FULL_ENOUGH = 0.75  # the part of cases times raters that is there, where no word says "rater"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
_LITERAL = re.compile(r"[A-Za-z0-9_ .=+@/-]{1,200}")
_EDGE = f"{SEPARATORS}/"
_FIRST_WORD = re.compile(r"[^_\-. ]+")

Path = tuple[str, ...]  # the parts of one below the folder, without its ending


def can_be_a_pattern(text: str) -> bool:
    """Whether a protocol may have a pattern: its letters, its depth, and no dots at its ends."""
    plain = re.sub("{(case|rater|label|sample)}", "x", text)
    parts = plain.split("/")
    ends = all(part and part[0] not in ". " and part[-1] not in ". " for part in parts)
    return ends and len(parts) <= MOST_FOLDERS and _LITERAL.fullmatch(plain) is not None


@dataclass(frozen=True)
class Split:
    """What each path is: a pattern with `{case}` and `{rater}`, and who marked which case.

    The rater of a pattern without `{rater}` is called "". `by_role` has the patterns of other
    files, such as the image.
    """

    pattern: str
    marks: Mapping[str, Mapping[str, Path]]  # case, rater, path
    by_role: Mapping[str, tuple[str, ...]]
    is_pattern: bool = True  # else no pattern says in which folders the files lie

    @property
    def raters(self) -> list[str]:
        """All raters, 2 before 10."""
        return sorted({name for of_case in self.marks.values() for name in of_case}, key=natural)


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Where a name is sorted: numbers in it by their values."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), p) if p.isascii() and p.isdigit() else (1, 0, p) for p in parts)


def best_split(
    paths: Sequence[Path], known: Collection[str] = (), *, whole_names: bool = False
) -> Split | None:
    """The split of paths of one depth that explains them best; None where none does.

    The fewest cases and raters together that make up all files, which is the fullest table of
    both. Of splits alike in that, the one whose raters are called so, which has fewer raters than
    cases, and whose cases end at the last separator. Splits into `known` names of cases come
    first. With `whole_names`, as in nnU-Net's folders, the whole name of a file is the case unless
    a word says that raters are in it.
    """
    best: tuple[tuple[float, ...], Split] | None = None
    for first, once in enumerate(_ways(paths)):
        everywhere = [(case, template_of(text, case)) for case, text in once]
        for way in (once, everywhere) if everywhere != once else (once,):
            rated = _judged(paths, way, known)
            if rated and whole_names and first and not tells_of_raters(rated[1].pattern):
                continue
            if rated and (best is None or rated[0] < best[0]):
                best = rated
    return best[1] if best else None


def split_without_folders(paths: Sequence[Path]) -> Split | None:
    """A split by the names of the files alone, whatever folders they lie in.

    No pattern says where its files are, as those of several sessions of a patient.
    """
    names: list[Path] = [(path[-1],) for path in paths]
    way = _before_known_words(names)
    rated = _judged(names, way, ()) if way else None
    places = dict(zip(names, paths, strict=True))
    if rated is None or len(places) < len(paths):
        return None
    split = rated[1]
    marks = {
        case: {rater: places[path] for rater, path in raters.items()}
        for case, raters in split.marks.items()
    }
    return Split(split.pattern, marks, split.by_role, is_pattern=False)


# ---- ways to name the case of each path -----------------------------------------------------

Way = list[tuple[str, str]]  # of each path the case, and the path with `{case}` in its place


def _ways(paths: Sequence[Path]) -> Iterator[Way]:
    for place in range(len(paths[0]) - 1, -1, -1):
        yield _whole(paths, place)
    if way := _before_known_words(paths):
        yield way
    for count in range(1, MOST_SEPARATORS + 1):
        cases = [_before_last(path[-1], count) for path in paths]
        if sum(map(bool, cases)) < FULL_ENOUGH * len(cases):
            break
        yield _beginnings(paths, [case or p[-1] for case, p in zip(cases, paths, strict=True)])


def _whole(paths: Sequence[Path], place: int) -> Way:
    """The case is a whole folder or name."""
    place %= len(paths[0])
    return [(p[place], "/".join((*p[:place], CASE, *p[place + 1 :]))) for p in paths]


def _beginnings(paths: Sequence[Path], cases: Sequence[str]) -> Way:
    """The case is the beginning of the file's name."""
    return [
        (case, "/".join((*path[:-1], CASE + path[-1][len(case) :])))
        for path, case in zip(paths, cases, strict=True)
    ]


def _before_last(name: str, count: int) -> str:
    """A name up to the separator that is so many from its end; nothing where it has fewer."""
    found = [k for k, sign in enumerate(name) if sign in SEPARATORS and k]
    return name[: found[-count]].rstrip(SEPARATORS) if len(found) >= count else ""


def _before_known_words(paths: Sequence[Path]) -> Way | None:
    """The case is what is before the first word that says what a file is."""
    cases = [before_known_word(path[-1]) for path in paths]
    return _beginnings(paths, cases) if all(cases) else None


def before_known_word(name: str) -> str:
    """A name up to the first word that says what the file is; all of it where none does."""
    for word in _FIRST_WORD.finditer(name):
        if word.start() and is_known_word(word[0]):
            return name[: word.start()].rstrip(SEPARATORS)
    return name


def template_of(path: str, case: str) -> str:
    """A path with `{case}` also wherever else the case stands between separators."""
    if not case or case not in path:
        return path
    found, start = [], 0
    while (at := path.find(case, start)) >= 0:
        end = at + len(case)
        if (not at or path[at - 1] in _EDGE) and (end == len(path) or path[end] in _EDGE):
            found.append(at)
            start = end
        else:
            start = at + 1
    for at in reversed(found):
        path = f"{path[:at]}{CASE}{path[at + len(case) :]}"
    return path


# ---- how well a way explains all ------------------------------------------------------------


def _judged(
    paths: Sequence[Path], way: Way, known: Collection[str]
) -> tuple[tuple[float, ...], Split] | None:
    """A split by the cases of the paths, and its rank among others: the lowest is best."""
    by_template: dict[str, dict[str, Path]] = {}
    for path, (case, template) in zip(paths, way, strict=True):
        if by_template.setdefault(template, {}).setdefault(case, path) != path:
            return None
    if len(by_template) > MOST_TEMPLATES:
        return None
    every = {case for case, _ in way}
    roles: dict[str, list[str]] = {}
    for template in sorted(by_template, key=natural):
        roles.setdefault(role_of(template), []).append(template)
    found = _raters(roles, by_template, len(every))
    if found is None:
        return None
    pattern, rater_of, told = found
    if not can_be_a_pattern(pattern):
        return None
    marks: dict[str, dict[str, Path]] = {}
    for template, rater in rater_of.items():
        for case, path in by_template[template].items():
            marks.setdefault(case, {})[rater] = path
    words = sum(any(map(names_a_mask, parts_of(case))) for case in marks)
    meets = known and sum(case in known for case in marks) * 2 > len(marks)
    rank = (
        -float(bool(meets)),
        float(words * 2 > len(marks)),
        float(len(every) + len(by_template)),
        float(not told and len(rater_of) > 1),
        float(len(rater_of) > len(marks)),
        float([CASE in part for part in pattern.split("/")].index(True)),
        -sum(map(len, marks)) / len(marks),
    )
    others = {role: left for role, each in roles.items() if (left := _without(each, rater_of))}
    return rank, Split(pattern, {case: marks[case] for case in sorted(marks)}, others)


def _without(templates: Sequence[str], chosen: Collection[str]) -> tuple[str, ...]:
    return tuple(template for template in templates if template not in chosen)


def _raters(
    roles: Mapping[str, Sequence[str]], by_template: Mapping[str, Mapping[str, Path]], n_cases: int
) -> tuple[str, dict[str, str], bool] | None:
    """The pattern of raters' files, the rater of each template, and whether words say so."""
    masks, unknown = roles.get("mask", ()), roles.get("unknown", ())
    for templates in (masks, unknown):
        if not templates or len(templates) > LARGEST_PANEL:
            continue
        found = _factored(templates)
        if found is None:
            continue
        pattern, raters = found
        told = tells_of_raters(pattern)
        files = sum(len(by_template[template]) for template in templates)
        cases = len({case for template in templates for case in by_template[template]})
        few = len(templates) <= cases and files >= FULL_ENOUGH * cases * len(templates)
        if len(templates) == 1 or told or (few and cases == n_cases):
            return pattern, raters, told
    return None


def _factored(templates: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """What templates share, with `{rater}` where they differ, and the rater of each."""
    if len(templates) == 1:
        return (templates[0], {templates[0]: ""}) if CASE in templates[0] else None
    start = _common(templates, _begins_a_name)
    rest = [template[len(start) :] for template in templates]
    end = _common([text[::-1] for text in rest], _ends_a_name)[::-1]
    names = [text[: len(text) - len(end)] for text in rest]
    pattern = f"{start}{RATER}{end}"
    if CASE not in pattern or not all(_NAME.fullmatch(name) for name in names):
        return None
    return pattern, dict(zip(templates, names, strict=True))


def _common(texts: Sequence[str], may_end: Callable[[str, Sequence[str]], bool]) -> str:
    """The longest start of all texts after which the names of raters may begin."""
    first, last = min(texts), max(texts)
    length = next(
        (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    while length and not may_end(first[:length], [text[length:] for text in texts]):
        length -= 1
    return first[:length]


def _begins_a_name(start: str, rest: Sequence[str]) -> bool:
    if not all(rest) or start.rfind("{") > start.rfind("}"):
        return False
    if start[-1] in _EDGE:
        return True
    letters = start[-1].isalpha()
    if letters and all(text[0].isdigit() for text in rest):
        return True
    if start[-1].islower() and all(text[0].isupper() for text in rest):
        return True
    return is_rater_word(parts_of(start.rpartition("/")[2])[-1])


def _ends_a_name(end: str, rest: Sequence[str]) -> bool:
    return all(rest) and end[-1] in _EDGE and end.count("{") == end.count("}")


def tells_of_raters(pattern: str) -> bool:
    """Whether a word before `{rater}`, or the folder above it, says what it stands for."""
    if RATER not in pattern:
        return False
    folders, _, name = pattern[: pattern.index(RATER)].rpartition("/")
    words = parts_of(name.replace(CASE, " "))
    if words:
        return names_a_mask(words[-1])
    above = parts_of(folders.rpartition("/")[2].replace(CASE, " "))
    return bool(above) and not name and names_a_rater(above[-1])
