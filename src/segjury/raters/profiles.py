"""What each rater is like over all cases: agreement, bias, STAPLE's quality, the odd one out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segjury.analysis.statistics.intervals import mean_interval, usual_method
from segjury.analysis.statistics.tests import holm
from segjury.analysis.statistics.wilcoxon import wilcoxon
from segjury.arrays import Floats
from segjury.raters.outliers import OutlierTests, outlier_tests
from segjury.rounding import rounded

BOUNDS = {"dice": (0.0, 1.0), "sensitivity": (0.0, 1.0), "specificity": (0.0, 1.0)}
BIASES = ("volume_bias_percent", "boundary_bias_mm")
AVERAGED = ("dice", *BIASES, "sensitivity", "specificity")


@dataclass(frozen=True)
class RaterSettings:
    """Level of intervals, of tests, and the resamples that intervals of many cases take."""

    level: float = 0.95
    alpha: float = 0.05
    samples: int = 2000
    seed: int = 0


USUAL = RaterSettings()


@dataclass(frozen=True)
class Profiles:
    """A line per rater and label, and the tests for the odd one out by label."""

    table: pd.DataFrame
    outliers: dict[str, OutlierTests]


def profiles(
    measures: pd.DataFrame, settings: RaterSettings = USUAL, *, order: Sequence[str] = ()
) -> Profiles:
    """Means over the cases that each rater marked, with intervals, tests of bias and for outliers.

    An interval is Student's for up to 20 cases, else a BCa bootstrap over the cases; one case has
    none. Biases have p of Wilcoxon's signed-rank test, Holm over the raters. Raters are in the
    `order` given, or as they come.
    """
    tables, outliers = [], {}
    for name, own in measures.groupby("label", sort=False):
        label = str(name)
        found = set(own["rater"])
        raters = [name for name in order or own["rater"].unique() if name in found]
        columns = {column: _by_case(own, column, raters) for column in _numbers(own)}
        of_rater = own.groupby("rater", sort=False)
        tests = outlier_tests(columns["dice"], columns["dice_among_others"], alpha=settings.alpha)
        cases = of_rater["case"].nunique().reindex(raters).to_numpy()
        table = pd.DataFrame({"label": label, "rater": raters, "cases": cases})
        table["volume_cm3"] = np.nanmean(columns["volume_cm3"], axis=0)
        for column in AVERAGED:
            for part, values in _interval(column, columns[column], settings).items():
                table[part] = values
            if column in BIASES:
                table[f"{column}_p"] = _bias_p(columns[column])
        table["dice_deficit"], table["outlier_correlation"] = tests.deficit, tests.correlation
        table["outlier_p"], table["outlier"] = tests.p, tests.flagged(settings.alpha)
        table["cases_apart"] = of_rater["apart"].sum().reindex(raters).to_numpy()
        tables.append(table)
        outliers[label] = tests
    return Profiles(pd.concat(tables, ignore_index=True), outliers)


def _numbers(own: pd.DataFrame) -> list[str]:
    return [str(name) for name in own.columns if own[name].dtype == np.float64]


def no_profiles(labels: Iterable[str], why_not: str) -> Profiles:
    """The profiles of raters of whom nothing can be said over the cases: no line."""
    nothing = np.zeros(0)
    columns = ["label", "rater", "cases", "volume_cm3"]
    for column in AVERAGED:
        columns += [column, f"{column}_low", f"{column}_high"]
        columns += [f"{column}_p"] if column in BIASES else []
    columns += ["dice_deficit", "outlier_correlation", "outlier_p", "outlier", "cases_apart"]
    tests = OutlierTests(nothing, nothing, nothing, 0, why_not)
    return Profiles(pd.DataFrame(columns=columns), dict.fromkeys(labels, tests))


def _by_case(own: pd.DataFrame, column: str, raters: list[str]) -> Floats:
    """A measure as (cases, raters), NaN where a rater did not mark the case."""
    table = own.pivot(index="case", columns="rater", values=column)
    return table[raters].to_numpy(np.float64)


def _interval(column: str, values: Floats, settings: RaterSettings) -> dict[str, list[float]]:
    """Mean and limits of each rater over the cases that have a value."""
    found: dict[str, list[float]] = {column: [], f"{column}_low": [], f"{column}_high": []}
    for each in values.T:
        limits = mean_and_limits(each, settings, BOUNDS.get(column, (-math.inf, math.inf)))
        for part, value in zip(found, limits, strict=True):
            found[part].append(value)
    return found


def mean_and_limits(
    values: Floats, settings: RaterSettings, bounds: tuple[float, float]
) -> tuple[float, float, float]:
    """Mean of the values there are, and its limits, which stay within the bounds of the measure."""
    known = values[~np.isnan(values)]
    if not known.size:
        return math.nan, math.nan, math.nan
    interval = mean_interval(
        known,
        level=settings.level,
        method=usual_method(known.size),
        samples=settings.samples,
        rng=np.random.default_rng(settings.seed),
    )
    low, high = np.clip([interval.low, interval.high], *bounds).tolist()
    return float(interval.estimate), low, high


def _bias_p(values: Floats) -> Floats:
    """Two-sided p that each rater draws no larger or smaller than the others, Holm over raters."""
    p = np.full(values.shape[1], np.nan)
    known = [column[~np.isnan(column)] for column in rounded(values).T]
    tested = [k for k, column in enumerate(known) if column.size]
    if tested:
        p[tested] = holm([float(wilcoxon(known[k])) for k in tested])
    return p
