"""From a comparison of prediction and reference to scores: one short function per metric.

A file or folder is a family of `segjury.metrics`; its functions register themselves.
"""

from segjury.scoring.scorers import (  # noqa: F401  (they register their scorers)
    agreement,
    calibration,
    contact,
    detection,
    distances,
    invasion,
    lesions,
    maps,
    moments,
    overlap,
    partitions,
    ratios,
    samples,
    surface,
    topology,
    volume,
)
from segjury.scoring.scorers.dispatch.scores import (
    Score,
    prepare,
    score,
    structures_of,
    worst_value,
)
from segjury.scoring.scorers.measured import SCORERS, Component, Measured

__all__ = [
    "SCORERS",
    "Component",
    "Measured",
    "Score",
    "prepare",
    "score",
    "structures_of",
    "worst_value",
]
