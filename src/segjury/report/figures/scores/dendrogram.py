"""Trees: which methods score alike, and which scores rank the methods alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from segjury.analysis.ranking.consensus import kendall_tau
from segjury.analysis.statistics.correlation import clustered
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Floats
from segjury.report.figures.drawing.frame import (
    column_width,
    finished,
    name_rows,
    note,
    rows_height,
    sheet,
    title_rows,
)
from segjury.report.figures.drawing.style import styled
from segjury.report.figures.drawing.tree import draw_tree, tree_table
from segjury.report.figures.kind import Kind, Subject, nothing_else
from segjury.rounding import rounded
from segjury.wording import plain, plural

FEWEST = 3  # leaves: of two there is but one tree
_FRAME_IN = 0.6
_MOST_NAMED = 4


def dendrogram(scores: Scores) -> Figure:
    """The tree of the methods: those that score alike on the same cases are on one branch.

    Average linkage on the root mean square difference of their standardised scores.
    """
    study = study_of(scores)
    data, panel = dendrogram_data(study), study.analysis.panel
    with styled():
        figure = sheet(column_width(study.methods), _FRAME_IN + rows_height(study.methods, least=3))
        axes = figure.add_subplot()
        draw_tree(axes, data)
        name_rows(axes, study, _leaves(data))
        axes.set_xlabel("root mean square difference, in SD of each score")
        over = f"{plural(len(panel.keys), 'score')} and {plural(len(panel.cases), 'case')}"
        note(figure, f"Average linkage over {over}.")
        return finished(figure, "Methods that score alike")


def dendrogram_data(study: Study) -> pd.DataFrame:
    """The tree of the methods, as `tree_table` has it."""
    distance = signature_distances(study.analysis.signatures)
    pairs = squareform(distance, checks=False)
    tree = hierarchy.linkage(pairs, method="average", optimal_ordering=True)
    return tree_table(_first_above(tree), study.methods)


def dendrogram_alt(study: Study) -> str:
    """Which methods join first, and where the tree splits."""
    words = tree_words(dendrogram_data(study), {name: plain(name) for name in study.methods})
    return f"Tree of {len(study.methods)} methods by their scores. {words}"


def score_tree(scores: Scores) -> Figure:
    """The tree of the scores: those that rank the methods alike are on one branch.

    Average linkage on the distance 1 - tau, Kendall's tau-b of the methods' ranks.
    """
    study = study_of(scores)
    data = score_tree_data(study)
    titles = [study.title(key) for key in _leaves(data)]
    with styled():
        figure = sheet(column_width(titles), _FRAME_IN + rows_height(titles, least=3))
        axes = figure.add_subplot()
        draw_tree(axes, data, reach=1.0)
        title_rows(axes, titles)
        axes.set_xlabel("distance 1 \N{MINUS SIGN} τ of the rankings")
        note(
            figure,
            "Kendall's tau-b, average linkage: 0 for the same order of the methods, 1 for orders "
            "without relation, 2 for opposite ones.",
        )
        return finished(figure, "Scores that rank alike")


def score_tree_data(study: Study) -> pd.DataFrame:
    """The tree of the scores, as `tree_table` has it; an undefined tau counts as 0."""
    ranks = study.analysis.board.ranks
    columns = ranks.to_numpy(np.float64).T
    tau = kendall_tau(columns[:, None, :], columns[None, :, :])
    tree = _first_above(clustered(tau).linkage)
    return tree_table(tree, [str(key) for key in ranks.columns])


def score_tree_alt(study: Study) -> str:
    """Which scores join first, and where the tree splits."""
    words = tree_words(score_tree_data(study), {c.key: c.full_title for c in study.ranked})
    return f"Tree of {len(study.ranked)} scores by their rankings of the methods. {words}"


def signature_distances(signatures: Floats) -> Floats:
    """Root mean square difference of every two methods; `signatures` has (keys, cases, methods).

    Over the scores and cases that both have; NaN where there are none.
    """
    rows = signatures.reshape(-1, signatures.shape[2])
    gaps = rows[:, :, None] - rows[:, None, :]
    shared = np.count_nonzero(~np.isnan(gaps), axis=0)
    squares = np.nansum(gaps**2, axis=0)
    return rounded(np.sqrt(np.where(shared > 0, squares / np.maximum(shared, 1), np.nan)))


def _first_above(linkage: Floats) -> Floats:
    """The tree, turned over where its first leaf would be in the lower half."""
    leaves = hierarchy.leaves_list(linkage).tolist()
    return linkage if 2 * leaves.index(0) < len(leaves) else linkage[:, [1, 0, 2, 3]]


def tree_words(data: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Pairs that join first, by their names in words, and the sizes of the last two branches."""
    nodes = data.set_index("node")
    pairs = nodes[nodes["size"] == 2].sort_values("distance", kind="stable").head(_MOST_NAMED)
    named = [
        f"{names[nodes.loc[pair['first'], 'members']]} and "
        f"{names[nodes.loc[pair['second'], 'members']]} at {pair['distance']:.3g}"
        for _, pair in pairs.iterrows()
    ]
    last = nodes.iloc[-1]
    sizes = [nodes.loc[last[branch], "size"] for branch in ("first", "second")]
    return (
        f"Most alike: {'; '.join(named)}. The last two branches, of {sizes[0]} and {sizes[1]}, "
        f"join at {last['distance']:.3g}."
    )


def _leaves(data: pd.DataFrame) -> list[str]:
    """Names of the leaves from the top."""
    leaves = data[data["first"].isna()].sort_values("place")
    return [str(name) for name in leaves["members"]]


def dendrogram_subjects(study: Study) -> list[Subject]:
    """The methods, if there are enough for a tree."""
    return nothing_else(study) if len(study.methods) >= FEWEST else []


def score_tree_subjects(study: Study) -> list[Subject]:
    """The scores, if there are enough for a tree and several methods that they rank."""
    enough = len(study.ranked) >= FEWEST and len(study.methods) > 1
    return nothing_else(study) if enough else []


DENDROGRAM = Kind(
    name="dendrogram",
    title="Methods that score alike",
    help="The further left two branches join, the more alike their methods score on the same "
    "cases, good or bad.",
    section="relations",
    draw=dendrogram,
    data=dendrogram_data,
    alt=dendrogram_alt,
    subjects=dendrogram_subjects,
)
SCORE_TREE = Kind(
    name="score-tree",
    title="Scores that rank alike",
    help="The further left two branches join, the more alike their scores order the methods; "
    "scores far apart tell different things.",
    section="relations",
    draw=score_tree,
    data=score_tree_data,
    alt=score_tree_alt,
    subjects=score_tree_subjects,
)
KINDS = (DENDROGRAM, SCORE_TREE)
