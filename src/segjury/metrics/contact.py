"""The anatomical contact angle: how far around a vessel a lesion reaches, in degrees.

A vessel is cut by planes perpendicular to its centreline. In each plane rays leave the centre at
equal angular steps, and the voxels at and just outside the vessel's wall are noted. That is done
once per vessel; the angle of any lesion is then one gather at those voxels.

Lengths are relative to the voxel or to the vessel's radius, never absolute, so that the angle
does not depend on the unit of length. Coordinates in mm are index times spacing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.volume import Triple, flat, nonzero_voxels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Extent = Literal["total", "arc"]
ContactClass = Literal["none", "abutment", "encasement"]

DIRECTIONS = 120  # 3 degrees; at a radius of 8 voxels neighbouring rays are half a voxel apart
COARSE_DIRECTIONS = 24  # enough to find the middle of a section
SLAB_SECTIONS = 3
STEPS_PER_VOXEL = 2
STEP_VOXELS = 0.999 / STEPS_PER_VOXEL  # a hair less, so that no sample falls between two voxels
SMALLEST_SHARE = 0.01  # of the largest component: smaller ones are specks, not vessel
WORKING_VOXELS_PER_RADIUS = 4.0  # resolution at which paths are searched, within these limits:
MOST_WORKING_VOXELS = 2e6
MOST_WORKING_VOXELS_PER_VOXEL = 8.0
SMOOTHING_RADII = 0.2  # sigma, before paths are searched


@dataclass(frozen=True)
class VesselSections:
    """The cross-sections of a vessel (S of them, D directions each).

    `voxels` holds, for every section and direction, the flat indices (x fastest) of the wall
    voxel and of the samples outside it. Directions without a `wall` (they look down another
    branch) are never in contact. An empty vessel has S = 0.
    """

    shape: tuple[int, int, int]
    line: Ints  # (S,), the number of the branch; the sections of a branch are in order
    centre_mm: Floats  # (S, 3)
    tangent: Floats  # (S, 3), unit vectors
    radius_mm: Floats  # (S, D), from the centre to the wall
    wall: Bools  # (S, D)
    voxels: Ints  # (S, D, 1 + STEPS_PER_VOXEL * reach)


def contact_angle(vessel: Bools, lesion: Bools, spacing_mm: Triple) -> float:
    """Contact angle in degrees of one lesion with one vessel.

    See `contact_angles`. NaN when the vessel is empty, 0 when the lesion is.
    """
    return float(contact_angles(vessel_sections(vessel, spacing_mm), lesion)[0])


def contact_class(angle: float) -> ContactClass | None:
    """Name of a contact angle: none (0), abutment (up to 180), encasement (more); None for NaN.

    The line at 180 degrees is the one of the resectability criteria for pancreatic cancer
    (NCCN guideline; Al-Hawary et al., Radiology 2014;270:248).
    """
    if np.isnan(angle):
        return None
    if angle <= 0:
        return "none"
    return "abutment" if angle <= 180 else "encasement"


def contact_angles(
    sections: VesselSections,
    lesions: NDArray[Any],
    *,
    n_masks: int | None = None,
    extent: Extent = "total",
) -> Floats:
    """Contact angle in degrees of each of N lesion masks with one vessel.

    angle = max over sections of 360 * (directions in contact) / (all directions), where the angle
    at a section is the mean of it and its two neighbours on the branch, together about three
    voxels of vessel: the maximum over single planes would pick the rounding errors of the grid
    and read about half a voxel of arc too much. Contact shorter than that is read as less.

    See `section_angles` for contact and for the forms of `lesions`. NaN when the vessel is empty.
    """
    angles = section_angles(sections, lesions, n_masks=n_masks, extent=extent)
    if not angles.shape[1]:
        return np.full(len(angles), np.nan)
    branches = (angles[:, sections.line == k] for k in np.unique(sections.line))
    return np.asarray(np.max([_highest_mean(branch) for branch in branches], axis=0))


def _highest_mean(angles: Floats) -> Floats:
    """Maximum over the places along one branch of the mean of three sections."""
    window = min(SLAB_SECTIONS, angles.shape[1])
    means = np.lib.stride_tricks.sliding_window_view(angles, window, axis=1).mean(axis=-1)
    return np.asarray(means.max(axis=1))


def section_angles(
    sections: VesselSections,
    lesions: NDArray[Any],
    *,
    n_masks: int | None = None,
    extent: Extent = "total",
) -> Floats:
    """Contact angle in degrees of every section, shape (N masks, S sections).

    A direction is in contact when the lesion holds the wall voxel (the last voxel of the vessel
    on the ray) or a voxel that the ray meets in the next one voxel's length outside it. A
    voxel's length is the way along the ray that changes the fastest index by one, so everything
    looked at is a 26-neighbour of the wall voxel: a lesion that touches the vessel by face, edge
    or corner is in contact, one that leaves a full empty voxel between is not.

    `lesions` is one mask (bool, X Y Z), a stack of masks (bool, N X Y Z), or N = `n_masks` masks
    as the bits of an unsigned integer array (X Y Z; bit 0 first). `extent="total"` adds up all
    directions in contact, `"arc"` takes the longest unbroken run.
    """
    contact = _contact(sections, lesions, n_masks)
    count = contact.sum(axis=2) if extent == "total" else _longest_run(contact)
    return np.asarray(count * (360.0 / max(contact.shape[2], 1)), np.float64)


def _contact(sections: VesselSections, lesions: NDArray[Any], n_masks: int | None) -> Bools:
    """Whether each direction is in contact, shape (N, S, D)."""
    if lesions.shape[-3:] != sections.shape or lesions.ndim not in (3, 4):
        raise InputError(
            f"the lesion masks have shape {lesions.shape}, the vessel has {sections.shape}",
            "Give masks on the vessel's grid",
        )
    packed = lesions.dtype.kind == "u"
    if not (packed and lesions.ndim == 3 and n_masks) and lesions.dtype != bool:
        raise InputError(
            f"the lesion masks have type {lesions.dtype} and {lesions.ndim} axes",
            "Give boolean masks, or masks packed into an unsigned integer array with `n_masks`",
        )
    if packed:
        bits = np.bitwise_or.reduce(_gather(lesions, sections.voxels), axis=2)
        masks = [
            (bits >> bits.dtype.type(k)) & bits.dtype.type(1) != 0 for k in range(n_masks or 0)
        ]
    else:
        stack = lesions if lesions.ndim == 4 else lesions[None]
        masks = [_gather(mask, sections.voxels).any(axis=2) for mask in stack]
    return np.stack(masks) & sections.wall


def _gather(array: NDArray[Any], voxels: Ints) -> NDArray[Any]:
    if array.flags.f_contiguous:
        return np.asarray(flat(array)[voxels])
    return np.asarray(array[np.unravel_index(voxels, array.shape, order="F")])


def _longest_run(contact: Bools) -> Ints:
    """Length of the longest run of True along the last axis, which is circular."""
    n = contact.shape[-1]
    twice = np.concatenate([contact, contact], axis=-1)
    place = np.arange(1, 2 * n + 1)
    last_gap = np.maximum.accumulate(np.where(twice, 0, place), axis=-1)
    return np.asarray(np.minimum((place - last_gap).max(axis=-1), n))


def vessel_sections(
    vessel: Bools, spacing_mm: Triple, *, directions: int = DIRECTIONS, reach_voxels: int = 1
) -> VesselSections:
    """Cut a vessel into cross-sections perpendicular to its centreline.

    The centreline runs along the middle of the lumen from end to end, and along every branch
    longer than 1.5 of its own diameters and than the radius of its parent. All components of at
    least 1 % of the largest one are cut. One shorter than two diameters (a single voxel, a blob)
    gets a straight line along its principal axis; if it has none, the axis is arbitrary.
    Cavities count as vessel. At the border of the volume there is nothing outside to touch, so
    only the wall voxel is looked at. `reach_voxels` is how far outside the wall a lesion still
    counts as touching.
    """
    return _sections(vessel, nonzero_voxels(vessel), spacing_mm, directions, reach_voxels)


def labelled_sections(
    labels: NDArray[Any],
    values: Sequence[int],
    spacing_mm: Triple,
    *,
    directions: int = DIRECTIONS,
    reach_voxels: int = 1,
) -> dict[int, VesselSections]:
    """`vessel_sections` of several vessels in one label map, which is searched only once."""
    voxels = nonzero_voxels(labels)
    found = flat(labels)[voxels]
    return {
        value: _sections(labels, voxels[found == value], spacing_mm, directions, reach_voxels)
        for value in values
    }


def _sections(
    array: NDArray[Any], voxels: Ints, spacing_mm: Triple, directions: int, reach_voxels: int
) -> VesselSections:
    """The sections of the vessel that consists of the flat indices `voxels` of `array`."""
    spacing = np.asarray(spacing_mm, float)
    if array.ndim != 3 or spacing.shape != (3,) or not (spacing > 0).all():
        raise InputError(
            f"the vessel has shape {array.shape} and spacing {spacing_mm}",
            "Give a 3-D mask and three positive spacings",
        )
    shape = (array.shape[0], array.shape[1], array.shape[2])
    mask, origin = _crop(voxels, shape)
    lines = _centrelines(mask, spacing) if voxels.size else []
    centre = np.concatenate([np.empty((0, 3)), *(line.centre_mm for line in lines)])
    tangent = np.concatenate([np.empty((0, 3)), *(line.tangent for line in lines)])
    rays = _rays(centre, tangent, spacing, directions)
    steps = _march(mask, rays)
    radius = (steps + 0.5) * np.linalg.norm(rays.step * spacing, axis=-1)
    return VesselSections(
        shape=shape,
        line=np.repeat(np.arange(len(lines)), [len(line.centre_mm) for line in lines]),
        centre_mm=centre + origin * spacing,
        tangent=tangent,
        radius_mm=radius,
        wall=_own_wall(centre, radius, rays, steps, spacing),
        voxels=_samples(rays, steps, origin, shape, reach_voxels),
    )


def _crop(voxels: Ints, shape: tuple[int, int, int]) -> tuple[Bools, Ints]:
    """The vessel without specks and cavities, in a box with a margin of one voxel; its origin."""
    from scipy import ndimage

    if not voxels.size:
        return np.zeros((1, 1, 1), bool), np.zeros(3, np.int64)
    index = np.stack(np.unravel_index(voxels, shape, order="F"))
    origin = index.min(axis=1) - 1
    mask = np.zeros(index.max(axis=1) - origin + 2, bool)
    mask[tuple(index - origin[:, None])] = True
    components, _ = ndimage.label(mask, np.ones((3, 3, 3)))
    size = np.bincount(components.ravel())
    size[0] = 0
    outside, _ = ndimage.label((size < SMALLEST_SHARE * size.max())[components])
    return outside != outside[0, 0, 0], origin


def _samples(
    rays: _Rays, steps: Ints, origin: Ints, shape: tuple[int, int, int], reach_voxels: int
) -> Ints:
    """Flat indices of the wall voxel and of the samples outside it; off the volume, the wall's."""
    number = steps[..., None] + np.arange(1 + STEPS_PER_VOXEL * reach_voxels)
    place = rays.start[..., None, :] + number[..., None] * rays.step[..., None, :]
    index = np.floor(place + 0.5).astype(np.int64) + origin
    voxels = index @ np.array([1, shape[0], shape[0] * shape[1]])
    inside = ((index >= 0) & (index < shape)).all(axis=-1)
    return np.asarray(np.where(inside, voxels, voxels[..., :1]), np.int64)


