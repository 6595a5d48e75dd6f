"""Scores of anatomical contact with further structures, such as vessels."""

from __future__ import annotations

from segjury.benchmark.case import Structure
from segjury.metrics import contact, invasion
from segjury.metrics.geometry.dimension import is_volume
from segjury.metrics.metric import Reading
from segjury.metrics.overlap import ThresholdOptions
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.invasion import angle_parts
from segjury.scoring.scorers.measured import Measured, scorer


@scorer(contact.CONTACT_ANGLE, prepare=lambda reference: reference.contact_angles)
def score_contact_angle(
    comparison: Comparison,
    name: str,
    structure: Structure,
    use: ThresholdOptions,
    _reading: Reading,
) -> Measured:
    """Distance between raters' and predicted anatomical contact angles."""
    predicted = comparison.contact_angles(name, structure, use.thresholds)
    raters = comparison.reference.contact_angles[name]
    value = invasion.sample_distance(raters, predicted)
    note = "" if is_volume(structure.mask.shape) else "an image in 2D has no sections of vessels"
    names = comparison.reference.rater_names
    parts = angle_parts(names, raters[None], predicted[None], use.thresholds, ["angle"])
    return Measured(value, note, parts)
