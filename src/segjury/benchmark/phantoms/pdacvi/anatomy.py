"""The lesion in the pancreas, and the gland and the vessels around it, on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Triple
from segjury.benchmark.phantoms.abdomen import VESSELS, Anatomy
from segjury.benchmark.phantoms.fields import (
    Field,
    Points,
    box_between,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
    triple,
    tube_mm,
)
from segjury.images.grid import Grid

Location = Literal["head", "body", "tail"]

REACH_MM = 12.0  # how far outside a body its signed distance is needed

# for each site: a point on the vessel's course (share of its length) and the way to the lesion
_SITES: dict[Location, list[tuple[str, float, Triple]]] = {
    "head": [
        ("SMV", 0.80, (-1.0, 0.1, 0.0)),
        ("SMV", 0.88, (-0.9, -0.5, 0.0)),
        ("PORTA", 0.20, (-0.6, -0.6, -0.5)),
        ("SMA", 0.32, (-0.8, 0.3, -0.3)),
    ],
    "body": [
        ("CELIAC TRUNK", 0.75, (0.3, -0.8, -0.5)),
        ("CELIAC TRUNK", 0.55, (0.6, -0.6, -0.6)),
        ("SMA", 0.15, (0.4, -0.9, 0.3)),
        ("SMA", 0.25, (0.6, -0.7, 0.4)),
    ],
    "tail": [],
}


@dataclass(frozen=True)
class Lesion:
    """An ellipsoid with a wavy surface."""

    centre_mm: Triple
    semi_axes_mm: Triple


def vessel_labels(grid: Grid, anatomy: Anatomy) -> NDArray[np.uint8]:
    """Label map of the five vessels; each voxel goes to the vessel it lies deepest in.

    The aorta keeps what it shares with its branches.
    """
    labels = np.zeros(grid.shape, np.uint8, order="F")
    depth = np.zeros(grid.shape, np.float32, order="F")
    for name, (points, radii) in anatomy.vessels.items():
        box = box_between(grid, points.min(axis=0) - 15, points.max(axis=0) + 15)
        phi = tube_mm(subgrid(grid, box), points, radii, reach_mm=0.5)
        if name == "AORTA":
            phi[phi > 0] += 100
        labels[box][phi > depth[box]] = VESSELS[name]
        np.maximum(depth[box], phi, out=depth[box])
    return labels


def place_lesion(
    anatomy: Anatomy, location: Location, contact_deg: float, rng: np.random.Generator
) -> Lesion:
    """A lesion that covers about `contact_deg` of a vessel (negative: so many mm away from it).

    Other vessels may be nearer. A lesion in the tail is simply somewhere in the tail.
    """
    semi = rng.uniform(9.5, 16.0) * rng.uniform(0.88, 1.12, 3)
    if location == "tail":
        return Lesion(triple(along_pancreas(anatomy, rng.uniform(0.72, 0.9))), triple(semi))
    name, share, way = _SITES[location][rng.integers(len(_SITES[location]))]
    points, radii = anatomy.vessels[name]
    at = int(np.clip(share + rng.uniform(-0.03, 0.03), 0, 1) * (len(points) - 1))
    unit = np.asarray(way) + rng.normal(0, 0.1, 3)
    tangent = points[min(at + 1, len(points) - 1)] - points[at - 1]
    unit -= (unit @ tangent) / (tangent @ tangent) * tangent
    unit /= np.linalg.norm(unit)
    extent = float(1 / np.linalg.norm(unit / semi))
    away = extent + gap_mm(contact_deg, float(radii[at]))
    return Lesion(triple(points[at] + away * unit), triple(semi))


def gap_mm(contact_deg: float, vessel_radius_mm: float) -> float:
    """How far outside a lesion a vessel's axis lies when the lesion covers an angle of the vessel.

    A flat surface at distance d from the axis of a vessel of radius r cuts off the angle
    2 arccos(d/r), so d = r cos(angle/2). A negative angle stands for millimetres between the two.
    """
    if contact_deg < 0:
        return vessel_radius_mm - contact_deg
    return vessel_radius_mm * float(np.cos(np.radians(min(contact_deg, 360) / 2)))


def decoys(anatomy: Anatomy, lesion: Lesion, rng: np.random.Generator) -> list[Lesion]:
    """Two smaller findings elsewhere in the gland, which some raters take for the lesion."""
    lesions: list[Lesion] = []
    taken = [np.array(lesion.centre_mm)]
    for share in rng.permutation(np.linspace(0.05, 0.85, 17)):
        centre = along_pancreas(anatomy, share) + rng.normal(0, 1.5, 3)
        gaps = [float(np.linalg.norm(centre - other)) for other in taken]
        if min(gaps) >= 26 and gaps[0] <= 58 and len(lesions) < 2:
            semi = rng.uniform(8.0, 12.5) * rng.uniform(0.85, 1.15, 3)
            lesions.append(Lesion(triple(centre), triple(semi)))
            taken.append(centre)
    return lesions


def along_pancreas(anatomy: Anatomy, share: float) -> Points:
    """The point of the gland's middle line at a share of its length, from head to tail."""
    points, _ = anatomy.pancreas
    return np.asarray(points[round(float(share) * (len(points) - 1))])


def lesion_mm(grid: Grid, lesion: Lesion, rng: np.random.Generator) -> Field:
    """Signed distance of a lesion with a lobed surface."""
    waves = np.float32(1.2) * smooth_noise(grid, 10.0, rng)
    return ellipsoid_mm(grid, lesion.centre_mm, lesion.semi_axes_mm) + waves


def pancreas_mm(
    grid: Grid, anatomy: Anatomy, lesions: list[Lesion], rng: np.random.Generator
) -> Field:
    """Signed distance of the lobulated gland, which bulges around its lesions."""
    points, radii = anatomy.pancreas
    phi = tube_mm(grid, points, radii, reach_mm=REACH_MM)
    phi += np.float32(1.3) * smooth_noise(grid, 9.0, rng)
    for lesion in lesions:
        centre = np.array(lesion.centre_mm)
        nearest = points[np.argmin(np.linalg.norm(points - centre, axis=1))]
        neck = np.array([0.85 * min(lesion.semi_axes_mm), 8.0])
        bridge = tube_mm(grid, np.stack([centre, nearest]), neck, reach_mm=REACH_MM)
        np.maximum(phi, bridge, out=phi)
        np.maximum(phi, ellipsoid_mm(grid, lesion.centre_mm, lesion.semi_axes_mm) + 1, out=phi)
    return phi
