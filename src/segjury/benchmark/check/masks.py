"""Read a mask as scoring does, and put what is wrong with it into problems."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark import loading
from segjury.benchmark.check.problem import Problem, failed, warning
from segjury.benchmark.layout import Place
from segjury.errors import InputError
from segjury.images.grid import Grid, tolerated_differences
from segjury.images.labels import LabelMap
from segjury.protocols import Protocol


def read_mask(
    protocol: Protocol,
    place: Place,
    labels: list[int],
    grid: Grid | None,
    problems: list[Problem],
) -> LabelMap | None:
    """A mask as scoring reads it; what is wrong with it goes to the problems."""
    name = place.usual_name
    try:
        path = place.find()
        name = path.name
        mask = loading.read_mask(protocol, path, labels, grid)
        problems += geometry(protocol, grid, mask.grid, name)
    except InputError as error:
        problems.append(failed(error, name))
        return None
    return mask


def geometry(protocol: Protocol, grid: Grid | None, other: Grid, name: str) -> list[Problem]:
    """Doubts of a grid, and its differences from another that the protocol warns of.

    `InputError` for those it refuses.
    """
    problems = [
        warning(doubt.kind, f"{name} {doubt.message}", doubt.fix, file=name)
        for doubt in other.doubts
    ]
    found = tolerated_differences(protocol.grid, grid, other, name) if grid else []
    return problems + [warning(f"other-{each.property}", each.message, file=name) for each in found]


def absent_names(mask: LabelMap, labels: Mapping[str, Collection[int]]) -> list[str]:
    """The names of the labels none of whose numbers a mask holds."""
    present = set(np.flatnonzero(np.bincount(mask.labels)).tolist()) if mask.labels.size else set()
    return [name for name, numbers in labels.items() if not present & set(numbers)]


def mask_digest(voxels: NDArray[np.int64], labels: NDArray[Any]) -> str:
    """Fingerprint of labelled voxels, however they were stored."""
    total = hashlib.blake2b(np.ascontiguousarray(voxels).data, digest_size=16)
    total.update(np.ascontiguousarray(labels, np.uint8).data)
    return total.hexdigest()
