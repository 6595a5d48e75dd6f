"""The centreline of a mask as a graph: junctions, ends, and the branches between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Bools, Floats, Ints, Shape, coordinates
from segjury.metrics.geometry.dimension import three_spacings
from segjury.metrics.geometry.neighbourhood import (
    CENTRE,
    OFFSETS,
    ORDER,
    bits,
    neighbourhood,
    voxels_of,
)
from segjury.metrics.geometry.thinning import skeleton_voxels

Links = NDArray[np.int64]  # (m, 2), places of the two voxels in the skeleton

JUNCTION_LINKS = 3


@dataclass(frozen=True)
class Branch:
    """A part of the centreline between two ends or junctions, or a closed loop."""

    voxels: Ints  # (n,), their places in the skeleton, in order; those of junctions belong to none
    points_mm: Floats  # (m, 3), centres of the voxels, with the junctions at the ends
    junctions: int  # at how many of its two ends there is one

    @property
    def length_mm(self) -> float:
        """Sum of the steps from voxel to voxel."""
        return float(np.linalg.norm(np.diff(self.points_mm, axis=0), axis=1).sum())

    @property
    def chord_mm(self) -> float:
        """Distance between the two ends, 0 for a loop."""
        return float(np.linalg.norm(self.points_mm[-1] - self.points_mm[0]))


@dataclass(frozen=True)
class SkeletonGraph:
    """A skeleton, its junctions, ends and branches; a voxel alone is no branch.

    A link joins two neighbours (26-connected), unless a third voxel joins them by shorter steps.
    Voxels with three or more links form a junction with those next to them; its place is their
    mean. An end has one link.
    """

    voxels: Ints  # (n,), flat indices, ascending
    junctions_mm: Floats  # (j, 3)
    ends: Ints  # places in `voxels`
    branches: tuple[Branch, ...]


def centreline_length_mm(mask: ArrayLike, *, spacing_mm: ArrayLike) -> float:
    """Length of the mask's centreline, from voxel to voxel along all branches; 0 for no mask.

    The steps of a straight line that lies askew on the grid are up to 13 % longer than the line.
    """
    branches = _graph_of_mask(mask, spacing_mm).branches
    return float(sum(branch.length_mm for branch in branches))


def branch_count(mask: ArrayLike) -> int:
    """Number of branches of the mask's centreline."""
    return len(_graph_of_mask(mask, (1.0, 1.0, 1.0)).branches)


def _graph_of_mask(mask: ArrayLike, spacing_mm: ArrayLike) -> SkeletonGraph:
    voxels, shape = voxels_of(mask)
    return graph_of_voxels(skeleton_voxels(voxels, shape), shape, spacing_mm=spacing_mm)


def skeleton_graph(skeleton: ArrayLike, *, spacing_mm: ArrayLike) -> SkeletonGraph:
    """The graph of a skeleton, a mask that is one voxel wide."""
    voxels, shape = voxels_of(skeleton)
    return graph_of_voxels(voxels, shape, spacing_mm=spacing_mm)


def graph_of_voxels(voxels: Ints, shape: Shape, *, spacing_mm: ArrayLike) -> SkeletonGraph:
    """`skeleton_graph` from flat voxel indices (x fastest, ascending)."""
    spacing = np.array(three_spacings(spacing_mm, shape))
    points_mm = np.stack(coordinates(voxels, shape), axis=1) * spacing
    links = links_between(voxels, shape)
    degree = np.bincount(links.ravel(), minlength=len(voxels))
    in_junction = degree >= JUNCTION_LINKS
    inside = in_junction[links].sum(axis=1)
    junction = _numbered_parts(links[inside == 2], in_junction)
    junctions_mm = _means(points_mm[in_junction], junction[in_junction])
    meets = _meeting_junctions(links[inside == 1], junction)
    branches = []
    for chain, closed in _chains(links[inside == 0], ~in_junction):
        head, tail = meets[chain[0], 0], meets[chain[-1], int(len(chain) == 1)]
        before, after = (junctions_mm[[k]] if k >= 0 else points_mm[:0] for k in (head, tail))
        end = points_mm[chain[:1]] if closed else after
        points = np.concatenate([before, points_mm[chain], end])
        if len(points) > 1:
            branches.append(Branch(chain, points, len(before) + len(after)))
    return SkeletonGraph(voxels, junctions_mm, np.flatnonzero(degree == 1), tuple(branches))


