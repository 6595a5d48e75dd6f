"""What the values of a volume may be: labels of a mask, or probabilities."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.volume import LabelMap, Volume, flat, nonzero_voxels

WHOLE_NUMBER_TOLERANCE = 1e-3


def label_map(volume: Volume, labels: Collection[int]) -> LabelMap:
    """The labelled voxels; refuse what is not a whole number, or not one of `labels`."""
    voxels = nonzero_voxels(volume.array, volume.spans)
    values = flat(volume.array)[voxels]
    if values.dtype.kind == "f":
        values = whole_numbers(values)
        voxels, values = voxels[values != 0], values[values != 0]
    allowed = np.unique([0, *labels])
    known = np.isin(values, allowed)
    if not known.all():
        unknown = np.unique(values[~known])
        shown = ", ".join(f"{value:g}" for value in unknown[:5])
        raise InputError(
            f"has unknown label{'s' if unknown.size > 1 else ''} {shown}"
            f"{', ...' if unknown.size > 5 else ''}, expected {', '.join(map(str, allowed))}",
            "Store the mask with the protocol's labels",
        )
    return LabelMap(voxels, values.astype(np.min_scalar_type(allowed[-1])), volume.grid)


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Labels that may be stored as floats, rounded; refuse what is no whole number."""
    if values.dtype.kind != "f":
        return values
    with np.errstate(invalid="ignore"):  # of a NaN
        rounded = np.rint(values)
        off = ~(np.abs(values - rounded) <= WHOLE_NUMBER_TOLERANCE)
    if off.any():
        raise InputError(
            f"is not a mask: {off.sum()} voxels are not whole numbers, e.g. {values[off][0]:g}",
            "Store labels, and resample masks with nearest neighbour",
        )
    return np.asarray(rounded)


def probabilities(volume: Volume) -> Volume:
    """The volume as floats; refuse NaN and what leaves [0, 1]."""
    with np.errstate(invalid="ignore"):  # of a NaN
        if volume.array.dtype not in (np.float32, np.float64):
            volume = Volume(volume.array.astype(np.float32, order="F"), volume.grid)
        voxels = flat(volume.array)
        lowest = highest = voxels.dtype.type(0)
        for start, stop in volume.spans:
            span = voxels[start:stop]
            lowest = np.minimum(lowest, span.min())  # keeps a NaN, as comparing would not
            highest = np.maximum(highest, span.max())
    if np.isnan(lowest) or np.isnan(highest):
        raise InputError("has NaN where a probability is expected", "Replace NaN by 0")
    if lowest < 0 or highest > 1:
        raise InputError(
            f"has values from {lowest:g} to {highest:g}, expected probabilities in [0, 1]",
            "Scale the map to probabilities",
        )
    return volume


def storable(array: NDArray[Any]) -> NDArray[Any]:
    """The array in a type that files know."""
    return array.view(np.uint8) if array.dtype == bool else array
