"""The long table of scores, and what lies beside it."""

from segjury.results.results import Results
from segjury.results.run import Run

__all__ = ["Results", "Run"]
