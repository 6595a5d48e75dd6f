"""Kendall's tau between the ranking of each resample and that of all cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.stability import RankDistribution
from segjury.analysis.study import Scores, Study, study_of
from segjury.analysis.tables import ALL
from segjury.arrays import Floats
from segjury.report.figures.drawing.frame import column_width, finished, rows_height, sheet
from segjury.report.figures.drawing.style import INK, MUTED, SEQUENTIAL, styled
from segjury.report.figures.kind import Kind, Subject, nothing_else, resampled, whole_and_each_score
from segjury.wording import number, wrapped

_FRAME_IN = 0.8
_ROW_IN = 0.28
_PLOT_IN, _NUMBERS_IN = 2.2, 1.0
_TITLE_WIDTH = 24  # characters of a score's title on a line
_MOST_STEPS = 40  # of tau that are drawn apart
_THICKEST = 0.035  # of the axis is the width of a bar
_NOISE = 1e-9  # of a step: a tau half way between two is, whatever its last digits
_HALF = 0.42  # of a row is half the height of its highest bar
_NAMED, _WHOLE = SEQUENTIAL(0.55), SEQUENTIAL(1.0)


def tau(scores: Scores) -> Figure:
    """A row per ranking, whole or of one score: bars as high as tau is frequent, both ways.

    A tau of 1 is the same order. Bars stand at the values tau can take, or at steps of them where
    there are many, so nothing is smoothed; each row is as high as its most frequent value.
    The thick line goes from quartile to quartile, the white dot is the median.
    """
    study = study_of(scores)
    data = tau_data(study)
    names = list(dict.fromkeys(data["score"]))
    titles = [study.title(name) for name in names]
    with styled():
        rows_in = max(rows_height(titles), _ROW_IN * len(names))
        figure = sheet(column_width(titles, _PLOT_IN + _NUMBERS_IN), _FRAME_IN + rows_in)
        axes = figure.add_subplot()
        least = float(np.nanmin([0.8, *data["tau"]]))
        axes.set_xlim(least - 0.04 * (1 - least), 1 + 0.04 * (1 - least))
        for y, name in enumerate(names):
            own = data[data["score"] == name]
            _write_numbers(axes, y, own.iloc[0])
            if own["share"].notna().all():
                _draw_row(axes, y, own)
        _dress(axes, titles)
        return finished(figure, "Agreement of resampled rankings")


def _draw_row(axes: Axes, y: int, own: pd.DataFrame) -> None:
    """The bars of a ranking, its quartiles and its median."""
    first, (left, right) = own.iloc[0], axes.get_xlim()
    name, height = first["score"], _HALF * own["share"] / own["share"].max()
    axes.bar(
        own["tau"],
        2 * height,
        min(0.9 * first["step"], _THICKEST * (right - left)),
        y - height,
        color=_WHOLE if name == ALL else _NAMED,
        linewidth=0,
        label=f"tau {name}",
    )
    axes.plot(
        [first["q1"], first["q3"]],
        [y, y],
        color=INK,
        linewidth=2,
        solid_capstyle="butt",
        zorder=3,
        label=f"quartiles {name}",
    )
    axes.plot(
        first["median"],
        y,
        "o",
        markersize=3.6,
        markerfacecolor="white",
        markeredgecolor=INK,
        markeredgewidth=0.9,
        zorder=4,
        label=f"median {name}",
    )


def _write_numbers(axes: Axes, y: int, row: pd.Series[Any]) -> None:
    """Median, quartiles and number of resamples, right of a row."""
    said = f"{number(row['median'], 2)} ({number(row['q1'], 2)}, {number(row['q3'], 2)})"
    _write(axes, y, said, str(row["resamples"]), fontsize=6, va="center")


def _write(axes: Axes, y: float, left: str, right: str, **look: Any) -> None:
    """Two columns of text right of the axes; where they stand is in points, as their width is."""
    figure, base = axes.get_figure(root=True), axes.get_yaxis_transform()
    for text, at, side in ((left, 5, "left"), (right, 92, "right")):
        moved = offset_copy(base, fig=figure, x=at, units="points")
        axes.text(1, y, text, transform=moved, ha=side, **look)


def _dress(axes: Axes, titles: Sequence[str]) -> None:
    names = [wrapped(title, width=_TITLE_WIDTH) for title in titles]
    axes.set_yticks(range(len(names)), labels=names, parse_math=False, linespacing=1.0)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.tick_params(axis="x", length=2.5, labelcolor=MUTED)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlabel("Kendall's τ with the ranking of all cases")
    _write(axes, -0.55, "median (quartiles)", "n", fontsize=5.5, va="bottom", color=MUTED)


def tau_step(methods: int, least: float) -> float:
    """Distance of the values tau can take without ties; a multiple where the bars would be many."""
    finest = 2 / math.comb(methods, 2)
    return finest * max(1, math.ceil((1 - least) / finest / _MOST_STEPS))


def tau_data(study: Study) -> pd.DataFrame:
    """Share of the resamples at each tau, with median, quartiles and number, steadiest first.

    A tau between two steps, as ties give it, is counted at the nearer, the higher if both are.
    Resamples in which tau is undefined, as all methods tie, are left out of the number.
    """
    stability = study.analysis.stability
    known = {
        score: _known(stability.overall if score == ALL else stability.scores[score])
        for score in (subject["score"] for subject in whole_and_each_score(study))
    }
    least = min((float(taus.min()) for taus in known.values() if len(taus)), default=1.0)
    step = tau_step(len(study.methods), least)
    by_score = [_rows(score, taus, step) for score, taus in known.items()]
    by_score.sort(key=lambda rows: (-rows[0]["median"], -rows[0]["q1"]))
    return pd.DataFrame([row for rows in by_score for row in rows])


def _rows(score: str, taus: Floats, step: float) -> list[dict[str, Any]]:
    """The steps of tau that occur in a ranking; one row without a tau where it has none."""
    q1, median, q3 = np.quantile(taus, (0.25, 0.5, 0.75)) if len(taus) else (math.nan,) * 3
    about = {"score": score, "q1": q1, "median": median, "q3": q3, "resamples": len(taus)}
    if not len(taus):
        return [{**about, "step": step, "tau": math.nan, "share": math.nan}]
    nearest = np.ceil((1 - taus) / step - 0.5 - _NOISE)
    steps, counts = np.unique(nearest, return_counts=True)
    return [
        {**about, "step": step, "tau": 1 - at * step, "share": count / len(taus)}
        for at, count in zip(steps, counts, strict=True)
    ]


def _known(ranks: RankDistribution) -> Floats:
    return np.asarray(ranks.tau[~np.isnan(ranks.tau)])


def tau_alt(study: Study) -> str:
    """Median and quartiles of tau for each ranking."""
    each = (
        f"{wrapped(study.title(row['score']), width=30, lines=1)} {number(row['median'], 2)} "
        f"({number(row['q1'], 2)}, {number(row['q3'], 2)})"
        for _, row in tau_data(study).drop_duplicates("score").iterrows()
    )
    return (
        "Kendall's tau between resampled rankings and that of all cases, median and quartiles. "
        f"{'; '.join(each)}."
    )


def tau_subjects(study: Study) -> list[Subject]:
    """The whole table, if resamples say something."""
    return nothing_else(study) if resampled(study) else []


TAU = Kind(
    name="tau",
    title="Agreement of resampled rankings",
    help="How far rankings of resamples agree with that of all cases: 1 is the same order, 0 as "
    "good as none. Bars as high as the value is frequent, line quartiles, dot median.",
    section="ranks",
    draw=tau,
    data=tau_data,
    alt=tau_alt,
    subjects=tau_subjects,
)
KINDS = (TAU,)
