"""Integrity of a benchmark's files, before anything is scored."""

from segjury.benchmark.check.benchmark import Checked, check
from segjury.benchmark.check.kinds import KINDS
from segjury.benchmark.check.problem import Problem

__all__ = ["KINDS", "Checked", "Problem", "check"]
