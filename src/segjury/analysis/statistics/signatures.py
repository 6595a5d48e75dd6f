"""Case-wise signatures: how far each score is from the average, and which cases are hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.rounding import SAME, rounded

SEVERAL = 2


@dataclass(frozen=True)
class HardCases:
    """How hard each case was; all arrays but `order` follow the order of the cases.

    `by_method` (cases, methods) is the mean signature over metrics, `mean` (cases) that over
    methods; `hard` (cases, methods) says which methods found a case hard, `scored` and `number`
    (cases) how many methods have a score there and how many found it hard, `several` whether
    enough of them did. `order` lists all cases, hardest first.
    """

    by_method: Floats
    mean: Floats
    hard: Bools
    scored: Ints
    number: Ints
    several: Bools
    order: Ints

    @property
    def recurrent(self) -> Ints:
        """The cases that are hard for several methods, hardest first."""
        return self.order[self.several[self.order]]


def signatures(values: Floats, higher: Bools) -> Floats:
    """Standardised scores `± (v - mean) / SD` per metric; positive is better than average.

    `values` has shape (metrics, cases, methods). Mean and population SD of a metric are over all
    its cases and methods; the sign is minus where `higher` says that less is better. A metric
    with only one value gives 0. NaN stays NaN. Source: CURVAS-PDACVI, supplementary 6.5.3.
    """
    values, higher = np.asarray(values, dtype=np.float64), np.asarray(higher, dtype=bool)
    if values.ndim != 3:
        raise ValueError(f"values has shape {values.shape}, expected (metrics, cases, methods)")
    if higher.shape != values.shape[:1]:
        raise ValueError(f"higher has shape {higher.shape}, expected one per metric of values")
    if np.isinf(values).any():
        raise ValueError("values has infinite scores, expected finite ones or NaN")
    centred = values - _mean(values, (1, 2))[:, None, None]
    sd = np.sqrt(_mean(centred**2, (1, 2)))
    largest = np.abs(np.nan_to_num(values)).max(axis=(1, 2), initial=0.0)
    varies = sd > SAME * largest
    factor = np.where(higher, 1.0, -1.0) * varies / np.where(varies, sd, 1.0)
    return np.asarray(centred * factor[:, None, None])


def hard_cases(signatures: Floats, *, threshold: float = -1.0, share: float = 0.5) -> HardCases:
    """Cases that several methods did badly on, from `signatures` (metrics, cases, methods).

    A method finds a case hard where its mean signature over the metrics that it has there is
    `threshold` or less. A case is hard for several methods if at least `share` of those with a
    score there, and at least two, find it hard. The lower the mean over methods of their mean
    signatures, the harder the case; equal ones keep their order, and cases that no method has a
    score for come last. Source: CURVAS-PDACVI, supplementary 6.5.3, which states no threshold.
    """
    signatures = np.asarray(signatures, dtype=np.float64)
    if signatures.ndim != 3:
        raise ValueError(
            f"signatures has shape {signatures.shape}, expected (metrics, cases, methods)"
        )
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}, expected more than 0 and at most 1")
    by_method = _mean(signatures, 0)
    mean = _mean(by_method, 1)
    hard = rounded(by_method) <= rounded(np.array(threshold))
    scored, number = np.count_nonzero(~np.isnan(by_method), axis=1), np.count_nonzero(hard, axis=1)
    return HardCases(
        by_method=by_method,
        mean=mean,
        hard=np.asarray(hard),
        scored=scored,
        number=number,
        several=(number >= SEVERAL) & (number / np.maximum(scored, 1) >= share),
        order=np.argsort(rounded(mean), kind="stable"),
    )


def _mean(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Mean of the values that are not NaN; NaN where there are none."""
    n = np.count_nonzero(~np.isnan(values), axis=axis)
    total = np.nansum(values, axis=axis)
    return np.asarray(np.where(n > 0, total / np.maximum(n, 1), np.nan))
