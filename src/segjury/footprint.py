"""How much memory the scoring of a case takes."""

from __future__ import annotations


def case_bytes(voxels: int, *, n_labels: int, n_maps: int) -> int:
    """Bytes that a process needs for a case at most, in the usual form."""
    return 300_000_000 + voxels * (6 + 5 * n_maps + 2 * n_labels)
