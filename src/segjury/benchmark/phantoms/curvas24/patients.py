"""Patients for the phantom of several organs: where their organs lie and what ails them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segjury.arrays import Triple
from segjury.benchmark.phantoms.abdomen import Anatomy, make_anatomy
from segjury.benchmark.phantoms.curvas24.anatomy import (
    Finding,
    Kidney,
    KidneyName,
    Kind,
    Pathology,
    Patient,
    liver_mm,
)
from segjury.benchmark.phantoms.fields import Points, curve, triple
from segjury.images.grid import Grid

CYST_RADIUS_MM = (4.0, 9.5)  # the study admitted cysts up to 2 cm wide
LARGE_CYST_RADIUS_MM = (6.5, 9.9)
METASTASIS_RADIUS_MM = (9.0, 17.0)
ADRENAL_RADIUS_MM = (11.0, 16.0)

_KIDNEYS: dict[KidneyName, tuple[Triple, int]] = {  # centre, and the way to the side
    "right kidney": ((-64, 50, -36), -1),
    "left kidney": ((64, 48, -18), 1),
}
_LOBES = (
    ((-76.0, 0.0, 56.0), (58.0, 76.0, 72.0)),
    ((-8.0, -50.0, 74.0), (66.0, 33.0, 34.0)),
    ((-98.0, 18.0, 4.0), (26.0, 42.0, 48.0)),
    ((-28.0, -10.0, 78.0), (27.0, 32.0, 27.0)),
)
_PLUMPER = 1.1  # than the gland of the pancreatic phantom: no tumour has wasted it
_GALLBLADDER = ((-52.0, -44.0, 4.0), (13.0, 20.0, 25.0))


def make_patient(pathology: Pathology, cysts: int, rng: np.random.Generator) -> Patient:
    """One patient with so many cysts; a pathology makes the cysts large, too."""
    anatomy = make_anatomy(rng)
    points, radii = anatomy.pancreas
    names = list(_KIDNEYS)
    affected = names[rng.integers(2)]
    kidneys = {
        name: _make_kidney(name, rng, widened=pathology == "hydronephrosis" and name == affected)
        for name in names
    }
    if pathology == "missing kidney":
        del kidneys[affected]
    shift, scale = rng.normal(0, 3.0, 3), rng.uniform(0.95, 1.05, 3)
    patient = Patient(
        Anatomy(anatomy.vessels, (points, _PLUMPER * radii)),
        kidneys,
        [_moved(*lobe, shift, scale) for lobe in _LOBES],
        _moved(*_GALLBLADDER, shift, np.ones(3)),
    )
    return replace(patient, findings=_findings(patient, pathology, cysts, affected, rng))


def _findings(
    patient: Patient,
    pathology: Pathology,
    cysts: int,
    affected: KidneyName,
    rng: np.random.Generator,
) -> list[Finding]:
    radii_mm = CYST_RADIUS_MM if pathology == "none" else LARGE_CYST_RADIUS_MM
    findings = [_place_cyst(patient, float(rng.uniform(*radii_mm)), rng) for _ in range(cysts)]
    if pathology == "liver metastases":
        sizes = rng.uniform(*METASTASIS_RADIUS_MM, rng.integers(2, 5))
        findings += [_in_liver("metastasis", patient, float(radius), rng) for radius in sizes]
    if pathology == "adrenal metastasis":
        findings.append(_above_kidney(affected, patient.kidneys[affected], rng))
    return findings


def _moved(
    centre_mm: Triple, semi_axes_mm: Triple, shift_mm: Points, scale: Points
) -> tuple[Triple, Triple]:
    return triple(np.add(centre_mm, shift_mm)), triple(np.multiply(semi_axes_mm, scale))


def _make_kidney(name: KidneyName, rng: np.random.Generator, *, widened: bool) -> Kidney:
    """A kidney of about 150 cm³; the upper pole lies nearer to the spine and farther back."""
    centre, outward = _KIDNEYS[name]
    middle = np.add(centre, rng.normal(0, 2.5, 3))
    size = rng.uniform(0.94, 1.06) * (1.12 if widened else 1.0)
    to_upper_pole = np.array([-7.0 * outward, 4.0, 29.0]) * size
    bulge = np.array([5.0 * outward, 0.0, 0.0])
    course = curve(
        [middle + to_upper_pole, middle + bulge, middle - to_upper_pole],
        np.array([22.0, 24.5, 22.0]) * size,
    )
    sinus = (15.0, 12.0, 22.0) if not widened else (22.0, 17.0, 32.0)
    inward = np.array([-13.0 * outward, -3.0, 0.0])
    return Kidney(course, (triple(middle + inward), sinus), outward, widened)


def _place_cyst(patient: Patient, radius_mm: float, rng: np.random.Generator) -> Finding:
    """A cyst on the outer surface of a kidney or, one time in three, within the liver."""
    if rng.random() < 1 / 3:
        return _in_liver("cyst", patient, radius_mm, rng)
    name = list(patient.kidneys)[rng.integers(len(patient.kidneys))]
    kidney = patient.kidneys[name]
    points, radii = kidney.course
    at = int(rng.integers(len(points)))
    way = rng.normal(size=3)
    way[0] = kidney.outward * abs(way[0])
    away = radii[at] + rng.uniform(-0.4, 0.3) * radius_mm
    centre = points[at] + away * way / np.linalg.norm(way)
    return Finding("cyst", name, triple(centre), radius_mm)


def _in_liver(kind: Kind, patient: Patient, radius_mm: float, rng: np.random.Generator) -> Finding:
    """A finding most of which lies in the right lobe."""
    middle, semi = patient.lobes[0]
    centre = triple(np.array(middle))
    for _ in range(50):
        way = rng.normal(size=3)
        reach = rng.uniform(0.2, 0.85) / np.linalg.norm(way)
        centre = triple(np.array(middle) + np.array(semi) * way * reach)
        if liver_mm(Grid((1, 1, 1), origin_mm=centre), patient)[0, 0, 0] > 0.4 * radius_mm:
            break
    return Finding(kind, "liver", centre, radius_mm)


def _above_kidney(name: KidneyName, kidney: Kidney, rng: np.random.Generator) -> Finding:
    """An adrenal metastasis, which presses on the upper pole."""
    points, radii = kidney.course
    radius = float(rng.uniform(*ADRENAL_RADIUS_MM))
    away = float(radii[0]) + 0.75 * radius
    way = np.array([-0.5 * kidney.outward, -0.4, 0.77])
    return Finding("adrenal metastasis", name, triple(points[0] + away * way), radius)
