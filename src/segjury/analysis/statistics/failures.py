"""Failure analysis: which scores are beyond a limit, of which methods, on which cases."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from segjury.arrays import Bools, Floats, Ints
from segjury.errors import InputError, did_you_mean, same_name
from segjury.metrics import METRICS
from segjury.metrics.metric import DECLARED, Failure
from segjury.rounding import rounded

Side = Literal["below", "above"]

SIDES: dict[str, Side] = {"<": "below", ">": "above"}
HUMAN_PERCENTILE = 5.0
POPULATION_PERCENTILE = 90.0
SEVERAL = 2

RULE = re.compile(
    r"(?P<metric>[^<>=]+)(?P<sign>[<>])\s*(?P<percentile>p?)(?P<number>[-+.\de]+)", re.IGNORECASE
)


@dataclass(frozen=True)
class FailureRule:
    """A score of `metric` fails when it is strictly below or above `limit`; `why` that limit."""

    metric: str
    side: Side
    limit: float
    why: str

    def __post_init__(self) -> None:
        if self.side not in SIDES.values():
            raise ValueError(f"side is {self.side!r}, expected 'below' or 'above'")
        if not math.isfinite(self.limit):
            raise ValueError(f"limit is {self.limit}, expected a finite number")

    @property
    def text(self) -> str:
        """The rule as it is written: `dsc < 0.36`."""
        return f"{self.metric} {'<' if self.side == 'below' else '>'} {self.limit:.4g}"

    def possible(self, bounds: tuple[float, float]) -> bool:
        """Whether a value within the bounds can fail."""
        return self.limit > bounds[0] if self.side == "below" else self.limit < bounds[1]


@dataclass(frozen=True)
class PaperRules:
    """The rules of a publication that the scores allow, and a sentence for each left out."""

    rules: tuple[FailureRule, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class FailureTable:
    """Which scores fail which rules; `failed` and `unscored` have shape (rules, cases, methods)."""

    rules: tuple[FailureRule, ...]
    failed: Bools
    unscored: Bools

    @property
    def counts(self) -> Ints:
        """Failed cases, (methods, rules)."""
        return np.asarray(self.failed.sum(axis=1).T)

    @property
    def unscored_counts(self) -> Ints:
        """Cases without a score, (methods, rules)."""
        return np.asarray(self.unscored.sum(axis=1).T)

    @property
    def shares(self) -> Floats:
        """Share of the scored cases that failed, (methods, rules); NaN where none was scored."""
        scored = self.failed.shape[1] - self.unscored_counts
        return np.where(scored > 0, self.counts / np.maximum(scored, 1), np.nan)

    @property
    def failing_any(self) -> Ints:
        """How many methods fail at least one rule, per case."""
        return np.asarray(self.failed.any(axis=0).sum(axis=1))

    @property
    def recurrent(self) -> Ints:
        """Cases on which two or more methods fail any rule; most methods first, then in order."""
        order = np.argsort(-self.failing_any, kind="stable")
        return order[self.failing_any[order] >= SEVERAL]


def failures(values: Floats, rule: FailureRule) -> Bools:
    """Where scores fail a rule. A score at the limit does not fail, nor does NaN."""
    scores, limit = rounded(values), rounded(np.array(rule.limit))
    return np.asarray(scores < limit if rule.side == "below" else scores > limit)


def failure_table(scores: Mapping[str, Floats], rules: Sequence[FailureRule]) -> FailureTable:
    """All rules on the scores of their metrics, arrays (cases, methods) of one shape."""
    shapes = {name: np.shape(values) for name, values in scores.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise ValueError(f"scores have shapes {shapes}, expected one shape (cases, methods)")
    absent = [rule.metric for rule in rules if rule.metric not in scores]
    if absent:
        raise ValueError(f"rules name {', '.join(absent)}, scores have {', '.join(scores)}")
    shape = (len(rules), *next(iter(shapes.values())))
    failed, unscored = np.zeros(shape, bool), np.zeros(shape, bool)
    for i, rule in enumerate(rules):
        failed[i] = failures(scores[rule.metric], rule)
        unscored[i] = np.isnan(scores[rule.metric])
    return FailureTable(tuple(rules), failed, unscored)


def percentile_limit(values: Floats, percentile: float) -> float:
    """Percentile of the values that are not NaN, interpolated; NaN where there are none.

    Among infinite values it may be infinite or NaN.
    """
    if not 0 <= percentile <= 100:
        raise ValueError(f"percentile is {percentile}, expected 0 to 100")
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    with np.errstate(invalid="ignore"):
        return float(np.percentile(known, percentile)) if known.size else float("nan")


def paper_rules(human_dsc: Floats | None, scores: Mapping[str, Floats]) -> PaperRules:
    """The rules of CURVAS-PDACVI for whichever of their metrics have scores.

    Dice and Thr-Dice fail below the 5th percentile of `human_dsc`, the Dice between raters over
    all pairs and cases; ECE and CRPS fail above the 90th percentile of all cases and methods.
    Without raters to compare there is no rule for overlap. Source: supplementary 6.5.4.
    """
    rules: list[FailureRule] = []
    left_out: list[str] = []
    human = percentile_limit(np.zeros(0) if human_dsc is None else human_dsc, HUMAN_PERCENTILE)
    for metric in _failing_beyond("human", scores):
        if math.isfinite(human):
            why = f"percentile {HUMAN_PERCENTILE:g} of the Dice between raters"
            rules.append(FailureRule(metric, "below", human, why))
        else:
            left_out.append(f"{metric}: the agreement between raters is not known")
    for metric in _failing_beyond("population", scores):
        limit = percentile_limit(scores[metric], POPULATION_PERCENTILE)
        if math.isfinite(limit):
            rules.append(FailureRule(metric, "above", limit, _of_all(POPULATION_PERCENTILE)))
        else:
            left_out.append(f"{metric}: percentile {POPULATION_PERCENTILE:g} has no finite value")
    return PaperRules(tuple(rules), tuple(left_out))


def _failing_beyond(limit: Failure, scores: Mapping[str, Floats]) -> list[str]:
    """The metrics with scores that declare such a limit."""
    known = METRICS | DECLARED
    return [name for name, m in known.items() if m.failure == limit and name in scores]


def parse_rule(text: str, scores: Mapping[str, Floats]) -> FailureRule:
    """A rule written as `dsc<0.5` or `crps>20`, or with a percentile of all scores, `crps>p90`."""
    found = RULE.fullmatch(text.strip())
    number = _number(found["number"]) if found else None
    if found is None or number is None:
        raise InputError(
            f"'{text}' is no rule for a failure",
            "Give a metric, < or >, and a limit or a percentile: dsc<0.5 or crps>p90",
        )
    given, side = found["metric"].strip(), SIDES[found["sign"]]
    metric = same_name(given, scores)
    if metric is None:
        raise InputError(
            f"the rule '{text}' is about '{given}', which has no scores",
            did_you_mean(given, scores) if scores else "Give scores",
        )
    if not found["percentile"]:
        return FailureRule(metric, side, number, "as given")
    if not 0 <= number <= 100:
        raise InputError(f"the rule '{text}' has percentile {number:g}", "Give one from 0 to 100")
    limit = percentile_limit(scores[metric], number)
    if not math.isfinite(limit):
        raise InputError(
            f"percentile {number:g} of {metric} in the rule '{text}' is {limit}",
            "Give a limit, as dsc<0.5",
        )
    return FailureRule(metric, side, limit, _of_all(number))


def _of_all(percentile: float) -> str:
    return f"percentile {percentile:g} of all cases and methods"


def _number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
