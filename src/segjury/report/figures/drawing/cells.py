"""Matrices as coloured cells with their numbers in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap

from segjury.arrays import Floats
from segjury.report.figures.drawing.style import INK, NOTHING
from segjury.wording import number

MANY_CELLS = 600  # beyond, cells are pixels in vector files too
SMALLEST_TEXT = 4.0  # points
TWO_LINES_IN = 0.28  # smaller cells have no room for the SD below the mean


def draw_cells(
    axes: Axes,
    values: Floats,
    colours: Colormap,
    limits: tuple[float, float],
    *,
    label: str,
    text: Callable[[int, int], str] | None = None,
    text_size: float = 5.5,
) -> QuadMesh:
    """A matrix (rows, columns), the first row on top, cell centres at whole numbers.

    NaN is grey. `text` gives what stands in a cell, left out where the type would be too small to
    read. The mesh carries `label`; its array is the matrix.
    """
    rows, columns = values.shape
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        np.ma.masked_invalid(values),
        cmap=colours.with_extremes(bad=NOTHING),
        vmin=limits[0],
        vmax=limits[1],
        edgecolors="white",
        linewidth=0.5 if values.size <= MANY_CELLS else 0.0,
        rasterized=values.size > MANY_CELLS,
        label=label,
    )
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if text is not None and text_size >= SMALLEST_TEXT:
        for row, column in np.ndindex(values.shape):
            if not (words := text(row, column)):
                continue
            axes.text(
                column,
                row,
                words,
                ha="center",
                va="center",
                fontsize=text_size,
                color=ink_on(mesh, float(values[row, column])),
                parse_math=False,
                in_layout=False,  # it lies within its cell, and measuring it takes time
            )
    return mesh


def draw_means(
    axes: Axes,
    mean: Floats,
    sd: Floats,
    colours: Colormap,
    limits: tuple[float, float],
    *,
    digits: int,
    roomy: bool,
    label: str,
) -> QuadMesh:
    """A matrix of means in large type, the SD below each where the cells are `roomy`."""
    mesh = draw_cells(axes, mean, colours, limits, label=label)
    for row, column in np.argwhere(np.isfinite(mean)):
        value, spread = float(mean[row, column]), float(sd[row, column])
        below = roomy and math.isfinite(spread)
        look: dict[str, Any] = {"ha": "center", "va": "center", "color": ink_on(mesh, value)}
        y, size = row - 0.11 * below, 8.0 if roomy else 5.5
        axes.text(column, y, number(value, digits), fontsize=size, **look)
        if below:
            axes.text(column, row + 0.26, f"±{number(spread, digits)}", fontsize=5.5, **look)
    return mesh


def ink_on(mesh: QuadMesh, value: float) -> str:
    """Dark or white, whichever is read better on the colour of a value."""
    if not np.isfinite(value):
        return INK
    red, green, blue, _ = mesh.to_rgba(np.array(value))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"


def number_columns(axes: Axes, count: int) -> None:
    """Number the columns of a matrix, above it, as its rows are."""
    axes.set_xticks(range(count), labels=[str(n) for n in range(1, count + 1)])
    axes.tick_params(
        axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, labelcolor=INK, length=0
    )
