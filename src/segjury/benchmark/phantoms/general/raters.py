"""The raters of any protocol: what each draws, who marked a case, and what a second read finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms.fields import Field, smooth_noise
from segjury.benchmark.phantoms.general.anatomy import Part, grain_mm
from segjury.benchmark.phantoms.raters import Mask, Noise, Rater, draw
from segjury.consensus import MAX_PATTERNS
from segjury.protocols.reference import MOST_RATERS, Reference

Labels = NDArray[np.uint8]

STYLES = (  # in radii of what they draw; who has the same place in a larger panel draws alike
    Rater(bias_mm=0.02, error_mm=0.14, miss_rate=0.05),
    Rater(bias_mm=-0.05, error_mm=0.18, miss_rate=0.15),
    Rater(bias_mm=0.06, error_mm=0.16, miss_rate=0.05),
    Rater(bias_mm=-0.02, error_mm=0.28, miss_rate=0.25),
    Rater(bias_mm=0.0, error_mm=0.15, miss_rate=0.10),
    Rater(bias_mm=-0.06, error_mm=0.2, miss_rate=0.20),
    Rater(bias_mm=0.08, error_mm=0.24, miss_rate=0.10),
)
USUAL = Rater(bias_mm=0.0, error_mm=0.18, miss_rate=0.1)
SAME = Rater(bias_mm=0.0, error_mm=0.16)

_SHARED, _LEVEL = 0.1, 0.06  # of the radius
_SECOND_READ = 0.25  # ambiguity of what one has marked before
_OVERLOOKED = 0.35  # chance that a rater does not see a small lesion where the case is hopeless
_SMALL = 0.5  # radii of the largest one


def shared_noise(parts: Sequence[Part], rng: np.random.Generator) -> list[Field]:
    """The errors that all raters share, for each part."""
    return [smooth_noise(part.grid, grain_mm(part.grid, part.radius_mm), rng) for part in parts]


def is_small(part: Part, parts: Sequence[Part]) -> bool:
    """Whether a part is easily overlooked beside the largest one of its kind."""
    kin = [p.radius_mm for p in parts if p.bodies[0].number == part.bodies[0].number]
    return part.radius_mm < _SMALL * max(kin)


def draw_parts(
    parts: Sequence[Part],
    style: Rater,
    shared: Sequence[Field],
    *,
    ambiguity: float,
    overlooks: bool = True,
    rng: np.random.Generator,
) -> list[Labels]:
    """What one rater draws of each part: the number of each voxel in its region."""
    drawn = []
    for part, common in zip(parts, shared, strict=True):
        own = np.random.default_rng(rng.integers(2**63))  # whatever the part takes
        unseen = own.random() < _OVERLOOKED * ambiguity
        if overlooks and unseen and is_small(part, parts):
            drawn.append(np.zeros(part.grid.shape, np.uint8, order="F"))
            continue
        phis = [body.phi_mm for body in part.bodies]
        drawn.append(_draw_part(part, phis, style, common, ambiguity, own))
    return drawn


def read_again(
    parts: Sequence[Part], before: Sequence[Labels], rng: np.random.Generator
) -> list[Labels]:
    """What a rater draws who marked the same case before: nearly that."""
    drawn = []
    for part, labels in zip(parts, before, strict=True):
        own = np.random.default_rng(rng.integers(2**63))
        masks = [np.isin(labels, part.within(body.number)) for body in part.bodies]
        if not masks[0].any():
            drawn.append(labels)
            continue
        phis = [_distance_mm(mask, part) for mask in masks]
        none = np.zeros(labels.shape, np.float32, order="F")
        drawn.append(_draw_part(part, phis, SAME, none, _SECOND_READ, own))
    return drawn


def _draw_part(
    part: Part,
    phis: Sequence[Field],
    style: Rater,
    shared: Field,
    ambiguity: float,
    rng: np.random.Generator,
) -> Labels:
    """The outer bodies first; each inner one only where the rater drew what is around it."""
    labels = np.zeros(part.grid.shape, np.uint8, order="F")
    r = part.radius_mm
    rater = Rater(style.bias_mm * r, style.error_mm * r, style.miss_rate)
    noise = Noise(_SHARED * r, _LEVEL * r, grain_mm(part.grid, r))
    for body, phi in zip(part.bodies, phis, strict=True):
        if not (phi > 0).any():
            continue  # which this rater did not see the last time
        mask = draw(phi, part.grid, rater, ambiguity=ambiguity, shared=shared, rng=rng, noise=noise)
        labels[mask & (labels == body.inside)] = body.number
    return labels


def _distance_mm(mask: Mask, part: Part) -> Field:
    """Signed distance of a mask."""
    if not mask.any():
        return np.full(mask.shape, -1, np.float32, order="F")
    inside = ndimage.distance_transform_edt(mask, sampling=part.grid.spacing_mm)
    outside = ndimage.distance_transform_edt(~mask, sampling=part.grid.spacing_mm)
    return np.asarray(inside - outside, np.float32)


# ---- who marks a case ----------------------------------------------------------------------


def styles_of(spec: Reference, rng: np.random.Generator) -> dict[str, Rater]:
    """How each of the panel draws in this case; of anonymous raters anyone may be the first."""
    styles = [STYLES[k % len(STYLES)] for k in range(len(spec.panel))]
    order = rng.permutation(len(styles)) if spec.anonymous else range(len(styles))
    return {name: styles[k] for name, k in zip(spec.panel, order, strict=True)}


def present(spec: Reference, rng: np.random.Generator) -> list[str]:
    """The raters who mark a case: all of a complete panel, else at least as many as it needs."""
    if spec.is_complete:
        return list(spec.panel)
    most = min(len(spec.panel), MOST_RATERS)
    while most > spec.fewest and (len(spec.classes) + 1) ** most > MAX_PATTERNS:
        most -= 1
    count = int(rng.integers(spec.fewest, max(most, spec.fewest) + 1))
    chosen = rng.permutation(len(spec.panel))[:count]
    return [spec.panel[k] for k in sorted(chosen.tolist())]
