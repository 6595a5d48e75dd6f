"""Experts' ratings of segmentations: how far the raters agree, and what each method got."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from segjury.analysis.statistics.bland_altman import Estimate, bland_altman
from segjury.analysis.statistics.icc import Icc, IccTable, icc
from segjury.arrays import Floats
from segjury.consensus.agreement import alpha_of_ratings
from segjury.errors import InputError
from segjury.raters.ratings.table import COLUMNS, MOST_NAMED, TARGET, check_questions
from segjury.rounding import rounded
from segjury.wording import listed

GapPolicy = Literal["error", "exclude"]


@dataclass(frozen=True)
class RaterPair:
    """How much higher the first of two raters rates than the second, with limits of agreement."""

    first: str
    second: str
    bias: Estimate
    lower: float
    upper: float


@dataclass(frozen=True)
class RatedMethod:
    """Quartiles and mean, over cases, of a method's ratings averaged over the raters."""

    method: str
    cases: int
    median: float
    q1: float
    q3: float
    mean: float

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        return float(rounded(np.array(self.q3 - self.q1)))


@dataclass(frozen=True)
class RatingAgreement:
    """What the raters say in one question, of all segmentations or of a part of them.

    `part` is a column and its value, None for all. A segmentation is a method on a case. Methods
    are in the order of their medians, then means, highest first.
    """

    question: str
    part: tuple[str, str] | None
    segmentations: int
    lowest: float
    highest: float
    icc: IccTable
    alpha: float
    means: Mapping[str, float]
    pairs: tuple[RaterPair, ...]
    methods: tuple[RatedMethod, ...]

    @property
    def name(self) -> str:
        """The question and the part."""
        return self.question + (f", {self.part[0]} {self.part[1]}" if self.part else "")

    @property
    def of_the_mean(self) -> Icc:
        """ICC(2,k): the reliability of the mean of the raters, which is what methods get."""
        return self.icc["ICC(2,k)"]


@dataclass(frozen=True)
class RatingAnalysis:
    """Agreement in each question, of all segmentations and then of each part; and notes."""

    agreements: tuple[RatingAgreement, ...]
    notes: tuple[str, ...]


def analyze_ratings(
    ratings: pd.DataFrame,
    *,
    questions: Collection[str] = (),
    by: Collection[str] = (),
    missing: GapPolicy = "error",
) -> RatingAnalysis:
    """Agreement of the raters in each question, of all segmentations and of each part by a column.

    `ratings` is as `long_ratings` gives it. The raters of a question are those who rated anything
    in it. A segmentation that one of them did not rate is refused, or left out of everything with
    `missing="exclude"`. Krippendorff's alpha is ordinal; intervals are at 95 %.
    """
    check_questions(ratings, questions)
    found: list[RatingAgreement] = []
    notes: list[str] = []
    for question in dict.fromkeys(questions or ratings["question"]):
        rows = ratings[ratings["question"] == question]
        table = _table_of_raters(rows, question)
        silent = [name for name in ratings["rater"].unique() if name not in table.columns]
        notes += [f"{question}: {name} rated nothing" for name in silent]
        complete = _complete(table, question, missing)
        left_out = len(table) - len(complete)
        if left_out:
            notes.append(
                f"{question}: {left_out} of {len(table)} segmentations left out, "
                "which not every rater rated"
            )
        notes += _unequal_cases(complete, question)
        found.append(_agreement(complete, question, None))
        for column, value, inside in _parts(rows, complete, by):
            if inside.sum() < 2:
                notes.append(f"{question}, {column} {value}: too few segmentations to compare")
            else:
                found.append(_agreement(complete[inside], question, (column, value)))
    return RatingAnalysis(tuple(found), tuple(notes))


def _table_of_raters(rows: pd.DataFrame, question: str) -> pd.DataFrame:
    """A row per segmentation, a column per rater who rated anything."""
    raters = rows.loc[rows["value"].notna(), "rater"].unique()
    if len(raters) < 2:
        raise InputError(
            f"{question} was rated by {' and '.join(raters) or 'nobody'}",
            "Agreement needs at least two raters",
        )
    table = rows.pivot(index=TARGET, columns="rater", values="value")
    order = pd.MultiIndex.from_frame(rows[TARGET].drop_duplicates())
    return table.reindex(index=order, columns=list(raters))


def _complete(table: pd.DataFrame, question: str, missing: GapPolicy) -> pd.DataFrame:
    """The segmentations that every rater rated."""
    gaps = table.isna()
    lacking = gaps.any(axis=1)
    if missing == "error" and lacking.any():
        row, rater = np.argwhere(gaps.to_numpy())[0]
        method, case = table.index[row]
        raise InputError(
            f"{question}: {lacking.sum()} of {len(table)} segmentations were not rated by every "
            f"rater, the first is method {method}, case {case}, not rated by "
            f"{table.columns[rater]}",
            "Fill them in, or say `missing='exclude'` to leave these segmentations out",
        )
    complete = table[~lacking]
    if len(complete) < 2:
        raise InputError(
            f"{question}: every rater rated only {len(complete)} of {len(table)} segmentations",
            "Agreement needs at least two segmentations that all of them rated",
        )
    return complete


