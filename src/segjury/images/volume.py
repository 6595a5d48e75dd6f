"""A voxel array on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from segjury.arrays import Span, nonzero_spans
from segjury.images.grid import Grid


@dataclass(frozen=True)
class Volume:
    """An array (axes x, y, z) on a grid.

    `known_spans` are the spans outside which every voxel is 0, if its maker knows them; `members`
    the sets of labels that its values stand for, where it is a mask whose labels may overlap.
    """

    array: NDArray[Any]
    grid: Grid
    known_spans: tuple[Span, ...] | None = None
    members: tuple[frozenset[int], ...] | None = None

    def __post_init__(self) -> None:
        if self.array.shape != self.grid.shape:
            raise ValueError(f"array has shape {self.array.shape}, its grid {self.grid.shape}")

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Stretches of memory (from, to, in voxels) outside which every voxel is 0."""
        if self.known_spans is not None:
            return self.known_spans
        return tuple(nonzero_spans(self.array))
