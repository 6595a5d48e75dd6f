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
    parts = rater_parts("volume_cm3", comparison.reference, volumes_cm3)
    predicted = Component("volume_cm3", "prediction", predicted_mm3 / 1000)
    return Measured(value, note, (*parts, predicted))
