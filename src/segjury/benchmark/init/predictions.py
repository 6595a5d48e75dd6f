"""In which layout predictions lie: masks, probability maps and samples of each method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from segjury.benchmark.init.listing import Image, Listing
from segjury.benchmark.init.splitting import (
    before_known_word,
    can_be_a_pattern,
    natural,
    template_of,
)
from segjury.benchmark.init.words import SEPARATORS, role_of
from segjury.benchmark.names import check_name
from segjury.errors import InputError
from segjury.protocols.patterns import CASE, LABEL, SAMPLE

DEFAULT = "segmentation"
NEEDED = 0.5  # of the methods that have maps, so that metrics of maps are computed


@dataclass(frozen=True)
class PredictionLayout:
    """Where the files of predictions are, as patterns below a method's folder.

    `masks` are the files by method: those of samples where there is nothing else. A pattern is None
    where there are no such files, but for `mask`; nnU-Net's archives of probabilities need none.
    """

    mask: str
    masks: Mapping[str, tuple[Path, ...]]
    only_samples: bool = False
    probability: str | None = None
    sample: str | None = None
    with_maps: frozenset[str] = frozenset()
    with_samples: frozenset[str] = frozenset()
    cases: frozenset[str] = frozenset()
    unplaced: tuple[str, ...] = ()  # maps whose labels nobody knows
    unused: tuple[str, ...] = ()  # patterns of other files that may be masks
    archives: bool = False
    is_one_method: bool = field(default=False)

    @property
    def methods(self) -> list[str]:
        """The methods, sorted."""
        return sorted(self.masks)

    @property
    def has_maps(self) -> bool:
        """Whether enough methods have probability maps, or samples, whose mean is one."""
        return len(self.with_maps | self.with_samples) >= NEEDED * len(self.masks) > 0

    @property
    def has_samples(self) -> bool:
        """Whether enough methods have samples."""
        return len(self.with_samples) >= NEEDED * len(self.masks) > 0


def names_in(listing: Listing) -> set[str]:
    """What may be names of cases: those of folders and files, without words such as `seg`."""
    found = {part for image in listing.images for part in image.parts}
    return found | {before_known_word(image.parts[-1]) for image in listing.images}


def recognise_predictions(
    listing: Listing, cases: Collection[str], labels: Sequence[str]
) -> PredictionLayout:
    """The layout of predictions of some cases; an error where no file is named as a case."""
    known = set(cases)
    told = [(image, *found) for image in listing.images if (found := _case_in(image, known))]
    if not told:
        shown = f", such as {min(known)!a}" if known else ""
        raise InputError(
            f"no image in {listing.folder} is named as a case of the reference{shown}",
            "Expected <method>/<case>/segmentation.nii.gz or <method>/<case>.nii.gz",
        )
    one_method = 2 * sum(CASE in template.partition("/")[0] for _, _, template in told) > len(told)
    files: dict[str, dict[str, dict[str, Image]]] = defaultdict(lambda: defaultdict(dict))
    for image, case, template in told:
        method = listing.folder.resolve().name if one_method else image.parts[0]
        below = template if one_method else template.partition("/")[2]
        if CASE in below and can_be_a_pattern(below):
            files[below][method][case] = image
    methods = sorted({method for of in files.values() for method in of})
    for method in methods:
        check_name(method, "method")
    masks = _mask_templates(files)
    samples = [t for t in files if role_of(t) == "sample"]
    sample = _sample_pattern(samples)
    if not masks and not sample:
        raise InputError(
            f"{listing.folder} has no masks of the cases in a layout that a protocol can describe",
            "Expected <method>/<case>/segmentation.nii.gz, <method>/<case>.nii.gz, or samples as "
            "<method>/<case>/sample_01.nii.gz",
        )
    mask = masks[0] if masks else _mask_beside(sample or "")
    unused = [t for t in files if role_of(t) in ("mask", "unknown") and t not in masks]
    by_method: dict[str, list[Path]] = {method: [] for method in methods}
    for template in masks or samples:
        for method, of_case in files[template].items():
            by_method[method] += [of_case[case].below(listing.folder) for case in sorted(of_case)]
    maps = {t: of for t, of in files.items() if role_of(t) == "map"}
    probability, unplaced = _map_pattern(list(maps), labels)
    archives = _archives(listing, known, one_method=one_method)
    with_maps = {m for of in maps.values() for m in of} if probability else set()
    with_samples = {method for template in samples for method in files[template]}
    return PredictionLayout(
        short(mask),
        {method: tuple(paths) for method, paths in by_method.items()},
        not masks,
        short(probability) if probability else None,
        short(sample) if sample else None,
        frozenset(with_maps | archives),
        frozenset(with_samples if sample else ()),
        frozenset(case for _, case, _ in told),
        tuple(unplaced),
        tuple(sorted(unused, key=natural)),
        bool(archives),
        one_method,
    )


def short(pattern: str) -> str:
    """A pattern without the folder of the case, where that is all it says of the case."""
    rest = pattern.removeprefix(f"{CASE}/")
    return rest if CASE not in rest and "/" not in rest else pattern


def _case_in(image: Image, cases: Collection[str]) -> tuple[str, str] | None:
    """The case that a file is of, and its path with `{case}` in place of it."""
    for part in image.parts:
        if part in cases:
            return part, template_of(image.path, part)
    name = image.parts[-1]
    ends = [k for k, sign in enumerate(name) if sign in SEPARATORS and k]
    starts = [0, *(k + 1 for k in ends)]
    spans = ((a, b) for a in starts for b in (*ends, len(name)) if a < b)
    for a, b in sorted(spans, key=lambda span: span[0] - span[1]):
        if name[a:b] in cases:
            return name[a:b], template_of(image.path, name[a:b])
    return None


def _mask_templates(files: Mapping[str, Mapping[str, Mapping[str, Image]]]) -> list[str]:
    """What may be masks: the pattern that most predictions have, then nnU-Net's own layout.

    That one is read beside masks in folders of the cases.
    """
    rank = {
        template: (
            role_of(template) not in ("mask", "unknown"),
            -sum(map(len, of.values())),
            role_of(template) != "mask",
            len(template),
            natural(template),
        )
        for template, of in files.items()
        if role_of(template) not in ("map", "sample", "consensus")
    }
    ordered = sorted(rank, key=lambda template: rank[template])
    nested = [t for t in ordered if CASE not in short(t)]
    flat = CASE
    if nested and flat in ordered[:2]:
        return [nested[0], flat]
    return ordered[:1]


def _map_pattern(templates: Sequence[str], labels: Sequence[str]) -> tuple[str | None, list[str]]:
    """The pattern of probability maps, and those that cannot be given to a label."""
    if not templates:
        return None, []
    if len(templates) == 1 and len(labels) == 1:
        return templates[0], []
    patterns: dict[str, set[str]] = defaultdict(set)
    for template in sorted(templates, key=natural):
        for label in sorted(labels, key=len, reverse=True):
            folder, slash, name = template.rpartition("/")
            changed = template_of(name.replace(CASE, "\0"), label).replace(CASE, LABEL)
            if LABEL in changed:
                patterns[f"{folder}{slash}{changed}".replace("\0", CASE)].add(label)
                break
    whole = [pattern for pattern, found in patterns.items() if len(found) == len(labels)]
    if not whole:
        return None, sorted(templates, key=natural)
    pattern = whole[0]
    usual = pattern.removesuffix(f"_{LABEL}")
    return (usual if LABEL not in usual and len(labels) > 1 else pattern), []


def _sample_pattern(templates: Sequence[str]) -> str | None:
    """The pattern of samples, which are told by a number."""
    found: Counter[str] = Counter()
    for template in templates:
        folder, slash, name = template.rpartition("/")
        digits = len(name) - len(name.rstrip("0123456789"))
        if digits:
            found[f"{folder}{slash}{name[:-digits]}{SAMPLE}"] += 1
    if not found:
        return None
    pattern = min(found, key=lambda each: (-found[each], each))
    return pattern.removesuffix(f"_{SAMPLE}")


def _mask_beside(sample: str) -> str:
    """Where a mask would be looked for beside samples, where there is none."""
    return DEFAULT if CASE not in short(sample) else CASE


def _archives(listing: Listing, cases: Collection[str], *, one_method: bool) -> set[str]:
    """The methods with nnU-Net's archives of probabilities beside their masks."""
    depth = 1 if one_method else 2
    return {
        listing.folder.resolve().name if one_method else parts[0]
        for parts in listing.archives
        if len(parts) == depth and parts[-1].removesuffix(".npz") in cases
    }
