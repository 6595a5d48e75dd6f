"""Figures: from the long table, or from arrays, to matplotlib figures."""

from __future__ import annotations

from segjury.figures.illustration import Illustration
from segjury.figures.save import save_figure
from segjury.figures.style import method_colours, method_markers

__all__ = ["Illustration", "method_colours", "method_markers", "save_figure"]
