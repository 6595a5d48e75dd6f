"""From a comparison of prediction and reference to scores: one short function per metric.

A file is a family of `segjury.metrics`; its functions register themselves. `maps` holds families.
"""

from segjury.scoring.scorers import (  # noqa: F401  (they register their scorers)
    agreement,
    calibration,
    contact,
    distances,
    invasion,
    maps,
    moments,
    overlap,
    partitions,
    ratios,
    surface,
    topology,
    volume,
)
from segjury.scoring.scorers.measured import SCORERS, Component, Measured
from segjury.scoring.scorers.scores import Score, prepare, score, structures_of, worst_value

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
