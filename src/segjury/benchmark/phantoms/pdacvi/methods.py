"""Simulated methods: each sees the raters' mean through its own error, and has a character.

A method leans towards the raters it believes, sees their weighted mean through a smooth
displacement of its own, blurs it, and turns it into its probability:

    logit p = slope · logit(seen) + offset + drift · A² + pull · exp(-(distance to vessel / 3 mm)²)

with A the ambiguity of the case. The numbers below are chosen so that the ranking differs between
metric families and turns around in the hardest cases, as it did in CURVAS-PDACVI. They illustrate
such a benchmark; they are no evidence about real methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms.fields import Field, smooth_noise, subgrid
from segjury.benchmark.phantoms.pdacvi.cases import LesionCase
from segjury.benchmark.phantoms.raters import Mask
from segjury.images.grid import Grid

SMALLEST_PROBABILITY = 1e-3  # below it a method says 0
_VESSEL_REACH_MM = 3.0


@dataclass(frozen=True)
class Character:
    """How a method errs.

    `commitment` is the power of the agreement with the rater it believes (0: all count the same),
    `believes` how it picks that rater; lengths are millimetres, the rest acts on the logit.
    """

    name: str
    commitment: float = 0.0
    believes: Literal["central", "any"] = "central"
    error_mm: float = 1.0
    error_per_ambiguity_mm: float = 3.0
    blur_mm: float = 1.5
    blur_per_ambiguity_mm: float = 0.0
    slope: float = 1.0
    offset: float = 0.0
    drift: float = 0.0
    pull: float = 0.0
    threshold: float = 0.5


CHARACTERS = (
    Character(
        "Overconfident",
        commitment=2.0,
        believes="any",
        error_mm=0.5,
        error_per_ambiguity_mm=1.8,
        blur_mm=1.2,
        slope=6.0,
        offset=1.5,
    ),
    Character(
        "Calibrated",
        commitment=2.0,
        error_mm=0.9,
        error_per_ambiguity_mm=2.2,
        blur_mm=1.8,
        drift=-0.8,
    ),
    Character(
        "Collapsing",
        commitment=1.2,
        error_mm=0.5,
        error_per_ambiguity_mm=2.0,
        slope=2.0,
        offset=1.2,
        drift=-4.5,
    ),
    Character(
        "Overextending",
        commitment=1.2,
        error_mm=0.6,
        error_per_ambiguity_mm=2.2,
        slope=1.5,
        offset=0.2,
        pull=4.5,
    ),
    Character(
        "Consensus",
        commitment=2.0,
        error_mm=0.4,
        error_per_ambiguity_mm=1.7,
        blur_mm=1.2,
        slope=4.0,
        offset=1.6,
        pull=0.8,
    ),
    Character(
        "Disagreement-aware",
        error_mm=3.6,
        error_per_ambiguity_mm=-1.6,
        blur_mm=5.6,
        blur_per_ambiguity_mm=-3.1,
        offset=0.7,
        drift=-0.7,
        threshold=0.3,
    ),
)


def simulate_method(
    case: LesionCase, character: Character, rng: np.random.Generator
) -> tuple[Mask, NDArray[np.float32]]:
    """The binary mask and the probability map that a method of this character gives for a case."""
    grid = subgrid(case.grid, case.roi)
    drawn = [rater[case.roi] for rater in case.raters]
    weights = belief(drawn, character, rng)
    mean = sum(np.float32(w) * mask for w, mask in zip(weights, drawn, strict=True))
    seen = _through_error(np.asarray(mean, np.float32), grid, character, case.ambiguity, rng)
    probability = _speak(seen, case.vessels[case.roi], grid, character, case.ambiguity)
    whole = np.zeros(case.grid.shape, np.float32, order="F")
    whole[case.roi] = probability
    return whole > character.threshold, whole


def belief(
    drawn: list[Mask], character: Character, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The weight of each rater: his or her agreement with the believed one, to a power."""
    agreement = pairwise_dice(drawn)
    if character.believes == "central":
        believed = int(np.argmax(agreement.sum(axis=1)))
    else:
        believed = int(rng.integers(len(drawn)))
    weights = np.maximum(agreement[believed], 1e-3) ** character.commitment
    return np.asarray(weights / weights.sum())


def pairwise_dice(masks: list[Mask]) -> NDArray[np.float64]:
    """Dice of every pair of masks (none of them empty), 1 on the diagonal."""
    flat = np.stack([mask.reshape(-1) for mask in masks])
    flat = flat[:, flat.any(axis=0)].astype(np.float64)
    sizes = flat.sum(axis=1)
    return np.asarray(2 * (flat @ flat.T) / (sizes[:, None] + sizes[None, :]))


def _through_error(
    mean: Field, grid: Grid, character: Character, ambiguity: float, rng: np.random.Generator
) -> Field:
    """The raters' mean, displaced smoothly and blurred."""
    size_mm = character.error_mm + character.error_per_ambiguity_mm * ambiguity
    index = np.indices(grid.shape, dtype=np.float32)
    for axis, step in enumerate(grid.spacing_mm):
        index[axis] += np.float32(size_mm / step) * smooth_noise(grid, 25.0, rng)
    moved = ndimage.map_coordinates(mean, index, order=1, mode="nearest")
    blur_mm = max(character.blur_mm + character.blur_per_ambiguity_mm * ambiguity, 0.5)
    sigma = [blur_mm / step for step in grid.spacing_mm]
    return np.asarray(ndimage.gaussian_filter(moved, sigma, mode="nearest"), np.float32)


def _speak(
    seen: Field, vessels: NDArray[np.uint8], grid: Grid, character: Character, ambiguity: float
) -> Field:
    """The evidence as the method's probability, 0 where that is negligible."""
    bounded = np.clip(seen, 1e-6, 1 - 1e-6)
    logit = character.slope * np.log(bounded / (1 - bounded))
    logit += np.float32(character.offset + character.drift * ambiguity**2)
    if character.pull and vessels.any():
        distance = ndimage.distance_transform_edt(vessels == 0, sampling=grid.spacing_mm)
        logit += character.pull * np.exp(-((distance / _VESSEL_REACH_MM) ** 2))
    probability = np.asarray(1 / (1 + np.exp(-logit)), np.float32)
    probability[(probability < SMALLEST_PROBABILITY) | (seen < SMALLEST_PROBABILITY / 10)] = 0
    return probability
