"""A table of scores with all that can be known from it: what every figure is drawn from."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import pandas as pd

from segjury.analysis.analysis import Analysis, Settings, analyze
from segjury.analysis.ceiling import ScoreCeiling, score_ceiling
from segjury.analysis.columns import Column, columns, metric_direction, score_key
from segjury.analysis.leaderboards import RankedTable, ranked_table, ranked_tables
from segjury.analysis.ranking import Rules, doubtful_directions, in_cohort, readings
from segjury.analysis.ranking.asked import ranking_asked
from segjury.analysis.sentences import summary
from segjury.analysis.tables import ALL, tables
from segjury.errors import InputError, did_you_mean, same_name
from segjury.results.columns import DEFAULTS, NEEDED, WHOLE
from segjury.results.magnitudes import refuse_beyond
from segjury.results.names import (
    a_list,
    directions,
    method_names,
    metric_names,
    named_or_titled,
)
from segjury.results.results import Results

WHOLE_RANKING = "Whole ranking"


@dataclass(frozen=True)
class Study(Results):
    """Results with the rules of their ranking and their analysis.

    `reading_asked` is the reading to show, `cohort_asked` what the cases were chosen by, `by` are
    columns that split them. The analysis is made when first needed, so that tables, sentences and
    all figures of a study share it; figures that need a table which is not there are left out.
    """

    rules: Rules = field(default_factory=Rules)
    settings: Settings = field(default_factory=Settings)
    _: KW_ONLY
    reading_asked: str | None = None
    by: tuple[str, ...] = ()
    cohort_asked: str | None = None

    @classmethod
    def of(
        cls,
        results: Results,
        *,
        reading: str | None = None,
        cohort: str | None = None,
        methods: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        higher: Sequence[str] = (),
        lower: Sequence[str] = (),
        baselines: Sequence[str] = (),
        by: Sequence[str] = (),
        failures: Sequence[str] = (),
        samples: int = 1000,
        seed: int = 0,
        alpha: float = 0.05,
        **ranking: Any,
    ) -> Self:
        """A study of results by the rules of their run, with what was asked for instead.

        The options are those of `segjury.read(...).analyze`. Nothing is computed yet. `warnings`
        also tell of metrics that may be better the other way.
        """
        for argument, names in {"baselines": baselines, "by": by, "failures": failures}.items():
            a_list(argument, names)
        if samples < 0 or seed < 0 or not 0 < alpha <= 0.5:
            raise InputError(
                f"`samples` is {samples}, `seed` {seed} and `alpha` {alpha}",
                "Give none below 0, and an alpha from 0 to 0.5",
            )
        results = results.of_methods(methods, exclude)
        scores = in_cohort(results.scores, cohort, results.cases)
        usual = results.rules if isinstance(results, Study) else Rules.of_run(results.run)
        said = {**results.better, **directions(scores, higher, lower)}
        rules = replace(
            usual,
            metrics=tuple(metric_names(scores, metrics or ())) or usual.metrics,
            directions={**(usual.directions or {}), **said},
            ranking=ranking_asked(usual.ranking, scores, **ranking),
        )
        settings = Settings(
            samples=samples,
            seed=seed,
            alpha=alpha,
            level=1 - alpha,
            baselines=tuple(dict.fromkeys(method_names(scores["method"].unique(), baselines))),
            failures=tuple(failures),
        )
        kept = {each.name: getattr(results, each.name) for each in fields(Results)}
        kept |= {"scores": scores, "better": said}
        kept["warnings"] = (*results.warnings, *doubtful_directions(scores, said))
        asked = same_name(reading, readings(scores)) or reading if reading else None
        return cls(
            **kept,
            rules=rules,
            settings=settings,
            reading_asked=asked,
            by=tuple(by),
            cohort_asked=cohort,
        )

    @cached_property
    def analysis(self) -> Analysis:
        """Ranking, resamples, tests and the rest, of all cases; methods in leaderboard order."""
        return self._analysis()

    def _analysis(self, progress: Callable[[str], None] = lambda _step: None) -> Analysis:
        found = analyze(
            self.scores,
            self.rules,
            self.settings,
            reading=self.reading_asked,
            details=self.details,
            cases=self.cases,
            by=self.by,
            progress=progress,
        )
        return replace(found, notes=(*self.on_table, *found.notes))

    def analyzed(self, progress: Callable[[str], None] = lambda _step: None) -> Self:
        """The study, its analysis made; `progress` is called with what is done next."""
        if "analysis" not in vars(self):
            vars(self)["analysis"] = self._analysis(progress)
        return self

    @property
    def sentences(self) -> list[str]:
        """What the resamples and tests allow to say, in sentences."""
        return summary(self.analysis)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the analysis, by the names of their files: `values`, `pairs`, ..."""
        return tables(self.analysis)

    def tests(self, score: str) -> pd.DataFrame:
        """Every test of two methods in a score; p is Holm-adjusted within its test."""
        key = self.column(score).key
        pairs = self.tables.get("pairs", pd.DataFrame(columns=["score"]))
        return pairs[pairs["score"] == key].reset_index(drop=True)

    def leaderboards(self) -> list[RankedTable]:
        """The leaderboard of all cases, then that of each part of them."""
        found = ranked_tables(
            self.scores,
            self.rules,
            reading=self.reading_asked,
            by=self.by,
            samples=self.settings.samples,
            seed=self.settings.seed,
        )
        return [replace(each, notes=(*self.on_table, *each.notes)) for each in found]

    @cached_property
    def first_leaderboard(self) -> RankedTable:
        """The leaderboard of all cases in the reading shown, with the analysis's resamples."""
        return ranked_table(
            None,
            self.scores,
            self.rules,
            self.reading,
            self.settings.samples,
            self.settings.seed,
            self.methods,
            stability=self.analysis.stability,
        )

    def _repr_html_(self) -> str:
        """What Jupyter shows: the sentences."""
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences)
        return f"<ul>{items}</ul>"

    @property
    def reading(self) -> str:
        """The reading that is shown."""
        return self.analysis.board.reading

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods that are ranked, best first."""
        return self.analysis.panel.methods

    @cached_property
    def all_methods(self) -> tuple[str, ...]:
        """Every method of the table, ranked or not, by name."""
        return tuple(sorted(set(self.scores["method"])))

    @cached_property
    def directions(self) -> dict[str, str]:
        """Which values of each metric are better, empty where nobody said."""
        said: Mapping[str, str] = self.rules.directions or {}
        names = map(str, self.scores["metric"].unique())
        return {name: said.get(name) or metric_direction(name) for name in names}

    def columns_of(self, boards: Sequence[RankedTable]) -> tuple[Column, ...]:
        """The scores of leaderboards, without the analysis."""
        keys = dict.fromkeys(str(key) for each in boards for key in each.board.values.columns)
        return columns(self.scores, list(keys), self.directions)

    @cached_property
    def ranked(self) -> tuple[Column, ...]:
        """The scores that count."""
        return columns(self.scores, self.analysis.panel.keys, self.directions)

    @cached_property
    def unranked(self) -> tuple[Column, ...]:
        """The other scores of the reading: of the case, or of structures where it has none."""
        rows = self.scores[self.scores["reading"] == self.reading]
        whole = set(rows[rows["structure"] == WHOLE]["metric"])
        pairs = rows[["metric", "structure"]].drop_duplicates().itertuples(index=False)
        keys = [score_key(m, s) for m, s in pairs if s == WHOLE or m not in whole]
        counted = set(self.analysis.panel.keys)
        return columns(self.scores, [k for k in keys if k not in counted], self.directions)

    def column(self, score: str) -> Column:
        """A score by its key or title, ranked or not."""
        found = {each.key: each for each in (*self.ranked, *self.unranked)}
        titles = {key: each.full_title for key, each in found.items()}
        meant = named_or_titled(score, titles)
        if meant is None:
            raise InputError(
                f"the table has no score '{score}'", did_you_mean(score, found, "It has")
            )
        return found[meant]

    def title(self, score: str) -> str:
        """The title of a score, or of the whole ranking for `all`."""
        return WHOLE_RANKING if score == ALL else self.column(score).full_title

    def rows(self, score: str) -> pd.DataFrame:
        """The rows of a score in the reading that is shown."""
        about, table = self.column(score), self.scores
        return table[
            (table["metric"] == about.metric)
            & (table["structure"] == about.structure)
            & (table["reading"] == self.reading)
        ]

    @cached_property
    def ceilings(self) -> dict[str, ScoreCeiling]:
        """Methods against the raters in each score of the reading that both have, ranked first."""
        if self.ceiling is None:
            return {}
        raters = self.ceiling[self.ceiling["reading"] == self.reading]
        found = {}
        for about in (each for each in (*self.ranked, *self.unranked) if each.direction):
            own = raters[
                (raters["metric"] == about.metric) & (raters["structure"] == about.structure)
            ]
            of_raters = own.pivot(index="case", columns="method", values="value")
            beside = score_ceiling(
                self._by_case(about.key),
                of_raters,
                crossed=not (self.rules.anonymous or _has_gaps(raters)),
                higher=about.direction == "higher",
                aggregate=self.rules.ranking.aggregate,
                settings=self.settings,
            )
            if beside is not None:
                found[about.key] = beside
        return found

    def _by_case(self, score: str) -> pd.DataFrame:
        """The values of a score, a row per case and a column per method, as they are ranked."""
        panel = self.analysis.panel
        if score in panel.keys:
            values = panel.values[panel.keys.index(score)]
            return pd.DataFrame(values, index=list(panel.cases), columns=list(panel.methods))
        rows = self.rows(score)
        table = rows.pivot(index="case", columns="method", values="value")
        return table.reindex(columns=list(panel.methods))


def _has_gaps(ceiling: pd.DataFrame) -> bool:
    """Whether some raters are missing from the ceiling of some cases."""
    there = ceiling.drop_duplicates(["case", "method"]).groupby("case").size()
    return bool((there < ceiling["method"].nunique()).any())


Scores = pd.DataFrame | Study  # what a figure takes: any table, or one analysed already


def study_of(scores: Scores) -> Study:
    """A study as it is; of a table, one with the usual rules."""
    return scores if isinstance(scores, Study) else Study(completed(scores))


def completed(scores: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns that another tool may have left out."""
    table = scores.copy()
    for name, default in {"unit": "", "detail": "", "cohort": "", **DEFAULTS}.items():
        table[name] = table[name].fillna(default) if name in table.columns else default
    table = table.astype({"method": str, "case": str, "value": float})
    refuse_beyond(table["value"], table, NEEDED[:3], "the value")
    return table
