"""A CT angiogram of chest, abdomen and pelvis in Hounsfield units, plain but recognisable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Triple
from segjury.benchmark.phantoms.aortaseg.anatomy import T6_MM, Course, Flap, Tree
from segjury.benchmark.phantoms.aortaseg.drawing import DrawnVessels, positions_mm
from segjury.benchmark.phantoms.ct import AIR, BONE, FAT, MARROW, MUSCLE, VISCERAL_FAT
from segjury.benchmark.phantoms.fields import (
    Field,
    Points,
    axes_mm,
    box_between,
    ellipsoid_mm,
    subgrid,
)
from segjury.images.grid import Grid

Image = NDArray[np.int16]

LUMEN, FALSE_LUMEN, FLAP = 350, 270, 70
FLAP_MM = 1.6  # thickness

_LUNG, _ORGAN, _HEART, _KIDNEY, _DISC, _CORD = -850, 85, 160, 170, 90, 35
_BODY_SEMI_AXES_MM = (162.0, 112.0)
_SPINE_TOP_MM, _SACRUM_MM = 340.0, -200.0
_DISCS_MM = T6_MM + np.concatenate([26.0 * np.arange(-5, 8), -130 - 34.0 * np.arange(1, 7)])
_SLAB = 16  # slices that get their noise together

# later ones lie over earlier ones
_ORGANS: tuple[tuple[Triple, Triple, float], ...] = (
    ((-82, 4, 165), (54, 80, 125), _LUNG),
    ((82, 4, 165), (54, 80, 125), _LUNG),
    ((18, -26, 92), (52, 44, 50), _HEART),
    ((-78, -8, 15), (66, 80, 62), _ORGAN),  # liver
    ((98, 40, 8), (28, 40, 46), _ORGAN + 30),  # spleen
    ((-74, 54, -68), (27, 23, 52), _KIDNEY),
    ((84, 52, -58), (27, 23, 52), _KIDNEY),
    ((0, 90, -228), (42, 18, 50), 380),  # sacrum
    ((-90, 44, -215), (20, 48, 60), 420),  # iliac wings
    ((90, 44, -215), (20, 48, 60), 420),
    ((-90, 6, -308), (24, 24, 24), 450),  # femoral heads
    ((90, 6, -308), (24, 24, 24), 450),
)
# height and distance from front to back of the middle of the vertebral bodies
_SPINE: tuple[list[float], list[float]] = (
    [-200, -120, -30, 60, 150, 250, 340],
    [66, 56, 56, 64, 70, 66, 56],
)


def render(
    grid: Grid,
    tree: Tree,
    vessels: Sequence[DrawnVessels],
    rng: np.random.Generator,
    *,
    noise_hu: float = 16.0,
) -> Image:
    """The angiogram: body, lungs, organs, bones, bright arteries, noise."""
    section = _body_section(grid)
    image = np.empty(grid.shape, np.int16, order="F")
    image[:] = section[:, :, None]
    for centre, semi, hu in _ORGANS:
        _paint_organ(image, grid, centre, np.array(semi) * rng.uniform(0.95, 1.05, 3), hu)
    _paint_spine(image, grid)
    for vessel in reversed(vessels):  # the aorta last, in which the branches begin
        _blend(image, vessel.box, grid, vessel.depth_mm, LUMEN)
        if tree.flap is not None and vessel.along_mm is not None:
            start, end = tree.flap.start_mm, tree.flap.end_mm
            where = (vessel.depth_mm > 0) & (vessel.along_mm > start) & (vessel.along_mm < end)
            points = positions_mm(subgrid(grid, vessel.box), where)
            along = vessel.along_mm[where].astype(np.float64)
            seen = _dissected_hu(tree.aorta, tree.flap, points, along, min(grid.spacing_mm))
            image[vessel.box][where] = np.rint(seen)
    _add_noise(image, section > AIR, noise_hu, rng)
    return image


def _body_section(grid: Grid) -> Image:
    """Air, fat, wall and the fat within, alike on all slices."""
    x, y, _ = axes_mm(grid)
    level = np.hypot((x / _BODY_SEMI_AXES_MM[0]) ** 2, (y / _BODY_SEMI_AXES_MM[1]) ** 2)[:, :, 0]
    depth = (1 - np.sqrt(level)) * _BODY_SEMI_AXES_MM[1]
    layers = ((depth < 0, AIR), (depth < 14, FAT), (depth < 24, MUSCLE))
    section = np.select([where for where, _ in layers], [hu for _, hu in layers], VISCERAL_FAT)
    return section.astype(np.int16)


def _paint_organ(image: Image, grid: Grid, centre: Triple, semi: Points, hu: float) -> None:
    box = box_between(grid, centre - semi - 2, centre + semi + 2)
    if not box.is_empty:
        _blend(image, box, grid, ellipsoid_mm(subgrid(grid, box), centre, semi.tolist()), hu)


def _paint_spine(image: Image, grid: Grid) -> None:
    """Vertebral bodies with discs between them, and the canal behind."""
    box = box_between(grid, (-26, 20, _SACRUM_MM), (26, 130, _SPINE_TOP_MM))
    x, y, z = axes_mm(subgrid(grid, box))
    back = y - np.interp(z, *_SPINE).astype(np.float32)
    half_width = np.interp(z, [-60, 150], [23, 16]).astype(np.float32)
    body = (1 - np.hypot(x / half_width, back / (0.78 * half_width))) * half_width
    disc = np.abs(z[..., None] - _DISCS_MM).min(axis=-1) < 3
    canal = 8.5 - np.hypot(x, back - half_width - 8)
    _blend(image, box, grid, canal + 4.5, BONE - 150)
    _blend(image, box, grid, body, np.where(disc, _DISC, BONE))
    _blend(image, box, grid, body - 2.5, np.where(disc, _DISC, MARROW))
    _blend(image, box, grid, canal, _CORD)


def _dissected_hu(
    aorta: Course, flap: Flap, points: Points, along_mm: Points, step_mm: float
) -> Points:
    """The true lumen, the less bright false one and the dark flap, thinner than a voxel or not."""
    centres, radii = aorta.at(along_mm)
    away = ((points - centres) * _towards_true_lumen(aorta, flap, along_mm)).sum(axis=1)
    from_flap = away - flap.offset * radii
    lumen = np.where(from_flap > 0, LUMEN, FALSE_LUMEN)
    overlap = (FLAP_MM + step_mm) / 2 - np.abs(from_flap)
    share = np.clip(overlap, 0, min(FLAP_MM, step_mm)) / step_mm
    return np.asarray(lumen + share * (FLAP - lumen))


def _towards_true_lumen(aorta: Course, flap: Flap, along_mm: Points) -> Points:
    """Unit vectors across the aorta to its true lumen, turning from one end of the flap on."""
    tangent = aorta.tangent(along_mm)
    left = np.array([1.0, 0.0, 0.0]) - tangent[:, :1] * tangent
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    ends, angles_deg = (flap.start_mm, flap.end_mm), (flap.first_deg, flap.last_deg)
    turn = np.radians(np.interp(along_mm, ends, angles_deg))[:, None]
    return np.asarray(np.cos(turn) * left + np.sin(turn) * np.cross(tangent, left))


def _blend(image: Image, box: Box, grid: Grid, depth_mm: Field, hu: float | Points) -> None:
    """Lay a body over the image, with an edge one voxel soft."""
    weight = np.clip(depth_mm / np.float32(min(grid.spacing_mm)) + np.float32(0.5), 0, 1)
    image[box] = np.rint(image[box] + weight * (hu - image[box]))


def _add_noise(
    image: Image, body: NDArray[np.bool_], noise_hu: float, rng: np.random.Generator
) -> None:
    """White noise in the columns of voxels that the body occupies, slab by slab."""
    sd = np.where(body, noise_hu, 0).astype(np.float32).T
    for start in range(0, image.shape[2], _SLAB):
        slab = image[:, :, start : start + _SLAB]
        noise = rng.standard_normal(slab.shape[::-1], dtype=np.float32) * sd
        slab[:] = np.rint(slab + noise.T)
