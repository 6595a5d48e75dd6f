"""Bubble charts: how often each method takes each place when the cases are drawn anew."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.stability import RankDistribution
from segjury.analysis.tables import ALL
from segjury.figures.frame import column_width, finished, name_rows, rows_height, sheet
from segjury.figures.kind import Kind, Subject, whole_and_each_score
from segjury.figures.study import Scores, Study, study_of
from segjury.figures.style import INK, MUTED, styled

_FRAME_IN = 0.75
FULL_AREA = 110.0  # points squared of a bubble that holds all resamples


def blob(scores: Scores, score: str = ALL) -> Figure:
    """A row per method, a bubble per place: its area is the share of the resamples.

    The cross is the median rank, the line reaches over 95 % of the resampled ranks.
    """
    study = study_of(scores)
    methods, data = study.methods, blob_data(study, score)
    with styled():
        figure = sheet(column_width(methods), _FRAME_IN + rows_height(methods))
        axes = figure.add_subplot()
        area = FULL_AREA * min(1.0, 8 / len(methods))
        for y, method in enumerate(methods):
            own = data[(data["method"] == method) & (data["share"] > 0)]
            axes.scatter(
                own["place"],
                [y] * len(own),
                s=area * own["share"],
                color=study.colours[method],
                linewidth=0,
                zorder=3,
                label=f"blob {method}",
            )
            first = own.iloc[0]
            axes.plot(
                [first["low"], first["high"]],
                [y, y],
                color=INK,
                linewidth=0.8,
                zorder=4,
                label=f"interval {method}",
            )
            axes.plot(
                first["median"],
                y,
                "x",
                color=INK,
                markersize=4,
                markeredgewidth=1.1,
                zorder=5,
                label=f"median {method}",
            )
        name_rows(axes, study, methods)
        axes.set_xlim(0.4, len(methods) + 0.6)
        axes.set_xticks(range(1, len(methods) + 1))
        axes.set_xlabel(f"place in {study.analysis.stability.samples} resamples of the cases")
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)
        return finished(figure, f"Resampled ranks: {study.title(score)}")


def blob_data(study: Study, score: str = ALL) -> pd.DataFrame:
    """Share of the resamples per method and place, and the method's median and interval."""
    ranks = _ranks(study, score)
    return pd.DataFrame(
        [
            {
                "method": method,
                "place": place + 1,
                "share": share,
                "median": ranks.median[m],
                "low": ranks.low[m],
                "high": ranks.high[m],
            }
            for m, method in enumerate(study.methods)
            for place, share in enumerate(ranks.frequencies[m])
        ]
    )


def blob_alt(study: Study, score: str = ALL) -> str:
    """Every method's median rank and interval."""
    ranks = _ranks(study, score)
    each = (
        f"{method} median {ranks.median[m]:.3g}, from {ranks.low[m]:.3g} to {ranks.high[m]:.3g}"
        for m, method in enumerate(study.methods)
    )
    return f"Bubble chart of resampled ranks, {study.title(score)}. {'; '.join(each)}."


def _ranks(study: Study, score: str) -> RankDistribution:
    stability = study.analysis.stability
    return stability.overall if score == ALL else stability.scores[study.column(score).key]


def blob_subjects(study: Study) -> list[Subject]:
    """The whole ranking and each score, if there are cases and methods enough to resample."""
    enough = study.analysis.stability.tells and len(study.methods) > 1
    return whole_and_each_score(study) if enough else []


BLOB = Kind(
    name="blob",
    title="Resampled ranks",
    help="The larger the bubble, the more resamples of the cases give the method that place; the "
    "cross is the median rank, the line holds 95 % of the ranks.",
    section="ranks",
    draw=blob,
    data=blob_data,
    alt=blob_alt,
    subjects=blob_subjects,
    takes=("score",),
)
KINDS = (BLOB,)
