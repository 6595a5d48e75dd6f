"""What the values of a volume may be: labels of a mask, or probabilities."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError

WHOLE_NUMBER_TOLERANCE = 1e-3
FULL = 255  # of a byte: white, as which drawing programs store a mask
SHOWN = 5  # unknown labels in a message
ROUNDING = 1e-6  # what float32 may put a probability outside [0, 1] by
RESAMPLING = 1e-3  # and what resampling a map may


class Labels:
    """Turns voxels into labels of one byte as they are read, and remembers what was none.

    Floats close to whole numbers are rounded. A mask of float64 so takes no more memory than one
    of bytes. `full` lets 255 stand for 1, the only label, where 1 itself does not occur.
    """

    def __init__(self, labels: Collection[int], *, full: bool = False) -> None:
        self._allowed = np.unique([0, *labels])  # at most 255
        self._known = np.zeros(256, bool)
        self._known[self._allowed] = True
        self._full = full and self._allowed.tolist() == [0, 1]
        self._known[FULL] |= self._full
        self._has_1 = self.was_full = False
        self._fractions, self._example = 0, 0.0
        self._unknown: NDArray[Any] = np.zeros(0)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """The labels of some voxels."""
        whole = self._rounded(values)
        labels = whole.astype(np.uint8, copy=False)
        known = self._known[labels]
        if labels is not whole:
            known &= labels == whole  # 257 is not 1
        if not known.all():
            strange = np.unique([*self._unknown, *np.unique(whole[~known])])
            self._unknown = strange[: SHOWN + 1]
        return self._of_full(labels) if self._full else labels

    def _of_full(self, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The labels with 1 for 255."""
        full = labels == FULL
        self.was_full |= bool(full.any())
        self._has_1 |= bool((labels == 1).any())
        return np.where(full, np.uint8(1), labels)

    def check(self) -> None:
        """Refuse what is not a whole number, or not one of the labels."""
        if self._fractions:
            raise _no_mask(self._fractions, self._example)
        if self.was_full and self._has_1:
            self._unknown = np.unique([*self._unknown, FULL])
        if self._unknown.size:
            shown = ", ".join(f"{value:g}" for value in self._unknown[:SHOWN])
            raise InputError(
                f"has unknown label{'s' if self._unknown.size > 1 else ''} {shown}"
                f"{', ...' if self._unknown.size > SHOWN else ''}, "
                f"expected {', '.join(map(str, self._allowed))}",
                "Store the mask with the protocol's labels",
                kind="unknown-label",
            )

    def _rounded(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind != "f":
            return values
        off = _fractions(values)
        if off.size and not self._fractions:
            self._example = float(off[0])
        self._fractions += off.size
        return np.asarray(np.rint(values))


def _fractions(values: NDArray[Any]) -> NDArray[Any]:
    """The values that are not close to a whole number."""
    with np.errstate(invalid="ignore"):  # of a NaN
        return np.asarray(values[~(np.abs(values - np.rint(values)) <= WHOLE_NUMBER_TOLERANCE)])


def _no_mask(count: int, example: float) -> InputError:
    return InputError(
        f"is not a mask: {count} voxels are not whole numbers, e.g. {example:g}",
        "Store labels, and resample masks with nearest neighbour",
        kind="not-whole-numbers",
    )


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Labels that may be stored as floats, rounded; refuse what is no whole number."""
    if values.dtype.kind != "f":
        return values
    off = _fractions(values)
    if off.size:
        raise _no_mask(off.size, float(off[0]))
    return np.asarray(np.rint(values))


class Probabilities:
    """Turns voxels into floats as they are read, and remembers between what they lie.

    What rounding alone put outside [0, 1] is moved to 0 or 1: 255 times the float32 next to 1/255,
    as a scaled NIfTI file has it, is 1.00000006. Where whole numbers are `grey` values, as in a
    picture, the largest one of their type means 1.
    """

    def __init__(self, *, grey: bool = False) -> None:
        self._grey = grey
        self._whitest = 0
        self._lowest = self._highest = np.float64(0)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values in float32, or float64 where they are stored so."""
        if self._grey and values.dtype.kind in "iu":
            values = self._of_grey(values)
        if values.dtype.newbyteorder("=") not in (np.float32, np.float64):
            values = values.astype(np.float32)
        if not values.size:
            return values
        lowest, highest = values.min(), values.max()
        outside = lowest < 0 or highest > 1
        if outside and lowest >= -ROUNDING and highest <= 1 + ROUNDING:
            values = values.clip(0, 1)
            lowest, highest = values.min(), values.max()
        self._lowest = np.minimum(self._lowest, lowest)  # keeps a NaN
        self._highest = np.maximum(self._highest, highest)
        return values

    def _of_grey(self, values: NDArray[Any]) -> NDArray[np.float32]:
        if values.dtype.kind != "u" or values.dtype.itemsize > 2:
            raise InputError(
                f"has probabilities stored as {values.dtype}", "Store 8 or 16 bits, or float32"
            )
        self._whitest = max(self._whitest, int(values.max(initial=0)))
        return values.astype(np.float32) / np.float32(np.iinfo(values.dtype).max)

    def check(self) -> None:
        """Refuse NaN and what leaves [0, 1] by more than rounding, and a mask in grey values."""
        if self._whitest == 1:
            raise InputError(
                "has only the grey values 0 and 1, which are next to black",
                "Store a probability of 1 as the largest grey value",
                kind="out-of-range",
            )
        if np.isnan(self._lowest) or np.isnan(self._highest):
            what = "has NaN where a probability is expected"
            raise InputError(what, "Replace NaN by 0", kind="nan-probability")
        if self._lowest < 0 or self._highest > 1:
            lowest, highest = (f"{value:.7g}" for value in (self._lowest, self._highest))
            raise InputError(
                f"has values from {lowest} to {highest}, expected probabilities in [0, 1]",
                "Scale the map to probabilities",
                kind="out-of-range",
                hint=_guessed_scale(float(lowest), float(highest)),
            )


def _guessed_scale(lowest: float, highest: float) -> str:
    """What numbers outside [0, 1] may be."""
    if lowest >= -RESAMPLING and highest <= 1 + RESAMPLING:
        return "It looks like rounding or resampling: clip it to 0 and 1"
    if lowest < 0:
        return "It looks like logits: apply the sigmoid, or the softmax over the labels"
    for top, scale in ((100, "percent"), (255, "8-bit grey values"), (65535, "16-bit grey values")):
        if top / 2 < highest <= top:
            return f"It looks like {scale}: divide by {top}"
    return ""


def storable(array: NDArray[Any]) -> NDArray[Any]:
    """The array in a type that files know."""
    return array.view(np.uint8) if array.dtype == bool else array
