"""Resamples: how often each unit is drawn, so that a resampled mean is one matrix product."""

from __future__ import annotations

import numpy as np

from segjury.volume import Floats


def draws(units: int, samples: int, rng: np.random.Generator) -> Floats:
    """How often each unit is drawn with replacement in each resample, (samples, units)."""
    if units < 1:
        raise ValueError(f"units is {units}, expected at least 1")
    return rng.multinomial(units, np.full(units, 1 / units), size=samples).astype(np.float64)


def leave_one_out(units: int) -> Floats:
    """Each unit left out once, (units, units)."""
    return 1.0 - np.eye(units)
