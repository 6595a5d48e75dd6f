"""Write tiny benchmarks of any protocol to disk, and damage them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from segjury.benchmark.folders import numbered_sample
from segjury.benchmark.layout import Place
from segjury.images import find, read_volume, write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import Protocol, load_protocol

GRID = Grid((16, 18, 14), (1.0, 1.0, 2.0))
CASES, METHODS = ("P1", "P2", "P3"), ("A", "B")


def rater_stems(form: Protocol) -> list[str]:
    """The names of the raters' files in the folder of a case."""
    return [form.reference.raters.replace("{rater}", name) for name in form.reference.panel]


def boxes(labels: list[int], case: int, rater: int) -> np.ndarray:
    """A label map of one box per label, in a corner; no two cases or raters have the same."""
    mask = np.zeros(GRID.shape, np.uint8, order="F")
    for k, label in enumerate(labels):
        y = 2 + 5 * k
        mask[2 : 5 + rater % 3, y : y + 3 + rater // 3, 2 + case : 5 + case] = label
    return mask


def write_benchmark(protocol: str, folder: Path) -> None:
    """Three cases and two methods, without any problem."""
    form = load_protocol(protocol)
    spec, labels = form.reference, form.reference.scored_numbers
    lines = ["case," + ",".join(form.cases.columns)]

    def lay(root: Path, pattern: str, case: str, array: Any, **values: str) -> None:
        place = Place.of(pattern, root, case, **values)
        put(place.folder / place.usual_name, array)

    for c, case in enumerate(CASES):
        lines.append(case + ",open" * len(form.cases.columns))
        root = folder / "reference"
        for r, name in enumerate(spec.panel):
            lay(root, spec.raters, case, boxes(labels, c, r), rater=name)
        if spec.image:
            voxels = np.arange(np.prod(GRID.shape)).reshape(GRID.shape)
            lay(root, spec.image, case, voxels % 97)
        if spec.structures:
            vessels = np.zeros(GRID.shape, np.uint8)
            for label in spec.structures.labels.values():
                vessels[10:13, 3 * label - 1 : 3 * label + 1, 2:12] = label
            lay(root, spec.structures.file, case, vessels)
        for m, method in enumerate(METHODS):
            root = folder / "predictions" / method
            mask = boxes(labels, c, m)
            mask[2, 2, 2 + c] = 0  # so that it is no rater's
            lay(root, form.prediction.mask, case, mask)
            for name, stem in form.probability_stems.items():
                lay(root, stem, case, soft(np.isin(mask, spec.numbers[name]), m))
            for k in range(3) if form.needs_samples else ():
                pattern = numbered_sample(form.prediction.sample)
                lay(root, pattern, case, boxes(labels, c, m + k), sample=f"{k + 1:02d}")
    (folder / "reference" / form.cases.file).write_text("\n".join(lines) + "\n")


def soft(mask: np.ndarray, method: int) -> np.ndarray:
    """Sure inside, less so in the slices beside."""
    beside = np.roll(mask, 1, axis=2) | np.roll(mask, -1, axis=2)
    return np.where(mask, 0.9 - 0.1 * method, np.where(beside, 0.2, 0)).astype(np.float32)


def put(path: Path, array: Any, grid: Grid = GRID) -> None:
    given = np.asarray(array)
    given = given.astype(np.int32) if given.dtype == np.int64 else given
    write_volume(path, Volume(np.asfortranarray(given), replace(grid, shape=given.shape)))


def change(
    folder: Path, stem: str, new: Callable[[np.ndarray], Any] | None = None, **grid: Any
) -> None:
    """Write an image again with other voxels or another grid."""
    path = find(folder, stem)
    volume = read_volume(path)
    array = new(volume.array) if new else volume.array
    put(path, array, replace(volume.grid, **grid))
