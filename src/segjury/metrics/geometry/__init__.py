"""Shapes behind the metrics: skeletons, surfaces, rays, and arithmetic of any processor."""
