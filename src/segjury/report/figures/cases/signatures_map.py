"""The map of case-wise signatures: its cells, frames and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.report.figures.drawing.cells import draw_cells, ink_on
from segjury.report.figures.drawing.style import (
    DIVERGING,
    INK,
    MUTED,
    method_colours,
    method_markers,
)
from segjury.wording import number, wrapped

LIMIT = 2.0  # SD at which the colours end
_STANDS_OUT = 1.0  # SD from which a cell has a sign
_NUMBERED = 24  # rows and columns up to which cells have room for their number
_CASE_WIDTH = 18  # characters of a case's name, of a method's that stands upright
_UPRIGHT_WIDTH = 24
_LINE_IN, _CHARACTER_IN = 0.095, 0.05
_FEWEST_CHARACTERS = 9  # on a line, for names that lie


@dataclass(frozen=True)
class Sizes:
    """How large the map is, from its numbers of cases, methods and scores."""

    cases: int
    methods: int
    scores: int

    @property
    def cell_in(self) -> float:
        """A cell's width."""
        return float(np.clip(5.4 / (self.methods * self.scores), 0.09, 0.26))

    @property
    def map_in(self) -> float:
        """The width of all cells."""
        return max(1.8, self.cell_in * self.methods * self.scores)

    @property
    def row_in(self) -> float:
        """A row's height."""
        return float(np.clip(5.5 / self.cases, 0.086, 0.15))

    @property
    def characters(self) -> int:
        """How many characters of a method's name go over its block."""
        return int(self.map_in / self.methods / _CHARACTER_IN)


def draw_map(axes: Axes, values: Floats) -> QuadMesh:
    """Cells with their numbers, or of many with signs."""
    numbered = values.shape[1] <= _NUMBERED and len(values) <= _NUMBERED
    mesh = draw_cells(
        axes,
        values,
        DIVERGING,
        (-LIMIT, LIMIT),
        label="signatures",
        text=(lambda row, column: number(values[row, column], 1)) if numbered else None,
        text_size=5.0,
    )
    if not numbered:
        _draw_signs(axes, mesh, values)
    return mesh


def _draw_signs(axes: Axes, mesh: QuadMesh, values: Floats) -> None:
    """Plus and minus where a cell stands out, as its colour says nothing in grey."""
    for sign, marker, name in ((1, "+", "above"), (-1, "_", "below")):
        at = np.argwhere(sign * np.nan_to_num(values) >= _STANDS_OUT)
        inks = np.array([ink_on(mesh, float(values[row, column])) for row, column in at])
        for ink in dict.fromkeys(inks):
            rows, columns = at[inks == ink].T
            axes.plot(
                columns,
                rows,
                linestyle="",
                marker=marker,
                markersize=2.4,
                markeredgewidth=0.45,
                color=ink,
                rasterized=len(at) > 300,
                label=f"{name} {ink}",
            )


