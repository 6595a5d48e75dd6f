"""Figures: from the long table, or from arrays, to matplotlib figures."""

from __future__ import annotations

from segjury.figures.boxes import metric_boxes
from segjury.figures.illustration import Illustration, case_illustration
from segjury.figures.panels import case_panel
from segjury.figures.save import save_figure
from segjury.figures.style import method_colours, method_markers

__all__ = [
    "Illustration",
    "case_illustration",
    "case_panel",
    "method_colours",
    "method_markers",
    "metric_boxes",
    "save_figure",
]
