"""One case as its raters drew it: everything measured that the analysis needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from segjury.arrays import Floats
from segjury.benchmark.case import ReferenceCase
from segjury.consensus import staple
from segjury.consensus.agreement import fleiss_kappa, krippendorff_alpha
from segjury.metrics import READINGS, Options, Reading
from segjury.metrics.overlap import pairwise_dsc
from segjury.metrics.surface import NsdOptions
from segjury.protocols import Protocol
from segjury.raters.ceiling import Ceiling, ceiling
from segjury.raters.contact import ContactRow, contact_pairs, contact_rows
from segjury.raters.masks import Mask, consensus_masks, rater_items, rater_masks, without_rater
from segjury.raters.pairs import SIGNED, PairRow, pair_rows
from segjury.raters.repeats import RepeatRow, repeat_rows
from segjury.scoring.facts import case_facts
from segjury.scoring.records import Fact

TOLERANCE_MM = 2.0  # of NSD where the protocol has none


@dataclass(frozen=True)
class RaterRow:
    """What a rater did on a label of a case, beside the other raters.

    `dice` is the mean with the others, `dice_among_others` the mean of their pairs, `highest_dice`
    that with the nearest of them; biases are positive where the rater draws larger than they do.
    Sensitivity and specificity are STAPLE's.
    """

    label: str
    rater: str
    volume_cm3: float
    dice: float
    dice_among_others: float
    highest_dice: float
    volume_bias_percent: float
    boundary_bias_mm: float
    sensitivity: float
    specificity: float


@dataclass(frozen=True)
class LabelRow:
    """How far the raters agree on a label of a case; volumes are of what all, any, some mark."""

    label: str
    mean_dice: float
    lowest_dice: float
    highest_dice: float
    fleiss_kappa: float
    krippendorff_alpha: float
    everyone_cm3: float
    anyone_cm3: float
    dissensus_cm3: float
    consensus_cm3: float


@dataclass(frozen=True)
class CaseRaters:
    """All that the raters' masks of a case say of the raters; small, whatever the image.

    `votes` are the voxels of each label that so many of the raters mark, from 0 to all.
    """

    case: str
    facts: tuple[Fact, ...]
    pairs: tuple[PairRow, ...]
    raters: tuple[RaterRow, ...]
    labels: tuple[LabelRow, ...]
    contacts: tuple[ContactRow, ...]
    ceiling: Ceiling
    warnings: tuple[str, ...] = ()
    repeats: tuple[RepeatRow, ...] = ()
    votes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    n_raters: int = 0


def measure_case(
    case: str,
    reference: ReferenceCase,
    protocol: Protocol,
    readings: Sequence[Reading] = READINGS,
) -> CaseRaters:
    """Compare the raters of a case with each other, with every consensus, and as methods.

    Of one rater there is nothing to compare: no pairs, no ceiling.
    """
    n_raters = reference.patterns.n_raters
    others = [without_rater(reference, k) for k in range(n_raters)] if n_raters > 1 else []
    pairs: list[PairRow] = []
    raters: list[RaterRow] = []
    tolerances = {name: tolerance_mm(protocol, name) for name in reference.labels}
    for name, label in reference.labels.items():
        found = _label_pairs(reference, others, name, label, tolerances[name])
        pairs += found
        raters += _rater_rows(reference, name, label, found)
    return CaseRaters(
        case=case,
        facts=case_facts(reference, complete=protocol.reference.is_complete),
        pairs=tuple(pairs),
        raters=tuple(raters),
        labels=tuple(_label_row(reference, *each) for each in reference.labels.items()),
        contacts=tuple(contact_rows(reference)) if _has_contact(reference) else (),
        ceiling=ceiling(case, reference, others, protocol, readings),
        warnings=reference.warnings,
        repeats=tuple(repeat_rows(reference, tolerances)),
        votes={name: _votes(reference, label) for name, label in reference.labels.items()},
        n_raters=n_raters,
    )


def _votes(reference: ReferenceCase, label: int) -> tuple[int, ...]:
    patterns = reference.patterns
    votes = np.zeros(patterns.n_raters + 1, np.int64)
    np.add.at(votes, patterns.marked(label).sum(axis=1), patterns.counts)
    return tuple(votes.tolist())


def tolerance_mm(protocol: Protocol, label: str) -> float:
    """The distance that is no error for a label: that of the protocol's NSD, or 2 mm."""
    uses: Sequence[Options] = protocol.metrics
    own = (use.tolerance_of(label) for use in uses if isinstance(use, NsdOptions))
    return next(own, TOLERANCE_MM)


