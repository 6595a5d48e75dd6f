"""How experts correct the same first draft.

An automatic draft follows an organ with errors of its own: it wanders, and it may lose the tail of
the pancreas, take in a piece of duodenum, or overlook a dilated kidney. Rater k then draws

    phi_k = draft + w_k (truth + b_k + s_k G_k - draft)

with G_k smooth noise and b_k, s_k the rater's style and error. The weight w_k is 0 where the rater
left the draft alone, so that raters agree there to the voxel, the draft's errors included; it is 1
where the rater happened to work, and where the draft is so wrong that nobody could overlook it.
Cysts and metastases are counted in or left out whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.benchmark.phantoms.curvas24.anatomy import (
    REACH_MM,
    Finding,
    OrganPart,
    Patient,
    finding_mm,
)
from segjury.benchmark.phantoms.fields import (
    Field,
    axes_mm,
    box_between,
    ellipsoid_mm,
    smooth_noise,
    subgrid,
)
from segjury.benchmark.phantoms.raters import Mask, without_specks

SCALE = {"pancreas": 1.5, "right kidney": 0.85, "left kidney": 0.85, "liver": 1.1}
"""How uncertain the edge of an organ is, against that of an average one."""

_DRAFT_ERROR_MM = 1.2
_DRAFT_LENGTH_MM, _OWN_LENGTH_MM, _WORK_LENGTH_MM = 20.0, 15.0, 40.0
_DUODENUM_MM = ((-51.0, -4.0, -20.0), (9.0, 11.0, 14.0))
_NEAR_MM = 15.0  # how far from a finding a distance still matters
_FADE_MM = 1.0  # from an error that may stay to one that may not
_WORK_FADE = 0.3  # the same for the raters' zeal, in SD


@dataclass(frozen=True)
class Corrector:
    """One expert at work on the draft.

    `tolerance_mm` is the largest error of the draft that may stay; `zeal` says how much is
    redrawn without need (0: half of the surface, -1: a sixth); `lean` is for counting findings
    in (positive) or out; `trust` is the chance to keep the draft's decision on a finding.
    """

    bias_mm: float
    error_mm: float
    tolerance_mm: float
    zeal: float
    lean: float
    trust: float = 0.25


CORRECTORS = (
    Corrector(bias_mm=0.3, error_mm=0.9, tolerance_mm=2.0, zeal=0.2, lean=1.5),
    Corrector(bias_mm=-0.4, error_mm=1.0, tolerance_mm=2.5, zeal=-0.2, lean=-1.5),
    Corrector(bias_mm=0.1, error_mm=1.2, tolerance_mm=3.0, zeal=-0.6, lean=0.0),
)
"""Three raters like those of CURVAS: the most and the least inclusive, and the least zealous."""


@dataclass(frozen=True)
class DrawnOrgan:
    """What came of one part: the draft, the raters' masks, and the mean of their distances."""

    draft: Mask
    raters: list[Mask]
    mean_mm: Field


def draw_part(part: OrganPart, patient: Patient, rng: np.random.Generator) -> DrawnOrgan:
    """The draft of one part and what the raters made of it."""
    findings = patient.found(part.name)
    draft = _draft(part, patient, rng)
    overlooked = not (draft > 0).any()
    kept = [bool(rng.random() < finding.belongs) and not overlooked for finding in findings]
    masks = []
    mean = np.zeros(part.grid.shape, np.float32)
    for corrector in CORRECTORS:
        phi = _corrected(draft, part, corrector, rng)
        counted = _judged(findings, kept, corrector, rng)
        _settle(phi, part, findings, counted)
        masks.append(without_specks(phi > 0))
        mean += phi / np.float32(len(CORRECTORS))
    _settle(draft, part, findings, kept)
    return DrawnOrgan(without_specks(draft > 0), masks, mean)


def _draft(part: OrganPart, patient: Patient, rng: np.random.Generator) -> Field:
    """The automatic segmentation, findings aside."""
    wander = np.float32(_DRAFT_ERROR_MM * SCALE[part.name])
    draft = part.truth_mm + wander * smooth_noise(part.grid, _DRAFT_LENGTH_MM, rng)
    if part.name == "pancreas":
        flaw = rng.random()
        if flaw < 0.35:
            cut_tail(draft, part, patient, share=float(rng.uniform(0.75, 0.9)))
        elif flaw < 0.6:
            np.maximum(draft, ellipsoid_mm(part.grid, *_DUODENUM_MM), out=draft)
    elif part.name != "liver" and patient.kidneys[part.name].widened:
        draft[:] = -REACH_MM  # overlooked
    return draft


def cut_tail(phi_mm: Field, part: OrganPart, patient: Patient, *, share: float) -> None:
    """Cut the pancreas off at a share of its course, square to it."""
    points, _ = patient.anatomy.pancreas
    at = round(share * (len(points) - 1))
    way = points[at] - points[at - 1]
    way /= np.linalg.norm(way)
    x, y, z = (
        (axis - np.float32(middle)) * np.float32(unit)
        for axis, middle, unit in zip(axes_mm(part.grid), points[at], way, strict=True)
    )
    np.minimum(phi_mm, -(x + y + z), out=phi_mm)


def _corrected(
    draft: Field, part: OrganPart, corrector: Corrector, rng: np.random.Generator
) -> Field:
    scale = np.float32(SCALE[part.name])
    own = smooth_noise(part.grid, _OWN_LENGTH_MM, rng)
    own *= np.float32(corrector.error_mm)
    own += np.float32(corrector.bias_mm + rng.normal(0, 0.2))
    own *= scale
    own += part.truth_mm
    weight = smooth_noise(part.grid, _WORK_LENGTH_MM, rng)
    weight += np.float32(corrector.zeal)
    weight /= np.float32(_WORK_FADE)
    wrong = np.abs(draft - part.truth_mm) - scale * np.float32(corrector.tolerance_mm)
    np.maximum(weight, wrong / np.float32(_FADE_MM), out=weight)
    np.clip(weight, 0, 1, out=weight)
    own -= draft
    own *= weight
    own += draft
    return own


def _judged(
    findings: list[Finding], kept: list[bool], corrector: Corrector, rng: np.random.Generator
) -> list[bool]:
    """Which findings the rater counts as organ: as the draft, or by own judgement."""
    counted = []
    for finding, as_drafted in zip(findings, kept, strict=True):
        odds = finding.belongs / (1 - finding.belongs) * np.exp(corrector.lean)
        own = bool(rng.random() < odds / (1 + odds))
        counted.append(as_drafted if rng.random() < corrector.trust else own)
    return counted


def _settle(phi_mm: Field, part: OrganPart, findings: list[Finding], counted: list[bool]) -> None:
    """Count findings in or leave them out, in place."""
    for finding, belongs in zip(findings, counted, strict=True):
        count_finding(phi_mm, part, finding, belongs=belongs)


def count_finding(phi_mm: Field, part: OrganPart, finding: Finding, *, belongs: bool) -> None:
    """Take a finding into an organ, or out of it, in place."""
    reach = finding.radius_mm + _NEAR_MM
    near = box_between(
        part.grid, np.subtract(finding.centre_mm, reach), np.add(finding.centre_mm, reach)
    )
    ball = finding_mm(subgrid(part.grid, near), finding)
    if belongs:
        np.maximum(phi_mm[near], ball, out=phi_mm[near])
    else:
        np.minimum(phi_mm[near], -ball, out=phi_mm[near])
