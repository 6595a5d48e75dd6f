"""The section that sets methods against the raters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from segjury.analysis.ceiling import MethodBesideRaters, ScoreCeiling, Standing
from segjury.analysis.columns import Column
from segjury.analysis.study import Study
from segjury.protocols.ranking import in_words
from segjury.wording import number, plain, plural

STANDINGS: tuple[Standing, ...] = ("better", "worse")
WORDS: dict[Standing, str] = {
    "better": "better than all raters",
    "among": "among the raters",
    "worse": "worse than all raters",
}


@dataclass(frozen=True)
class CeilingCell:
    """A method's value in a score, how it stands to the raters, and by how much."""

    value: str
    standing: Standing
    difference: str

    @property
    def words(self) -> str:
        """How it stands, in words."""
        return WORDS[self.standing]


@dataclass(frozen=True)
class CeilingRow:
    """A score: what raters get, their range, and each method."""

    column: Column
    cases: int
    raters: str
    span: str
    cells: tuple[CeilingCell, ...]


@dataclass(frozen=True)
class CeilingTable:
    """Methods against the raters in every score that both have."""

    caption: str
    methods: tuple[str, ...]
    rows: tuple[CeilingRow, ...]


def ceiling_table(study: Study) -> CeilingTable | None:
    """The table; none where no ceiling is known."""
    if not study.ceilings:
        return None
    return CeilingTable(
        caption=f"Methods and raters: {in_words(study.rules.ranking.aggregate)} over the cases "
        f"that all have; below, the difference from the mean rater with its "
        f"{100 * study.settings.level:g} % interval",
        methods=study.methods,
        rows=tuple(_row(study.column(score), each) for score, each in study.ceilings.items()),
    )


def _row(about: Column, each: ScoreCeiling) -> CeilingRow:
    lowest, highest = (number(value, about.digits) for value in (each.lowest, each.highest))
    return CeilingRow(
        column=about,
        cases=each.cases,
        raters=number(each.mean, about.digits),
        span=f"{lowest} to {highest}",
        cells=tuple(_cell(method, about) for method in each.methods),
    )


def _cell(method: MethodBesideRaters, about: Column) -> CeilingCell:
    difference, low, high = (
        _signed(value, about.digits) for value in (method.difference, method.low, method.high)
    )
    interval = f" [{low}, {high}]" if math.isfinite(method.low) else ""
    return CeilingCell(
        number(method.value, about.digits), method.standing, f"{difference}{interval}"
    )


def _signed(value: float, digits: int) -> str:
    text = number(value, digits)
    return f"+{text}" if value > 0 else text


def on_ceiling(study: Study) -> Iterator[str]:
    """Who is surely beyond the raters, in which scores."""
    if not study.ceilings:
        return
    raters = max(len(each.raters) for each in study.ceilings.values())
    if raters:
        yield (
            f"Each of {plural(raters, 'rater')} was judged as a method against the other "
            f"{raters - 1}, methods against all {raters}; scores, reading and cases are the same."
        )
    else:
        yield (
            "Each rater was judged as a method against the others who marked the same case, "
            "methods against all who marked it; the range is from the lowest to the highest rater "
            "of each case. Cases with one rater have no ceiling."
        )
    for standing in STANDINGS:
        beyond = {
            study.column(score).full_title: [
                plain(m.method)
                for m in each.methods
                if m.standing == standing and (m.low > 0 or m.high < 0)
            ]
            for score, each in study.ceilings.items()
        }
        said = [f"{title} ({', '.join(names)})" for title, names in beyond.items() if names]
        yield (
            f"{standing.capitalize()} than every rater, with an interval of the difference from "
            f"their mean that excludes 0: {'; '.join(said) or 'no method in any score'}."
        )
