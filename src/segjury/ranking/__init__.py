"""Rank methods from the table of scores alone."""

from segjury.protocols.ranking import Ranking
from segjury.ranking.leaderboard import Leaderboard, board
from segjury.ranking.panel import Panel, panel
from segjury.ranking.rules import Rules, leaderboard
from segjury.ranking.schemes import Standings, over_cases, standings
from segjury.ranking.selection import (
    cohorts,
    doubtful_directions,
    in_cohort,
    notes,
    readings,
    selected,
)

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
