"""Methods beside the human ceiling: what raters would get in a score, on the same cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from segjury.analysis.analysis import Settings
from segjury.analysis.ranking.schemes import aggregated
from segjury.analysis.statistics.intervals import mean_interval, usual_method
from segjury.analysis.statistics.resampling import draws
from segjury.arrays import Floats
from segjury.protocols.ranking import Aggregate
from segjury.rounding import rounded

Standing = Literal["better", "among", "worse"]


@dataclass(frozen=True)
class MethodBesideRaters:
    """A method's value, how it stands to the raters, and its difference from their mean.

    `better` and `worse` mean beyond every rater; `low` and `high` are the limits of the difference
    over the cases, NaN for one case.
    """

    method: str
    value: float
    standing: Standing
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoreCeiling:
    """One score of methods and raters over the cases that all of them have.

    `raters` has each rater's value. It is empty where raters marked different cases, or may be
    other people on each; `of_cases` then has the mean, the lowest and the highest rater of each
    case, made into one value as the ranking does it.
    """

    cases: int
    raters: dict[str, float]
    methods: tuple[MethodBesideRaters, ...]
    of_cases: tuple[float, float, float] | None = None

    @property
    def mean(self) -> float:
        """What a rater gets, the mean over the raters."""
        return self.of_cases[0] if self.of_cases else float(np.mean(list(self.raters.values())))

    @property
    def lowest(self) -> float:
        """The lowest value of a rater."""
        return self.of_cases[1] if self.of_cases else min(self.raters.values())

    @property
    def highest(self) -> float:
        """The highest value of a rater."""
        return self.of_cases[2] if self.of_cases else max(self.raters.values())


def score_ceiling(
    methods: pd.DataFrame,
    raters: pd.DataFrame,
    *,
    higher: bool,
    aggregate: Aggregate,
    settings: Settings,
    crossed: bool = True,
) -> ScoreCeiling | None:
    """Set methods against raters; both tables have a row per case and a column for each.

    Case values become one value as the ranking makes them. The interval of a difference of means
    is that of the paired differences; of other aggregates it is read off resamples of the cases.
    None where no case has a value of everybody. Unless the raters are `crossed`, the same people on
    all cases, methods are set against the raters whom each case has.
    """
    if not crossed:
        raters = _of_each_case(raters)
    both = pd.concat([methods, raters], axis=1, join="inner").dropna()
    if both.empty or not methods.shape[1] or not raters.shape[1]:
        return None
    table = both.to_numpy(np.float64)
    own, others = table[:, : methods.shape[1]], table[:, methods.shape[1] :]
    once = np.ones((1, len(table)))
    values = aggregated(own, once, aggregate)[0]
    of_raters = aggregated(others, once, aggregate)[0]
    mean = float(of_raters.mean())
    if not crossed:
        mean, others = float(of_raters[0]), others[:, :1]
    low, high = _limits(own, others, aggregate, settings)
    names = map(str, raters.columns if crossed else ())
    return ScoreCeiling(
        cases=len(table),
        raters=dict(zip(names, of_raters.tolist() if crossed else (), strict=True)),
        of_cases=None if crossed else (mean, float(of_raters[1]), float(of_raters[2])),
        methods=tuple(
            MethodBesideRaters(
                method=str(method),
                value=float(values[m]),
                standing=_standing(float(values[m]), of_raters, higher=higher),
                difference=float(values[m] - mean),
                low=float(low[m]),
                high=float(high[m]),
            )
            for m, method in enumerate(methods.columns)
        ),
    )


def _of_each_case(raters: pd.DataFrame) -> pd.DataFrame:
    """The mean, the lowest and the highest rater of each case that has any."""
    return raters.agg(["mean", "min", "max"], axis=1).dropna()


def _standing(value: float, raters: Floats, *, higher: bool) -> Standing:
    """Beyond all raters, or among them; what is equal to a rater is among them."""
    own, limits = float(rounded(np.array(value))), rounded(raters)
    if own > limits.max():
        return "better" if higher else "worse"
    if own < limits.min():
        return "worse" if higher else "better"
    return "among"


def _limits(
    own: Floats, others: Floats, aggregate: Aggregate, settings: Settings
) -> tuple[Floats, Floats]:
    """Limits of each method's difference from the mean of the raters."""
    cases, rng = len(own), np.random.default_rng(settings.seed)
    if cases == 1:
        nothing = np.full(own.shape[1], np.nan)
        return nothing, nothing
    if aggregate == "mean":
        paired = own - others.mean(axis=1, keepdims=True)
        found = mean_interval(paired, level=settings.level, method=usual_method(cases), rng=rng)
        return found.low, found.high
    counts = draws(cases, settings.samples, rng)
    apart = aggregated(own, counts, aggregate)
    apart = apart - aggregated(others, counts, aggregate).mean(axis=1, keepdims=True)
    tail = (1 - settings.level) / 2
    low, high = np.quantile(apart, (tail, 1 - tail), axis=0)
    return low, high