@dataclass(frozen=True)
class _Rays:
    """Rays in voxel coordinates: sample k of section s, direction d is start[s] + k step[s, d]."""

    start: Floats  # (S, 1, 3)
    step: Floats  # (S, D, 3)


def _rays(centre_mm: Floats, tangent: Floats, spacing: Floats, directions: int) -> _Rays:
    """Rays in the planes perpendicular to the tangents, at equal angular steps."""
    axis = np.eye(3)[np.abs(tangent).argmin(axis=1)]
    first = _unit(np.cross(tangent, axis))
    second = np.cross(tangent, first)
    angle = np.linspace(0, 2 * np.pi, directions, endpoint=False)[:, None]
    return _along(
        centre_mm, np.cos(angle) * first[:, None] + np.sin(angle) * second[:, None], spacing
    )


def _along(centre_mm: Floats, direction: Floats, spacing: Floats) -> _Rays:
    step = direction / spacing
    step *= STEP_VOXELS / np.abs(step).max(axis=-1, keepdims=True)
    return _Rays((centre_mm / spacing)[:, None], step)


def _march(mask: Bools, rays: _Rays) -> Ints:
    """Number of the last sample of each ray before it first leaves the mask."""
    voxels = mask.ravel()
    wide, high = mask.shape[1] * mask.shape[2], mask.shape[2]
    step = rays.step.reshape(-1, 3).T.copy()
    # Half a voxel on, so that cutting off the decimals finds the nearest voxel.
    place = np.broadcast_to(rays.start + 0.5, rays.step.shape).reshape(-1, 3).T + step
    last = np.zeros(step.shape[1], np.int64)
    alive = np.arange(len(last))
    while alive.size:
        x, y, z = place.astype(np.int64)
        inside = np.flatnonzero(voxels[x * wide + y * high + z])
        alive = alive[inside]
        step = step.take(inside, axis=1)
        place = place.take(inside, axis=1) + step
        last[alive] += 1
    return last.reshape(rays.step.shape[:2])


