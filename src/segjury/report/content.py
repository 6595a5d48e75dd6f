"""What the report says, section by section, before it becomes a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from segjury.analysis import RankedTable, split
from segjury.analysis.columns import Column
from segjury.analysis.leaderboards import ranked_table
from segjury.analysis.ranking import Rules, cohorts, notes
from segjury.analysis.sentences import on_certainty, on_choices, on_hard_cases, on_raters, on_tests
from segjury.analysis.study import Study
from segjury.errors import InputError
from segjury.protocols.ranking import in_words
from segjury.report.ceiling import CeilingTable, ceiling_table, on_ceiling
from segjury.report.figures.drawing.style import method_colours, method_markers
from segjury.report.gaps import Gap, gaps
from segjury.report.summary import summary
from segjury.report.tables import Board, Breakdown, TableComparison, board, breakdowns, comparison
from segjury.results.columns import WHOLE, group_columns
from segjury.wording import grouped, listed, plain, plural

ALL_CASES = "all cases"
MOST_DOUBTS = 5
MOST_LEFT_OUT = 20  # cases that are named
MOST_PARTS = 8  # values of a column for each of which there is a leaderboard


@dataclass(frozen=True)
class Content:
    """All the report's words and numbers; `said` are sentences about each section's figures.

    `boards` are the leaderboards of every reading and part of the cases, the main one first.
    """

    reading: str
    methods: tuple[str, ...]
    looks: dict[str, tuple[str, str]]  # marker and colour of each method
    cases: int
    summary: tuple[str, ...]
    boards: tuple[Board, ...]
    readings: tuple[str, ...]
    parts: tuple[str, ...]
    comparison: tuple[TableComparison, ...]
    ranked: tuple[Column, ...]
    unranked: tuple[Column, ...]
    breakdowns: tuple[Breakdown, ...]
    ceiling: CeilingTable | None
    gaps: tuple[Gap, ...]
    said: dict[str, tuple[str, ...]]

    @property
    def main(self) -> Board:
        """The leaderboard of the reading shown, over all cases."""
        return self.boards[0]


def content(study: Study) -> Content:
    """Rank the methods in every reading and part of the cases, and put it in words."""
    scores, analysis = study.scores, study.analysis
    tables = list(_ranked_tables(study))
    whole = [each for each in tables if each.part is None]
    main = whole[0]
    parts = [each for each in tables if each.part and each.board.reading == study.reading]
    cases = 0 if _one_value(scores) else main.cases
    return Content(
        reading=study.reading,
        methods=study.methods,
        looks=_looks(study.all_methods),
        cases=cases,
        summary=tuple(
            plain(sentence)
            for sentence in (
                *summary(
                    main.board,
                    [each.board for each in whole[1:]],
                    {_name(part): (part.board, part.cases) for part in parts},
                    cases,
                ),
                *(on_certainty(analysis) if len(study.methods) > 1 and cases else ()),
                *map(_sentence, notes(scores, study.reading)),
                *map(_sentence, analysis.notes),
                *_on_left_out(study),
                *_on_doubts(study),
            )
        ),
        boards=tuple(_board(study, each, main, cases) for each in tables),
        readings=tuple(each.board.reading for each in whole),
        parts=(ALL_CASES, *dict.fromkeys(map(_name, parts))),
        comparison=comparison([each.board for each in whole]) if len(whole) > 1 else (),
        ranked=study.ranked,
        unranked=study.unranked,
        breakdowns=breakdowns(scores, main.board, study.rules.ranking.aggregate, study.directions),
        ceiling=ceiling_table(study) if cases else None,
        gaps=tuple(gaps(scores, study.rules.ranking.missing)),
        said=_said(study) if cases else {},
    )


def _ranked_tables(study: Study) -> Iterator[RankedTable]:
    """Leaderboards of all cases and of each part of them, under every reading."""
    scores, rules = study.scores, study.rules
    parts = list(_parts(scores))
    readings = [study.reading, *rules.other_readings(scores, study.analysis.board)]
    for part, rows in (((None, scores)), *parts):
        for reading in readings:
            if part is None and reading == study.reading:
                yield study.first_leaderboard
                continue
            slow = rules.ranking.scheme == "test-then-rank"
            samples = 0 if slow else study.settings.samples
            try:
                yield ranked_table(
                    part, rows, rules, reading, samples, study.settings.seed, study.methods
                )
            except InputError:  # the analysis notes readings and parts that cannot be ranked
                continue


def _parts(scores: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Parts of the cases that differ from each other and from the whole."""
    seen = {frozenset(scores["case"])}
    for column in (*(["cohort"] if cohorts(scores) else []), *group_columns(scores)):
        values = split(scores, column)
        if len(values) > MOST_PARTS:
            continue
        for value, rows in values.items():
            cases = frozenset(rows["case"])
            if cases not in seen:
                seen.add(cases)
                yield (column, value), rows


