"""Which scores say the same: their correlations, in the order of their clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.cells import draw_cells, number_columns
from segjury.report.figures.drawing.correlations import (
    correlation_text,
    correlations_of,
    extremes_in_words,
)
from segjury.report.figures.drawing.frame import (
    finished,
    note,
    rows_height,
    sheet,
    title_rows,
    width_of_names,
)
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, DIVERGING, PAGE_WIDTH_IN, styled
from segjury.report.figures.drawing.tree import draw_tree, tree_table
from segjury.report.figures.kind import Kind, correlated_scores
from segjury.wording import plural

_FRAME_IN = 0.72
_CELL_IN = (0.2, 0.275)  # smallest and largest
_TEXT_PT_PER_IN = 20.0  # of a cell
_TREE_IN = 0.9
_BESIDE_IN = 0.35
_RHO = "\N{GREEK SMALL LETTER RHO}"
_SCOPES = ("all rows", "within methods")


def correlation(scores: Scores) -> Figure:
    """Spearman's correlations of scores: below the diagonal over all rows, above within methods.

    Scores are oriented, so that a positive correlation is agreement on what is good. At the side
    their tree, by average linkage on 1 - the correlation over all rows.
    """
    study = study_of(scores)
    correlations, data = correlations_of(study), correlation_data(study)
    keys = [study.analysis.panel.keys[k] for k in correlations.clusters.order]
    titles = [study.title(key) for key in keys]
    cells = data[data["what"] == "correlation"]
    matrix = np.full((len(keys), len(keys)), np.nan)
    matrix[cells["row"].astype(int) - 1, cells["column"].astype(int) - 1] = cells["spearman"]
    with styled():
        figure = sheet(_width(titles), _FRAME_IN + rows_height(titles, least=3))
        body = _width(titles) - width_of_names(titles) - _BESIDE_IN - _TREE_IN
        axes, side = figure.subplots(1, 2, width_ratios=(body, _TREE_IN))
        draw_cells(
            axes,
            matrix,
            DIVERGING,
            (-1.0, 1.0),
            label="spearman",
            text=lambda i, j: "" if i == j else correlation_text(float(matrix[i, j])),
            text_size=_TEXT_PT_PER_IN * _cell(titles),
        )
        title_rows(axes, titles, numbered=True)
        number_columns(axes, len(keys))
        draw_tree(side, data[data["what"] == "tree"], reach=1.0)
        side.set_ylim(axes.get_ylim())
        side.set_yticks([])
        side.set_xlabel(f"1 \N{MINUS SIGN} {_RHO}")
        note(figure, _note(study))
        return finished(figure, "Correlation of the scores")


def correlation_data(study: Study) -> pd.DataFrame:
    """A row per cell, with how many rows it rests on; then the tree, as `tree_table` has it."""
    correlations, keys = correlations_of(study), study.analysis.panel.keys
    everywhere = correlations.by_kind["spearman"]
    cells = [
        {
            "row": i + 1,
            "column": j + 1,
            "score": keys[a],
            "other": keys[b],
            "scope": _SCOPES[i < j],
            "spearman": (correlations.within_methods if i < j else everywhere).matrix[a, b],
            "rows": (correlations.within_methods if i < j else everywhere).n[a, b],
        }
        for i, a in enumerate(correlations.clusters.order)
        for j, b in enumerate(correlations.clusters.order)
        if i != j
    ]
    tree = tree_table(correlations.clusters.linkage, keys)
    parts = {"correlation": pd.DataFrame(cells), "tree": tree}
    return pd.concat(parts, names=["what"]).reset_index(level=0).reset_index(drop=True)


def correlation_alt(study: Study) -> str:
    """The pairs of scores that agree most and least."""
    correlations, keys = correlations_of(study), study.analysis.panel.keys
    words = extremes_in_words(study, keys, correlations.by_kind["spearman"].matrix)
    return f"Matrix of Spearman correlations of {len(keys)} scores over methods and cases. {words}"


def _cell(titles: Sequence[str]) -> float:
    """How wide a cell is, in inches: many scores get smaller ones, to fit a page."""
    room = PAGE_WIDTH_IN - width_of_names(titles) - _BESIDE_IN - _TREE_IN
    return float(np.clip(room / len(titles), *_CELL_IN))


def _width(titles: Sequence[str]) -> float:
    wanted = width_of_names(titles) + _BESIDE_IN + _cell(titles) * len(titles) + _TREE_IN
    return max(COLUMN_WIDTH_IN, wanted)


def _note(study: Study) -> str:
    panel = study.analysis.panel
    over = f"{plural(len(panel.methods), 'method')} and {plural(len(panel.cases), 'case')}"
    return (
        f"Spearman's {_RHO}. Lower left, and the tree: over {over}. Upper right: over the cases "
        "within each method. Positive: the two scores agree on what is good, whichever end of each "
        "is better."
    )


CORRELATION = Kind(
    name="correlation",
    title="Correlation of the scores",
    help="Spearman's correlation of every two scores, 1 where they agree on what is good: below "
    "the diagonal over methods and cases, above over the cases of each method.",
    section="relations",
    draw=correlation,
    data=correlation_data,
    alt=correlation_alt,
    subjects=correlated_scores,
)
KINDS = (CORRELATION,)
