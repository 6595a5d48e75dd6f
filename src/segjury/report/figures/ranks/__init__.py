"""Figures of ranks: their intervals, resamples and what they depend on."""
