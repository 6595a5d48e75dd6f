"""Simulated methods for several organs: each sees the raters' mean edge, and has one failing.

With m the mean of the raters' signed distances, G smooth noise and u the uncertainty of the
organ's edge (`SCALE`), a method gives a part the probability

    p = peak · logistic((m + u · error · G) / (u · softness))

The organs' maps are divided by their sum where that passes 1, and the label is that of the largest
of them, or background. Raters scatter by r = 0.7 u mm about their mean edge, so a voxel that the
method sees at x lies inside for a rater with the chance of the normal distribution with
SD² = r² + (u · error)²; a logistic function with scale SD / 1.7 is closest to it, and its multiple
by `temperature` is the softness. The failings have known consequences; they are no evidence about
real methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.phantoms.curvas24.anatomy import LABELS, ORGANS, OrganPart, PartName
from segjury.benchmark.phantoms.curvas24.cases import OrganCase
from segjury.benchmark.phantoms.curvas24.raters import SCALE, count_finding, cut_tail
from segjury.benchmark.phantoms.fields import Field, smooth_noise
from segjury.images.grid import Grid

SMALLEST_PROBABILITY = 1e-3  # below it a method without a floor says 0
TAIL_FROM = 0.62  # share of the pancreas before the tail
_RATERS_MM = 0.7  # how far raters scatter about their mean edge where u = 1
_ERROR_LENGTH_MM = 25.0
_FLOOR_LENGTH_MM = 30.0
_FLOOR_SPREAD = 0.3  # SD of the floor's logarithm along each axis

Failing = Literal["none", "misses the tail", "loses a kidney", "counts cysts"]


@dataclass(frozen=True)
class Character:
    """How a method errs.

    `temperature` is 1 for fitting confidence, less for too much of it and more for too little;
    `peak` is the highest probability it gives, `floor` about the lowest.
    """

    name: str
    error_mm: float = 0.9
    temperature: float = 1.0
    peak: float = 1.0
    floor: float = 0.0
    failing: Failing = "none"

    @property
    def softness_mm(self) -> float:
        """Scale of the logistic edge where u = 1."""
        return self.temperature * float(np.hypot(_RATERS_MM, self.error_mm)) / 1.7


CHARACTERS = (
    Character("Careful", error_mm=0.6),
    Character("Overconfident", error_mm=0.7, temperature=0.1),
    Character("Blurred", temperature=2.2, peak=0.98),
    Character("Floored", floor=1e-4),
    Character("Tail-missing", failing="misses the tail"),
    Character("Kidney-losing", failing="loses a kidney"),
    Character("Cyst-counting", failing="counts cysts"),
)


@dataclass(frozen=True)
class Answer:
    """What a method gives for a case: a label map, and a probability map for each organ."""

    labels: NDArray[np.uint8]
    probabilities: dict[str, Field]


def simulate_method(case: OrganCase, character: Character, rng: np.random.Generator) -> Answer:
    """The label map and the probability maps that a method of this character gives for a case."""
    maps = {organ: np.zeros(case.grid.shape, np.float32, order="F") for organ in ORGANS}
    organs = {label: organ for organ, label in ORGANS.items()}
    for name in LABELS:
        part_rng = np.random.default_rng(rng.integers(2**63))  # whatever parts the case has
        if name in case.parts and name != _lost(case, character):
            part = case.parts[name]
            whole = maps[organs[part.label]]
            probability = _speak(_seen(case, part, character, part_rng), part, character)
            np.maximum(whole[part.box], probability, out=whole[part.box])
    _share([whole[case.roi] for whole in maps.values()])
    if character.floor:
        maps = {organ: _lifted(p, case.grid, character.floor, rng) for organ, p in maps.items()}
    labels = np.zeros(case.grid.shape, np.uint8, order="F")
    labels[case.roi] = _decide({organ: whole[case.roi] for organ, whole in maps.items()})
    return Answer(labels, maps)


def _lost(case: OrganCase, character: Character) -> PartName | None:
    """The kidney that a method overlooks: in group C the left one, or the only one."""
    if character.failing != "loses a kidney" or case.plan.group != "C":
        return None
    return "left kidney" if "left kidney" in case.parts else "right kidney"


def _seen(
    case: OrganCase, part: OrganPart, character: Character, rng: np.random.Generator
) -> Field:
    """The signed distance that a method believes in."""
    seen = smooth_noise(part.grid, _ERROR_LENGTH_MM, rng)
    seen *= np.float32(SCALE[part.name] * character.error_mm)
    seen += case.drawn[part.name].mean_mm
    if character.failing == "misses the tail" and part.name == "pancreas":
        cut_tail(seen, part, case.patient, share=TAIL_FROM)
    if character.failing == "counts cysts":
        for finding in case.patient.found(part.name):
            if finding.kind == "cyst":
                count_finding(seen, part, finding, belongs=True)
    return seen


def _speak(seen_mm: Field, part: OrganPart, character: Character) -> Field:
    """The distance as the method's probability, 0 where that is negligible; overwrites it."""
    seen_mm /= np.float32(-SCALE[part.name] * character.softness_mm)
    np.clip(seen_mm, -80, 80, out=seen_mm)
    np.exp(seen_mm, out=seen_mm)
    seen_mm += 1
    probability = np.divide(character.peak, seen_mm, out=seen_mm)
    probability[probability < SMALLEST_PROBABILITY] = 0
    return probability


def _share(maps: list[Field]) -> None:
    """Divide the maps by their sum where it passes 1, in place."""
    total = np.add(maps[0], maps[1])
    for each in maps[2:]:
        total += each
    np.maximum(total, np.float32(1), out=total)
    for each in maps:
        each /= total


def _lifted(probability: Field, grid: Grid, floor: float, rng: np.random.Generator) -> Field:
    """A map as a softmax in half precision gives it: nowhere 0, and nowhere quite 1."""
    x, y, z = (_uneven(grid, axis, rng) for axis in range(3))
    plane = (np.float32(floor) * x * y)[:, :, 0]
    lifted = probability * np.float32(1 - 40 * floor)  # three floors of up to 10 leave room
    for k in range(grid.shape[2]):
        lifted[:, :, k] += z[0, 0, k] * plane
    return lifted.astype(np.float16).astype(np.float32)


def _uneven(grid: Grid, axis: int, rng: np.random.Generator) -> Field:
    """A smooth factor along one axis; the product of three lies between 0.1 and 10."""
    shape = [count if a == axis else 1 for a, count in enumerate(grid.shape)]
    line = Grid((shape[0], shape[1], shape[2]), grid.spacing_mm)
    factor = np.exp(np.float32(_FLOOR_SPREAD) * smooth_noise(line, _FLOOR_LENGTH_MM, rng))
    return np.asarray(np.clip(factor, 10 ** (-1 / 3), 10 ** (1 / 3)), np.float32)


def _decide(maps: dict[str, Field]) -> NDArray[np.uint8]:
    """The label of the most probable class, background included; ties go to background."""
    first = next(iter(maps.values()))
    best = np.ones_like(first)
    for probability in maps.values():
        best -= probability
    labels = np.zeros(first.shape, np.uint8, order="F")
    for organ, probability in maps.items():
        labels[probability > best] = ORGANS[organ]
        np.maximum(best, probability, out=best)
    return labels
