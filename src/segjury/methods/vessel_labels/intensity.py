"""The brightness of an image on a scale from 0 to 1, which gives gamma its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError


@dataclass(frozen=True)
class Brightness:
    """The values of an image that become 0 and 1."""

    lowest: float
    brightest: float


def brightness(image: NDArray[Any], *, percent: float) -> Brightness:
    """The lowest value, and the one that `percent` of the voxels do not exceed.

    Refuses what is not finite, and an image whose bright voxels are too few for the percentile.
    """
    if image.ndim != 3 or min(image.shape) < 2:
        raise InputError(
            f"has shape {image.shape}", "Give a volume of at least two voxels along each axis"
        )
    broken = sum(int((~np.isfinite(part)).sum()) for part in _slices(image))
    if broken:
        raise InputError(f"has {broken} voxels that are NaN or infinite", "Replace them, by 0 say")
    lowest, highest = float(image.min()), float(image.max())
    if not np.isfinite(highest - lowest):
        raise InputError(f"has values from {lowest:g} to {highest:g}", "Scale them down")
    brightest = highest if percent == 100 else float(np.percentile(image, percent))
    if lowest == brightest < highest:
        raise InputError(
            f"has its lowest value, {lowest:g}, in {percent:g} % of its voxels and more",
            "Crop it, or count more voxels as not the brightest: `brightest_percent=100`",
        )
    return Brightness(lowest, brightest)


def scaled(image: NDArray[Any], by: Brightness) -> NDArray[np.float32]:
    """The image from 0 to 1, where nothing is clipped; 0 where it has one value only."""
    width = by.brightest - by.lowest
    out = np.zeros(image.shape, np.float32, order="F")
    if width:
        for part, image_part in zip(_slices(out), _slices(image), strict=True):
            part[...] = (image_part.astype(np.float64) - by.lowest) / width
    return out


def _slices(image: NDArray[Any]) -> list[NDArray[Any]]:
    """The slices of an image, so that no second one of another type is in memory."""
    return [image[:, :, z] for z in range(image.shape[2])]