def _name(part: RankedTable) -> str:
    """What a part of the cases is called: `cohort high-complexity`."""
    return plain(" ".join(part.part)) if part.part else ALL_CASES


def _board(study: Study, each: RankedTable, main: RankedTable, cases: int) -> Board:
    first = each is main
    differs = f"the {plain(study.reading)} reading" if each.part is None else ALL_CASES
    if each.part is not None and each.board.reading != study.reading:
        differs = f"{ALL_CASES} in the {plain(study.reading)} reading"
    return board(
        study.scores,
        each,
        caption=_caption(each, study.rules, cases),
        part=_name(each),
        directions=study.directions,
        against=None if first else main.board,
        compared_with="" if first else differs,
    )


def _caption(each: RankedTable, rules: Rules, cases: int) -> str:
    reading = each.board.reading
    start = "Leaderboard" if reading == "given" else f"Leaderboard, {reading} reading"
    part = f", {_name(each)}" if each.part else ""
    aggregate = in_words(rules.ranking.aggregate)
    of = f"{each.cases}" if each.fewest == each.cases else f"{each.fewest} to {each.cases}"
    of += f" of {cases}" if each.part else ""
    over = f": {aggregate} over {of} cases" if cases > 1 else ""
    by_case = rules.ranking.scheme == "rank-then-aggregate"
    ranks = f"{aggregate} rank on the cases" if by_case else "rank"
    return plain(f"{start}{part}{over}, {ranks} beside each value{_remarks(rules, reading)}")


def _remarks(rules: Rules, reading: str) -> str:
    """How a reading measures some metrics, to go with a table."""
    return "".join(f"; {remark}" for remark in rules.remarks.get(reading, ()))


def _said(study: Study) -> dict[str, tuple[str, ...]]:
    """Sentences on the tests, on what the order depends on, on hard cases and on the raters."""
    analysis, several = study.analysis, len(study.methods) > 1
    sections = {
        "tests": on_tests(analysis) if several else (),
        "choices": on_choices(analysis) if several else (),
        "cases": on_hard_cases(analysis),
        "raters": on_raters(analysis),
        "ceiling": on_ceiling(study),
    }
    return {name: tuple(map(plain, sentences)) for name, sentences in sections.items()}


def _on_left_out(study: Study) -> Iterator[str]:
    """The cases that were not scored for any method, and why."""
    left_out = study.run.left_out if study.run else {}
    if left_out:
        reasons = [f"{case} ({why})" for case, why in left_out.items()]
        was = "was" if len(left_out) == 1 else "were"
        yield (
            f"{plural(len(left_out), 'case')} {was} left out for all methods: "
            f"{listed(reasons, most=MOST_LEFT_OUT)}."
        )


def _on_doubts(study: Study) -> Iterator[str]:
    """Which methods' predictions look as if they were written in another order than the image."""
    for doubt in grouped(study.run.doubts if study.run else [], most=MOST_DOUBTS):
        yield f"{doubt[:1].upper()}{doubt[1:]}."


def _sentence(note: str) -> str:
    """A note as it is: it may begin with the name of a case, which has no capital."""
    return f"Note: {note.rstrip('.')}."


def _one_value(scores: pd.DataFrame) -> bool:
    """Whether the table holds one value per method, instead of one per case."""
    return set(scores[scores["value"].notna()]["case"].astype(str)) == {WHOLE}


def facts(about: Content) -> str:
    """What the report is about, in a line."""
    parts = [plural(len(about.methods), "method")]
    parts += [plural(about.cases, "case")] if about.cases else []
    parts += [plural(len(about.ranked), "ranked score")]
    parts += [f"{plain(about.reading)} reading"] if about.reading != "given" else []
    return " · ".join(parts)


def _looks(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Marker and colour of each method."""
    markers, colours = method_markers(methods), method_colours(methods)
    return {name: (markers[name], colours[name]) for name in colours}
