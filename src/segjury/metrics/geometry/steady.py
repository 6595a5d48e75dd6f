"""Numbers that are the same to the last bit on every processor.

Libraries have code of their own for each kind of processor, and its last digits differ. Sums,
products, quotients and square roots of single numbers do not: all is made of them here, or rounded
to digits that all processors agree in.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Floats

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # together ln 2
COEFFICIENTS = [1 / math.factorial(n) for n in range(13, -1, -1)]
SMALLEST_EXPONENT = -760.0  # its power is 0
ODD_RECIPROCALS = [1 / n for n in range(23, 0, -2)]  # of the series of a logarithm, highest first
SQRT_HALF = 0.7071067811865476
DIGITS = 12
SWEEPS = 30  # of a 3x3 matrix: it needs about five
Matrix = list[list[float]]


def exp(exponents: Floats) -> Floats:
    """`e^x` for x up to 0: `2^k e^r` with |r| at most `ln 2 / 2`, and a polynomial for `e^r`."""
    x = np.maximum(exponents, SMALLEST_EXPONENT)
    k = np.rint(x / (LN2_HIGH + LN2_LOW))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = np.zeros_like(r)
    for coefficient in COEFFICIENTS:
        total = total * r + coefficient
    return np.ldexp(total, k.astype(np.int64))


def log(values: Floats) -> Floats:
    """Natural logarithm of positive numbers."""
    mantissa, exponent = _split(values)
    return _log(mantissa - 1, exponent)


def log1p(values: Floats) -> Floats:
    """`ln(1 + x)` for x above -1, to all digits for small x too."""
    mantissa, exponent = _split(1 + values)
    return _log(np.where(exponent == 0, values, mantissa - 1), exponent)


def _split(values: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Mantissas from `sqrt(1/2)` to `sqrt(2)`, and exponents of two."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < SQRT_HALF
    return np.where(low, 2 * mantissa, mantissa), exponent - low


def _log(above_one: Floats, exponent: NDArray[np.int32]) -> Floats:
    """`ln((1 + t) 2^k)`, by the series of `2 artanh(t / (2 + t))`."""
    s = above_one / (2 + above_one)
    square, total = s * s, np.zeros_like(s)
    for coefficient in ODD_RECIPROCALS:
        total = total * square + coefficient
    return np.asarray(exponent * LN2_HIGH + (exponent * LN2_LOW + 2 * s * total))


def cube_root(value: float) -> float:
    """`value^(1/3)` to 12 digits."""
    return float(f"{value ** (1 / 3):.{DIGITS}g}")


def directions(count: int) -> tuple[Floats, Floats]:
    """Cosines and sines of so many equal steps around a circle, to 12 decimals."""
    steps = [2 * math.pi * k / count for k in range(count)]
    cosines, sines = ([round(of(a), DIGITS) for a in steps] for of in (math.cos, math.sin))
    return np.array(cosines), np.array(sines)


def longest_axis(points: NDArray[np.int64], spacing: Floats) -> Floats:
    """The direction in which a solid of voxels extends furthest; one of them, where all are alike.

    The eigenvector of the largest eigenvalue of its spread, by Jacobi's rotations.
    """
    n, sums, products = len(points), points.sum(axis=0).tolist(), (points.T @ points).tolist()
    size = spacing.tolist()
    spread = [
        [(n * products[i][j] - sums[i] * sums[j]) / n**2 * size[i] * size[j] for j in range(3)]
        for i in range(3)
    ]
    for i in range(3):
        spread[i][i] += size[i] ** 2 / 12
    axes = [[float(i == j) for j in range(3)] for i in range(3)]
    for _ in range(SWEEPS):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            _rotate(spread, axes, i, j)
    longest = max(range(3), key=lambda i: spread[i][i])
    return np.array([row[longest] for row in axes])


def _rotate(spread: Matrix, axes: Matrix, i: int, j: int) -> None:
    """Turn the axes i and j so that the spread has no part of both."""
    if spread[i][j] == 0:
        return
    half = (spread[j][j] - spread[i][i]) / (2 * spread[i][j])
    t = (1.0 if half >= 0 else -1.0) / (abs(half) + math.sqrt(half * half + 1))
    c = 1 / math.sqrt(t * t + 1)
    s = t * c
    for row in (*spread, *axes):
        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
    spread[i], spread[j] = (
        [c * a - s * b for a, b in zip(spread[i], spread[j], strict=True)],
        [s * a + c * b for a, b in zip(spread[i], spread[j], strict=True)],
    )
    spread[i][j] = spread[j][i] = 0.0
