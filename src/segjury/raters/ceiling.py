"""The human ceiling: what each rater's own mask would score as a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segjury.arrays import flat
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.images.labels import Classes, SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import READINGS, Reading
from segjury.protocols import Protocol
from segjury.raters.masks import rater_items
from segjury.scoring.records import Result
from segjury.scoring.score import score


@dataclass(frozen=True)
class Ceiling:
    """Scores of every rater as a method: against the other raters, and against all of them."""

    others: tuple[Result, ...]
    everyone: tuple[Result, ...]


def ceiling(
    case: str,
    reference: ReferenceCase,
    others: Sequence[ReferenceCase],
    protocol: Protocol,
    readings: Sequence[Reading] = READINGS,
) -> Ceiling:
    """Judge each rater in the protocol's own metrics and readings.

    `others` is what the other raters make of the case, for each rater. Only against these is a
    rater's score fair: against all raters the mask is compared with itself too.
    """
    against_others: list[Result] = []
    against_all: list[Result] = []
    for k, (name, rest) in enumerate(zip(rater_items(reference), others, strict=False)):
        drawn = as_prediction(reference, k, protocol)
        for judge, found in ((rest, against_others), (reference, against_all)):
            rows = score(judge, drawn, protocol, readings).rows
            found.append(Result(name, case, rows))
    return Ceiling(tuple(against_others), tuple(against_all))


def as_prediction(reference: ReferenceCase, rater: int, protocol: Protocol) -> PredictedCase:
    """A rater's mask as a method would hand it in: labels, and maps of probability 0 or 1."""
    patterns = reference.patterns
    values = patterns.labels[:, rater][flat(patterns.codes)[patterns.voxels]]
    drawn = values > 0
    voxels, values = patterns.voxels[drawn], values[drawn].astype(np.uint8)
    classes = patterns.classes or Classes.plain(len(reference.labels))
    wanted = reference.labels if protocol.probability_stems else {}
    maps = []
    for label in wanted.values():
        array = np.zeros(reference.grid.shape, np.float32, order="F")
        flat(array)[voxels[classes.holding(label)[values]]] = 1.0
        maps.append(Volume(array, reference.grid, patterns.known_spans))
    return PredictedCase(
        SparseLabels((voxels, values)), tuple(maps), classes=reference.patterns.classes
    )
