"""Scores of contact with further structures, such as vessels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segjury.benchmark.case import Structure
from segjury.metrics import invasion
from segjury.metrics.metric import Reading
from segjury.protocols import options as form
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured


def score_vi(
    comparison: Comparison, name: str, structure: Structure, use: form.Vi, reading: Reading
) -> Measured:
    """Distance between raters' and predicted slice-wise contact angles."""
    predicted = comparison.invasion_angles(name, structure, use.thresholds).of(reading)
    raters = comparison.reference.invasion_angles[name].of(reading)
    value = invasion.vi_score(raters, predicted, reading=reading)
    return Measured(value, "", _angle_parts(raters, predicted, use.thresholds))


def score_contact_angle(
    comparison: Comparison,
    name: str,
    structure: Structure,
    use: form.ContactAngle,
    _reading: Reading,
) -> Measured:
    """Distance between raters' and predicted anatomical contact angles."""
    predicted = comparison.contact_angles(name, structure, use.thresholds)
    raters = comparison.reference.contact_angles[name]
    value = invasion.sample_distance(raters, predicted)
    return Measured(value, "", _angle_parts(raters[None], predicted[None], use.thresholds))


def _angle_parts(
    raters: NDArray[np.float64], predicted: NDArray[np.float64], thresholds: tuple[float, ...]
) -> tuple[Component, ...]:
    """The angles behind a score: per array axis, where there are several, and mask."""
    items = [f"rater {k + 1}" for k in range(raters.shape[1])] + [f"p > {t:g}" for t in thresholds]
    return tuple(
        Component(f"angle axis {axis}" if len(raters) > 1 else "angle", item, float(value))
        for axis, row in enumerate(np.concatenate([raters, predicted], axis=1))
        for item, value in zip(items, row, strict=True)
    )
