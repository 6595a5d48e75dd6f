"""The rules of a ranking: what a protocol says, and what was asked for instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pandas as pd

from segjury.analysis.ranking.leaderboard import Leaderboard, board
from segjury.analysis.ranking.panel import Panel, panel
from segjury.analysis.ranking.selection import directions, readings, selected
from segjury.metrics import READINGS, declared_metric
from segjury.metrics.metric import Direction
from segjury.protocols.protocol import Cohort
from segjury.protocols.ranking import Ranking
from segjury.results.run import Run
from segjury.wording import listed

MOST_NAMED = 10  # metrics that are left out


@dataclass(frozen=True)
class Rules:
    """Which scores are ranked, and how.

    `metrics` are those that count, whatever the reading; where they are not given, the protocol's
    `by_reading` decide; else all count that declare themselves ranked. `directions` add to what
    metrics declare. `remarks` say, per reading, how metrics were measured. `cohorts` are what the
    protocol calls subsets of the cases, `declared` all its metrics, ranked or not. `rater_weights`
    are those of raters by name, 1 for the others; the raters of an `anonymous` panel may be other
    people on each case.
    """

    metrics: tuple[str, ...] | None = None
    by_reading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    directions: Mapping[str, Direction] | None = None
    ranking: Ranking = field(default_factory=Ranking)
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cohorts: tuple[Cohort, ...] = ()
    declared: tuple[str, ...] = ()
    rater_weights: Mapping[str, float] = field(default_factory=dict)
    anonymous: bool = False

    def leaderboard(
        self, scores: pd.DataFrame, *, reading: str | None = None, cohort: str | None = None
    ) -> Leaderboard:
        """The leaderboard of a table under these rules."""
        return board(self.panel(scores, reading=reading, cohort=cohort), self.ranking)

    def panel(
        self,
        scores: pd.DataFrame,
        *,
        reading: str | None = None,
        cohort: str | None = None,
        methods: Collection[str] = (),
    ) -> Panel:
        """The scores that these rules rank; `methods` even where the table has none of theirs."""
        reading = reading or readings(scores)[0]
        table = selected(scores, reading=reading, cohort=cohort, metrics=self.counted(reading))
        known = directions(table, self.directions or {})
        return panel(table, known, self.ranking.missing, methods)

    def counted(self, reading: str) -> tuple[str, ...] | None:
        """The metrics that count in a reading, if anybody says."""
        return self.metrics or self.by_reading.get(reading)

    def left_out(self, scores: pd.DataFrame, reading: str) -> list[str]:
        """Sentences about metrics of a table that do not count though nobody said so."""
        if self.metrics:
            return []
        there = set(scores[scores["reading"] == reading]["metric"].unique())
        names = [str(name) for name in scores["metric"].unique() if name not in self.declared]
        absent = [name for name in names if name not in there]
        rest = [name for name in names if name in there]
        if self.by_reading.get(reading):
            reasons = {"not in the protocol, and not ranked": rest}
        else:
            unranked = [name for name in rest if (m := declared_metric(name)) and not m.ranked]
            reasons = {"not ranked unless chosen": unranked}
        reasons[f"without rows in the {reading} reading, and not ranked"] = absent
        return [
            f"{reason}: {listed(found, most=MOST_NAMED)}"
            for reason, found in reasons.items()
            if found
        ]

    def other_readings(self, scores: pd.DataFrame, shown: Leaderboard) -> list[str]:
        """The other readings that can be ranked: by the protocol's metrics, or by those shown."""
        return [
            name
            for name in readings(scores)
            if name != shown.reading
            and set(self.counted(name) or shown.metrics)
            <= set(scores[scores["reading"] == name]["metric"].unique())
        ]

    @classmethod
    def of_run(cls, run: Run | None) -> Rules:
        """The rules of a run's protocol; the defaults where no run tells."""
        protocol = run.protocol.model if run else None
        if protocol is None:
            return cls()
        return cls(
            by_reading={r: names for r in READINGS if (names := protocol.ranked_metrics(r))},
            ranking=protocol.ranking,
            remarks={
                r: tuple(
                    f"{use.name}: {use.remark(r)}" for use in protocol.uses(r) if use.remark(r)
                )
                for r in READINGS
            },
            cohorts=protocol.cohorts,
            declared=tuple(use.name for use in protocol.metrics),
            rater_weights=protocol.reference.rater_weights,
            anonymous=protocol.reference.anonymous,
        )


def leaderboard(
    scores: pd.DataFrame,
    *,
    reading: str | None = None,
    cohort: str | None = None,
    metrics: Collection[str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    ranking: Ranking | None = None,
) -> Leaderboard:
    """Rank the methods of a table; see `Rules` for the options and `standings` for the schemes.

    A metric with a value for the whole case (`all`) is ranked by that, not by its structures.
    What is missing is treated as `panel` describes.
    """
    chosen = tuple(metrics) if metrics is not None else None
    rules = Rules(metrics=chosen, directions=directions, ranking=ranking or Ranking())
    return rules.leaderboard(scores, reading=reading, cohort=cohort)
