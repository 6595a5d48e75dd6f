"""When two numbers are the same: sums taken in another order differ in their last digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Floats, Ints

NO_DIGITS = -400  # of 0: any other number has more, however small
POWERS = np.append(10.0 ** np.arange(309.0), np.inf)

SIGNIFICANT_DIGITS = 12
SAME = 10.0**-SIGNIFICANT_DIGITS  # of the largest number: a smaller difference is none


def rounded(values: Floats, *, digits: int = SIGNIFICANT_DIGITS) -> Floats:
    """Values rounded to so many significant digits; equal ones are ties. NaN and 0 stay."""
    values = np.asarray(values, dtype=np.float64)
    if digits < SIGNIFICANT_DIGITS:  # or noise about a half would split equal values
        values = rounded(values)
    coarser = SIGNIFICANT_DIGITS - digits
    return _rounded(values, _exponent(np.abs(values)) + coarser)


def rounded_differences(first: Floats, second: Floats) -> Floats:
    """`first - second`, rounded so that equal steps between scores are equal.

    The last digit kept is the 12th of the larger of the two scores: a smaller difference is 0.
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return _rounded(first - second, _exponent(np.maximum(np.abs(first), np.abs(second))))


def rounded_pairs(columns: Floats, first: Ints, second: Ints) -> Floats:
    """The rounded differences `columns[first] - columns[second]`; columns are (methods, cases).

    As `rounded_differences`, but the digits of each score are counted once and not once per pair.
    """
    last_digit = np.where(columns == 0, NO_DIGITS, _exponent(np.abs(columns))).astype(np.int16)
    exponent = np.maximum(last_digit[first], last_digit[second])
    return _rounded(columns[first] - columns[second], exponent)


def _exponent(sizes: Floats) -> Floats:
    """Power of ten of the last digit that counts; 0 for what has no digits."""
    with np.errstate(divide="ignore"):
        power = np.floor(np.log10(sizes))
    return np.where(np.isfinite(power), power, SIGNIFICANT_DIGITS - 1.0) - (SIGNIFICANT_DIGITS - 1)


def _rounded(values: Floats, exponent: NDArray[Any]) -> Floats:
    """Multiples of 10**exponent; scaled by a whole power of ten, which is exact to round."""
    scale = POWERS[np.minimum(np.abs(exponent), len(POWERS) - 1).astype(np.int16)]
    with np.errstate(over="ignore", invalid="ignore"):
        if np.max(exponent, initial=0) <= 0:  # as nearly always: scores below 1e12
            rounded = np.asarray(values * scale)
            np.round(rounded, out=rounded)
            rounded /= scale
        else:
            up, down = np.where(exponent < 0, scale, 1.0), np.where(exponent < 0, 1.0, scale)
            rounded = np.round(values * up / down) / up * down
    finite = np.isfinite(rounded)  # beyond 1e296 nothing is rounded
    return rounded if finite.all() else np.where(finite, rounded, values)
