"""The image under a picture: in its window, tinted, shown in millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from segjury.report.figures.pictures.shared.images import CaseImages
from segjury.report.figures.pictures.shared.slicing import Pair, Slice

HEAT = colormaps["viridis"].resampled(40)  # even in lightness, for all kinds of vision
BACKGROUND = "#3a3d42"  # of cases without an image


def grey(values: NDArray[Any], window: Pair) -> NDArray[np.float64]:
    """An image from black to white over a window, as red, green and blue."""
    low, high = window
    level = np.clip((values.astype(float) - low) / (high - low), 0, 1)
    return np.repeat(np.nan_to_num(level)[..., None], 3, axis=2)


def ground(images: CaseImages, view: Slice) -> NDArray[np.float64]:
    """The image on the slice; a plain ground for cases without one."""
    if images.image is None:
        return np.tile(np.array(to_rgb(BACKGROUND)), (*view.shape, 1))
    return grey(view.cut(images.image), images.window)


def tinted(
    picture: NDArray[np.float64], layers: Sequence[tuple[str, NDArray[Any]]]
) -> NDArray[np.float64]:
    """The picture under layers of colour, each with its opacity per pixel."""
    for colour, opacity in layers:
        weight = np.asarray(opacity, float)[..., None]
        picture = picture * (1 - weight) + np.array(to_rgb(colour)) * weight
    return picture


def show(
    axes: Axes, size_mm: Pair, picture: NDArray[Any], label: str = "", *, smooth: bool = True
) -> None:
    """Show a picture (axes x, y and colour) in millimetres, filling the tile."""
    eight_bits = np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    axes.imshow(
        eight_bits.transpose(1, 0, 2),
        origin="upper",
        extent=(0.0, size_mm[0], size_mm[1], 0.0),
        aspect="equal",
        interpolation="bilinear" if smooth else "nearest",
        label=label,
    )
    axes.set_anchor("NW")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
