"""Metrics: pure functions on plain arrays, reference first, and what each declares of itself."""

from segjury.metrics.agreement import CONFIDENCE, agreement_dsc, confidence
from segjury.metrics.calibration import ECE, MR_ECE, ece, mr_ece
from segjury.metrics.contact import CONTACT_ANGLE, contact_angle
from segjury.metrics.distances import AHD, BAVD, ahd, bavd
from segjury.metrics.efficiency import MEMORY_GB_S, TIME_S, memory_gb_s
from segjury.metrics.invasion import VI, vi
from segjury.metrics.metric import READINGS, Metric, Reading
from segjury.metrics.moments import MAHALANOBIS, mahalanobis
from segjury.metrics.overlap import DSC, THR_DSC, THRESHOLDS, dsc, thr_dsc
from segjury.metrics.partitions import (
    PARTITION_MEASURES,
    adjusted_rand,
    gce,
    icc,
    kappa,
    mi,
    rand,
    voi,
)
from segjury.metrics.ratios import (
    RATIOS,
    accuracy,
    auc,
    dice,
    f_beta,
    fallout,
    false_negative_rate,
    jaccard,
    precision,
    probabilistic_distance,
    sensitivity,
    specificity,
    volsim,
)
from segjury.metrics.surface import ASSD, HD, HD95, MASD, NSD, assd, hd, hd95, masd, nsd
from segjury.metrics.topology import (
    BETTI,
    CLDICE,
    SMALL_RECALL,
    betti,
    betti_numbers,
    cldice,
    small_recall,
)
from segjury.metrics.volume import CRPS, crps

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *(DSC, THR_DSC, MR_ECE, CRPS, VI, CONTACT_ANGLE),
        *(CONFIDENCE, ECE),
        *(NSD, HD, HD95, ASSD, MASD, BAVD, AHD),
        *(CLDICE, BETTI, SMALL_RECALL),
        *RATIOS,
        *PARTITION_MEASURES,
        MAHALANOBIS,
        *(TIME_S, MEMORY_GB_S),
    )
}


def known_metric(name: str) -> Metric | None:
    """What a metric declares, whatever the capitals of its name; None for one that is not ours."""
    return METRICS.get(name) or METRICS.get(name.lower())


__all__ = [
    "METRICS",
    "READINGS",
    "THRESHOLDS",
    "Metric",
    "Reading",
    "accuracy",
    "adjusted_rand",
    "agreement_dsc",
    "ahd",
    "assd",
    "auc",
    "bavd",
    "betti",
    "betti_numbers",
    "cldice",
    "confidence",
    "contact_angle",
    "crps",
    "dice",
    "dsc",
    "ece",
    "f_beta",
    "fallout",
    "false_negative_rate",
    "gce",
    "hd",
    "hd95",
    "icc",
    "jaccard",
    "kappa",
    "known_metric",
    "mahalanobis",
    "masd",
    "memory_gb_s",
    "mi",
    "mr_ece",
    "nsd",
    "precision",
    "probabilistic_distance",
    "rand",
    "sensitivity",
    "small_recall",
    "specificity",
    "thr_dsc",
    "vi",
    "voi",
    "volsim",
]