def _own_wall(
    centre_mm: Floats, radius_mm: Floats, rays: _Rays, steps: Ints, spacing: Floats
) -> Bools:
    """Which directions end on the section's own wall, not down the lumen of another branch.

    A wall belongs to the section when the centreline point nearest to it lies within one
    (median) radius of the section's centre, or within half the wall's distance from it.
    """
    from scipy.spatial import cKDTree

    own = np.ones(steps.shape, bool)
    typical = np.median(radius_mm, axis=1)
    section, direction = np.nonzero(radius_mm > 1.5 * typical[:, None])
    if section.size:
        steps_out = steps[section, direction, None] * rays.step[section, direction]
        wall_mm = centre_mm[section] + steps_out * spacing
        nearest = centre_mm[cKDTree(centre_mm).query(wall_mm)[1]]
        away = np.linalg.norm(nearest - centre_mm[section], axis=1)
        own[section, direction] = away <= np.maximum(
            typical[section], radius_mm[section, direction] / 2
        )
    return own


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
class _Line:
    """One branch of the centreline."""

    centre_mm: Floats  # (n, 3)
    tangent: Floats  # (n, 3)


def _centrelines(mask: Bools, spacing: Floats) -> list[_Line]:
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
    rays = _rays(smooth, _tangents(smooth), np.ones(3), COARSE_DIRECTIONS)
    across = _march(working, rays) * np.linalg.norm(rays.step, axis=-1)
    return np.maximum(_breadth(across, 1.0), radius)


