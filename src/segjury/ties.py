"""When two numbers are the same: sums taken in another order differ in their last digits."""

from __future__ import annotations

import numpy as np

from segjury.volume import Floats

SIGNIFICANT_DIGITS = 12


def settled(values: Floats, *, digits: int = SIGNIFICANT_DIGITS) -> Floats:
    """Values rounded to so many significant digits; equal ones are ties. NaN and 0 stay."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(np.abs(values)))
    return _rounded(values, np.where(np.isfinite(exponent), exponent, 0.0) - (digits - 1))


def settled_differences(first: Floats, second: Floats) -> Floats:
    """`first - second`, rounded so that equal steps between scores are equal.

    The last digit kept is the 12th of the largest score: a difference smaller than that is 0.
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    largest = max((float(np.nanmax(np.abs(a))) for a in (first, second) if a.size), default=0.0)
    exponent = np.floor(np.log10(largest)) if largest > 0 else 0.0
    return _rounded(first - second, np.float64(exponent - (SIGNIFICANT_DIGITS - 1)))


def _rounded(values: Floats, exponent: Floats | np.float64) -> Floats:
    """Multiples of 10**exponent: divided by a whole power of ten, which is exact to round."""
    finer = exponent < 0
    with np.errstate(over="ignore", invalid="ignore"):
        scale = 10.0 ** np.abs(exponent)
        steps = np.round(np.where(finer, values * scale, values / scale))
        rounded = np.where(finer, steps / scale, steps * scale)
    return np.where(np.isfinite(rounded), rounded, values)  # beyond 1e296 nothing is rounded
