"""Figures of tests between methods."""
