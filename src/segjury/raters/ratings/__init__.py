"""Experts' ratings of segmentations: reading them, and how far the raters agree."""
