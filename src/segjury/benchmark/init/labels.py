"""Which labels the masks have, and what they are called."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segjury import images
from segjury.benchmark.init.dataset_json import (
    Labels,
    find_dataset,
    free_name,
    read_dataset,
    usable_name,
)
from segjury.errors import InputError
from segjury.wording import plural

MOST_LOOKED_AT = 20  # masks, and more of them while they are small
MOST_SMALL = 300
SMALL_VOXELS = 1 << 27  # of all masks together
MOST_BYTES = 1 << 20  # of a file with names of labels

_ITK_SNAP = re.compile(r'\s*(\d{1,6})(?:\s+[\d.]{1,12}){6}\s+"([^"]*)"\s*')


@dataclass(frozen=True)
class Seen:
    """The numbers that masks have, and how many of how many masks were looked at."""

    numbers: tuple[int, ...]
    looked_at: int
    of: int
    problems: tuple[str, ...] = ()  # of those that could not be read

    @property
    def said(self) -> str:
        """How much was looked at."""
        if self.looked_at == self.of:
            return f"in {plural(self.of, 'mask')}"
        return f"in {self.looked_at} of {self.of} masks"


def see_numbers(masks: Sequence[Path]) -> Seen:
    """The numbers in some of the masks.

    Twenty are looked at, evenly chosen, and more while all together are small. One that cannot be
    read is left to `segjury check`, unless none can.
    """
    numbers: set[int] = set()
    problems: list[InputError] = []
    voxels = looked_at = 0
    for place, k in enumerate(_spread(len(masks), MOST_SMALL)):
        try:
            voxels += math.prod(images.read_grid(masks[k]).shape)
            if place >= MOST_LOOKED_AT and voxels > SMALL_VOXELS:
                break
            numbers |= {*images.read_label_numbers(masks[k])}
        except InputError as error:
            problems.append(error)
            continue
        looked_at += 1
    if problems and not looked_at:
        raise problems[0]
    return Seen(tuple(sorted(numbers)), looked_at, len(masks), tuple(map(str, problems)))


def _spread(count: int, most: int) -> list[int]:
    """Places evenly chosen, the first twenty of them evenly too."""

    def even(n: int) -> list[int]:
        return [count * k // n for k in range(n)] if n else []

    first = even(min(count, MOST_LOOKED_AT))
    return list(dict.fromkeys([*first, *even(min(count, most))]))


def find_labels(folder: Path, masks: Sequence[Path], seen: Seen) -> Labels:
    """The labels that are scored: those of `dataset.json`, else those that the masks have.

    Names come from `dataset.json`, from an ITK-SNAP label file or from the masks' own headers.
    """
    dataset = find_dataset(folder)
    said = read_dataset(dataset) if dataset else None
    if said is not None:
        others = tuple(n for n in seen.numbers if n not in said.known)
        return replace(said, others=others)
    if not seen.numbers:
        raise InputError(
            f"the masks in {folder} mark nothing ({seen.said})", "Give the folder of the masks"
        )
    source, names = _names(folder, masks)
    labels: dict[str, tuple[int, ...]] = {}
    for number in seen.numbers:
        name = names.get(number) or f"label_{number}"
        labels[free_name(name, labels, number)] = (number,)
    return Labels(labels, source=source if any(n in names for n in seen.numbers) else "")


def dataset_title(labels: Labels, folder: Path) -> str:
    """What the benchmark is called: as `dataset.json` says, or else as its folder."""
    return labels.title or usable_name(folder.resolve().name or "benchmark")


def _names(folder: Path, masks: Sequence[Path]) -> tuple[str, dict[int, str]]:
    """Where names of labels are written, and these by number."""
    places = sorted((*folder.glob("*.txt"), *folder.glob("*.label")))
    for path in filter(images.is_file, places[:10]):
        lines = (_ITK_SNAP.fullmatch(line) for line in _start(path).splitlines())
        names = {int(line[1]): usable_name(line[2]) for line in lines if line}
        if names:
            return path.name, names
    try:
        segments = images.read_segment_names(masks[0]) if masks else {}
    except InputError:
        segments = {}
    named = {number: name for number, name in segments.items() if name == usable_name(name)}
    return ("the headers of the masks" if named else ""), named


def _start(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
