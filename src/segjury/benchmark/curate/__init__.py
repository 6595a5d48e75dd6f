"""Rules for which cases of a benchmark to keep, as data, and a log of those left out."""

from __future__ import annotations

from segjury.benchmark.curate.curation import Curation, curate, write
from segjury.benchmark.curate.rules import load_rules

__all__ = ["Curation", "curate", "load_rules", "write"]
