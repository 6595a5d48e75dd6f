"""Centrelines of a vessel: along every branch, in the middle of the lumen.

Lengths are relative to the voxel or to the vessel's radius, never absolute. Coordinates in mm are
index times spacing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Floats, Ints
from segjury.metrics.geometry import steady
from segjury.metrics.geometry.rays import march, rays_across, rays_along, unit_vectors

COARSE_DIRECTIONS = 24  # enough to find the middle of a section
WORKING_VOXELS_PER_RADIUS = 3.0  # resolution at which paths are searched, within these limits:
MOST_WORKING_VOXELS = 2e6
MOST_WORKING_VOXELS_PER_VOXEL = 8.0
SMOOTHING_RADII = 0.2  # sigma, before paths are searched


@dataclass(frozen=True)
class _Path:
    """A path along the lumen, with the distances to the wall.

    A branch starts inside its parent and is on its own from point number `clear`.
    """

    points_mm: Floats  # (n, 3)
    radius_mm: Floats  # (n,), to the nearest wall
    breadth_mm: Floats  # (n,), to the farthest wall across, branches aside
    clear: int  # 0 when both ends are free


@dataclass(frozen=True)
class Line:
    """One branch of the centreline."""

    centre_mm: Floats  # (n, 3)
    tangent: Floats  # (n, 3)


def centrelines(mask: Bools, spacing: Floats) -> list[Line]:
    """The lines along every branch, and a straight one through each component without a branch."""
    from scipy import ndimage

    paths = _lumen_paths(mask, spacing)
    lines = [line for path in paths if (line := _centreline(path, mask, spacing))]
    components, count = ndimage.label(mask, np.ones((3, 3, 3)))
    done = {int(components[_voxel(line.centre_mm[0], spacing)]) for line in lines}
    left = set(range(1, count + 1)) - done
    return lines + [_principal_axis(components == k, spacing) for k in sorted(left)]


def _lumen_paths(mask: Bools, spacing: Floats) -> list[_Path]:
    """Paths along the middle of the lumen that together reach every part of the vessel.

    From the end of the vessel, the way to the farthest voxel that no path covers yet, through
    the widest lumen, until none is left that is long enough (after TEASAR: Sato et al., Pacific
    Graphics 2000). Thinning to a skeleton is not used: it can eat up whole branches.
    """
    from scipy.sparse import csgraph
    from scipy.spatial import cKDTree

    working, voxel_mm, origin_mm = _isotropic(mask, spacing)
    node, radius, length, cost = _voxel_graph(working)
    paths: list[_Path] = []
    if not len(node):
        return paths
    covered, taken = np.zeros((2, len(node)), bool)
    _, part = csgraph.connected_components(length, directed=False)
    for k in np.argsort(-np.bincount(part), kind="stable"):
        root = _distances(length, int((part == k).argmax()), part == k).argmax()
        away = _distances(length, int(root), part == k)
        _, before = csgraph.dijkstra(cost, indices=np.asarray(root), return_predecessors=True)
        while (away[~covered] >= 0).any():
            way = _trace(before, int(np.where(covered, -1.0, away).argmax()), taken)
            clear = ~covered[way]
            if _is_vessel(node[way], radius[way], clear, first=not taken[way[0]]):
                taken[way] = True
                reach = _reach(node[way], radius[way], working)
                middle = node[way] * voxel_mm + origin_mm
                start = int(clear.argmax())
                paths.append(_Path(middle, radius[way] * voxel_mm, reach * voxel_mm, start))
                reach = 1.2 * reach + 0.5
            else:
                way = way[clear]
                reach = np.full(len(way), 2 * radius[way].max())
            distance, nearest = cKDTree(node[way]).query(node)
            covered |= distance <= reach[nearest]
    return paths


def _voxel_graph(working: Bools) -> tuple[Floats, Floats, Any, Any]:
    """Voxels of a mask, their distance to the wall, and two graphs of their 26 neighbours.

    Edges of the first graph are lengths (in voxels), of the second costs: low in the middle.
    """
    from scipy import ndimage
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    node = np.argwhere(working)
    if not len(node):
        return np.empty((0, 3)), np.empty(0), csr_array((0, 0)), csr_array((0, 0))
    outside = np.argwhere(ndimage.binary_dilation(working) & ~working)
    radius = np.asarray(cKDTree(outside).query(node)[0]) - 0.5
    number = np.full(working.size, -1, np.int32)
    place = np.flatnonzero(working)
    number[place] = np.arange(len(node))
    offset = np.delete(np.indices((3, 3, 3)).reshape(3, -1).T - 1, 13, axis=0)
    strides = np.array([working.shape[1] * working.shape[2], working.shape[2], 1])
    other = number[place[:, None] + offset @ strides]
    edge = other >= 0
    ends = (other[edge], np.concatenate([[0], edge.sum(axis=1).cumsum()]))
    length = np.broadcast_to(np.linalg.norm(offset, axis=1), edge.shape)
    cost = length / radius[:, None] ** 2
    shape = (len(node), len(node))
    return (
        node.astype(float),
        radius,
        csr_array((length[edge], *ends), shape),
        csr_array((cost[edge], *ends), shape),
    )


def _distances(graph: Any, source: int, allowed: Bools) -> Floats:
    """Length of the shortest way from the source within the mask, -1 where not allowed."""
    from scipy.sparse import csgraph

    return np.where(allowed, csgraph.dijkstra(graph, indices=np.asarray(source)), -1.0)


def _trace(before: NDArray[Any], end: int, taken: Bools) -> Ints:
    """The nodes from a taken one (or the root) to `end`."""
    way = [end]
    while before[way[-1]] >= 0 and not taken[way[-1]]:
        way.append(int(before[way[-1]]))
    return np.array(way[::-1])


def _is_vessel(points: Floats, radius: Floats, clear: Bools, *, first: bool) -> bool:
    """Whether a way is long enough to be vessel rather than a bump of the wall.

    The first in a component must be longer than two diameters. A branch counts from where it is
    `clear` of the lumen of its parent, and must be longer than 1.5 of its own diameters and than
    the parent's radius.
    """
    extent = _arc_length(points[int(clear.argmax()) :])[-1]
    if first:
        return bool(extent >= 4 * radius.max())
    return bool(extent >= max(3 * np.median(radius[clear]), radius[0]))


def _reach(points: Floats, radius: Floats, working: Bools) -> Floats:
    """How far the lumen around each point of a path reaches across it, without branches."""
    smooth = _smoothed(points, float(np.median(radius)))
    rays = rays_across(smooth, _tangents(smooth), np.ones(3), COARSE_DIRECTIONS)
    across = march(working, rays) * np.linalg.norm(rays.step, axis=-1)
    return np.maximum(_breadth(across, 1.0), radius)


def _breadth(radius: Floats, interval: float) -> Floats:
    """The longest ray of each section, as a running median along about two diameters.

    What reaches farther only for a short way is a branch, not the breadth of a flattened vessel.
    """
    # Not scipy's median_filter: some versions read beyond the data where the window is longer.
    before = int(np.ceil(2 * np.median(radius) / interval))
    longest = np.pad(radius.max(axis=1), before, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(longest, 2 * before + 1)
    return np.asarray(np.median(windows, axis=1))


def _isotropic(mask: Bools, spacing: Floats) -> tuple[Bools, float, Floats]:
    """The mask on an isotropic grid coarse enough to be fast, with its voxel and origin in mm."""
    from scipy import ndimage

    faces = [np.count_nonzero(np.diff(mask, axis=k)) / spacing[k] for k in range(3)]
    # Volume over surface is half a cylinder's radius; voxel faces overstate the surface by 4/pi.
    radius = 8 / np.pi * np.count_nonzero(mask) / sum(faces)
    extent = np.array(mask.shape) * spacing
    most = min(MOST_WORKING_VOXELS, MOST_WORKING_VOXELS_PER_VOXEL * mask.size)
    least = max(float(spacing.min()), steady.cube_root(float(np.prod(extent) / most)))
    voxel_mm = max(radius / WORKING_VOXELS_PER_RADIUS, least)
    shape = np.ceil(extent / voxel_mm - 1e-6).astype(int) + 2
    origin = ((np.array(mask.shape) - 1) * spacing - (shape - 1) * voxel_mm) / 2
    resampled = ndimage.affine_transform(
        mask.astype(np.float32),
        voxel_mm / spacing,
        origin / spacing,
        output_shape=tuple(shape),
        order=1,
    )
    # A rough wall would look like branches, so it is smoothed, thin vessels less.
    smooth = ndimage.gaussian_filter(resampled, SMOOTHING_RADII * radius / voxel_mm)
    # A little under a half keeps thin vessels whole.
    return np.pad(smooth > 0.45, 1), voxel_mm, origin - voxel_mm


def _principal_axis(mask: Bools, spacing: Floats) -> Line:
    """A straight centreline through the mask's centre along its longest axis."""
    points = np.argwhere(mask)
    middle = (points * spacing).mean(axis=0)
    axis = steady.longest_axis(points, spacing)
    middle = _pulled_inside(middle[None], mask, spacing)
    centre = _extended(middle, np.stack([-axis, axis]), mask, spacing)
    return Line(centre, np.broadcast_to(axis, centre.shape))


