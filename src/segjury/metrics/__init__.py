"""Metrics: pure functions on plain arrays, reference first, and what each declares of itself.

A family is a module: what its `__all__` names can be imported from here, and every `Metric` it
declares is in `METRICS`.
"""

# ruff: noqa: F403 - each family says what it exports
from segjury.metrics import (
    agreement,
    calibration,
    contact,
    detection,
    distances,
    efficiency,
    invasion,
    lesions,
    moments,
    overlap,
    partitions,
    proper,
    ratios,
    reliability,
    samples,
    selective,
    surface,
    topology,
    volume,
)
from segjury.metrics.agreement import *
from segjury.metrics.calibration import *
from segjury.metrics.contact import *
from segjury.metrics.detection import *
from segjury.metrics.distances import *
from segjury.metrics.efficiency import *
from segjury.metrics.invasion import *
from segjury.metrics.lesions import *
from segjury.metrics.metric import DECLARED, READINGS, Metric, Options, Reading
from segjury.metrics.moments import *
from segjury.metrics.overlap import *
from segjury.metrics.partitions import *
from segjury.metrics.proper import *
from segjury.metrics.ratios import *
from segjury.metrics.reliability import *
from segjury.metrics.samples import *
from segjury.metrics.selective import *
from segjury.metrics.surface import *
from segjury.metrics.topology import *
from segjury.metrics.volume import *

FAMILIES = (
    *(overlap, calibration, volume, invasion, contact, agreement, proper, reliability, selective),
    *(surface, distances, topology, ratios, partitions, moments, samples, lesions, detection),
    efficiency,
)
METRICS: dict[str, Metric] = {
    metric.name: metric
    for family in FAMILIES
    for metric in vars(family).values()
    if isinstance(metric, Metric)
}


def declared_metric(name: str) -> Metric | None:
    """What a metric declares: ours, or one of others that was loaded or that a run recorded."""
    return METRICS.get(name) or DECLARED.get(name)


def known_metric(name: str) -> Metric | None:
    """What a metric declares, whatever the capitals of its name; None for one nobody declared."""
    return declared_metric(name) or METRICS.get(name.lower())


__all__ = ["METRICS", "READINGS", "Metric", "Options", "Reading", "declared_metric", "known_metric"]
__all__ += [name for family in FAMILIES for name in family.__all__]
