"""Reliability diagrams: how often a method is right where it is so sure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from segjury.analysis.columns import metric_title
from segjury.analysis.study import Scores, Study, study_of
from segjury.errors import InputError
from segjury.report.figures.drawing.frame import finished
from segjury.report.figures.drawing.small_multiples import SmallMultiples
from segjury.report.figures.drawing.style import INK, MUTED, method_colours, styled
from segjury.report.figures.kind import Kind, Subject
from segjury.results.columns import HITS
from segjury.wording import number, plain, plural

MEAN = "mean"  # in place of a rater: all of them
_DIGITS = 4
_STRIP_IN, _LARGE_STRIP_IN = 0.28, 0.5
_LEAST_SHARE = 1e-6
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_SHADES = (INK, MUTED, "#8b95a1", "#b4bcc5")  # whose dashes come again is paler
_MANY = 8  # raters, for which the legend has two columns
_DASHES = ((), (4, 1.5), (1, 1), (6, 1.5, 1, 1.5), (2, 1.5), (5, 1, 1, 1, 1, 1))


def reliability(scores: Scores, method: str | None = None) -> Figure:
    """Accuracy against confidence, pooled over the cases: thin for each rater, bold their mean.

    On the diagonal a method is right as often as it is sure. The bars beneath are the share of
    the voxels in each bin, on a logarithmic scale. One method, or all as small multiples.
    """
    study = study_of(scores)
    data = reliability_data(study, method)
    tiles = SmallMultiples(
        list(data["method"].unique()), strip_in=_LARGE_STRIP_IN if method else _STRIP_IN
    )
    left, low = (math.floor(10 * data[of].min() + 1e-9) / 10 for of in ("bin_low", "accuracy"))
    least = math.floor(math.log10(max(data["share"].min(), _LEAST_SHARE)))
    with styled():
        figure = tiles.figure()
        for index, name in enumerate(tiles.methods):
            own, colour = data[data["method"] == name], method_colours(study.all_methods)[name]
            plot, bars = tiles.plot(figure, index), tiles.strip(figure, index)
            plot.set(xlim=(left, 1.0), ylim=(min(left, low), 1.0))
            bars.set(xlim=(left, 1.0), ylim=(least, 0))
            lines = _draw_curves(plot, own, colour)
            _draw_shares(bars, own, colour, least)
            if method:
                _list_raters(plot, own, lines)
            else:
                _write_error(plot, own)
            tiles.frame(plot, index, x=_TICKS, y=_TICKS, y_label="accuracy")
            tiles.frame_strip(bars, index, x=_TICKS, x_label="confidence", y_label="voxels")
            if tiles.is_left(index):
                bars.set_yticks([least, 0], labels=[f"{100 * 10.0**least:g} %", "100 %"])
                lower, upper = bars.get_yticklabels()
                lower.set_verticalalignment("bottom")
                upper.set_verticalalignment("top")  # away from the plot above
            tiles.name(plot, study, index)
        return finished(figure, "Reliability")


def _draw_curves(axes: Axes, data: pd.DataFrame, colour: str) -> dict[str, Line2D]:
    """A line per rater, their mean, and the diagonal."""
    name, lines = data["method"].iloc[0], {}
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.7, dashes=(3, 2), zorder=1)
    thin: dict[str, Any] = {"color": INK, "linewidth": 0.5, "alpha": 0.75, "zorder": 3}
    for place, (rater, own) in enumerate(data.groupby("rater", sort=False)):
        shade = _SHADES[place // len(_DASHES) % len(_SHADES)]
        look = thin | {"dashes": _DASHES[place % len(_DASHES)], "color": shade}
        if rater == MEAN:
            look = {"color": colour, "linewidth": 1.6, "zorder": 4}
        label = f"{MEAN} {name}" if rater == MEAN else f"rater {rater} {name}"
        lines[str(rater)] = axes.plot(own["confidence"], own["accuracy"], **look, label=label)[0]
    return lines


def _write_error(axes: Axes, data: pd.DataFrame) -> None:
    axes.text(
        0.96,
        0.05,
        f"ECE {number(data[data['rater'] == MEAN]['ece'].iloc[0], _DIGITS)}",
        transform=axes.transAxes,
        ha="right",
        fontsize=6.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        zorder=5,
        label=f"ece {data['method'].iloc[0]}",
    )


def _draw_shares(axes: Axes, data: pd.DataFrame, colour: str, least: int) -> None:
    """The decimal logarithm of each bin's share of the voxels, as bars from the least upwards."""
    bins = data[data["rater"] == MEAN]
    edges = np.unique(bins[["bin_low", "bin_high"]].to_numpy())
    heights = np.full(edges.size - 1, float(least))
    heights[np.searchsorted(edges[:-1], bins["bin_low"])] = np.log10(bins["share"])
    axes.stairs(
        heights,
        edges,
        baseline=least,
        fill=True,
        color=colour,
        alpha=0.55,
        label=f"share {data['method'].iloc[0]}",
    )


