"""The report: what a table of scores says, as a page, a PDF or Markdown."""

from __future__ import annotations

from segjury.report.model import Report, ReportFormat, Written
from segjury.report.report import make_report, write_report

__all__ = ["Report", "ReportFormat", "Written", "make_report", "write_report"]
