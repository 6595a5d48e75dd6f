"""The anatomical contact angle: how far around a vessel a lesion reaches, in degrees.

A vessel is cut by planes perpendicular to its centreline. In each plane rays leave the centre at
equal angular steps, and the voxels at and just outside the vessel's wall are noted. That is done
once per vessel; the angle of any lesion is then one gather at those voxels.

Lengths are relative to the voxel or to the vessel's radius, never absolute, so that the angle
does not depend on the unit of length. Coordinates in mm are index times spacing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Bools, Floats, Ints, Spacing, Triple, flat, nonzero_voxels
from segjury.errors import InputError
from segjury.metrics.geometry.centreline import centrelines
from segjury.metrics.geometry.dimension import is_volume, three_axes, three_spacings
from segjury.metrics.geometry.rays import STEPS_PER_VOXEL, Rays, march, rays_across
from segjury.metrics.inputs import as_mask, spacing_of
from segjury.metrics.metric import Metric
from segjury.metrics.overlap import ThresholdOptions
from segjury.metrics.redrawn import angle_distance

__all__ = ["contact_angle"]

Extent = Literal["total", "arc"]
ContactClass = Literal["none", "abutment", "encasement"]

CONTACT_ANGLE = Metric(
    name="contact_angle",
    readings=("corrected",),
    options=ThresholdOptions,
    from_raters=angle_distance,
    title="Contact angle",
    formula="∫ |F - G|, F and G the distributions of the angles",
    needs_raters=True,
    summary="Wasserstein distance between the raters' and the predicted anatomical contact "
    "angles around the vessel's own cross-section; not ranked.",
    direction="lower",
    bounds=(0.0, 360.0),
    unit="degree",
    decimals=1,
    ranked=False,
    scope="structure",
    needs_probability=True,
)

DIRECTIONS = 120  # 3 degrees; at a radius of 8 voxels neighbouring rays are half a voxel apart
SLAB_SECTIONS = 3
SMALLEST_SHARE = 0.01  # of the largest component: smaller ones are specks, not vessel


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


def contact_angle(vessel: ArrayLike, lesion: ArrayLike, spacing_mm: Spacing | None = None) -> float:
    """Contact angle in degrees of one lesion with one vessel.

    See `contact_angles`. NaN when the vessel is empty and in an image of one slice or in 2D, 0 when
    the lesion is empty. `spacing_mm` is that of the images unless given; of arrays, 1 mm.
    """
    around, touching = as_mask(vessel, "vessel"), as_mask(lesion, "lesion")
    given = spacing_mm or spacing_of(vessel, lesion)
    spacing = three_spacings(given, three_axes(around.shape, "vessel"))
    return float(contact_angles(vessel_sections(around, spacing), touching)[0])


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
    contact = directions_in_contact(sections, lesions, n_masks=n_masks)
    count = contact.sum(axis=2) if extent == "total" else _longest_run(contact)
    return np.asarray(count * (360.0 / max(contact.shape[2], 1)), np.float64)


def directions_in_contact(
    sections: VesselSections, lesions: NDArray[Any], *, n_masks: int | None = None
) -> Bools:
    """Whether each direction of each section is in contact, shape (N masks, S, D).

    See `section_angles` for contact and for the forms of `lesions`.
    """
    if lesions.shape[-3:] != sections.shape or lesions.ndim not in (3, 4):
        raise InputError(
            f"the lesion masks have shape {lesions.shape}, the vessel has {sections.shape}",
            "Give masks on the vessel's grid",
        )
    packed = lesions.dtype.kind == "u"
    if not (packed and lesions.ndim == 3 and n_masks) and lesions.dtype != bool:
        raise InputError(
            f"the lesion masks have type {lesions.dtype} and {lesions.ndim} axes",
            "Give boolean masks, or masks packed into an unsigned integer array with n_masks",
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
    counts as touching. A vessel in an image of one slice has no sections: a plane does not tell
    along which way the vessel runs through it.
    """
    spacing = np.asarray(spacing_mm, float)
    if vessel.ndim != 3 or spacing.shape != (3,) or not (spacing > 0).all():
        raise InputError(
            f"the vessel has shape {vessel.shape} and spacing {spacing_mm}",
            "Give a 3-D mask and three positive spacings",
        )
    shape = (vessel.shape[0], vessel.shape[1], vessel.shape[2])
    unit_mm = float(spacing.min())  # so that rounding does not depend on the unit of length
    spacing = spacing / unit_mm
    voxels = nonzero_voxels(vessel)
    mask, origin = _crop(voxels, shape)
    lines = centrelines(mask, spacing) if voxels.size and is_volume(shape) else []
    centre = np.concatenate([np.empty((0, 3)), *(line.centre_mm for line in lines)])
    tangent = np.concatenate([np.empty((0, 3)), *(line.tangent for line in lines)])
    rays = rays_across(centre, tangent, spacing, directions)
    steps = march(mask, rays)
    radius = (steps + 0.5) * np.linalg.norm(rays.step * spacing, axis=-1)
    return VesselSections(
        shape=shape,
        line=np.repeat(np.arange(len(lines)), [len(line.centre_mm) for line in lines]),
        centre_mm=(centre + origin * spacing) * unit_mm,
        tangent=tangent,
        radius_mm=radius * unit_mm,
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
    rays: Rays, steps: Ints, origin: Ints, shape: tuple[int, int, int], reach_voxels: int
) -> Ints:
    """Flat indices of the wall voxel and of the samples outside it; off the volume, the wall's."""
    number = steps[..., None] + np.arange(1 + STEPS_PER_VOXEL * reach_voxels)
    place = rays.start[..., None, :] + number[..., None] * rays.step[..., None, :]
    index = np.floor(place + 0.5).astype(np.int64) + origin
    voxels = index @ np.array([1, shape[0], shape[0] * shape[1]])
    inside = ((index >= 0) & (index < shape)).all(axis=-1)
    return np.asarray(np.where(inside, voxels, voxels[..., :1]), np.int64)


def _own_wall(
    centre_mm: Floats, radius_mm: Floats, rays: Rays, steps: Ints, spacing: Floats
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