def _centreline(path: _Path, mask: Bools, spacing: Floats) -> Line | None:
    """The path smoothed, centred and extended, points about a voxel apart; None if none is left."""
    interval = steady.cube_root(float(np.prod(spacing)))
    radius = float(np.median(path.radius_mm))
    points = _smoothed(_resampled(_without_hooks(path), interval), radius / interval)
    for _ in range(2):
        points = _pulled_inside(points, mask, spacing)
        points = _recentred(points, _tangents(points), mask, spacing)
        points = _smoothed(_resampled(points, interval), radius / interval / 2)
    ends = _end_directions(points, radius, interval)
    points = _extended(points, ends, mask, spacing, branch=path.clear > 0)
    if path.clear:
        from_parent = np.linalg.norm(points - path.points_mm[0], axis=1)
        clear_mm = math.dist(path.points_mm[path.clear], path.points_mm[0])
        points = points[from_parent > clear_mm]
    if len(points) < 2:
        return None
    return Line(_pulled_inside(points, mask, spacing), _tangents(points))


def _without_hooks(path: _Path) -> Floats:
    """The path without the last bit of its free ends, where it runs into a corner."""
    points, breadth = path.points_mm, path.breadth_mm
    first = 0 if path.clear else _hook(points, breadth)
    last = len(points) - _hook(points[path.clear :][::-1], breadth[path.clear :][::-1])
    return points[first:last] if last - first > 1 else points


