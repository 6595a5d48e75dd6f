"""How much memory the scoring of a case takes, for the number of processes that fit."""

from __future__ import annotations

from segjury.benchmark.loading import MOST_AHEAD, READ_AHEAD_BYTES
from segjury.metrics.geometry.nearest import MOST_BOX_VOXELS

PROCESS_BYTES = 350_000_000  # Python, its libraries, and work on pieces of a volume

# Bytes per voxel in a bad case. What is 0 takes next to nothing, so that a usual one needs less.
MASK = 1
MAP = 8  # float64
LISTS = 8  # voxels and their distances, where a third of all is marked
TRANSFORM = 16  # distances by a transform


def case_bytes(voxels: int, *, n_labels: int, n_maps: int) -> int:
    """Upper estimate of the memory that scoring a case takes besides `PROCESS_BYTES`.

    For masks that are full and maps of float64 without a zero; without maps, for protocols that
    look at shapes, where a third of the voxels is marked.
    """
    prediction = voxels * (MASK + MAP * n_maps)
    waiting = min((1 + MOST_AHEAD) * prediction, READ_AHEAD_BYTES)
    patterns = voxels * (2 if n_labels > 1 else 1)
    shapes = 0 if n_maps else LISTS * voxels + TRANSFORM * min(voxels, MOST_BOX_VOXELS)
    return patterns + max(prediction, waiting) + shapes
