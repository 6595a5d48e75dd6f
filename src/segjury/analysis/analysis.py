"""Analyse a table of scores: the ranking, how sure it is, tests, and what drives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from segjury.analysis.leaderboards import other_panels, split, unplaced
from segjury.analysis.ranking import Leaderboard, Panel, Ranking, Rules, board
from segjury.analysis.ranking.schemes import ranks_by_case
from segjury.analysis.rater_agreement import (
    LabelAgreement,
    human_dsc,
    rater_agreement,
    raters_per_case,
)
from segjury.analysis.redrawn_raters import rater_scores
from segjury.analysis.sensitivity import Sensitivity, sensitivity
from segjury.analysis.stability import Stability, case_stability, rater_stability
from segjury.analysis.statistics.correlation import (
    Clusters,
    Correlations,
    Kind,
    clustered,
    correlations,
)
from segjury.analysis.statistics.failures import (
    FailureTable,
    failure_table,
    paper_rules,
    parse_rule,
)
from segjury.analysis.statistics.intervals import MeanInterval, mean_interval, usual_method
from segjury.analysis.statistics.signatures import HardCases, hard_cases, signatures
from segjury.analysis.tests import ScoreTests, score_tests
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.metrics import known_metric

CORRELATIONS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Settings:
    """What an analysis does beyond the ranking's own rules.

    `samples` of the bootstrap, drawn from `seed`; `level` of intervals; `alpha` of tests;
    `baselines` are methods that the others are compared with; `failures` are rules such as
    `dsc<0.5` beside those of the papers.
    """

    samples: int = 1000
    seed: int = 0
    level: float = 0.95
    alpha: float = 0.05
    baselines: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoreAnalysis:
    """One score: its values over (cases, methods), intervals of its means, and its tests."""

    key: str
    metric: str
    higher: bool
    values: Floats
    means: MeanInterval
    tests: ScoreTests | None

    @property
    def sd(self) -> Floats:
        """Sample SD of each method over the cases; NaN for one case."""
        if len(self.values) < 2:
            return np.full(self.values.shape[1], np.nan)
        return np.asarray(self.values.std(axis=0, ddof=1))

    @cached_property
    def quartiles(self) -> Floats:
        """First quartile, median and third quartile of each method over the cases."""
        return np.quantile(self.values, (0.25, 0.5, 0.75), axis=0)


@dataclass(frozen=True)
class MetricCorrelations:
    """Correlations of the ranked scores over methods and cases, and their clusters."""

    by_kind: Mapping[Kind, Correlations]
    within_methods: Correlations
    clusters: Clusters


@dataclass(frozen=True)
class Analysis:
    """All that a panel of scores says; methods are in the order of the leaderboard.

    `marked_by` says how many cases had so many raters, where that differs.
    """

    panel: Panel
    rules: Rules
    settings: Settings
    board: Leaderboard
    stability: Stability
    with_raters: Stability | None
    sensitivity: Sensitivity
    scores: Mapping[str, ScoreAnalysis]
    correlations: MetricCorrelations | None
    signatures: Floats
    hard_cases: HardCases
    failures: FailureTable
    raters: tuple[LabelAgreement, ...]
    marked_by: Mapping[int, int] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Analysis]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def analyze(
    scores: pd.DataFrame,
    rules: Rules,
    settings: Settings | None = None,
    *,
    reading: str | None = None,
    details: pd.DataFrame | None = None,
    cases: pd.DataFrame | None = None,
    by: Collection[str] = (),
    progress: Callable[[str], None] = lambda _step: None,
) -> Analysis:
    """Analyse a table of scores.

    `details` holds scores per rater, `cases` what is known of the cases, as a run writes both;
    `by` names the columns that split the table. `progress` is called with what is done next.
    """
    settings = settings or Settings()
    unknown = [name for name in settings.baselines if name not in set(scores["method"].unique())]
    if unknown:
        known = ", ".join(scores["method"].unique())
        raise InputError(f"the table has no method {', '.join(unknown)}", f"It has {known}")
    whole = _analysis(scores, rules, settings, reading, details, cases, progress)
    methods = [name for name in scores["method"].unique() if name in whole.panel.methods]
    groups: dict[str, dict[str, Analysis]] = {}
    notes: list[str] = []
    for column in by:
        groups[column] = {}
        notes += unplaced(scores, column)
        for value, part in split(scores, column).items():
            progress(f"{column} {value}")
            try:
                groups[column][value] = _analysis(
                    part, rules, settings, reading, details, cases, progress, methods
                )
            except InputError as error:
                notes.append(f"{column} {value} is not analysed: {error}")
    left_out = rules.left_out(scores, whole.board.reading)
    return replace(whole, groups=groups, notes=(*left_out, *whole.notes, *notes))


def _analysis(
    scores: pd.DataFrame,
    rules: Rules,
    settings: Settings,
    reading: str | None,
    details: pd.DataFrame | None,
    cases: pd.DataFrame | None,
    progress: Callable[[str], None],
    methods: Collection[str] = (),
) -> Analysis:
    given = rules.panel(scores, reading=reading, methods=methods)
    first = board(given, rules.ranking)
    panel = _in_order(given, first)
    readings, skipped = other_panels(scores, rules, first, methods)
    others = {name: _in_order(other, first) for name, other in readings.items()}
    rng = np.random.default_rng(settings.seed)
    samples, level = settings.samples, settings.level
    progress("resampling cases")
    stability = case_stability(panel, rules.ranking, samples=samples, level=level, rng=rng)
    raters = rater_scores(panel, details, weights=rules.rater_weights, anonymous=rules.anonymous)
    with_raters = None
    if raters is not None:
        progress("resampling cases and raters")
        with_raters = rater_stability(raters, rules.ranking, samples=samples, level=level, rng=rng)
    progress("ranking in other ways")
    changes = sensitivity(panel, rules.ranking, others=others, raters=raters)
    progress("testing")
    means = _means(panel, settings, rng)
    found = {
        key: _score(panel, k, rules.ranking, settings, means[k]) for k, key in enumerate(panel.keys)
    }
    progress("correlating")
    agreement = rater_agreement(cases, panel.cases, level=settings.level, anonymous=rules.anonymous)
    profiles = signatures(panel.values, panel.higher)
    failed, left_out = _failures(panel, settings, human_dsc(agreement))
    return Analysis(
        panel=panel,
        rules=rules,
        settings=settings,
        board=first,
        stability=stability,
        with_raters=with_raters,
        sensitivity=changes,
        scores=found,
        correlations=_correlations(panel),
        signatures=profiles,
        hard_cases=hard_cases(profiles),
        failures=failed,
        raters=agreement,
        marked_by=raters_per_case(cases, panel.cases),
        notes=(*panel.notes, *skipped, *left_out, *changes.of_nobody),
    )


def _in_order(panel: Panel, order: Leaderboard) -> Panel:
    """The panel with its methods in the order of a leaderboard, those beyond it last."""
    names = [str(name) for name in order.position.index]
    names += [name for name in panel.methods if name not in names]
    at = [panel.methods.index(name) for name in names if name in panel.methods]
    return replace(
        panel,
        methods=tuple(panel.methods[m] for m in at),
        values=panel.values[:, :, at],
        lost=panel.lost[:, :, at],
        assigned=panel.assigned[:, :, at],
    )


def _means(panel: Panel, settings: Settings, rng: np.random.Generator) -> dict[int, MeanInterval]:
    """Intervals of the means of every score; scores with the same cases share their resamples."""
    found = {}
    for inside in np.unique(panel.defined, axis=0):
        at = np.flatnonzero((panel.defined == inside).all(axis=1))
        values = panel.values[at][:, inside].transpose(1, 0, 2)
        method = usual_method(len(values))
        means = mean_interval(values, level=settings.level, method=method, rng=rng)
        for n, k in enumerate(at):
            found[int(k)] = replace(
                means,
                estimate=means.estimate[n],
                low=_possible(means.low[n], panel, int(k)),
                high=_possible(means.high[n], panel, int(k)),
            )
    return found


def _possible(limits: Floats, panel: Panel, k: int) -> Floats:
    """Limits within what a metric can be."""
    return np.clip(limits, *_bounds(panel, k))


def _bounds(panel: Panel, k: int) -> tuple[float, float]:
    """What a score can be, as its metric declares; anything if its values are of another scale."""
    metric, values = known_metric(panel.metrics[k]), panel.values[k, panel.defined[k]]
    if metric is None or values.min() < metric.bounds[0] or values.max() > metric.bounds[1]:
        return -np.inf, np.inf
    return metric.bounds


def _score(
    panel: Panel, k: int, ranking: Ranking, settings: Settings, means: MeanInterval
) -> ScoreAnalysis:
    values, higher = panel.values[k, panel.defined[k]], bool(panel.higher[k])
    by_case = ranking.scheme == "rank-then-aggregate"
    _cases, ranks = ranks_by_case(panel, panel.keys[k], ranking) if by_case else ((), None)
    return ScoreAnalysis(
        key=panel.keys[k],
        metric=panel.metrics[k],
        higher=higher,
        values=values,
        means=means,
        tests=score_tests(
            values,
            higher=higher,
            ranks=ranks,
            baselines=[panel.methods.index(b) for b in settings.baselines if b in panel.methods],
            alpha=settings.alpha,
            level=settings.level,
        ),
    )


def _correlations(panel: Panel) -> MetricCorrelations | None:
    """Correlations over every case and method, if there are several scores and rows."""
    keys, cases, methods = panel.values.shape
    if keys < 2 or cases * methods < 3:
        return None
    rows = panel.values.reshape(keys, -1).T
    method = np.tile(np.arange(methods), cases)
    by_kind = {kind: correlations(rows, panel.higher, kind=kind) for kind in CORRELATIONS}
    within = correlations(rows, panel.higher, kind="spearman", within="method", method=method)
    return MetricCorrelations(by_kind, within, clustered(by_kind["spearman"].matrix))


def _failures(
    panel: Panel, settings: Settings, human: Floats | None
) -> tuple[FailureTable, tuple[str, ...]]:
    """Failures by the papers' rules and those given, and a sentence for each rule left out.

    Percentiles are of what was measured: many missing predictions would move them to the worst
    value, beyond which there is nothing.
    """
    scores = dict(zip(panel.keys, panel.values, strict=True))
    values = np.where(panel.assigned, np.nan, panel.values)
    measured = dict(zip(panel.keys, values, strict=True))
    usual = paper_rules(human, measured)
    given = [parse_rule(text, measured) for text in settings.failures]
    bounds = {key: _bounds(panel, k) for k, key in enumerate(panel.keys)}
    stated, left_out = [], list(usual.left_out)
    for rule in (*usual.rules, *given):
        if rule.possible(bounds[rule.metric]):
            stated.append(rule)
        else:
            left_out.append(f"{rule.text}: no value can be {rule.side} {rule.limit:.4g}")
    notes = tuple(f"no failures counted for {reason}" for reason in left_out)
    return failure_table(scores, stated), notes
