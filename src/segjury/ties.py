"""When two numbers are the same: sums taken in another order differ in their last digits."""

from __future__ import annotations

import numpy as np

from segjury.volume import Floats

SIGNIFICANT_DIGITS = 12
SAME = 10.0**-SIGNIFICANT_DIGITS  # of the largest number: a smaller difference is none


def settled(values: Floats, *, digits: int = SIGNIFICANT_DIGITS) -> Floats:
    """Values rounded to so many significant digits; equal ones are ties. NaN and 0 stay."""
    values = np.asarray(values, dtype=np.float64)
    if digits < SIGNIFICANT_DIGITS:  # or noise about a half would split equal values
        values = settled(values)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(np.abs(values)))
    return _rounded(values, np.where(np.isfinite(exponent), exponent, 0.0) - (digits - 1))


def settled_differences(first: Floats, second: Floats) -> Floats:
    """`first - second`, rounded so that equal steps between scores are equal.

    Cases are on the last axis, and each row is rounded by itself: the last digit kept is the 12th
    of its largest score, and a difference smaller than that is 0.
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    largest = np.maximum(
        *(np.abs(a).max(axis=-1, keepdims=True, initial=0.0) for a in (first, second))
    )
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(largest))
    exponent = np.where(np.isfinite(exponent), exponent, 0.0)
    return _rounded(first - second, exponent - (SIGNIFICANT_DIGITS - 1))


def _rounded(values: Floats, exponent: Floats) -> Floats:
    """Multiples of 10**exponent; scaled by a whole power of ten, which is exact to round."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = 10.0 ** np.abs(exponent)
        up, down = np.where(exponent < 0, scale, 1.0), np.where(exponent < 0, 1.0, scale)
        rounded = np.asarray(values * up)
        rounded /= down
        np.round(rounded, out=rounded)
        rounded /= up
        rounded *= down
    finite = np.isfinite(rounded)  # beyond 1e296 nothing is rounded
    return rounded if finite.all() else np.where(finite, rounded, values)
