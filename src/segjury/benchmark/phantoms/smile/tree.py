"""Vessels as centrelines with radii, and the facts that follow from them without any voxels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from segjury.benchmark.phantoms.fields import Points


@dataclass(frozen=True)
class Vessel:
    """An unbranched vessel between two nodes: a polyline with a radius at each of its points."""

    nodes: tuple[int, int]
    points_mm: Points  # (n, 3), the first and last lie on the nodes
    radii_mm: Points  # (n,), linear in between

    @cached_property
    def along_mm(self) -> Points:
        """Length of the polyline from its start to each of its points."""
        steps = np.linalg.norm(np.diff(self.points_mm, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    @property
    def length_mm(self) -> float:
        """Length of the polyline."""
        return float(self.along_mm[-1])

    @cached_property
    def volume_mm3(self) -> float:
        """Volume of its truncated cones: Σ π/3 (a² + a b + b²) L, ends flat."""
        a, b = self.radii_mm[:-1], self.radii_mm[1:]
        return float((np.pi / 3 * (a * a + a * b + b * b) * np.diff(self.along_mm)).sum())


@dataclass(frozen=True)
class VesselTree:
    """Vessels that meet at nodes; the first `trunks` feed the others and may close a ring."""

    vessels: tuple[Vessel, ...]
    trunks: int

    @property
    def length_mm(self) -> float:
        """Total length of all centrelines."""
        return sum(vessel.length_mm for vessel in self.vessels)

    @property
    def tunnels(self) -> int:
        """Independent rings, if no vessels touch but at nodes: E - V + 1 of a connected graph."""
        nodes = {node for vessel in self.vessels for node in vessel.nodes}
        return len(self.vessels) - len(nodes) + 1

    def branchings(self) -> Iterator[tuple[Vessel, list[Vessel]]]:
        """Every vessel that goes on after its end, trunks aside, with those it goes on in."""
        children: dict[int, list[Vessel]] = {}
        for vessel in self.vessels[self.trunks :]:
            children.setdefault(vessel.nodes[0], []).append(vessel)
        for vessel in self.vessels[self.trunks :]:
            if vessel.nodes[1] in children:
                yield vessel, children[vessel.nodes[1]]
