"""Scores where all raters agree: consensus DSC and confidence, as CURVAS 2024 defines them.

A voxel is consensus foreground where all raters mark the organ, consensus background where none
does, and dissensus where some do. Dissensus voxels do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import flat
from segjury.metrics.inputs import as_map, as_mask, as_raters
from segjury.metrics.metric import Metric, Reading, check_reading, check_shapes

__all__ = ["agreement_dsc", "confidence"]

CONFIDENCE = Metric(
    name="confidence",
    title="Confidence",
    formula="(mean of p where all raters mark + mean of 1 - p where none does) / 2",
    needs_raters=True,
    summary="Mean probability of being right where all raters agree.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    needs_probability=True,
)


def agreement_dsc(
    raters: ArrayLike, prediction: ArrayLike, *, reading: Reading = "corrected"
) -> float:
    """Dice in the consensus region, `2|P ∧ F| / (|P| + |F|)` with P outside the dissensus.

    `raters` has shape (raters, x, y, z). `corrected`: two empty masks agree, 1; `published`: they
    are undefined. `released`: the mean over slices (z) of the mean over rows (y) of Dice along x;
    row 0 is dropped, rows and slices without foreground are skipped, and no row at all gives 0.
    Source: CURVAS 2024.
    """
    check_reading(reading)
    masks = as_raters(raters, prediction=prediction)
    predicted = as_mask(prediction, "prediction")
    check_shapes(masks, prediction=predicted)
    everyone, anyone = np.asarray(masks.all(axis=0)), np.asarray(masks.any(axis=0))
    counted = predicted & (everyone | ~anyone)
    if reading == "released":
        rows = RowCounts.of_nothing(masks.shape[1:])
        found = {"foreground": everyone, "counted": counted, "common": everyone & counted}
        rows.add(**{name: np.flatnonzero(flat(mask)) for name, mask in found.items()})
        return rowwise_dsc(rows)
    return agreement_dsc_from_sizes(
        int(everyone.sum()), int(counted.sum()), int((everyone & counted).sum()), reading=reading
    )


def agreement_dsc_from_sizes(
    foreground: int, counted: int, common: int, *, reading: Reading
) -> float:
    """`agreement_dsc`, but for the released one, from the sizes of F, of P and of both."""
    if foreground + counted == 0:
        return 1.0 if reading == "corrected" else float("nan")
    return 2.0 * common / (foreground + counted)


@dataclass(frozen=True)
class RowCounts:
    """Voxels of F, of P and of both in every row along x, by flat number of the row."""

    shape: tuple[int, ...]
    foreground: NDArray[np.int64]
    counted: NDArray[np.int64]
    common: NDArray[np.int64]

    @classmethod
    def of_nothing(cls, shape: tuple[int, ...]) -> RowCounts:
        """To be added to."""
        rows = shape[1] * shape[2]
        return cls(shape, *np.zeros((3, rows), np.int64))

    def add(self, **voxels: NDArray[np.int64]) -> None:
        """Count more voxels, given by flat indices (x fastest), as what they are named."""
        for name, some in voxels.items():
            getattr(self, name)[:] += np.bincount(some // self.shape[0], minlength=self.common.size)


def rowwise_dsc(rows: RowCounts) -> float:
    """The released consensus DSC, from the counts of the rows.

    The released program hands a volume to a Dice for batches of channels, which takes slices for
    batches, rows for channels and the first channel for background.
    """
    _, n_y, n_z = rows.shape
    marked, counted, common = (
        per_row.reshape(n_z, n_y)[:, 1:] for per_row in (rows.foreground, rows.counted, rows.common)
    )
    valid = marked > 0
    dice = 2 * common / np.maximum(marked + counted, 1)
    filled = valid.sum(axis=1)
    slices = (dice * valid).sum(axis=1)[filled > 0] / filled[filled > 0]
    return float(slices.mean()) if slices.size else 0.0


def confidence(
    raters: ArrayLike, probability: ArrayLike, *, reading: Reading = "corrected"
) -> float:
    """Mean of `1 - p` over the consensus background and of `p` over the foreground, halved.

    The same in all readings; NaN where there is no foreground or no background to agree on.
    Source: CURVAS 2024.
    """
    check_reading(reading)
    masks = as_raters(raters, probability=probability)
    p = as_map(probability).astype(np.float64)
    check_shapes(masks, probability=p)
    everyone, nobody = masks.all(axis=0), ~masks.any(axis=0)
    return confidence_from_sums(
        int(everyone.sum()), float(p[everyone].sum()), int(nobody.sum()), float(p[nobody].sum())
    )


def confidence_from_sums(
    foreground: int, foreground_sum: float, background: int, background_sum: float
) -> float:
    """`confidence` from the voxels of each region and the sum of probabilities there."""
    if foreground == 0 or background == 0:
        return float("nan")
    return (1 - background_sum / background + foreground_sum / foreground) / 2
