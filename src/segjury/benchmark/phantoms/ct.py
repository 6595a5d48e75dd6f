"""The CT of an abdomen in Hounsfield units, rough but recognisable, for phantoms to paint on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.arrays import Box, Triple
from segjury.benchmark.phantoms.abdomen import SPLENIC_VEIN, Anatomy
from segjury.benchmark.phantoms.fields import (
    Field,
    Points,
    axes_mm,
    box_between,
    curve,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
    triple,
    tube_mm,
)
from segjury.images.grid import Grid

AIR, FAT, VISCERAL_FAT, MUSCLE, BONE, MARROW = -1000, -108, -98, 58, 620, 210
PANCREAS = 112
ARTERY, VEIN, CAVA_HU = 215, 178, 130

_BODY_CENTRE_MM = (0.0, 4.0)
_BODY_SEMI_AXES_MM = (162.0, 112.0)
_SLAB = 16  # slices that get their noise together


@dataclass(frozen=True)
class Organ:
    """An ellipsoid of one density, with a wavy surface."""

    centre_mm: Triple
    semi_axes_mm: Triple
    hu: float
    waves_mm: float = 3.0


# later ones lie over earlier ones
SURROUNDINGS = (
    Organ((-34, 58, 0), (15, 14, 400), MUSCLE, 2.0),  # psoas and crura
    Organ((34, 58, 0), (15, 14, 400), MUSCLE, 2.0),
    Organ((-34, 84, 0), (27, 17, 900), MUSCLE, 2.0),  # erector spinae
    Organ((34, 84, 0), (27, 17, 900), MUSCLE, 2.0),
    Organ((-80, 48, 150), (62, 52, 62), -840, 3.0),  # bases of the lungs
    Organ((80, 48, 150), (62, 52, 62), -840, 3.0),
    Organ((110, 42, 62), (27, 42, 46), 122, 4.0),  # spleen
)

_STOMACH: tuple[list[Triple], list[float]] = (
    [(72, -18, 95), (66, -42, 62), (46, -66, 32), (14, -70, 14), (-20, -58, 10), (-40, -44, 10)],
    [30, 29, 24, 19, 15, 10],
)
_DUODENUM: tuple[list[Triple], list[float]] = (
    [
        (-40, -42, 10),
        (-52, -22, 6),
        (-55, -5, -16),
        (-46, 6, -42),
        (-18, 5, -54),
        (12, 3, -53),
        (36, -6, -40),
    ],
    [10, 12, 12, 12, 9, 7.5, 10],
)
_COLON: tuple[tuple[list[Triple], list[float]], ...] = (
    ([(-104, 8, -62), (-108, 16, -95), (-108, 20, -140)], [16, 19, 19]),
    ([(-98, -40, -58), (-45, -78, -62), (20, -82, -48), (85, -62, -8)], [17, 15, 15, 14]),
    ([(112, 4, 12), (116, 24, -30), (112, 28, -80), (108, 26, -140)], [14, 13, 13, 13]),
)


def body(grid: Grid, organs: Sequence[Organ], rng: np.random.Generator) -> Field:
    """The abdomen without vessels and findings: wall, organs, gut and bones."""
    section, wall = _body_section(grid)
    image = np.empty(grid.shape, np.float32, order="F")
    image[:] = section[:, :, None]
    for organ in organs:
        _paint_organ(image, grid, organ, rng)
    _paint_bowel(image, grid, rng)
    for course in _COLON:
        gas = min(point[1] for point in course[0]) + 2.0
        _paint_hollow(image, grid, course, rng, gas_above_mm=gas)
    _paint_hollow(image, grid, _STOMACH, rng, gas_above_mm=-76)
    _paint_hollow(image, grid, _DUODENUM, rng, gas_above_mm=-48)
    image[wall] = section[wall][:, None]  # no organ grows through it
    _paint_spine(image, grid)
    _paint_ribs(image, grid)
    return image


def _body_section(grid: Grid) -> tuple[Field, NDArray[np.bool_]]:
    """Air, skin, fat, abdominal wall and visceral fat, alike on all slices; all but the last."""
    x, y, _ = axes_mm(grid)
    u = (x - _BODY_CENTRE_MM[0]) / _BODY_SEMI_AXES_MM[0]
    v = (y - _BODY_CENTRE_MM[1]) / _BODY_SEMI_AXES_MM[1]
    level = (np.abs(u) ** 2.4 + np.abs(v) ** 2.4) ** (1 / 2.4)
    depth = (1 - level) * 120
    lumbar = np.exp(-((u / 0.12) ** 2)) * (v > 0) * 6  # the furrow along the back
    depth = depth[:, :, 0] - lumbar[:, :, 0]
    fat = 15 - 4 * v[:, :, 0]
    layers = [
        (depth < 0, AIR),
        (depth < 2, 30),
        (depth < fat, FAT),
        (depth < fat + 9, MUSCLE),
    ]
    section = np.select([where for where, _ in layers], [hu for _, hu in layers], VISCERAL_FAT)
    section = ndimage.gaussian_filter(section.astype(np.float32), 0.6)
    return section, depth < fat + 8


def blend(image: Field, box: Box, grid: Grid, phi_mm: Field, hu: float | Field) -> None:
    """Lay a body over the image, with an edge one voxel soft."""
    edge = np.float32(min(grid.spacing_mm))
    weight = np.clip(phi_mm / edge + np.float32(0.5), 0, 1)
    image[box] += weight * (hu - image[box])


def _paint_organ(image: Field, grid: Grid, organ: Organ, rng: np.random.Generator) -> None:
    """An ellipsoid, a little moved and scaled."""
    centre = np.array(organ.centre_mm) + rng.normal(0, 2.0, 3)
    semi = np.array(organ.semi_axes_mm) * rng.uniform(0.95, 1.05, 3)
    part_rng = np.random.default_rng(rng.integers(2**63))  # one draw, whatever the crop
    margin = semi + 2 * organ.waves_mm
    box = box_between(grid, centre - margin, centre + margin)
    if box.is_empty:
        return
    part = subgrid(grid, box)
    phi = ellipsoid_mm(part, centre.tolist(), semi.tolist())
    phi += np.float32(organ.waves_mm) * smooth_noise(part, 45.0, part_rng)
    blend(image, box, grid, phi, organ.hu)


def paint_course(
    image: Field, grid: Grid, course: tuple[Points, Points], hu: float, *, grow_mm: float = 0.0
) -> None:
    """A tube along points with radii."""
    points, radii = course[0], course[1] + grow_mm
    margin = radii.max() + 2
    box = box_between(grid, points.min(axis=0) - margin, points.max(axis=0) + margin)
    if not box.is_empty:
        phi = tube_mm(subgrid(grid, box), points, radii, reach_mm=2.0)
        blend(image, box, grid, phi, hu)


def paint_vessels(image: Field, grid: Grid, anatomy: Anatomy) -> None:
    """The splenic vein and the five vessels of a patient."""
    paint_course(image, grid, curve(*SPLENIC_VEIN), VEIN)
    for name, course in anatomy.vessels.items():
        paint_course(image, grid, course, VEIN if name in ("PORTA", "SMV") else ARTERY)


def _paint_hollow(
    image: Field,
    grid: Grid,
    course: tuple[list[Triple], list[float]],
    rng: np.random.Generator,
    *,
    gas_above_mm: float,
) -> None:
    """A gut with an enhancing wall, fluid in it, and gas on top (to the front)."""
    control = np.asarray(course[0]) + rng.normal(0, 2.0, (len(course[0]), 3))
    points, radii = curve(control, course[1])
    part_rng = np.random.default_rng(rng.integers(2**63))
    margin = radii.max() + 4
    box = box_between(grid, points.min(axis=0) - margin, points.max(axis=0) + margin)
    if box.is_empty:
        return
    part = subgrid(grid, box)
    phi = tube_mm(part, points, radii, reach_mm=4.0)
    phi += np.float32(1.5) * smooth_noise(part, 16.0, part_rng)
    blend(image, box, grid, phi, 78.0)
    lumen = phi - np.float32(3.0)
    blend(image, box, grid, lumen, 18.0)
    gas = np.minimum(lumen, np.float32(gas_above_mm) - axes_mm(part)[1])
    blend(image, box, grid, gas, -930.0)


def _paint_bowel(image: Field, grid: Grid, rng: np.random.Generator) -> None:
    """Loops of jejunum and colon in front and below, each fluid or with gas on top."""
    for number in range(22):
        corner = (25, -62, -70) if number < 8 else (-85, -70, -130)  # jejunum lies on the left
        low = rng.uniform(corner, (95, -22, -15) if number < 8 else (95, -20, -60))
        course = [triple(low + rng.normal(0, size, 3)) for size in (1, 14, 18)]
        radius = rng.uniform(8, 13)
        gas = low[1] - rng.uniform(-2, 14)
        _paint_hollow(image, grid, (course, [radius] * 3), rng, gas_above_mm=gas)


def _paint_spine(image: Field, grid: Grid) -> None:
    """Vertebrae and discs."""
    low, high = grid.origin_mm[2], grid.origin_mm[2] + grid.shape[2] * grid.spacing_mm[2]
    for number in range(int(np.floor(low / 34)) - 1, int(np.ceil(high / 34)) + 2):
        z = 34.0 * number
        _paint_block(image, grid, (0, 53, z + 17), (20, 16, 6), 85.0)  # disc
        _paint_block(image, grid, (0, 53, z), (21, 17, 13.5), BONE)
        _paint_block(image, grid, (0, 53, z), (18.5, 14.5, 11.5), MARROW)
        _paint_block(image, grid, (0, 92, z - 4), (4, 17, 9), 420.0)  # spinous process
        _paint_block(image, grid, (-24, 76, z), (18, 5, 7), 420.0)  # transverse processes
        _paint_block(image, grid, (24, 76, z), (18, 5, 7), 420.0)
    paint_course(image, grid, _straight(0, 77, low, high, 12.5), 400.0)
    paint_course(image, grid, _straight(0, 77, low, high, 8.5), 32.0)


def _paint_block(image: Field, grid: Grid, centre: Triple, semi: Triple, hu: float) -> None:
    """A rounded box: the p-norm ball with p = 4."""
    box = box_between(grid, np.subtract(centre, semi) - 2, np.add(centre, semi) + 2)
    if box.is_empty:
        return
    axes = axes_mm(subgrid(grid, box))
    level = sum(((u - c) / s) ** 4 for u, c, s in zip(axes, centre, semi, strict=True))
    phi = np.asarray((1 - np.sqrt(np.sqrt(level))) * min(semi), np.float32)
    blend(image, box, grid, phi, hu)


def _paint_ribs(image: Field, grid: Grid) -> None:
    """Ribs run round the wall from the spine to the front, sinking as they go."""
    turn = np.radians(np.linspace(70, -25, 24))
    reach = np.array(_BODY_SEMI_AXES_MM) - 24
    for side in (-1, 1):
        for top in range(-20, 240, 26):
            x = side * reach[0] * np.cos(turn)
            y = _BODY_CENTRE_MM[1] + reach[1] * np.sin(turn)
            z = top - 0.55 * np.degrees(turn[0] - turn)
            points = np.stack([x, y, z], axis=1)
            paint_course(image, grid, (points, np.full(len(points), 5.0)), BONE * 0.8)
            paint_course(image, grid, (points, np.full(len(points), 3.0)), MARROW)


def with_noise(image: Field, noise_hu: float, rng: np.random.Generator) -> NDArray[np.int16]:
    """Noise with the short grain of a soft-tissue kernel, slab by slab."""
    width, height, depth = image.shape
    result = np.empty(image.shape, np.int16, order="F")
    for start in range(0, depth, _SLAB):
        slab = image[:, :, start : start + _SLAB]
        grain = rng.standard_normal((slab.shape[2], height, width), dtype=np.float32)
        for axis in (1, 2):
            grain = ndimage.correlate1d(grain, [0.38, 0.84, 0.38], axis=axis, mode="nearest")
        noisy = np.clip(slab + np.float32(noise_hu) * grain.T, -1024, 3071)
        result[:, :, start : start + _SLAB] = np.rint(noisy)
    return result


def _straight(x: float, y: float, low: float, high: float, radius: float) -> tuple[Points, Points]:
    return np.array([[x, y, low - 5.0], [x, y, high + 5.0]]), np.full(2, radius)