def _list_raters(axes: Axes, data: pd.DataFrame, lines: dict[str, Line2D]) -> None:
    """Which line is whose, and the error against each, on the free side of the diagonal."""
    errors = data.drop_duplicates("rater").set_index("rater")["ece"]
    legend = axes.legend(
        [lines[str(rater)] for rater in errors.index],
        [
            f"{'' if rater == MEAN else 'rater '}{rater}, ECE {number(error, _DIGITS)}"
            for rater, error in errors.items()
        ],
        fontsize=6,
        loc="upper left" if _too_sure(data) > 0 else "lower right",
        facecolor="white",
        edgecolor="none",
        framealpha=0.85,
        handlelength=2.6,
        ncols=1 if len(errors) <= _MANY else 2,
        borderpad=0.2,
        labelspacing=0.25,
    )
    legend.set_zorder(6)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_label("")  # the lines themselves carry the name


def _too_sure(data: pd.DataFrame) -> float:
    """By how much the mean confidence of a method is above its mean accuracy."""
    own = data[data["rater"] == MEAN]
    return float(((own["confidence"] - own["accuracy"]) * own["share"]).sum())


def reliability_data(study: Study, method: str | None = None) -> pd.DataFrame:
    """Confidence and accuracy of each bin, per rater and their mean, with the pooled error.

    `ECE_k = sum_b |hits_kb - confidence_b| / sum_b voxels_b`, over the bins of all cases together
    that rater k marked. Their mean has the mean hits of the raters of each case, and the mean of
    the errors; in an anonymous panel, which has no rater over several cases, its own error.
    """
    counts = _counts(study)
    known = [name for name in study.methods if name in set(counts["method"])]
    if method is not None and method not in known:
        raise InputError(f"there are no maps of the method '{method}'", f"Try {', '.join(known)}")
    chosen = [method] if method else known
    table = _pooled(counts[counts["method"].isin(chosen)], named=not study.rules.anonymous)
    return pd.concat([table[table["method"] == name] for name in chosen], ignore_index=True)


def _counts(study: Study) -> pd.DataFrame:
    """The counts of the first calibration metric, on the methods and cases of the study."""
    table = study.calibration
    if table is None:
        raise InputError("there is no calibration.csv beside the table", "Run evaluate again")
    inside = table["case"].isin(study.analysis.panel.cases) & table["method"].isin(study.methods)
    counts: pd.DataFrame = table[inside & (table["metric"] == next(iter(table["metric"]), ""))]
    return counts


def _pooled(counts: pd.DataFrame, *, named: bool) -> pd.DataFrame:
    """The bins against each rater, unless these have no names, and against their mean."""
    found = {m[1]: name for name in map(str, counts.columns) if (m := HITS.fullmatch(name))}
    hits = counts[list(found.values())].astype(float)
    of_raters = []
    for rater, name in found.items() if named else ():
        own = hits[name].notna()
        if own.any():
            shown = f"rater {rater}" if rater == MEAN else rater
            of_raters.append(_of_one(counts[own], hits[name][own]).assign(rater=shown))
    mean = _of_one(counts, hits.mean(axis=1)).assign(rater=MEAN)
    if of_raters:
        errors = pd.concat([each.drop_duplicates("method") for each in of_raters])
        mean["ece"] = mean["method"].map(errors.groupby("method")["ece"].mean())
    return pd.concat([*of_raters, mean])


def _of_one(counts: pd.DataFrame, hits: pd.Series[float]) -> pd.DataFrame:
    """Sums over the cases against one rater, and the shares, means and errors that follow."""
    bins = counts.assign(hits=hits).groupby(["method", "bin_low", "bin_high"], as_index=False)
    table = bins[["voxels", "confidence", "hits"]].sum()
    methods, voxels = table["method"], table["voxels"]
    total = voxels.groupby(methods).transform("sum")
    missed = (table["hits"] - table["confidence"]).abs() / total
    return table[["method", "bin_low", "bin_high", "voxels"]].assign(
        share=voxels / total,
        confidence=table["confidence"] / voxels,
        accuracy=table["hits"] / voxels,
        ece=missed.groupby(methods).transform("sum"),
    )


def reliability_alt(study: Study, method: str | None = None) -> str:
    """Every method's pooled error, and whether it is too sure or not sure enough."""
    data, counts = reliability_data(study, method), _counts(study)
    each = []
    for name, own in data[data["rater"] == MEAN].groupby("method", sort=False):
        word = "too sure" if _too_sure(own) > 0 else "not sure enough"
        each.append(f"{plain(name)} {number(own['ece'].iloc[0], _DIGITS)} ({word})")
    metric, cases = metric_title(str(counts["metric"].iloc[0])), counts["case"].nunique()
    return (
        f"Reliability diagram, accuracy against confidence in the voxels of {plain(metric)}, "
        f"{plural(cases, 'case')} together. "
        f"Pooled calibration error: {', '.join(each)}."
    )


def reliability_subjects(study: Study) -> list[Subject]:
    """All methods together, where the counts of a run are there."""
    return [] if study.calibration is None or _counts(study).empty else [{}]


RELIABILITY = Kind(
    name="reliability",
    title="Reliability",
    help="Below the diagonal a method is surer than it is right, above it less sure; thin lines "
    "are raters, the bold one their mean, bars the share of the voxels (logarithmic).",
    section="maps",
    draw=reliability,
    data=reliability_data,
    alt=reliability_alt,
    subjects=reliability_subjects,
    takes=("method",),
)
KINDS = (RELIABILITY,)
