"""Stratified splits over several variables, and how balanced they are."""

from __future__ import annotations

from segjury.benchmark.split.split import RANDOM_SPLITS, Split, split

__all__ = ["RANDOM_SPLITS", "Split", "split"]
