"""Simulated methods that segment vessels: each has the fault that it is named after.

Most of them see the true vessels through their fault, so that what a score should show is known;
one is a plain threshold of the image. A fault is a little different in every case, and worse in
unfamiliar images. They illustrate a benchmark; they are no evidence about real methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.arrays import flat
from segjury.benchmark.phantoms.smile.cases import VesselCase
from segjury.benchmark.phantoms.smile.raster import Mask, Pieces, pieces_of, rasterise_pieces
from segjury.benchmark.phantoms.smile.tree import Vessel, VesselTree

_UNFAMILIAR = 1.2  # how much worse faults are in the secret data set
_SLICES = 32  # smoothed together
_BLUR_VOXELS, _BLUR_REACH = 0.6, 3  # SD, and voxels beyond which it is nothing
_SAMPLE = 61  # one voxel in so many tells how bright tissue and vessels are
_LEVEL = 0.45  # of a threshold: 0 is tissue, 1 the brightest vessels
_END_RADIUS_VOXELS = 1.5  # thicker vessels are not overlooked
_GAP_VOXELS = 3.0  # left free between the rounded ends at a gap
_GAP_RADIUS_VOXELS = 3.0  # thicker vessels have no gaps
_CLUSTER = 5  # voxels in the largest cluster of noise


@dataclass(frozen=True)
class Character:
    """How a method errs; all that is 0 it does right."""

    name: str
    sees: Literal["vessels", "image"] = "vessels"
    radius_error: float = 0.0  # SD, share of the radius
    lost_ends: float = 0.0  # share of the last branches
    lost_radius_voxels: float = 0.0  # vessels below are not seen
    grown_voxels: float = 0.0  # added to all radii
    gaps: float = 0.0  # share of the vessels
    noise: float = 0.0  # voxels in small clusters anywhere, per vessel voxel
    stray: float = 0.0  # voxels of one ball in a corner, per vessel voxel


CHARACTERS = (
    Character("Careful", radius_error=0.03, lost_ends=0.02),
    Character("Large-vessels", lost_radius_voxels=1.1),
    Character("Generous", grown_voxels=0.5),
    Character("Noisy", noise=0.12),
    Character("Broken", gaps=0.8),
    Character("Threshold", sees="image"),
    Character("Stray", radius_error=0.03, stray=0.02),
)


def simulate_method(case: VesselCase, character: Character, rng: np.random.Generator) -> Mask:
    """The mask that a method of this character gives for a case."""
    strength = float(rng.uniform(0.9, 1.1)) * (_UNFAMILIAR if case.dataset == "secret" else 1)
    if character.sees == "image":
        return threshold(case.image, _LEVEL * strength)
    mask = rasterise_pieces(_seen(case, character, strength, rng), case.grid.shape)
    size = int(np.count_nonzero(mask))
    if character.noise:
        add_noise(mask, round(strength * character.noise * size), rng)
    if character.stray:
        add_ball(mask, strength * character.stray * size, rng)
    return mask


def _seen(
    case: VesselCase, character: Character, strength: float, rng: np.random.Generator
) -> Pieces:
    """The vessels as the method sees them."""
    spacing_mm = case.grid.spacing_mm[0]
    vessels: Sequence[Vessel] = case.tree.vessels
    if character.lost_ends:
        vessels = without_ends(case.tree, strength * character.lost_ends, spacing_mm, rng)
    if character.gaps:
        vessels = with_gaps(vessels, strength * character.gaps, spacing_mm, rng)

    def radii_mm(vessel: Vessel) -> NDArray[np.float64]:
        first, last = rng.normal(0, strength * character.radius_error, 2)
        wrong = np.exp(np.linspace(first, last, len(vessel.radii_mm)))
        return vessel.radii_mm * wrong + strength * character.grown_voxels * spacing_mm

    pieces = pieces_of(vessels, case.grid, radii_mm=radii_mm)
    thick = np.maximum(pieces.first, pieces.last) >= strength * character.lost_radius_voxels
    return pieces[thick]


def without_ends(
    tree: VesselTree, share: float, spacing_mm: float, rng: np.random.Generator
) -> list[Vessel]:
    """The vessels without a share of those that are thin and from which no other begins."""
    starts = {vessel.nodes[0] for vessel in tree.vessels}
    return [
        vessel
        for vessel in tree.vessels
        if rng.random() >= share
        or vessel.radii_mm[0] > _END_RADIUS_VOXELS * spacing_mm
        or vessel.nodes[1] in starts
    ]


def with_gaps(
    vessels: Sequence[Vessel], share: float, spacing_mm: float, rng: np.random.Generator
) -> list[Vessel]:
    """The vessels, a share of them with a gap somewhere along their course.

    Gaps are wider than the vessel, or its rounded ends would close them; vessels that are thick or
    short have none.
    """
    parts = []
    for vessel in vessels:
        place, broken = rng.uniform(0.3, 0.7), rng.random() < share
        radius_mm = float(vessel.radii_mm.max())
        gap_mm = 2 * radius_mm + _GAP_VOXELS * spacing_mm
        thin = radius_mm <= _GAP_RADIUS_VOXELS * spacing_mm
        if broken and thin and vessel.length_mm > 4 * gap_mm:
            away_mm = vessel.along_mm - place * vessel.length_mm
            parts += [_some(vessel, side) for side in (away_mm < -gap_mm / 2, away_mm > gap_mm / 2)]
        else:
            parts.append(vessel)
    return parts


def _some(vessel: Vessel, which: NDArray[np.bool_]) -> Vessel:
    """The vessel with some of its points."""
    return Vessel(vessel.nodes, vessel.points_mm[which], vessel.radii_mm[which])


def add_noise(mask: Mask, voxels: int, rng: np.random.Generator) -> None:
    """Add clusters of 1 to 5 voxels at random places, about `voxels` in all."""
    clusters = round(2 * voxels / (1 + _CLUSTER))
    place = rng.integers(0, mask.shape, (clusters, 3))
    sizes = rng.integers(1, _CLUSTER + 1, clusters)
    for done in range(_CLUSTER):
        growing = sizes > done
        mask[tuple(place[growing].T)] = True
        axis, way = rng.integers(0, 3, clusters), 2 * rng.integers(0, 2, clusters) - 1
        place[np.arange(clusters), axis] += way
        np.clip(place, 0, np.array(mask.shape) - 1, out=place)


def add_ball(mask: Mask, voxels: float, rng: np.random.Generator) -> None:
    """Add a ball of about `voxels` in the emptiest corner, or in one of them at random."""
    radius = (3 * voxels / (4 * np.pi)) ** (1 / 3)
    side = int(2 * radius) + 3
    corners = rng.permutation(list(product((False, True), repeat=3)))
    boxes = [tuple(slice(-side, None) if end else slice(side) for end in far) for far in corners]
    emptiest = min(boxes, key=lambda box: np.count_nonzero(mask[box]))
    corner = mask[emptiest]
    middle = (np.array([corner.shape]) - 1) / 2
    ball = Pieces(middle, np.zeros((1, 3)), np.array([radius]), np.array([radius]))
    corner |= rasterise_pieces(ball, corner.shape)


def threshold(image: NDArray[Any], share: float) -> Mask:
    """Where the smoothed image is brighter than a share of the way from tissue to vessels.

    Tissue is the median, vessels are the brightest thousandth; one level for the whole image, so
    that it fails where slabs or the coil make everything darker.
    """
    sample = flat(image)[::_SAMPLE]
    tissue, vessels = np.median(sample), np.quantile(sample, 0.999)
    level = np.float32(tissue + share * (vessels - tissue))
    mask = np.empty(image.shape, bool, order="F")
    for start in range(0, image.shape[2], _SLICES):
        stop = min(start + _SLICES, image.shape[2])
        low = max(start - _BLUR_REACH, 0)
        near = image[:, :, low : stop + _BLUR_REACH].astype(np.float32)
        smooth = ndimage.gaussian_filter(near, _BLUR_VOXELS, mode="nearest")
        mask[:, :, start:stop] = smooth[:, :, start - low : stop - low] > level
    return mask
