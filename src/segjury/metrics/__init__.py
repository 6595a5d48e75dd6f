"""Metrics: pure functions on plain arrays, reference first, and what each declares of itself."""

from segjury.metrics.calibration import MR_ECE, mr_ece
from segjury.metrics.contact import CONTACT_ANGLE, contact_angle
from segjury.metrics.invasion import VI, vi
from segjury.metrics.metric import READINGS, Metric, Reading
from segjury.metrics.overlap import DSC, THR_DSC, THRESHOLDS, dsc, thr_dsc
from segjury.metrics.volume import CRPS, crps

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (DSC, THR_DSC, MR_ECE, CRPS, VI, CONTACT_ANGLE)
}

__all__ = [
    "METRICS",
    "READINGS",
    "THRESHOLDS",
    "Metric",
    "Reading",
    "contact_angle",
    "crps",
    "dsc",
    "mr_ece",
    "thr_dsc",
    "vi",
]
