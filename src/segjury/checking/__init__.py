"""Integrity of a benchmark's files, before anything is scored."""

from segjury.checking.benchmark import Checked, check
from segjury.checking.kinds import KINDS
from segjury.checking.problem import Problem

__all__ = ["KINDS", "Checked", "Problem", "check"]