def _has_contact(reference: ReferenceCase) -> bool:
    """Contact is that of one lesion with vessels."""
    return bool(reference.structures) and len(reference.labels) == 1


def _label_pairs(
    reference: ReferenceCase,
    others: Sequence[ReferenceCase],
    name: str,
    label: int,
    tolerance: float,
) -> list[PairRow]:
    """All pairs of masks of a label. The consensus of one other rater is that rater: left out."""
    if not others:
        return []
    raters = rater_masks(reference, label)
    everyone = consensus_masks(reference, label, "all")
    of_others: list[list[Mask]] = [[] for _ in raters]
    if len(raters) > 2:
        of_others = [consensus_masks(rest, label, "others") for rest in others]
    given = [mask for mask in everyone if mask.name == "given"]
    of_others = [[*masks, *given] for masks in of_others]  # its file cannot be made without them
    rows = list(pair_rows(name, raters, of_others, everyone, tolerance))
    if _has_contact(reference):
        rows += contact_pairs(reference, name, raters, of_others, everyone)
    return rows


def _rater_rows(
    reference: ReferenceCase, name: str, label: int, pairs: Sequence[PairRow]
) -> Iterator[RaterRow]:
    """Each rater beside the others, from the pairs of raters."""
    volumes, raters = reference.volumes_cm3(label), rater_items(reference)
    n = volumes.size
    if n < 2:
        yield RaterRow(name, raters[0], float(volumes[0]), *[math.nan] * 7)
        return
    dice, boundary = (_matrix(pairs, measure, raters) for measure in ("dice", "boundary_mm"))
    quality = staple(reference.patterns, label=label)
    for k in range(n):
        rest = np.arange(n) != k
        among = dice[np.ix_(rest, rest)][np.triu_indices(n - 1, 1)]
        mean = float(volumes[rest].mean())
        yield RaterRow(
            label=name,
            rater=raters[k],
            volume_cm3=float(volumes[k]),
            dice=float(dice[k, rest].mean()),
            dice_among_others=float(among.mean()) if among.size else math.nan,
            highest_dice=float(dice[k, rest].max()),
            volume_bias_percent=100 * (float(volumes[k]) - mean) / mean if mean else math.nan,
            boundary_bias_mm=_mean(boundary[k, rest]),
            sensitivity=float(quality.sensitivity[k]),
            specificity=float(quality.specificity[k]),
        )


def _matrix(pairs: Sequence[PairRow], measure: str, raters: Sequence[str]) -> Floats:
    """A measure of every two raters, (first, second); signed ones change sign with the order."""
    numbers = {name: k for k, name in enumerate(raters)}
    matrix = np.full((len(raters), len(raters)), np.nan)
    sign = -1.0 if measure in SIGNED else 1.0
    for row in pairs:
        if row.measure == measure and row.first in numbers and row.second in numbers:
            i, j = numbers[row.first], numbers[row.second]
            matrix[i, j], matrix[j, i] = row.value, sign * row.value
    return matrix


def _mean(values: Floats) -> float:
    """Mean of the values there are; NaN of none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _label_row(reference: ReferenceCase, name: str, label: int) -> LabelRow:
    patterns = reference.patterns
    counts, marked = patterns.counts, patterns.marked(label)
    cm3 = reference.grid.voxel_volume_mm3 / 1000
    everyone = int(counts[marked.all(axis=1)].sum())
    anyone = int(counts[marked.any(axis=1)].sum())
    several = patterns.n_raters > 1
    said = marked.astype(np.int64)
    dice = pairwise_dsc(counts, marked)[np.triu_indices(patterns.n_raters, 1)]
    return LabelRow(
        label=name,
        mean_dice=float(dice.mean()) if several else math.nan,
        lowest_dice=float(dice.min()) if several else math.nan,
        highest_dice=float(dice.max()) if several else math.nan,
        fleiss_kappa=fleiss_kappa(said, counts) if several else math.nan,
        krippendorff_alpha=krippendorff_alpha(said, counts) if several else math.nan,
        everyone_cm3=everyone * cm3,
        anyone_cm3=anyone * cm3,
        dissensus_cm3=(anyone - everyone) * cm3,
        consensus_cm3=reference.consensus.size(label) * cm3,
    )
