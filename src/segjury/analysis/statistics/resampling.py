"""Resamples: how often each unit is drawn, so that a resampled mean is one matrix product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segjury.arrays import Floats

CELLS_AT_ONCE = 5_000_000


def draws(units: int, samples: int, rng: np.random.Generator) -> Floats:
    """How often each unit is drawn with replacement in each resample, (samples, units)."""
    if units < 1:
        raise ValueError(f"units is {units}, expected at least 1")
    return rng.multinomial(units, np.full(units, 1 / units), size=samples).astype(np.float64)


def leave_one_out(units: int) -> Iterator[Floats]:
    """Each unit left out once, (samples, units), some at a time."""
    at_once = max(1, CELLS_AT_ONCE // units)
    for start in range(0, units, at_once):
        stop = min(start + at_once, units)
        counts = np.ones((stop - start, units))
        counts[np.arange(stop - start), np.arange(start, stop)] = 0.0
        yield counts
