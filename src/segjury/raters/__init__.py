"""The raters of a benchmark: how far they agree, who draws how, and what a rater would score."""

from segjury.raters.files import write_raters
from segjury.raters.profiles import RaterSettings
from segjury.raters.study import RaterStudy, measure_raters

__all__ = ["RaterSettings", "RaterStudy", "measure_raters", "write_raters"]
