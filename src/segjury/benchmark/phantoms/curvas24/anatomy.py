"""Pancreas, kidneys and liver of one patient, with cysts and worse, as signed distances.

Coordinates are those of `abdomen`. What belongs to an organ follows the guideline of CURVAS: the
pancreas without its veins, the kidney without its pelvis, the liver with all that is inside it but
without gallbladder, vena cava and main portal vein.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from segjury.arrays import Box, Triple
from segjury.benchmark.phantoms.abdomen import CAVA, SPLENIC_VEIN, Anatomy
from segjury.benchmark.phantoms.fields import (
    Field,
    Points,
    axes_mm,
    box_between,
    curve,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
    tube_mm,
)
from segjury.images.grid import Grid

PartName = Literal["pancreas", "right kidney", "left kidney", "liver"]
KidneyName = Literal["right kidney", "left kidney"]
Pathology = Literal[
    "none", "missing kidney", "hydronephrosis", "liver metastases", "adrenal metastasis"
]
Kind = Literal["cyst", "metastasis", "adrenal metastasis"]

ORGANS = {"pancreas": 1, "kidney": 2, "liver": 3}
LABELS: dict[PartName, int] = {"liver": 3, "right kidney": 2, "left kidney": 2, "pancreas": 1}
"""Labels of the parts; later parts lie over earlier ones."""

REACH_MM = 22.0  # how far outside an organ its signed distance is kept

_CAVITY_CENTRE_MM, _CAVITY_SEMI_AXES_MM, _CAVITY_POWER = (0.0, 4.0), (126.0, 85.0), 2.4


@dataclass(frozen=True)
class Finding:
    """A round thing of which experts judge differently whether it belongs to the organ."""

    kind: Kind
    part: PartName
    centre_mm: Triple
    radius_mm: float

    @property
    def belongs(self) -> float:
        """The share of experts who count it as organ; the guideline is silent on kidney cysts."""
        shares: dict[Kind, float] = {"cyst": 0.5, "metastasis": 0.95, "adrenal metastasis": 0.05}
        return 0.8 if (self.kind, self.part) == ("cyst", "liver") else shares[self.kind]


@dataclass(frozen=True)
class Kidney:
    """A bent tube with rounded ends, and the sinus that notches it from the middle."""

    course: tuple[Points, Points]
    sinus: tuple[Triple, Triple]
    outward: int  # -1 to the right, 1 to the left
    widened: bool


@dataclass(frozen=True)
class Patient:
    """Where the organs of one patient lie."""

    anatomy: Anatomy
    kidneys: dict[KidneyName, Kidney]
    lobes: list[tuple[Triple, Triple]]
    gallbladder: tuple[Triple, Triple]
    findings: list[Finding] = field(default_factory=list)

    def found(self, part: PartName) -> list[Finding]:
        """The findings in or at one part."""
        return [finding for finding in self.findings if finding.part == part]


@dataclass(frozen=True)
class OrganPart:
    """One organ, or one of the two kidneys, on a region of the grid."""

    name: PartName
    box: Box
    grid: Grid
    truth_mm: Field

    @property
    def label(self) -> int:
        """The organ's label."""
        return LABELS[self.name]


def make_parts(grid: Grid, patient: Patient, rng: np.random.Generator) -> list[OrganPart]:
    """The patient's organs on the grid, in the order of `LABELS`, with uneven surfaces."""
    parts = []
    for name in LABELS:
        if name not in ("liver", "pancreas", *patient.kidneys):
            continue
        box = box_between(grid, *_extent(name, patient))
        part = subgrid(grid, box)
        if name == "pancreas":
            phi, waves = pancreas_mm(part, patient), (1.3, 9.0)
        elif name == "liver":
            phi, waves = liver_mm(part, patient), (2.0, 40.0)
        else:
            phi, waves = kidney_mm(part, patient.kidneys[name]), (0.9, 25.0)
        phi += np.float32(waves[0]) * smooth_noise(part, waves[1], rng)
        parts.append(OrganPart(name, box, part, phi))
    return parts


