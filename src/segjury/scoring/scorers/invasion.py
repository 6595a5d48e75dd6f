"""Scores of slice-wise contact with further structures, such as vessels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.case import Structure
from segjury.metrics import invasion
from segjury.metrics.metric import Reading
from segjury.metrics.overlap import ThresholdOptions
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, rater_item, scorer


# the released code invents a perfect score where there is no such vessel
@scorer(invasion.VI, prepare=lambda reference: reference.invasion_angles, absent={"released": 0.0})
def score_vi(
    comparison: Comparison, name: str, structure: Structure, use: ThresholdOptions, reading: Reading
) -> Measured:
    """Distance between raters' and predicted slice-wise contact angles."""
    found = comparison.invasion_angles(name, structure, use.thresholds)
    predicted = found.of(reading)
    raters = comparison.reference.invasion_angles[name].of(reading)
    value = invasion.vi_score(raters, predicted, reading=reading)
    quantities = [f"angle axis {axis}" for axis in found.axes(reading)]
    note = "" if quantities else "the image has no plane"
    names = comparison.reference.rater_names
    return Measured(value, note, angle_parts(names, raters, predicted, use.thresholds, quantities))


def angle_parts(
    names: Sequence[str],
    raters: NDArray[np.float64],
    predicted: NDArray[np.float64],
    thresholds: tuple[float, ...],
    quantities: Sequence[str],
) -> tuple[Component, ...]:
    """The angles behind a score: per quantity and mask."""
    items = [*map(rater_item, names), *(f"p > {t:g}" for t in thresholds)]
    return tuple(
        Component(quantity, item, float(value))
        for quantity, row in zip(
            quantities, np.concatenate([raters, predicted], axis=1), strict=True
        )
        for item, value in zip(items, row, strict=True)
    )
