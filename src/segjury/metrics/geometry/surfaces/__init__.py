"""Surfaces of masks on a grid: where they end, and how far they are from each other."""
