"""A table of scores with all that can be known from it: what every figure is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from segjury.analysis import Analysis, Settings, analyze
from segjury.analysis.ceiling import ScoreCeiling, score_ceiling
from segjury.analysis.columns import Column, columns, metric_direction, score_key
from segjury.analysis.ranking import Rules
from segjury.analysis.tables import ALL
from segjury.errors import InputError

_DEFAULTS = {"unit": "", "detail": "", "cohort": "", "status": "ok", "structure": "all"}
WHOLE_RANKING = "Whole ranking"


@dataclass(frozen=True)
class Study:
    """A long table of scores, the rules of its ranking, and what a run wrote beside it.

    `details` is what the scores were made from, `cases` what is known of the cases, `calibration`
    the voxels per confidence bin, `ceiling` what raters score as methods; figures that need them
    are left out where they are not there. The analysis is made when first needed, so that all
    figures of a study share it.
    """

    scores: pd.DataFrame
    rules: Rules = field(default_factory=Rules)
    settings: Settings = field(default_factory=Settings)
    reading_asked: str | None = None
    details: pd.DataFrame | None = None
    cases: pd.DataFrame | None = None
    calibration: pd.DataFrame | None = None
    ceiling: pd.DataFrame | None = None

    @cached_property
    def analysis(self) -> Analysis:
        """Ranking, resamples, tests and the rest, of all cases; methods in leaderboard order."""
        return analyze(
            self.scores,
            self.rules,
            self.settings,
            reading=self.reading_asked,
            details=self.details,
            cases=self.cases,
        )

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

    @cached_property
    def ranked(self) -> tuple[Column, ...]:
        """The scores that count."""
        return columns(self.scores, self.analysis.panel.keys, self.directions)

    @cached_property
    def unranked(self) -> tuple[Column, ...]:
        """The other scores of the reading: of the case, or of structures where it has none."""
        rows = self.scores[self.scores["reading"] == self.reading]
        whole = set(rows[rows["structure"] == "all"]["metric"])
        pairs = rows[["metric", "structure"]].drop_duplicates().itertuples(index=False)
        keys = [score_key(m, s) for m, s in pairs if s == "all" or m not in whole]
        counted = set(self.analysis.panel.keys)
        return columns(self.scores, [k for k in keys if k not in counted], self.directions)

    def column(self, score: str) -> Column:
        """A score by its key, ranked or not."""
        found = {each.key: each for each in (*self.ranked, *self.unranked)}
        if score not in found:
            raise InputError(f"the table has no score '{score}'", f"It has {', '.join(found)}")
        return found[score]

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
            beside = score_ceiling(
                self._by_case(about.key),
                own.pivot(index="case", columns="method", values="value"),
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


Scores = pd.DataFrame | Study  # what a figure takes: any table, or one analysed already


def study_of(scores: Scores) -> Study:
    """A study as it is; of a table, one with the usual rules."""
    return scores if isinstance(scores, Study) else Study(completed(scores))


def completed(scores: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns that another tool may have left out."""
    table = scores.copy()
    for name, default in {**_DEFAULTS, "reading": "given"}.items():
        table[name] = table[name].fillna(default) if name in table.columns else default
    return table.astype({"method": str, "case": str, "value": float})
