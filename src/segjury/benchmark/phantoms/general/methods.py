"""Simulated methods for any protocol: each has opinions of a case, and answers with them.

An opinion is a label map. `Consensus` has those of the raters, the others draw their own by the
model of the raters. The probability of a label is the share of opinions that hold it, blurred:

    p = s^slope / (s^slope + (1 - s)^slope),   s the blurred share

The mask holds what is most probable, and the opinions are the samples. Only `Consensus` gives its
shares as they are, and as its mask what scoring takes for the truth, so that it is perfect where a
protocol asks for the consensus, for the raters' mean, or for their spread. These characters show
what metrics reward; they are no evidence about real methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.folders import numbered_sample
from segjury.benchmark.phantoms.fields import Field
from segjury.benchmark.phantoms.general.anatomy import Part
from segjury.benchmark.phantoms.general.cases import GeneralCase
from segjury.benchmark.phantoms.general.raters import (
    USUAL,
    Labels,
    draw_parts,
    is_small,
    read_again,
)
from segjury.benchmark.phantoms.writing import Files, Rng
from segjury.protocols.patterns import SAMPLE

SAMPLES = 8
SMALLEST_PROBABILITY = 1e-3  # below it a method says 0

Views = Literal["the raters'", "its own", "one rater's"]


@dataclass(frozen=True)
class Character:
    """How a method errs; lengths are in radii of what it draws."""

    name: str
    views: Views = "its own"
    opinions: int = SAMPLES
    blur: float = 0.1
    slope: float = 1.0
    shift: float = 0.0
    misses: bool = False  # small parts, or the half of the only one


CHARACTERS = (
    Character("Consensus", views="the raters'"),
    Character("Calibrated"),
    Character("Overconfident", opinions=1, slope=4.0),
    Character("Shifted", shift=0.35),
    Character("Follower", views="one rater's", opinions=1),
    Character("Missing", misses=True),
)


def simulate_method(case: GeneralCase, character: Character, rng: Rng) -> Files:
    """The files that a method of this character gives for a case."""
    protocol, spec = case.protocol, case.protocol.reference
    if character.views == "the raters'":
        opinions = [case.painted(drawn) for drawn in case.drawn.values()]
        mask, share = partial(_consensus, case), partial(_rater_share, case)
    else:
        opinions = [case.painted(drawn) for drawn in _opinions(case, character, rng)]
        mask = partial(_most_probable, case, character, opinions)
        share = partial(_share, case, character, opinions)
    files: dict[str, NDArray[np.uint8] | Callable[[], NDArray[np.float32] | Labels]] = {}
    files[protocol.prediction.mask] = mask
    for label, name in enumerate(spec.labels, 1):
        if name in protocol.probability_stems:
            files[protocol.probability_stems[name]] = partial(share, label)
    if protocol.needs_samples:
        pattern = numbered_sample(protocol.prediction.sample)
        count = len(opinions) if len(opinions) > 1 else SAMPLES
        for k in range(min(count, protocol.prediction.most_samples)):
            files[pattern.replace(SAMPLE, f"{k + 1:02d}")] = opinions[k % len(opinions)]
    return files


# ---- opinions ------------------------------------------------------------------------------


def _opinions(case: GeneralCase, character: Character, rng: Rng) -> Iterator[list[Labels]]:
    """What a method may think of each part, so many times."""
    for _ in range(character.opinions):
        if character.views == "one rater's":
            drawn = read_again(case.parts, next(iter(case.drawn.values())), rng)
        else:
            drawn = draw_parts(case.parts, USUAL, case.shared, ambiguity=case.ambiguity, rng=rng)
        if character.misses:
            drawn = [_overlooked(part, each, case) for part, each in _pairs(case, drawn)]
        if character.shift:
            drawn = [_moved(part, each, character.shift) for part, each in _pairs(case, drawn)]
        yield drawn


def _pairs(case: GeneralCase, drawn: Sequence[Labels]) -> Iterator[tuple[Part, Labels]]:
    return zip(case.parts, drawn, strict=True)


def _overlooked(part: Part, drawn: Labels, case: GeneralCase) -> Labels:
    """Nothing of a small part; half of each, where there are no small ones."""
    left = np.array(drawn, order="F")
    if is_small(part, case.parts):
        left[:] = 0
    elif not any(is_small(other, case.parts) for other in case.parts):
        left[left.shape[0] // 2 :] = 0
    return left


def _moved(part: Part, drawn: Labels, shift: float) -> Labels:
    """What was drawn, some voxels farther along x."""
    step = max(round(shift * part.radius_mm / part.grid.spacing_mm[0]), 1)
    moved = np.zeros_like(drawn)
    moved[step:] = drawn[:-step]
    return moved


# ---- answers -------------------------------------------------------------------------------


def _consensus(case: GeneralCase) -> Labels:
    """The numbers that agree best with the consensus of each label."""
    spec, consensus = case.protocol.reference, case.reference.consensus
    sets = [frozenset[int](), *spec.classes]
    number_of = {value: number for number, value in reversed(spec.class_of_number.items())}
    numbers = np.zeros(len(consensus.holds), np.uint8)
    for pattern, holds in enumerate(consensus.holds):
        wanted = {label for label, held in enumerate(holds, 1) if held}
        best = min(range(len(sets)), key=lambda value: len(sets[value] ^ wanted))
        numbers[pattern] = number_of.get(best, 0)
    return np.asarray(case.reference.patterns.image(numbers))


def _rater_share(case: GeneralCase, label: int) -> NDArray[np.float32]:
    """The share of raters who give a label."""
    patterns = case.reference.patterns
    shares = patterns.marked(label).mean(axis=1)
    return np.asarray(patterns.image(shares.astype(np.float32)))


def _share(
    case: GeneralCase, character: Character, opinions: Sequence[Labels], label: int
) -> NDArray[np.float32]:
    """The probability map of a label."""
    holds = np.zeros(256, bool)
    for number, value in case.protocol.reference.class_of_number.items():
        holds[number] = label in case.protocol.reference.classes[value - 1]
    whole = np.zeros(case.grid.shape, np.float32, order="F")
    for part in case.parts:
        share = _mean(holds[opinion[part.box]] for opinion in opinions)
        whole[part.box] = _spoken(_blurred(share, part, character), character)
    return whole


def _most_probable(
    case: GeneralCase, character: Character, opinions: Sequence[Labels]
) -> NDArray[np.uint8]:
    """The number of largest probability at each voxel; ties go to the background."""
    whole = np.zeros(case.grid.shape, np.uint8, order="F")
    for part in case.parts:
        seen = [opinion[part.box] for opinion in opinions]
        best = _blurred(_mean(each == 0 for each in seen), part, character)
        region = np.zeros(best.shape, np.uint8, order="F")
        for number in case.protocol.reference.scored_numbers:
            share = _mean(each == number for each in seen)
            if share.any():
                share = _blurred(share, part, character)
                region[share > best] = number
                np.maximum(best, share, out=best)
        whole[part.box] = region
    return whole


def _mean(masks: Iterable[NDArray[np.bool_]]) -> Field:
    first, *others = (mask.astype(np.uint8) for mask in masks)
    for mask in others:
        first += mask
    return np.asarray(first / np.float32(1 + len(others)), np.float32)


def _blurred(share: Field, part: Part, character: Character) -> Field:
    if not share.any():
        return share
    # Two means that spread as a Gaussian does; what they cost does not grow with their width.
    sigma = character.blur * part.radius_mm / np.array(part.grid.spacing_mm)
    size = np.maximum(np.rint(np.sqrt(6 * sigma**2 + 1)), 1).astype(int).tolist()
    for _ in range(2):
        share = ndimage.uniform_filter(share, size, mode="nearest")
    return np.asarray(share, np.float32)


def _spoken(share: Field, character: Character) -> Field:
    """The share as the method's probability, 0 where that is negligible."""
    if character.slope != 1:
        inside, outside = share**character.slope, (1 - share) ** character.slope
        share = np.asarray(inside / (inside + outside), np.float32)
    share[share < SMALLEST_PROBABILITY] = 0
    return np.clip(share, 0, 1)
