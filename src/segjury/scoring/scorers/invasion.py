"""Scores of slice-wise contact with further structures, such as vessels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.case import Structure
from segjury.metrics import invasion
from segjury.metrics.metric import Reading
from segjury.metrics.overlap import ThresholdOptions
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, scorer


# the released code invents a perfect score where there is no such vessel
@scorer(invasion.VI, prepare=lambda reference: reference.invasion_angles, absent={"released": 0.0})
def score_vi(
    comparison: Comparison, name: str, structure: Structure, use: ThresholdOptions, reading: Reading
) -> Measured:
    """Distance between raters' and predicted slice-wise contact angles."""
    predicted = comparison.invasion_angles(name, structure, use.thresholds).of(reading)
    raters = comparison.reference.invasion_angles[name].of(reading)
    value = invasion.vi_score(raters, predicted, reading=reading)
    return Measured(value, "", angle_parts(raters, predicted, use.thresholds))


def angle_parts(
    raters: NDArray[np.float64], predicted: NDArray[np.float64], thresholds: tuple[float, ...]
) -> tuple[Component, ...]:
    """The angles behind a score: per array axis, where there are several, and mask."""
    items = [f"rater {k + 1}" for k in range(raters.shape[1])] + [f"p > {t:g}" for t in thresholds]
    return tuple(
        Component(f"angle axis {axis}" if len(raters) > 1 else "angle", item, float(value))
        for axis, row in enumerate(np.concatenate([raters, predicted], axis=1))
        for item, value in zip(items, row, strict=True)
    )
