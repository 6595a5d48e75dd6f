"""What the values of a volume may be: labels of a mask, or probabilities."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.volume import LabelMap, Marks, Volume, flat

WHOLE_NUMBER_TOLERANCE = 1e-3


def label_map(volume: Volume, labels: Collection[int]) -> LabelMap:
    """The labelled voxels; refuse what is not a whole number, or not one of `labels`."""
    marks = Marks.of(volume.array, volume.spans)
    if volume.array.dtype.kind == "f":
        _refuse_fractions(marks)
    allowed = np.unique([0, *labels])
    strange = [np.zeros(0, volume.array.dtype)]
    for _, values in marks.pieces():
        rounded = _rounded(values)
        strange.append(rounded[~np.isin(rounded, allowed)])
    unknown = np.unique(np.concatenate(strange))
    if unknown.size:
        shown = ", ".join(f"{value:g}" for value in unknown[:5])
        raise InputError(
            f"has unknown label{'s' if unknown.size > 1 else ''} {shown}"
            f"{', ...' if unknown.size > 5 else ''}, expected {', '.join(map(str, allowed))}",
            "Store the mask with the protocol's labels",
        )
    dtype = np.min_scalar_type(allowed[-1])
    if volume.array.dtype != dtype:
        marks = marks.relabelled(lambda values: _rounded(values).astype(dtype))
    return LabelMap(marks, volume.grid)


def _rounded(values: NDArray[Any]) -> NDArray[Any]:
    return np.rint(values) if values.dtype.kind == "f" else values


def _refuse_fractions(marks: Marks) -> None:
    """Refuse labels of which some are no whole numbers; says how many of all pieces."""
    count, example = 0, 0.0
    for _, values in marks.pieces():
        off = _fractions(values)
        example = example if count or not off.size else float(off[0])
        count += off.size
    if count:
        raise _no_mask(count, example)


def _fractions(values: NDArray[Any]) -> NDArray[Any]:
    """The values that are not close to a whole number."""
    with np.errstate(invalid="ignore"):  # of a NaN
        return np.asarray(values[~(np.abs(values - np.rint(values)) <= WHOLE_NUMBER_TOLERANCE)])


def _no_mask(count: int, example: float) -> InputError:
    return InputError(
        f"is not a mask: {count} voxels are not whole numbers, e.g. {example:g}",
        "Store labels, and resample masks with nearest neighbour",
    )


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Labels that may be stored as floats, rounded; refuse what is no whole number."""
    if values.dtype.kind != "f":
        return values
    off = _fractions(values)
    if off.size:
        raise _no_mask(off.size, float(off[0]))
    return np.asarray(np.rint(values))


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