def pancreas_mm(grid: Grid, patient: Patient) -> Field:
    """Signed distance of the gland, without the veins behind it and the kidneys."""
    phi = tube_mm(grid, *patient.anatomy.pancreas, reach_mm=REACH_MM)
    for vein in (patient.anatomy.vessels["PORTA"], patient.anatomy.vessels["SMV"]):
        _cut_tube(phi, grid, vein, gap_mm=0.5)
    _cut_tube(phi, grid, curve(*SPLENIC_VEIN), gap_mm=0.5)
    for kidney in patient.kidneys.values():
        _cut_tube(phi, grid, kidney.course, gap_mm=2.0)
    return phi


def kidney_mm(grid: Grid, kidney: Kidney) -> Field:
    """Signed distance of cortex and medulla, without the sinus."""
    phi = tube_mm(grid, *kidney.course, reach_mm=REACH_MM)
    np.minimum(phi, -ellipsoid_mm(grid, *kidney.sinus), out=phi)
    return phi


def liver_mm(grid: Grid, patient: Patient) -> Field:
    """Signed distance of the lobes within the cavity, without what lies against them."""
    phi = ellipsoid_mm(grid, *patient.lobes[0])
    for lobe in patient.lobes[1:]:
        np.maximum(phi, ellipsoid_mm(grid, *lobe), out=phi)
    np.minimum(phi, _cavity_mm(grid), out=phi)
    np.minimum(phi, -ellipsoid_mm(grid, *patient.gallbladder), out=phi)
    _cut_tube(phi, grid, curve(*CAVA), gap_mm=0.5)
    _cut_tube(phi, grid, patient.anatomy.vessels["PORTA"], gap_mm=2.0)
    _cut_tube(phi, grid, patient.anatomy.pancreas, gap_mm=4.0)
    for kidney in patient.kidneys.values():
        _cut_tube(phi, grid, kidney.course, gap_mm=4.0)
    return phi


def finding_mm(grid: Grid, finding: Finding) -> Field:
    """Signed distance of a ball."""
    return ellipsoid_mm(grid, finding.centre_mm, [finding.radius_mm] * 3)


def _cavity_mm(grid: Grid) -> Field:
    """Signed distance of the abdominal cavity, alike on all slices, to first order."""
    x, y, _ = axes_mm(grid)
    p = _CAVITY_POWER
    scaled = [
        np.maximum(np.abs((axis - middle) / semi), 1e-3)
        for axis, middle, semi in zip((x, y), _CAVITY_CENTRE_MM, _CAVITY_SEMI_AXES_MM, strict=True)
    ]
    level = (scaled[0] ** p + scaled[1] ** p) ** (1 / p)
    slopes = [
        (u / level) ** (p - 1) / semi for u, semi in zip(scaled, _CAVITY_SEMI_AXES_MM, strict=True)
    ]
    return np.asarray((1 - level) / np.hypot(*slopes), np.float32)


def _cut_tube(phi_mm: Field, grid: Grid, course: tuple[Points, Points], *, gap_mm: float) -> None:
    """Take a tube, and a gap around it, out of a body, in place."""
    box = box_between(grid, *_around(course))
    if not box.is_empty:
        tube = tube_mm(subgrid(grid, box), *course, reach_mm=REACH_MM)
        np.minimum(phi_mm[box], -tube - np.float32(gap_mm), out=phi_mm[box])


def _extent(name: PartName, patient: Patient) -> tuple[Points, Points]:
    """Corners of the region that holds a part, its findings, and `REACH_MM` around them."""
    if name == "liver":
        centres, semis = (np.array(values) for values in zip(*patient.lobes, strict=True))
        low = (centres - semis).min(axis=0) - REACH_MM
        high = (centres + semis).max(axis=0) + REACH_MM
    else:
        low, high = _around(
            patient.anatomy.pancreas if name == "pancreas" else patient.kidneys[name].course
        )
    for finding in patient.found(name):
        reach = finding.radius_mm + REACH_MM
        low = np.minimum(low, np.subtract(finding.centre_mm, reach))
        high = np.maximum(high, np.add(finding.centre_mm, reach))
    return low, high


def _around(course: tuple[Points, Points]) -> tuple[Points, Points]:
    """Corners of the region within `REACH_MM` of a tube."""
    points, radii = course
    reach = radii[:, None] + REACH_MM
    return (points - reach).min(axis=0), (points + reach).max(axis=0)
