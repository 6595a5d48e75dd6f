"""Figures of probability maps: calibration, volume and contact with vessels."""
