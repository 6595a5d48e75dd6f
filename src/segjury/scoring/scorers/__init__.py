"""From a comparison of prediction and reference to scores: one short function per metric."""

from segjury.scoring.scorers.measured import Component, Measured
from segjury.scoring.scorers.scores import Score, score, structures_of, worst_value

__all__ = ["Component", "Measured", "Score", "score", "structures_of", "worst_value"]