def _unequal_cases(table: pd.DataFrame, question: str) -> list[str]:
    """A note if the medians of methods are over different cases."""
    cases = table.index.get_level_values("case").nunique()
    counts = table.groupby("method", sort=False).size()
    fewer = [f"{name} {number}" for name, number in counts.items() if number < cases]
    if not fewer:
        return []
    return [
        f"{question}: not all methods were rated on all {cases} cases "
        f"({listed(fewer, most=MOST_NAMED)}), so their medians are over different cases"
    ]


def _parts(
    rows: pd.DataFrame, table: pd.DataFrame, by: Collection[str]
) -> Iterator[tuple[str, str, Any]]:
    """Each value of each column, and which segmentations have it."""
    for column in dict.fromkeys(by):
        if column not in rows.columns or column in ("question", "rater", "value"):
            groups = [c for c in rows.columns if c not in COLUMNS]
            raise InputError(
                f"there are no parts by '{column}'",
                f"Use one of {', '.join([*groups, *TARGET])}",
            )
        known = rows.drop_duplicates([*dict.fromkeys([*TARGET, column])])
        wrong = known[known.duplicated(TARGET) | (known[column] == "")]
        if len(wrong):
            raise InputError(
                f"column '{column}' is empty or not always the same for method "
                f"{wrong['method'].iloc[0]}, case {wrong['case'].iloc[0]}",
                "Give it one value",
            )
        labels = known.set_index(TARGET, drop=False)[column].loc[table.index]
        for value in known[column].unique():
            yield column, str(value), (labels == value).to_numpy()


def _agreement(table: pd.DataFrame, question: str, part: tuple[str, str] | None) -> RatingAgreement:
    values = table.to_numpy(np.float64)
    raters = [str(name) for name in table.columns]
    return RatingAgreement(
        question=question,
        part=part,
        segmentations=len(table),
        lowest=float(values.min()),
        highest=float(values.max()),
        icc=icc(values),
        alpha=alpha_of_ratings(values.T, scale="ordinal"),
        means=dict(zip(raters, rounded(values.mean(axis=0)).tolist(), strict=True)),
        pairs=tuple(
            _pair(raters[a], raters[b], values[:, a], values[:, b])
            for a, b in combinations(range(len(raters)), 2)
        ),
        methods=_methods(table.index.get_level_values("method"), values),
    )


def _pair(first: str, second: str, a: Floats, b: Floats) -> RaterPair:
    found = bland_altman(a, b)
    return RaterPair(first, second, found.bias, found.lower.value, found.upper.value)


def _methods(names: pd.Index[Any], values: Floats) -> tuple[RatedMethod, ...]:
    """Methods, highest median first, then highest mean."""
    means = rounded(np.sort(values, axis=1).mean(axis=1))  # sorted: the order of raters is none
    found = []
    for name in names.unique():
        of_method = means[names == name]
        q1, median, q3 = rounded(np.quantile(of_method, [0.25, 0.5, 0.75])).tolist()
        mean = float(rounded(np.array(np.sort(of_method).mean())))
        found.append(RatedMethod(str(name), len(of_method), median, q1, q3, mean))
    return tuple(sorted(found, key=lambda m: (-m.median, -m.mean, m.method)))


def icc_words(low: float, high: float) -> str:
    """The usual words for an intraclass correlation, by its limits, as in `poor to moderate`.

    Below 0.5 poor, below 0.75 moderate, up to 0.9 good, above excellent: Koo and Li 2016.
    """
    words = [
        "poor"
        if limit < 0.5
        else "moderate"
        if limit < 0.75
        else "good"
        if limit <= 0.9
        else "excellent"
        for limit in (low, high)
    ]
    return " to ".join(dict.fromkeys(words))


def sentences(agreement: RatingAgreement) -> list[str]:
    """What was found, in plain words: how far to trust the mean of the raters; who is strict."""
    return [_reliability(agreement), _strictness(agreement)]


def _reliability(agreement: RatingAgreement) -> str:
    mean, single = agreement.of_the_mean, agreement.icc["ICC(2,1)"]
    if np.isnan(mean.value):
        return (
            "ICC(2,k) is undefined: the means of the raters do not differ, or the raters "
            "contradict each other."
        )
    return (
        f"The mean of the {len(agreement.means)} raters has {icc_words(mean.low, mean.high)} "
        f"reliability: ICC(2,k) {mean.value:.3f}, {agreement.icc.level:.0%} interval "
        f"{mean.low:.3f} to {mean.high:.3f} (one rater alone: ICC(2,1) {single.value:.3f}, "
        f"{single.low:.3f} to {single.high:.3f})."
    )


def _strictness(agreement: RatingAgreement) -> str:
    means = agreement.means
    low, high = min(means.values()), max(means.values())
    if low == high:
        return f"All raters have the same mean, {low:.2f}."
    strict = [name for name, mean in means.items() if mean == low]
    mild = [name for name, mean in means.items() if mean == high]
    said = (
        f"Strictest: {' and '.join(strict)} (mean {low:.2f}); mildest: {' and '.join(mild)} "
        f"({high:.2f})"
    )
    if len(strict) > 1 or len(mild) > 1:
        return f"{said}."
    bias = next(p.bias for p in agreement.pairs if {p.first, p.second} == {strict[0], mild[0]})
    apart, half_width = abs(bias.value), (bias.high - bias.low) / 2
    chance = "" if half_width < apart else ", which may be chance"
    return (
        f"{said}; {apart:.2f} apart, {agreement.icc.level:.0%} interval "
        f"{apart - half_width:.2f} to {apart + half_width:.2f}{chance}."
    )
