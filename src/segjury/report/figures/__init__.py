"""Figures: from the long table, or from arrays, to matplotlib figures."""

from __future__ import annotations

from segjury.report.figures.drawing.style import method_colours, method_markers
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.saving.save import save_figure

__all__ = ["Illustration", "method_colours", "method_markers", "save_figure"]
