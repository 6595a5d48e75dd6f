"""Everything that a table of scores says about its methods, and how sure it is."""

from segjury.analysis.analysis import Analysis, ScoreAnalysis, Settings, analyze
from segjury.analysis.leaderboards import Placing, placings, split, sureness

__all__ = [
    "Analysis",
    "Placing",
    "ScoreAnalysis",
    "Settings",
    "analyze",
    "placings",
    "split",
    "sureness",
]
