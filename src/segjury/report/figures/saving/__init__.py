"""Figures as files: the same figure gives the same bytes."""
