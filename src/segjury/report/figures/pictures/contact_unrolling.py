"""The wall of a vessel cut open, with who sees the lesion touch it where.

Everything is computed on the arrays as they are stored, as scores are; directions are turned into
those of the body afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Floats, Ints, Triple, bounding_box, nonzero_voxels
from segjury.images.grid import Direction
from segjury.metrics.contact import (
    VesselSections,
    contact_angles,
    directions_in_contact,
    vessel_sections,
)
from segjury.metrics.geometry.rays import rays_across, unit_vectors
from segjury.metrics.invasion import REACH, pack_bits, pack_levels
from segjury.report.figures.pictures.shared.images import CaseImages

RATERS = ""  # no method has no name
AROUND_MM = 8.0  # of vessel shown before and behind a contact
BREAK_MM = 3.0  # between two branches
_SIDES = (("L", "R"), ("P", "A"), ("S", "I"))  # where the axes of LPS point, and away from
_ZEROS = {"A": (0.0, -1.0, 0.0), "L": (1.0, 0.0, 0.0), "S": (0.0, 0.0, 1.0)}
_STEEP = 0.5  # sine of the smallest angle between a vessel and the zero of its circumference


@dataclass(frozen=True)
class Stretch:
    """Sections of one branch, in order, and how far along the vessel each lies."""

    sections: Ints
    along_mm: Floats

    @property
    def step_mm(self) -> float:
        """From one section to the next."""
        if len(self.along_mm) < 2:
            return 1.0
        return float((self.along_mm[-1] - self.along_mm[0]) / (len(self.along_mm) - 1))

    @property
    def length_mm(self) -> float:
        """From before the first section to behind the last."""
        return self.step_mm * len(self.along_mm)


@dataclass(frozen=True)
class VesselContact:
    """Contact with one vessel: for the raters and for each method, N masks, S sections, D angles.

    Angles go round the vessel in equal steps from the side called `sides[0]`; `sides` names those
    at 0, 90, 180 and 270 degrees. `angle_deg` are the contact angles that scores compare.
    """

    vessel: str
    box: Box
    sections: VesselSections
    stretches: tuple[Stretch, ...]
    sides: tuple[str, ...]
    order: Ints  # (S, D): the direction of the sections at each angle
    contact: dict[str, Bools]  # (N, S, D), by direction
    angle_deg: dict[str, Floats]  # (N,)
    items: dict[str, tuple[str, ...]]  # names of the masks

    @property
    def starts_mm(self) -> tuple[float, ...]:
        """Where each stretch begins when they are laid one behind the other; last, the end."""
        ends = np.cumsum([each.length_mm + BREAK_MM for each in self.stretches])
        return 0.0, *map(float, ends[:-1]), float(ends[-1]) - BREAK_MM

    def share(self, who: str) -> Floats:
        """Share of the masks in contact at each section and angle; NaN where there is no wall."""
        share = np.where(self.sections.wall, self.contact[who].mean(axis=0), np.nan)
        return np.take_along_axis(share, self.order, axis=1)


def contacts(images: CaseImages) -> list[VesselContact]:
    """Contact with every vessel that a rater or a method sees touched."""
    return images.kept.once(("contacts",), lambda: _found(images))


def _found(images: CaseImages) -> list[VesselContact]:
    touched = []
    for vessel, mask in images.structures.items():
        tight = bounding_box(nonzero_voxels(mask), mask.shape)
        if tight is None:
            continue
        box = tight.grow(REACH, mask.shape)
        lesions = _lesions(images, box)
        shell = _shell(mask[box])
        if any(packed[shell].any() for packed, _ in lesions.values()):  # else spare the centreline
            touched.append(_contact(images, vessel, box, lesions))
    return [each for each in touched if each]


_Lesions = dict[str, tuple[NDArray[Any], tuple[str, ...]]]  # packed masks and their names


def _lesions(images: CaseImages, box: Box) -> _Lesions:
    """The raters' masks and each method's, a map cut at all thresholds, as bits in the box."""
    masks = np.stack([mask[box] == 1 for mask in images.raters.values()])
    lesions: _Lesions = {RATERS: (pack_bits(masks), tuple(images.raters))}
    cuts = tuple(f"p > {threshold:g}" for threshold in images.thresholds)
    for method, mask in images.predictions.items():
        maps = images.probabilities.get(method)
        if maps:
            levels = pack_levels(maps[images.labels[0]][box], images.thresholds)
            lesions[method] = levels, cuts
        else:
            lesions[method] = pack_bits((mask[box] == 1)[None]), ("mask",)
    return lesions


def _shell(mask: Bools) -> Bools:
    """A vessel and the 26 neighbours of its voxels: all that can be in contact."""
    from scipy import ndimage

    return np.asarray(ndimage.binary_dilation(mask, np.ones((3, 3, 3), bool)))


def _contact(images: CaseImages, vessel: str, box: Box, lesions: _Lesions) -> VesselContact | None:
    """Contact with one vessel, if there is any."""
    mask = np.asfortranarray(images.structures[vessel][box])
    sections = vessel_sections(mask, images.spacing_mm)
    contact, angles = {}, {}
    for who, (packed, items) in lesions.items():
        contact[who] = directions_in_contact(sections, packed, n_masks=len(items))
        angles[who] = contact_angles(sections, packed, n_masks=len(items))
    touched = np.any([each.any(axis=(0, 2)) for each in contact.values()], axis=0)
    if not touched.any():
        return None
    stretches = _stretches(sections, touched, images.direction)
    order, sides = _angles(sections, stretches, images.spacing_mm, images.direction)
    return VesselContact(
        vessel=vessel,
        box=box,
        sections=sections,
        stretches=stretches,
        sides=sides,
        order=order,
        contact=contact,
        angle_deg=angles,
        items={who: items for who, (_, items) in lesions.items()},
    )


def _stretches(
    sections: VesselSections, touched: Bools, direction: Direction
) -> tuple[Stretch, ...]:
    """Of every branch in contact, the sections near it, from below upwards.

    A branch that runs level goes from behind forwards, or from right to left.
    """
    stretches = []
    for branch in np.unique(sections.line[touched]):
        members = np.flatnonzero(sections.line == branch)
        if _runs_down(sections.centre_mm[members], direction):
            members = members[::-1]
        steps = np.diff(sections.centre_mm[members], axis=0)
        along = np.concatenate([[0.0], np.linalg.norm(steps, axis=1).cumsum()])
        hit = along[touched[members]]
        near = (along >= hit.min() - AROUND_MM) & (along <= hit.max() + AROUND_MM)
        stretches.append(Stretch(members[near], along[near]))
    return tuple(stretches)


def _runs_down(centre_mm: Floats, direction: Direction) -> bool:
    way = np.array(direction) @ (centre_mm[-1] - centre_mm[0]) * [1, -1, 1]  # to L, A, S
    return bool(way[np.abs(way).argmax()] < 0)


def _angles(
    sections: VesselSections,
    stretches: tuple[Stretch, ...],
    spacing_mm: Triple,
    direction: Direction,
) -> tuple[Ints, tuple[str, ...]]:
    """The direction at each angle round every section, and the names of four of them."""
    turn = np.array(direction).T
    shown = np.concatenate([stretch.sections for stretch in stretches])
    upward = unit_vectors(sections.tangent @ turn)
    for stretch in stretches:
        if len(stretch.sections) > 1 and stretch.sections[1] < stretch.sections[0]:
            upward[stretch.sections] *= -1
    zero = _zero(upward[shown])
    first = unit_vectors(zero - (upward @ zero)[:, None] * upward)
    second = np.cross(upward, first)
    count = sections.wall.shape[1]
    rays = rays_across(sections.centre_mm, sections.tangent, np.array(spacing_mm), count)
    out = unit_vectors(rays.step * np.array(spacing_mm)) @ turn
    angle = np.arctan2((out * second[:, None]).sum(-1), (out * first[:, None]).sum(-1))
    wanted = np.arange(count) * (2 * np.pi / count)
    away = np.cos(wanted[:, None] - angle[:, None, :])  # largest where they agree
    quarter = [first[shown], second[shown], -first[shown], -second[shown]]
    return away.argmax(axis=2), tuple(_side(vectors.mean(axis=0)) for vectors in quarter)


def _zero(along: Floats) -> Floats:
    """Anterior, unless the vessel runs that way somewhere; then what it runs least along."""
    steepness = {
        name: float(np.sqrt(1 - np.clip((along @ np.array(zero)) ** 2, 0, 1)).min())
        for name, zero in _ZEROS.items()
    }
    best = "A" if steepness["A"] >= _STEEP else max(steepness, key=lambda name: steepness[name])
    return np.array(_ZEROS[best])


def _side(vector: Floats) -> str:
    """The side of the body that a vector in LPS points to."""
    axis = int(np.abs(vector).argmax())
    return _SIDES[axis][0 if vector[axis] > 0 else 1]