def draw_frames(axes: Axes, data: pd.DataFrame, sizes: Sizes) -> None:
    """White between the blocks of methods, and a frame where a method found a case hard."""
    for block in range(1, sizes.methods):
        axes.axvline(block * sizes.scores - 0.5, color="white", linewidth=1.8)
    right = 0.5 - 0.016 * sizes.methods * sizes.scores / sizes.map_in
    hard = data["hard"].to_numpy(bool).reshape(sizes.cases, sizes.methods, sizes.scores)[:, :, 0]
    frames = [
        [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
        for row, block in np.argwhere(hard)
        for x0, x1 in [(block * sizes.scores - right, (block + 1) * sizes.scores - 1 + right)]
        for y0, y1 in [(row - 0.45, row + 0.45)]
    ]
    axes.add_collection(
        LineCollection(frames, colors=INK, linewidths=0.7, zorder=3, label="frames")
    )


def name_cases(axes: Axes, data: pd.DataFrame, sizes: Sizes) -> None:
    """The cases at their rows, in bold if hard for several; what their methods say at the right."""
    cases = data.drop_duplicates("case").reset_index(drop=True)
    size = 6.0 if sizes.row_in > 0.1 else 5.0
    names = [wrapped(case, width=_CASE_WIDTH, lines=1) for case in cases["case"]]
    axes.set_yticks(range(len(names)), labels=names, parse_math=False, fontsize=size, color=INK)
    axes.tick_params(axis="y", pad=7)
    start, figure = axes.get_yaxis_transform(), axes.get_figure(root=True)
    for row in np.flatnonzero(cases["several"]):
        axes.get_yticklabels()[row].set_fontweight("bold")
        axes.plot(
            0,
            row,
            marker=">",
            markersize=3,
            color=INK,
            clip_on=False,
            transform=offset_copy(start, figure, x=-4, units="points"),
            label=f"recurrent {cases['case'][row]}",
        )
    for x, words, head in (
        (22, [number(mean, 2) for mean in cases["case_mean"]], "mean"),
        (44, [f"{c.hard_for}/{c.of_methods}" for c in cases.itertuples()], "hard"),
    ):
        look: dict[str, Any] = {"ha": "right"}
        look["transform"] = offset_copy(start, figure, x=x, units="points")
        for y, word in enumerate(words):
            look |= {"in_layout": y == 0, "label": f"{head} {cases['case'][y]}"}
            axes.text(1.0, y, word, va="center_baseline", fontsize=5, **look)
        look["label"] = ""
        axes.text(1.0, -0.6, head, va="bottom", fontsize=5, color=MUTED, **look)


def draw_scale(figure: Figure, axes: Axes, mesh: QuadMesh) -> None:
    """What the colours mean."""
    bar = figure.colorbar(mesh, cax=axes, orientation="horizontal", extend="both")
    axes.spines[:].set_visible(False)
    bar.outline.set_visible(False)
    axes.tick_params(length=0, labelsize=5.5)
    bar.set_ticks([-LIMIT, -1, 0, 1, LIMIT])
    bar.set_label("worse ← SD from the average → better", fontsize=5.5, color=MUTED)


def over_block(method: str, sizes: Sizes) -> str:
    """A method's name as it stands over its block: lying, or upright on one line or two."""
    if sizes.characters >= _FEWEST_CHARACTERS:
        return wrapped(method, width=sizes.characters, lines=3)
    two = sizes.map_in / sizes.methods > 2.1 * _LINE_IN
    return wrapped(method, width=_UPRIGHT_WIDTH, lines=2 if two else 1)


def names_in(names: Sequence[str], sizes: Sizes) -> float:
    """How high the methods' names are over the map, in inches."""
    lines = [name.split("\n") for name in names]
    if sizes.characters >= _FEWEST_CHARACTERS:
        return 0.15 + _LINE_IN * max(map(len, lines))
    return 0.15 + _CHARACTER_IN * max(len(line) for name in lines for line in name)


def name_columns(
    axes: Axes, study: Study, names: Sequence[str], titles: Sequence[str], sizes: Sizes
) -> None:
    """Each method and its mark over its block, and the scores under their columns."""
    start, figure = axes.get_xaxis_transform(), axes.get_figure(root=True)
    lying = sizes.characters >= _FEWEST_CHARACTERS
    for block, (method, name) in enumerate(zip(study.methods, names, strict=True)):
        middle = (block + 0.5) * sizes.scores - 0.5
        axes.plot(
            middle,
            1.0,
            marker=method_markers(study.all_methods)[method],
            color=method_colours(study.all_methods)[method],
            markersize=4,
            markeredgewidth=0,
            clip_on=False,
            transform=offset_copy(start, figure, y=5, units="points"),
            label=f"mark {method}",
        )
        axes.text(
            middle,
            1.0,
            name,
            transform=offset_copy(start, figure, y=11, units="points"),
            ha="center",
            va="baseline" if lying else "bottom",
            fontsize=6,
            linespacing=1.0,
            rotation=0 if lying else 90,
            parse_math=False,
            label=f"name {method}",
        )
    if len(titles) > 1:
        titles = [*titles] * sizes.methods
        axes.set_xticks(range(len(titles)), labels=titles, parse_math=False, rotation=90)
        axes.tick_params(axis="x", labelsize=5, pad=1)
    else:
        axes.set_xticks([])