def _hook(points_mm: Floats, breadth_mm: Floats) -> int:
    """Number of points near the start: from a corner, 1.4 radii lead back to the middle."""
    breadth_mm = np.minimum(breadth_mm, np.median(breadth_mm))
    return int((np.linalg.norm(points_mm - points_mm[0], axis=1) > 1.4 * breadth_mm).argmax())


def _extended(
    points: Floats, directions: Floats, mask: Bools, spacing: Floats, *, branch: bool = False
) -> Floats:
    """The line drawn on straight from its two ends until shortly before it leaves the mask.

    The very last plane would cut through the stairs of the vessel's end instead of its wall.
    """
    interval = steady.cube_root(float(np.prod(spacing)))
    ends = _pulled_inside(points[[0, -1]], mask, spacing)
    rays = rays_along(ends, directions[:, None], spacing)
    free_mm = march(mask, rays)[:, 0] * np.linalg.norm(rays.step[:, 0] * spacing, axis=1)
    more = [
        end + np.arange(1, np.floor(length / interval + 1e-6))[:, None] * interval * direction
        for end, length, direction in zip(ends, free_mm, directions, strict=True)
    ]
    before = more[0][:0] if branch else more[0][::-1]
    return np.concatenate([before, points, more[1]])


def _end_directions(points: Floats, radius_mm: float, interval_mm: float) -> Floats:
    """Unit vectors pointing out of the two ends, taken over the last two radii."""
    reach = min(len(points) - 1, max(1, round(2 * radius_mm / interval_mm)))
    return unit_vectors(np.stack([points[0] - points[reach], points[-1] - points[-1 - reach]]))


def _recentred(points: Floats, tangent: Floats, mask: Bools, spacing: Floats) -> Floats:
    """The points moved to the centroids of their sections, where these lie in the vessel."""
    rays = rays_across(points, tangent, spacing, COARSE_DIRECTIONS)
    step_mm = rays.step * spacing
    size_mm = np.linalg.norm(step_mm, axis=-1)
    radius = (march(mask, rays) + 0.5) * size_mm
    interval = steady.cube_root(float(np.prod(spacing)))
    radius = np.minimum(radius, _breadth(radius, interval)[:, None])
    moment = (radius**3 / size_mm)[..., None] * step_mm
    moved = points + 2 / 3 * moment.sum(axis=1) / (radius**2).sum(axis=1)[:, None]
    return np.where(_inside(moved, mask, spacing)[:, None], moved, points)


def _pulled_inside(points: Floats, mask: Bools, spacing: Floats) -> Floats:
    """The points, those outside the mask replaced by its nearest voxel."""
    from scipy.spatial import cKDTree

    outside = ~_inside(points, mask, spacing)
    if outside.any():
        voxels = np.argwhere(mask) * spacing
        points = points.copy()
        points[outside] = voxels[cKDTree(voxels).query(points[outside])[1]]
    return points


def _inside(points: Floats, mask: Bools, spacing: Floats) -> Bools:
    limits = np.array(mask.shape)[:, None] - 1
    index = np.stack(_voxel(points, spacing))
    within = ((index >= 0) & (index <= limits)).all(axis=0)
    return np.asarray(within & mask[tuple(np.clip(index, 0, limits))])


def _voxel(points: Floats, spacing: Floats) -> tuple[Ints, ...]:
    return tuple(np.floor(points / spacing + 0.5).astype(np.int64).T)


def _arc_length(points: Floats) -> Floats:
    return np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1).cumsum()])


def _resampled(points: Floats, interval_mm: float) -> Floats:
    """The line at equal intervals of about `interval_mm`, ends included."""
    length = _arc_length(points)
    at = np.linspace(0, length[-1], max(2, round(length[-1] / interval_mm) + 1))
    return np.stack([np.interp(at, length, column) for column in points.T], axis=1)


def _smoothed(points: Floats, sigma: float) -> Floats:
    """Gaussian smoothing (sigma in points) that leaves the ends and straight lines in place."""
    from scipy import ndimage

    margin = min(len(points) - 1, int(4 * sigma) + 1)
    head = 2 * points[0] - points[margin:0:-1]
    tail = 2 * points[-1] - points[-2 : -margin - 2 : -1]
    longer = np.concatenate([head, points, tail])
    smooth = ndimage.gaussian_filter1d(longer, sigma, axis=0, mode="nearest")
    return np.asarray(smooth[margin : margin + len(points)])


def _tangents(points: Floats) -> Floats:
    return unit_vectors(np.gradient(points, axis=0))
