"""The surface of a vessel seen from the front and from behind, with the contact painted on it."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Colormap
from numpy.typing import NDArray

from segjury.arrays import Floats
from segjury.report.figures.pictures.contact_unrolling import VesselContact
from segjury.report.figures.pictures.shared.images import CaseImages, axes_to_lps, to_lps
from segjury.report.figures.pictures.shared.slicing import Pair

_DARKEST = 0.5  # shade of a surface that is seen from its side


def painted_vessel(images: CaseImages, contact: VesselContact, who: str) -> Floats:
    """The share in contact at every surface voxel of the stretches shown; NaN elsewhere.

    The axes point to L, P and S; there is no more around than needed.
    """
    from scipy import ndimage
    from scipy.spatial import cKDTree

    mask = images.structures[contact.vessel][contact.box]
    surface = np.argwhere(mask & ~ndimage.binary_erosion(mask))
    walls = contact.sections.wall
    flat = contact.sections.voxels[..., 0][walls]
    wall = np.stack(np.unravel_index(flat, mask.shape, order="F"), axis=1)
    spacing = np.array(images.spacing_mm)
    _, nearest = cKDTree(wall * spacing).query(surface * spacing)
    section = np.nonzero(walls)[0][nearest]
    shown = np.isin(section, np.concatenate([each.sections for each in contact.stretches]))
    share = contact.contact[who].mean(axis=0)[walls][nearest]
    painted = np.full(mask.shape, np.nan)
    painted[tuple(surface[shown].T)] = share[shown]
    first, last = surface[shown].min(axis=0), surface[shown].max(axis=0) + 1
    part = painted[first[0] : last[0], first[1] : last[1], first[2] : last[2]]
    return to_lps(part, images.direction)


def seen_from(
    painted: Floats, spacing_mm: Floats, colours: Colormap, *, behind: bool = False
) -> NDArray[np.float64]:
    """A painted vessel seen from the front, or from behind, lit from the eye.

    Axes of the picture are column, row (head up) and red, green, blue, opacity.
    """
    volume = painted[::-1, ::-1] if behind else painted
    there = ~np.isnan(volume)
    first = there.argmax(axis=1)
    seen = there.any(axis=1)
    value = np.take_along_axis(volume, first[:, None], axis=1)[:, 0]
    depth = np.where(seen, first * spacing_mm[1], np.nan)
    slope = np.sqrt(sum(_slope(depth, axis, spacing_mm[2 * axis]) ** 2 for axis in (0, 1)))
    light = _DARKEST + (1 - _DARKEST) / np.sqrt(1 + np.nan_to_num(slope, nan=3.0) ** 2)
    picture = colours(np.nan_to_num(value))
    picture[..., :3] *= light[..., None]
    picture[..., 3] = seen
    return np.asarray(picture[:, ::-1])


def _slope(depth: Floats, axis: int, step_mm: float) -> Floats:
    if depth.shape[axis] < 2:
        return np.zeros(depth.shape)
    return np.asarray(np.gradient(depth, step_mm, axis=axis))


def view_mm(painted: Floats, images: CaseImages) -> tuple[Floats, Pair]:
    """Spacing along L, P, S, and width and height of the view from the front."""
    spacing = np.array([images.spacing_mm[axis] for axis in axes_to_lps(images.direction)])
    return spacing, (painted.shape[0] * spacing[0], painted.shape[2] * spacing[2])