def _breadth(radius: Floats, interval: float) -> Floats:
    """The longest ray of each section, as a running median along about two diameters.

    What reaches farther only for a short way is a branch, not the breadth of a flattened vessel.
    """
    from scipy import ndimage

    window = 2 * int(np.ceil(2 * np.median(radius) / interval)) + 1
    return np.asarray(ndimage.median_filter(radius.max(axis=1), window, mode="nearest"))


def _isotropic(mask: Bools, spacing: Floats) -> tuple[Bools, float, Floats]:
    """The mask on an isotropic grid coarse enough to be fast, with its voxel and origin in mm."""
    from scipy import ndimage

    faces = [np.count_nonzero(np.diff(mask, axis=k)) / spacing[k] for k in range(3)]
    # Volume over surface is half a cylinder's radius; voxel faces overstate the surface by 4/pi.
    radius = 8 / np.pi * np.count_nonzero(mask) / sum(faces)
    extent = np.array(mask.shape) * spacing
    most = min(MOST_WORKING_VOXELS, MOST_WORKING_VOXELS_PER_VOXEL * mask.size)
    least = max(float(spacing.min()), float(np.prod(extent) / most) ** (1 / 3))
    voxel_mm = max(radius / WORKING_VOXELS_PER_RADIUS, least)
    shape = np.ceil(extent / voxel_mm).astype(int) + 2
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


