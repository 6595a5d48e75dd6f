"""Everything that a table of scores says about its methods, and how sure it is."""

from segjury.analysis.analysis import Analysis, ScoreAnalysis, Settings, analyze
from segjury.analysis.leaderboards import RankedTable, certainty, ranked_tables, split

__all__ = [
    "Analysis",
    "RankedTable",
    "ScoreAnalysis",
    "Settings",
    "analyze",
    "certainty",
    "ranked_tables",
    "split",
]
