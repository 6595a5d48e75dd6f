"""In which layout the reference of a benchmark lies: where each rater's mask of each case is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segjury import images
from segjury.benchmark.init.listing import Image, Listing
from segjury.benchmark.init.splitting import (
    Split,
    best_split,
    can_be_a_pattern,
    natural,
    split_without_folders,
    template_of,
)
from segjury.benchmark.init.words import is_image_folder, role_of
from segjury.benchmark.names import check_name
from segjury.errors import InputError
from segjury.protocols.patterns import CASE, RATER
from segjury.wording import listed, plural

NNUNET_LABELS = ("labelsTs", "labelsTr")  # the test cases come first
CHANNEL = f"{CASE}_0000"
LOOKED_FOR = (
    "<case>/annotation_<rater>, <case>_reader-<rater>, <rater>/<case>, labelsTs/<case> or "
    "sub-<case>/anat/sub-<case>_desc-<rater>_dseg"
)


@dataclass(frozen=True)
class ReferenceLayout:
    """Where the masks of a reference are, as patterns below its folder.

    `marks` has the file of each rater of each case; where there is one rater without a name, it
    is called "". Without `is_pattern` the folders of the files are no part of the pattern.
    """

    folder: Path
    kind: str
    pattern: str
    marks: Mapping[str, Mapping[str, Image]]
    raters: tuple[str, ...]
    image: str | None = None
    consensus: str | None = None
    is_pattern: bool = True

    @property
    def cases(self) -> list[str]:
        """The cases, sorted."""
        return sorted(self.marks)

    @property
    def masks(self) -> list[Path]:
        """The files of all masks."""
        every = (of_case[rater] for _, of_case in sorted(self.marks.items()) for rater in of_case)
        return [image.below(self.folder) for image in every]

    @property
    def counts(self) -> Counter[int]:
        """How many cases were marked by how many raters."""
        return Counter(len(of_case) for of_case in self.marks.values())

    @property
    def is_numbered(self) -> bool:
        """Whether the raters are called 1, 2, ... and so on."""
        return list(self.raters) == [str(k + 1) for k in range(len(self.raters))]


def recognise(
    listing: Listing, known: Collection[str] = (), *, is_nnunet: bool = False
) -> ReferenceLayout:
    """The layout of a reference; an `InputError` that says what was looked for where none fits.

    `known` are names that may be those of cases, as predictions have them. `is_nnunet` says that
    there is a `dataset.json`, so that names of files are those of cases.
    """
    if not listing.images:
        raise InputError(
            f"{listing.folder} has no image of a known format ({', '.join(images.SUFFIXES)})",
            "Give the folder that has the masks of the raters",
        )
    folder = _nnunet_folder(listing.images)
    listing = listing.of_volumes()
    by_path = {image.parts: image for image in listing.images}
    if len(by_path) < len(listing.images):
        _refuse_two_formats(listing.images)
    candidates = [p for p in by_path if not any(map(is_image_folder, p[:-1]))] or list(by_path)
    whole_names = is_nnunet
    if folder:
        candidates = [path for path in candidates if path[0] == folder and len(path) == 2]
        whole_names = True
    split = _deepest_first(candidates, known, whole_names=whole_names)
    if split is None and whole_names and not folder:
        split = _deepest_first(candidates, known, whole_names=False)
    if split is None:
        split = next(filter(None, map(split_without_folders, _by_depth(candidates))), None)
    if split is None:
        raise InputError(
            f"the files in {listing.folder} follow no layout that is known, such as "
            f"{_example(candidates)}; looked for {LOOKED_FOR}",
            "Rename them, with letters, digits and _-.=+@ in names that are the same for all cases",
        )
    is_raw = whole_names and RATER not in split.pattern
    return _layout(listing, split, by_path, "nnU-Net" if is_raw else "")


def _nnunet_folder(found: Iterable[Image]) -> str | None:
    """The folder of labels in a raw dataset of nnU-Net."""
    folders = {image.parts[0] for image in found if len(image.parts) == 2}
    return next((name for name in NNUNET_LABELS if name in folders), None)


def _refuse_two_formats(found: Sequence[Image]) -> None:
    seen: dict[tuple[str, ...], str] = {}
    for image in found:
        other = seen.setdefault(image.parts, image.end)
        if other != image.end:
            raise InputError(
                f"{image.path} is there as {other} and as {image.end}",
                "Keep one of them",
                kind="two-files",
            )


def _by_depth(paths: Iterable[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """Paths of the same depth together, the most first."""
    groups: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for path in paths:
        groups[len(path)].append(path)
    return [groups[depth] for depth in sorted(groups, key=lambda d: (-len(groups[d]), d))]


def _deepest_first(
    paths: Sequence[tuple[str, ...]], known: Collection[str], *, whole_names: bool
) -> Split | None:
    splits = (best_split(group, known, whole_names=whole_names) for group in _by_depth(paths))
    return next(filter(None, splits), None)


def _example(paths: Sequence[tuple[str, ...]]) -> str:
    return ascii("/".join(min(paths)))[:200]


def _layout(
    listing: Listing, split: Split, by_path: Mapping[tuple[str, ...], Image], kind: str
) -> ReferenceLayout:
    for case in split.marks:
        check_name(case, "case")
    alike = Counter(name.lower() for name in split.raters)
    same = [name for name in split.raters if alike[name.lower()] > 1]
    if same:
        raise InputError(
            f"the raters {listed(same[:2], last=' and ')} differ in capitals only", "Rename one"
        )
    one_of = {
        role: each[0]
        for role, each in split.by_role.items()
        if len(each) == 1 and can_be_a_pattern(each[0])
    }
    marks = {
        case: {rater: by_path[path] for rater, path in of_case.items()}
        for case, of_case in split.marks.items()
    }
    return ReferenceLayout(
        listing.folder,
        kind or _kind(split.pattern),
        _short(split.pattern),
        marks,
        tuple(split.raters),
        image=_short(_image(listing, split) or "") or None,
        consensus=_short(one_of.get("consensus", "")) or None,
        is_pattern=split.is_pattern,
    )


def _kind(pattern: str) -> str:
    """What a layout is called."""
    if f"sub-{CASE}" in pattern or "_dseg" in pattern:
        return "BIDS"
    first = pattern.partition("/")[0]
    if pattern.startswith(f"{CASE}/"):
        return "a folder per case"
    if RATER in first and "/" in pattern:
        return "a folder per rater"
    return "files side by side"


def _short(pattern: str) -> str:
    """A pattern without the folder of the case, where that is all it says of the case."""
    rest = pattern.removeprefix(f"{CASE}/")
    return rest if CASE not in rest and "/" not in rest else pattern


def _image(listing: Listing, split: Split) -> str | None:
    """The pattern of the image that most cases have; a first channel comes before others."""
    if not split.is_pattern:
        return None
    counts: Counter[str] = Counter()
    cases = set(split.marks)
    sets = {"labelsTs": "imagesTs", "labelsTr": "imagesTr"}
    wanted = sets.get(split.pattern.partition("/")[0])
    for image in listing.images:
        name = image.parts[-1]
        stem = name[:-5] if name[-5:-4] == "_" and name[-4:].isdigit() else name
        for case in (name, stem, *image.parts[:-1]):
            if case in cases and (wanted is None or image.parts[0] == wanted):
                template = template_of(image.path, case)
                counts[template] += role_of(template) == "image"
                break
    plain = [t for t in split.by_role.get("unknown", ()) if t.rpartition("/")[2] == CASE]
    for template in split.by_role.get("image", ()) or plain:  # `P1` beside `P1_mask` is an image
        counts[template] = max(counts[template], len(split.marks) // 2 + 1)
    common = [
        template
        for template, count in counts.items()
        if 2 * count > len(cases) and can_be_a_pattern(template)
    ]
    first = [template for template in common if template.endswith(CHANNEL)]
    others = [template for template in common if not template[-4:].isdigit()]
    return min(first or others, key=lambda each: (-counts[each], natural(each)), default=None)


def plural_counts(counts: Counter[int]) -> str:
    """How many cases have how many raters: `1 case has 3 raters, 11 have 4`."""
    first, *rest = sorted(counts.items())
    have = "has" if first[1] == 1 else "have"
    said = [f"{plural(first[1], 'case')} {have} {plural(first[0], 'rater')}"]
    others = (f"{cases} {'has' if cases == 1 else 'have'} {raters}" for raters, cases in rest)
    return listed([*said, *others])
