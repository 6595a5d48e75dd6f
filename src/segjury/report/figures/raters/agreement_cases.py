"""How far the raters agree on each case, from the one they agree on least."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.protocols.reference import CONSENSUS
from segjury.report.figures.drawing.frame import finished, sheet
from segjury.report.figures.drawing.rater_labels import label_dice, of_label
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MARKERS,
    MUTED,
    PAGE_WIDTH_IN,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, each_rated_label
from segjury.results.columns import WHOLE
from segjury.wording import number, plain, wrapped

_PLOT_IN = 2.0
_CASE_IN = 0.115
_FEW_CASES = 24  # up to here the dots are large
_MOST_NAMES = 70  # beyond, the names of the cases would touch
_NAME_LENGTH = 16
_LETTER_IN = 0.047
_LISTED = 5
_HIGH = 0.5  # where all pairs agree more than so, the axis does not begin at 0
NO_COHORT = "other cases"


def agreement_cases(scores: Scores, structure: str = WHOLE) -> Figure:
    """A mark per case, the mean Dice over the pairs of raters; a line over all the pairs.

    The mark tells the cohort, a dashed line how far a cohort of low agreement reaches.
    """
    study = study_of(scores)
    data = agreement_cases_data(study, structure)
    names = [wrapped(case, width=_NAME_LENGTH, lines=1) for case in data["case"]]
    named = len(names) <= _MOST_NAMES
    with styled():
        below = _LETTER_IN * max(map(len, names)) if named else 0.1
        width = min(PAGE_WIDTH_IN, max(COLUMN_WIDTH_IN, 0.6 + _CASE_IN * len(data)))
        figure = sheet(width, _PLOT_IN + below)
        axes = figure.add_subplot()
        places = range(len(data))
        axes.vlines(
            places, data["low"], data["high"], colors=MUTED, linewidth=0.8, label="range of pairs"
        )
        _draw_marks(axes, data)
        _draw_limits(axes, study, structure)
        axes.set_xticks(places if named else [], labels=names if named else [], parse_math=False)
        axes.tick_params(axis="x", rotation=90, length=0, labelsize=5.5, labelcolor=INK)
        least = math.floor(10 * data["low"].min()) / 10
        axes.set(xlim=(-0.8, len(data) - 0.2), ylim=(least if least > _HIGH else -0.02, 1.02))
        axes.set_yticks([tick for tick in axes.get_yticks() if least - 0.01 < tick < 1.01])
        axes.set_ylabel("Dice of pairs of raters")
        if not named:
            axes.set_xlabel(f"{len(data)} cases, in the order of agreement")
        axes.grid(axis="y")
        return finished(figure, f"Agreement of the raters by case{of_label(structure)}")


def _draw_marks(axes: Axes, data: pd.DataFrame) -> None:
    """One mark per cohort: hollow for cases in none, full for the others."""
    cohorts = sorted(data["cohort"].unique(), key=lambda name: (name != NO_COHORT, name))
    if NO_COHORT not in cohorts:
        cohorts = [NO_COHORT, *cohorts]  # so that a full mark is always a cohort
    for marker, cohort in zip(_markers(len(cohorts)), cohorts, strict=True):
        own = data[data["cohort"] == cohort]
        axes.plot(
            own.index,
            own["mean"],
            linestyle="",
            marker=marker,
            markersize=4.5 if len(data) <= _FEW_CASES else 3.2,
            markerfacecolor="white" if cohort == NO_COHORT else INK,
            markeredgecolor=INK,
            markeredgewidth=0.8,
            zorder=3,
            label=f"cohort {cohort}",
        )
    shown = [name for name in cohorts if (data["cohort"] == name).any()]
    if shown != [NO_COHORT]:
        _legend(axes, shown)


def _markers(count: int) -> list[str]:
    return [MARKERS[k % len(MARKERS)] for k in range(count)]


def _legend(axes: Axes, cohorts: list[str]) -> None:
    lines = {str(line.get_label()): line for line in axes.lines}
    legend = axes.legend(
        [lines[f"cohort {name}"] for name in cohorts],
        [wrapped(name, width=24, lines=1) for name in cohorts],
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=min(len(cohorts), 4),
        frameon=False,
        fontsize=6.5,
        handletextpad=0.1,
        columnspacing=1.0,
        borderpad=0.1,
    )
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        text.set_parse_math(False)
        if handle is not None:
            handle.set_label("")  # the marks themselves carry the name


def _draw_limits(axes: Axes, study: Study, structure: str) -> None:
    """How far a cohort of low agreement reaches, in the measure that it is made by."""
    for cohort in study.rules.cohorts if structure == WHOLE else ():
        axes.axhline(
            cohort.at_most,
            color=INK,
            linewidth=0.8,
            linestyle=(0, (4, 3)),
            zorder=2,
            label=f"limit {cohort.name}",
        )
        axes.annotate(
            f"{wrapped(cohort.name, width=12)}\n≤ {cohort.at_most:.2f}",
            (1, cohort.at_most),
            xycoords=axes.get_yaxis_transform(),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            parse_math=False,
        )


def agreement_cases_data(study: Study, structure: str = WHOLE) -> pd.DataFrame:
    """Mean, least and largest Dice over the pairs and the cohort of each case, least first."""
    dice = label_dice(study, structure)
    pairs = dice[dice["second"] != CONSENSUS].groupby("case", sort=False)["dsc"]
    table = pairs.agg(mean="mean", low="min", high="max").reset_index()
    said = study.scores.drop_duplicates("case").set_index("case")["cohort"]
    cohort = [str(said[case]).replace(";", ", ") or NO_COHORT for case in table["case"]]
    return table.assign(cohort=cohort).sort_values(["mean", "case"], ignore_index=True)


def agreement_cases_alt(study: Study, structure: str = WHOLE) -> str:
    """The range over the cases, the cases of least agreement, and the size of each cohort."""
    data = agreement_cases_data(study, structure)
    least = ", ".join(
        f"{plain(row['case'])} {number(row['mean'], 2)}"
        for row in data.head(_LISTED).to_dict("records")
    )
    sizes = data[data["cohort"] != NO_COHORT]["cohort"].value_counts()
    inside = "".join(f" {count} in {plain(name)}." for name, count in list(sizes.items())[:_LISTED])
    return (
        f"Dot plot of the mean Dice between raters{of_label(structure)} for {len(data)} cases, "
        f"from {number(data['mean'].min(), 2)} to {number(data['mean'].max(), 2)}. "
        f"Least agreement: {least}.{inside}"
    )


def agreement_cases_subjects(study: Study) -> list[Subject]:
    """The mean over the labels, then each of several labels, if there are several cases."""
    labels = each_rated_label(study)
    several = len(study.analysis.panel.cases) > 1
    return ([{}, *labels] if len(labels) > 1 else labels) if several else []


AGREEMENT_CASES = Kind(
    name="agreement-cases",
    title="Agreement of the raters by case",
    help="A mark per case is the mean Dice over the pairs of raters, its line reaches from the "
    "pair that agrees least to the one that agrees most; marks are full in a cohort.",
    section="raters",
    draw=agreement_cases,
    data=agreement_cases_data,
    alt=agreement_cases_alt,
    subjects=agreement_cases_subjects,
    takes=("structure",),
)
KINDS = (AGREEMENT_CASES,)
