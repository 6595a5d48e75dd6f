"""Files of small benchmarks in any layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

GRID = Grid((12, 14, 6), (1.0, 1.0, 2.0))


def box(size: int = 4, *labels: int) -> np.ndarray:
    """A label map with one box per label, which no other size has."""
    mask = np.zeros(GRID.shape, np.uint8, order="F")
    for k, label in enumerate(labels or (1,)):
        mask[2 : 2 + size, 1 + 4 * k : 4 + 4 * k, 1:5] = label
    return mask


def put(path: Path, array: Any) -> Path:
    """Write an image."""
    write_volume(path, Volume(np.asfortranarray(array), GRID))
    return path


def put_all(folder: Path, *names: str, labels: tuple[int, ...] = (1,)) -> Path:
    """Write masks of different sizes, `.nii.gz` where a name has no ending."""
    for k, name in enumerate(names):
        ending = "" if name.endswith((".mha", ".nrrd", ".nii")) else ".nii.gz"
        put(folder / f"{name}{ending}", box(3 + k % 6, *labels))
    return folder


def put_json(path: Path, content: Any) -> Path:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path
