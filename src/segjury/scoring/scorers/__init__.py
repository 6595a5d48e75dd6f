"""From a comparison of prediction and reference to scores: one short function per metric."""

from segjury.scoring.scorers.measured import Measured, Part
from segjury.scoring.scorers.scores import Score, score, structures_of, worst_value

__all__ = ["Measured", "Part", "Score", "score", "structures_of", "worst_value"]
