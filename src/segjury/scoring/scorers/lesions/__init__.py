"""Scores of lesions in masks, and what became of each lesion."""

from segjury.scoring.scorers.lesions import masks  # noqa: F401  (it registers its scorers)