def _principal_axis(mask: Bools, spacing: Floats) -> _Line:
    """A straight centreline through the mask's centre along its longest axis."""
    points = np.argwhere(mask) * spacing
    middle = points.mean(axis=0)
    spread = (points - middle).T @ (points - middle) / len(points) + np.diag(spacing**2 / 12)
    axis = np.linalg.eigh(spread)[1][:, -1]
    middle = _pulled_inside(middle[None], mask, spacing)
    centre = _extended(middle, np.stack([-axis, axis]), mask, spacing)
    return _Line(centre, np.broadcast_to(axis, centre.shape))


def _centreline(path: _Path, mask: Bools, spacing: Floats) -> _Line | None:
    """The path smoothed, centred and extended, points about a voxel apart; None if none is left."""
    interval = float(np.prod(spacing) ** (1 / 3))
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
        clear_mm = np.linalg.norm(path.points_mm[path.clear] - path.points_mm[0])
        points = points[from_parent > clear_mm]
    if len(points) < 2:
        return None
    return _Line(_pulled_inside(points, mask, spacing), _tangents(points))


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
    interval = float(np.prod(spacing) ** (1 / 3))
    ends = _pulled_inside(points[[0, -1]], mask, spacing)
    rays = _along(ends, directions[:, None], spacing)
    free_mm = _march(mask, rays)[:, 0] * np.linalg.norm(rays.step[:, 0] * spacing, axis=1)
    more = [
        end + np.arange(1, length // interval)[:, None] * interval * direction
        for end, length, direction in zip(ends, free_mm, directions, strict=True)
    ]
    before = more[0][:0] if branch else more[0][::-1]
    return np.concatenate([before, points, more[1]])


def _end_directions(points: Floats, radius_mm: float, interval_mm: float) -> Floats:
    """Unit vectors pointing out of the two ends, taken over the last two radii."""
    reach = min(len(points) - 1, max(1, round(2 * radius_mm / interval_mm)))
    return _unit(np.stack([points[0] - points[reach], points[-1] - points[-1 - reach]]))


def _recentred(points: Floats, tangent: Floats, mask: Bools, spacing: Floats) -> Floats:
    """The points moved to the centroids of their sections, where these lie in the vessel."""
    rays = _rays(points, tangent, spacing, COARSE_DIRECTIONS)
    step_mm = rays.step * spacing
    size_mm = np.linalg.norm(step_mm, axis=-1)
    radius = (_march(mask, rays) + 0.5) * size_mm
    interval = float(np.prod(spacing) ** (1 / 3))
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
    return _unit(np.gradient(points, axis=0))


def _unit(vectors: Floats) -> Floats:
    """The vectors at length 1; one without a direction becomes the z axis, so that all have one."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
