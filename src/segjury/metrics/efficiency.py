"""What a prediction cost: measured where it was made, and ranked like any other score."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from segjury.metrics.metric import Metric

__all__ = ["memory_gb_s"]

TIME_S = Metric(
    name="time_s",
    title="Time",
    formula="seconds from start to end",
    summary="Wall time of a prediction.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="s",
    scope="case",
    measured="elsewhere",
)
MEMORY_GB_S = Metric(
    name="memory_gb_s",
    title="Memory-time",
    formula="Σ max(0, memory - tolerance) Δt",
    summary="Area under the curve of memory over time during a prediction.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="GB s",
    scope="case",
    measured="elsewhere",
)


def memory_gb_s(times_s: ArrayLike, memory_gb: ArrayLike, *, tolerance_gb: float = 0.0) -> float:
    """Area under the memory-time curve above a tolerance, `sum max(0, memory_i - tolerance) dt_i`.

    Each sample holds until the next one, with the interval as it was measured, not as planned;
    the last sample ends the curve. NaN for fewer than two samples. Source: AortaSeg24, FLARE.
    """
    times, memory = np.asarray(times_s, float), np.asarray(memory_gb, float)
    if times.shape != memory.shape or times.ndim != 1:
        raise ValueError(f"times have shape {times.shape}, memory has {memory.shape}")
    if times.size < 2:
        return math.nan
    intervals = np.diff(times)
    if (intervals < 0).any():
        raise ValueError("times must ascend")
    return float((np.maximum(memory[:-1] - tolerance_gb, 0) * intervals).sum())
