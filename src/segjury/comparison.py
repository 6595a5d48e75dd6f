"""One prediction beside the reference: the counts that metrics and readings share.

Each is computed when a metric first asks for it, and once. What depends on the reference alone
is kept with the reference, once for all methods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from segjury.case import PredictedCase, ReferenceCase, Structure
from segjury.metrics import calibration, invasion
from segjury.metrics.metric import Reading
from segjury.volume import Box, bounding_box, flat, intersection

R = TypeVar("R")


class Comparison:
    """A prediction and the reference it is judged against.

    `lowest_threshold` is the lowest at which any metric will cut the probability map.
    """

    def __init__(
        self, reference: ReferenceCase, prediction: PredictedCase, lowest_threshold: float
    ) -> None:
        self.reference = reference
        self.prediction = prediction
        self._lowest_threshold = lowest_threshold
        self._kept: dict[tuple[object, ...], Any] = {}

    def _once(self, key: tuple[object, ...], compute: Callable[[], R]) -> R:
        if key not in self._kept:
            self._kept[key] = compute()
        kept: R = self._kept[key]
        return kept

    @cached_property
    def _sum_and_probable(self) -> tuple[float, NDArray[np.int64]]:
        probability = self.prediction.probability
        voxels, total = flat(probability.array), 0.0
        cut = _largest_not_above(self._lowest_threshold, voxels.dtype)
        found = [np.zeros(0, np.int64)]
        for start, stop in probability.spans:
            span = voxels[start:stop]
            total += float(span.sum(dtype=np.float64))
            found.append(np.flatnonzero(span > cut) + start)
        return total, np.concatenate(found)

    @property
    def volume_cm3(self) -> float:
        """Predicted volume: the sum of the probabilities."""
        return self._sum_and_probable[0] * self.reference.grid.voxel_volume_mm3 / 1000

    @property
    def probable_voxels(self) -> NDArray[np.int64]:
        """Flat indices of the voxels above the lowest threshold."""
        return self._sum_and_probable[1]

    @cached_property
    def _probable_box(self) -> Box | None:
        return bounding_box(self.probable_voxels, self.reference.grid.shape)

    def calibration_histogram(
        self, around: calibration.ScoredBox, bins: int, reading: Reading
    ) -> calibration.CalibrationHistogram:
        """Counts for the calibration error; the readings other than the released share them."""
        form: Reading = "released" if reading == "released" else "corrected"
        return self._once(
            ("calibration", str(around), bins, form),
            lambda: calibration.calibration_histogram(
                self.reference.patterns,
                self.prediction.probability.array,
                around.of(form),
                bins=bins,
                reading=form,
            ),
        )

    def invasion_angles(
        self, name: str, structure: Structure, thresholds: tuple[float, ...]
    ) -> invasion.InvasionAngles:
        """Slice-wise contact angles of the map, cut at each threshold, with a structure."""
        return self._once(
            ("invasion", name, thresholds),
            lambda: structure.invasion_angles(
                self._lesions(name, structure.box, thresholds), len(thresholds)
            ),
        )

    def contact_angles(
        self, name: str, structure: Structure, thresholds: tuple[float, ...]
    ) -> NDArray[np.float64]:
        """Anatomical contact angles of the map, cut at each threshold, with a structure."""
        lesions = self._lesions(name, structure.box, thresholds)
        return structure.contact_angles(lesions, len(thresholds))

    def _lesions(self, name: str, box: Box, thresholds: tuple[float, ...]) -> NDArray[Any]:
        """The masks `p > t` in a structure's box, as bits."""
        return self._once(("lesions", name, thresholds), lambda: self._pack(box, thresholds))

    def _pack(self, box: Box, thresholds: tuple[float, ...]) -> NDArray[Any]:
        bits = np.min_scalar_type((1 << len(thresholds)) - 1)
        packed = np.zeros([side.stop - side.start for side in box], bits, order="F")
        common = intersection(box, self._probable_box) if self._probable_box else None
        if common:
            inside = tuple(
                slice(part.start - side.start, part.stop - side.start)
                for part, side in zip(common, box, strict=True)
            )
            probability = self.prediction.probability.array[common]
            packed[inside] = invasion.pack_levels(probability, thresholds)
        return packed


def _largest_not_above(value: float, dtype: np.dtype[Any]) -> Any:
    """The largest number of `dtype` that is at most `value`: `p > it` equals `p > value`."""
    nearest = dtype.type(value)
    return nearest if float(nearest) <= value else np.nextafter(nearest, dtype.type(0))
