"""Masks of one image by several raters, read one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Ints, flat
from segjury.consensus import Piece, SeenPatterns, number_patterns
from segjury.errors import InputError
from segjury.images import read_volume, whole_numbers
from segjury.images.grid import Grid, UsualTolerance, doubts_of, tolerated_differences
from segjury.images.orientation import oriented
from segjury.images.volume import Volume
from segjury.runtime.paths import resolved

MAX_LABELS = 1000
HIGHEST_LABEL = 2**31 - 1


@dataclass(frozen=True)
class Raters:
    """What several masks say of each voxel; label 1, 2, ... is `values[1]`, ... in the files."""

    names: tuple[str, ...]
    grid: Grid
    patterns: SeenPatterns
    values: Ints
    warnings: tuple[str, ...] = ()

    @property
    def voxels(self) -> Ints:
        """How many voxels each mask (rows) has of each label (columns)."""
        counts, n_labels = self.patterns.counts, self.patterns.n_labels
        return np.stack(
            [np.bincount(labels, counts, n_labels) for labels in self.patterns.labels.T]
        ).astype(np.int64)

    def image(self, per_pattern: NDArray[Any]) -> Volume:
        """A value per pattern as an image."""
        voxels = self.patterns.spread(per_pattern)
        return Volume(voxels.reshape(self.grid.shape, order="F"), self.grid)


def read_raters(
    paths: Sequence[Path],
    *,
    label: int | None = None,
    progress: Callable[[str], None] = lambda _name: None,
) -> Raters:
    """Read masks of the same grid, one at a time; of one label only, if it is given.

    The first mask's grid is kept: shape, spacing and direction must be the same in all, another
    origin is a warning.
    """
    if len(paths) < 2:
        raise InputError(f"{len(paths)} mask cannot make a consensus", "Give at least two")
    loaded = [read_volume(paths[0])]
    grid = loaded[0].grid
    warnings: list[str] = []

    def marks() -> Iterator[Iterator[Piece]]:
        for path, name in zip(paths, names, strict=True):
            volume = loaded.pop() if loaded else oriented(read_volume(path), grid)
            found = tolerated_differences(
                UsualTolerance(), grid, volume.grid, name, reference="first mask"
            )
            warnings.extend(doubts_of(volume.grid, name))
            warnings.extend(difference.message for difference in found)
            yield _labels(volume, name)
            del volume  # before the next one is read
            progress(name)

    names = short_names(paths)
    places = [resolved(path) for path in paths]
    warnings += [f"{n} is given twice" for k, n in enumerate(names) if places[k] in places[:k]]
    numbered = _numbered(number_patterns(marks(), math.prod(grid.shape)), label)
    raters = Raters(names, grid, *numbered)
    return replace(raters, warnings=(*warnings, *_absences(raters)))


def short_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """The names of files, without folders where they differ without."""
    names = tuple(path.name for path in paths)
    return names if len(set(names)) == len(names) else tuple(map(str, paths))


def _labels(volume: Volume, name: str) -> Iterator[Piece]:
    """The labels of a mask, a stretch of memory at a time."""
    voxels = flat(volume.array)
    for start, stop in volume.spans:
        try:
            labels = whole_numbers(voxels[start:stop])
        except InputError as error:
            raise error.about(name) from None
        low, high = labels.min(), labels.max()
        if low < 0 or high > HIGHEST_LABEL:
            raise InputError(
                f"{name} has label {low if low < 0 else high:g}, expected 0 to {HIGHEST_LABEL}",
                "Give masks, not images",
            )
        yield slice(start, stop), labels


def _numbered(patterns: SeenPatterns, label: int | None) -> tuple[SeenPatterns, Ints]:
    """The patterns with labels numbered from 0, and their numbers in the files."""
    values, numbers = np.unique(patterns.labels, return_inverse=True)
    if len(values) > MAX_LABELS:
        raise InputError(f"the masks have {len(values)} labels", "Give masks, not images")
    if label is not None:
        if label not in values[1:]:
            shown = ", ".join(map(str, values[1:])) or "none"
            raise InputError(f"no mask has label {label}", f"Give one that they have: {shown}")
        numbers, values = np.asarray(patterns.labels == label, np.int64), np.array([0, label])
    elif len(values) == 1:
        values = np.array([0, 1])
    labels = numbers.reshape(patterns.labels.shape)
    return replace(patterns, labels=labels, n_labels=len(values)), values


def _absences(raters: Raters) -> list[str]:
    """What some masks lack that others have."""
    if not raters.voxels[:, 1:].any():
        return ["no mask marks anything"]
    warnings = []
    for name, voxels in zip(raters.names, raters.voxels[:, 1:], strict=True):
        absent = ", ".join(map(str, raters.values[1:][voxels == 0]))
        if not voxels.any():
            warnings.append(f"{name} marks nothing")
        elif absent:
            warnings.append(f"{name} has no label {absent}")
    return warnings
