"""Scores of a probability map beside all raters, of which each family shares the counts."""

from segjury.scoring.scorers.maps import (  # noqa: F401  (they register their scorers)
    proper,
    reliability,
    selective,
)