# For every bit, the neighbours from which the one of that bit is reached by shorter steps.
_BETWEEN = np.array(
    [
        bits(((offset == OFFSETS) | (OFFSETS == 0)).all(axis=1) & (ORDER > 0) & (order > ORDER))
        for offset, order in zip(OFFSETS, ORDER, strict=True)
    ]
)


def links_between(voxels: Ints, shape: Shape) -> Links:
    """Pairs of neighbours that no third voxel joins by shorter steps."""
    around = neighbourhood(voxels, shape)
    pairs = [np.zeros((0, 2), np.int64)]
    for bit, member, place in around.of(np.arange(len(voxels))):
        if bit > CENTRE:  # every pair once
            direct = around.code[member] & _BETWEEN[bit] == 0
            pairs.append(np.stack([member[direct], place[direct]], axis=1))
    return np.concatenate(pairs)


def _numbered_parts(links: Links, chosen: Bools) -> Ints:
    """Number of the connected part, from 0, of every chosen voxel; -1 for the others."""
    from scipy.sparse import csgraph

    _, part = csgraph.connected_components(link_matrix(links, len(chosen)), directed=False)
    number = np.full(len(chosen), -1)
    number[chosen] = np.unique(part[chosen], return_inverse=True)[1]
    return number


def _means(points: Floats, group: Ints) -> Floats:
    """Mean of the points of every group, (groups, 3)."""
    size = np.bincount(group)
    sums = [np.bincount(group, axis, len(size)) for axis in points.T]
    return np.stack(sums, axis=1) / size[:, None]


def _meeting_junctions(links: Links, junction: Ints) -> Ints:
    """The at most two junctions that each voxel of a branch touches, -1 for none; (n, 2)."""
    outer = np.where(junction[links[:, 0]] < 0, links[:, 0], links[:, 1])
    met = np.maximum(junction[links[:, 0]], junction[links[:, 1]])
    order = np.argsort(outer, kind="stable")
    outer, met = outer[order], met[order]
    again = np.diff(outer, prepend=-1) == 0
    meets = np.full((len(junction), 2), -1)
    meets[outer[~again], 0] = met[~again]
    meets[outer[again], 1] = met[again]
    return meets


def _chains(links: Links, chosen: Bools) -> Iterator[tuple[Ints, bool]]:
    """The chosen voxels in order along their chains, and whether the chain is a closed loop."""
    from scipy.sparse import csgraph

    root = len(chosen)
    if not chosen.any():
        return
    part = _numbered_parts(links, chosen)
    degree = np.bincount(links.ravel(), minlength=root)
    # From a root before one end of each chain (or any voxel of a loop), a walk that goes on as
    # far as it can passes the chains one by one.
    ends_first = np.lexsort((degree, part))
    start = ends_first[np.flatnonzero(np.diff(part[ends_first], prepend=-1))]
    from_root = np.stack([np.full(len(start), root), start], axis=1)
    there = np.concatenate([links, links[:, ::-1], from_root])
    walk = csgraph.depth_first_order(link_matrix(there, root + 1), root, return_predecessors=False)[
        1:
    ]
    for chain in np.split(walk.astype(np.int64), np.flatnonzero(np.diff(part[walk])) + 1):
        yield chain, bool(degree[chain[0]] == 2)


def link_matrix(links: Links, count: int) -> Any:
    """The links as a sparse matrix, from the first to the second voxel."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(links), bool), (links[:, 0], links[:, 1])), (count, count))
