"""The report: one self-contained page made from the long table."""

from __future__ import annotations

from segjury.report.report import write_report

__all__ = ["write_report"]
