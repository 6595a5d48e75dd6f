"""Figures of how scores are spread and related."""
