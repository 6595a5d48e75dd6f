"""Pair plots: every score against every other, a point per method and case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.columns import Column
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats
from segjury.report.figures.drawing.cells import draw_cells
from segjury.report.figures.drawing.correlations import (
    correlation_text,
    correlations_of,
    extremes_in_words,
)
from segjury.report.figures.drawing.frame import finished, note, sheet
from segjury.report.figures.drawing.style import (
    DIVERGING,
    MUTED,
    RULE,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, correlated_scores
from segjury.report.figures.scores.pairs_grid import EDGE, Scale, draw_key, draw_titles, grid

MOST_SCORES = 9
FEW_METHODS = 6  # up to here histograms are stacked by method
BINS = 12
_MANY_POINTS = 8000  # beyond, points are grey pixels, and methods are shown by their means


def pair_plot(scores: Scores) -> Figure:
    """Scores against each other below the diagonal, their spread on it, correlations above it."""
    study = study_of(scores)
    data, shown = pair_plot_data(study), study.ranked[:MOST_SCORES]
    points = data[data["what"] == "case"]
    scales = [_scale(points, column) for column in shown]
    shape = grid(shown, scales, study.methods)
    with styled():
        figure = sheet(shape.width_in, shape.height_in)
        heights = (shape.height_in - shape.key_in, shape.key_in)
        parts = figure.add_gridspec(2, 1, height_ratios=heights)  # each with its own margins
        axes, key = (figure.add_subplot(parts[n].subgridspec(1, 1)[0]) for n in (0, 1))
        _draw_correlations(axes, data, shown)
        _draw_spread(axes, study, points, shown, scales)
        if _many(points, len(shown)):
            _draw_means(axes, study, points, scales)
        else:
            _draw_points(axes, study, points, scales, shape.cell_in)
        draw_titles(axes, shape)
        draw_key(key, study, shape)
        note(figure, _note(study, points))
        return finished(figure, "Scores against each other")


def pair_plot_data(study: Study) -> pd.DataFrame:
    """A row per method and case with a column per score; then the correlations of the scores.

    `lost`: some score was given by the rules, as the prediction was missing, failed or over a
    limit.
    """
    panel, shown = study.analysis.panel, [column.key for column in study.ranked[:MOST_SCORES]]
    at = [panel.keys.index(key) for key in shown]
    index = pd.MultiIndex.from_product([panel.methods, panel.cases], names=["method", "case"])
    names = [f"score {key}" for key in shown]
    values = panel.values[at].transpose(2, 1, 0).reshape(len(index), len(at))
    cases = pd.DataFrame(values, index=index, columns=names).reset_index()
    cases.insert(0, "what", "case")
    cases.insert(3, "lost", panel.lost[at].any(axis=0).T.ravel())
    matrix = correlations_of(study).by_kind["spearman"].matrix[np.ix_(at, at)]
    spearman = pd.DataFrame(matrix, columns=names)
    spearman.insert(0, "what", [f"spearman {key}" for key in shown])
    return pd.concat([cases, spearman], ignore_index=True)


def pair_plot_alt(study: Study) -> str:
    """How many points, and which scores agree most and least."""
    panel = study.analysis.panel
    keys = [column.key for column in study.ranked[:MOST_SCORES]]
    at = [panel.keys.index(key) for key in keys]
    matrix = correlations_of(study).by_kind["spearman"].matrix[np.ix_(at, at)]
    return (
        f"Scatter plots of every two of {len(keys)} scores, a point for each of "
        f"{len(panel.methods)} methods on each of {len(panel.cases)} cases. Spearman correlations. "
        f"{extremes_in_words(study, keys, matrix)}"
    )


def _scale(points: pd.DataFrame, column: Column) -> Scale:
    """From the lowest to the highest value that was scored; all, if none was."""
    values = points[f"score {column.key}"].dropna()
    scored = values[~points.loc[values.index, "lost"].astype(bool)]
    used = scored if len(scored) else values
    low, high = float(used.min()), float(used.max())
    margin = 0.0 if high > low else 0.5 * abs(high) or 0.5
    return Scale(low - margin, high + margin)


def _draw_correlations(axes: Axes, data: pd.DataFrame, shown: Sequence[Column]) -> None:
    """The frame of all cells, those above the diagonal with their correlation."""
    rows = data[data["what"] != "case"][[f"score {column.key}" for column in shown]]
    matrix = np.where(np.tri(len(shown), dtype=bool), np.nan, rows.to_numpy(np.float64))
    mesh = draw_cells(
        axes,
        matrix,
        DIVERGING,
        (-1.0, 1.0),
        label="spearman",
        text=lambda i, j: correlation_text(float(matrix[i, j])) if i < j else "",
        text_size=8.0,
    )
    mesh.set_cmap(DIVERGING.with_extremes(bad="white"))
    mesh.set_edgecolor(RULE)


def _draw_spread(
    axes: Axes,
    study: Study,
    points: pd.DataFrame,
    shown: Sequence[Column],
    scales: Sequence[Scale],
) -> None:
    """Histograms on the diagonal, stacked by method where there are few."""
    few = len(study.methods) <= FEW_METHODS
    edges = np.linspace(-EDGE, EDGE, BINS + 1)
    for n, (column, scale) in enumerate(zip(shown, scales, strict=True)):
        places = points.assign(at=scale.place(points[f"score {column.key}"].to_numpy()))
        places = places.dropna(subset="at")
        unit = 0.85 / np.histogram(places["at"], edges)[0].max()
        parts = list(places.groupby("method", sort=False)["at"]) if few else [("", places["at"])]
        floor = np.zeros(BINS)
        for method, own in parts:
            top = floor + np.histogram(own, edges)[0]
            axes.stairs(
                n + 0.5 - unit * top,
                n + edges,
                baseline=n + 0.5 - unit * floor,
                fill=True,
                color=method_colours(study.all_methods)[str(method)] if method else MUTED,
                alpha=0.7,
                linewidth=0,
                zorder=2,
                label=f"histogram {column.key} {method}".rstrip(),
            )
            floor = top


def _draw_points(
    axes: Axes,
    study: Study,
    points: pd.DataFrame,
    scales: Sequence[Scale],
    cell_in: float,
) -> None:
    """The points of each method in all cells, the best method on top; hollow where lost."""
    values = _values(points)
    size = float(np.clip(32 * cell_in / np.sqrt(len(points)), 1.6, 4.0))
    for method in reversed(study.methods):
        for lost, what in ((False, "points"), (True, "lost")):
            own = ((points["method"] == method) & (points["lost"] == lost)).to_numpy()
            if own.any():
                look: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.5}
                _draw_marks(
                    axes,
                    study,
                    method,
                    _placed(scales, values[:, own]),
                    what,
                    size,
                    look if lost else {},
                )


def _draw_means(axes: Axes, study: Study, points: pd.DataFrame, scales: Sequence[Scale]) -> None:
    """The mean of each method in all cells, above the points of all methods as grey pixels."""
    values = _values(points)
    look: dict[str, Any] = {"marker": ",", "color": MUTED, "linestyle": "", "rasterized": True}
    axes.plot(*_placed(scales, values), zorder=2.5, label="points", **look)
    for method in reversed(study.methods):
        own = (points["method"] == method).to_numpy()
        mean = np.nanmean(values[:, own], axis=1, keepdims=True)
        _draw_marks(axes, study, method, _placed(scales, mean), "mean", 3.5, {})


def _draw_marks(
    axes: Axes,
    study: Study,
    method: str,
    places: tuple[Floats, Floats],
    what: str,
    size: float,
    look: dict[str, Any],
) -> None:
    axes.plot(
        *places,
        linestyle="",
        marker=method_markers(study.all_methods)[method],
        color=method_colours(study.all_methods)[method],
        markersize=size,
        alpha=0.8,
        zorder=3,
        label=f"{what} {method}",
        **{"markeredgewidth": 0, **look},
    )


def _values(points: pd.DataFrame) -> Floats:
    """The scores of the points, (scores, points)."""
    return points.filter(like="score ").to_numpy(np.float64).T


def _placed(scales: Sequence[Scale], values: Floats) -> tuple[Floats, Floats]:
    """Where values (scores, points) stand in all cells below the diagonal."""
    row, column = np.tril_indices(len(scales), -1)
    places = np.stack([scale.place(v) for scale, v in zip(scales, values, strict=True)])
    return (column[:, None] + places[column]).ravel(), (row[:, None] - places[row]).ravel()


def _many(points: pd.DataFrame, scores: int) -> bool:
    """Whether points are too many to tell methods apart by them."""
    return len(points) * scores * (scores - 1) / 2 > _MANY_POINTS


def _note(study: Study, points: pd.DataFrame) -> str:
    stacked = " stacked by method" if len(study.methods) <= FEW_METHODS else " of all methods"
    said = (
        "Numbers: Spearman's correlation over methods and cases, positive where two scores agree "
        f"on what is good. Diagonal: histograms{stacked}."
    )
    if _many(points, min(len(study.ranked), MOST_SCORES)):
        return f"{said} Grey: all methods and cases; marks: the means of the methods.{_rest(study)}"
    if points["lost"].any():
        said += " Hollow: not scored, at the edge where what it gets is off the scale."
    return said + _rest(study)


def _rest(study: Study) -> str:
    few = len(study.ranked) <= MOST_SCORES
    return "" if few else f" The first {MOST_SCORES} of {len(study.ranked)} scores."


PAIRS = Kind(
    name="pairs",
    title="Scores against each other",
    help="Every two scores, a point per method and case, where these are many the methods' means; "
    "above the diagonal their Spearman correlation, 1 where they agree on what is good.",
    section="relations",
    draw=pair_plot,
    data=pair_plot_data,
    alt=pair_plot_alt,
    subjects=correlated_scores,
)
KINDS = (PAIRS,)
