"""Scores of the predicted volume."""

from __future__ import annotations

import math

from segjury.metrics import volume
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, rater_parts, scorer


@scorer(volume.CRPS)
def score_crps(comparison: Comparison, label: int, _use: Options, reading: Reading) -> Measured:
    """CRPS of the predicted volume in cm3."""
    volumes_cm3 = comparison.reference.volumes_cm3(label)
    predicted_mm3 = comparison.volume_mm3(label)
    value = volume.crps(volumes_cm3 * 1000, predicted_mm3, reading=reading) / 1000
    note = "the raters' volumes are all equal" if math.isnan(value) else ""
    return Measured(value, note, _volumes(comparison, label))


@scorer(volume.CRPS_EMPIRICAL)
def score_crps_empirical(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """CRPS of the predicted volume in cm3, without a Gaussian."""
    volumes_cm3 = comparison.reference.volumes_cm3(label)
    value = volume.crps_empirical(volumes_cm3, comparison.volume_mm3(label) / 1000)
    return Measured(value, parts=_volumes(comparison, label))


def _volumes(comparison: Comparison, label: int) -> tuple[Component, ...]:
    """The volumes that are compared."""
    reference = comparison.reference
    raters = rater_parts("volume_cm3", reference, reference.volumes_cm3(label))
    predicted_cm3 = comparison.volume_mm3(label) / 1000
    return (*raters, Component("volume_cm3", "prediction", predicted_cm3))
