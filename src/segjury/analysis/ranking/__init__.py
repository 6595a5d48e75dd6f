"""Rank methods from the table of scores alone."""

from segjury.analysis.ranking.leaderboard import Leaderboard, board
from segjury.analysis.ranking.panel import Panel, panel
from segjury.analysis.ranking.rules import Rules, leaderboard
from segjury.analysis.ranking.schemes import Standings, over_cases, standings
from segjury.analysis.ranking.selection import (
    cohorts,
    doubtful_directions,
    in_cohort,
    notes,
    readings,
    selected,
)
from segjury.protocols.ranking import Ranking

__all__ = [
    "Leaderboard",
    "Panel",
    "Ranking",
    "Rules",
    "Standings",
    "board",
    "cohorts",
    "doubtful_directions",
    "in_cohort",
    "leaderboard",
    "notes",
    "over_cases",
    "panel",
    "readings",
    "selected",
    "standings",
]
