"""The report as Markdown, with the figures in the folder beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segjury.report.ceiling import CeilingTable
from segjury.report.content import facts
from segjury.report.gaps import LISTED
from segjury.report.model import Report
from segjury.report.tables import Board, Breakdown
from segjury.wording import markdown_escaped, markdown_table, plain

SECTIONS = {
    "ranks": "How sure is the order?",
    "tests": "Which differences hold?",
    "choices": "What does the order depend on?",
    "spread": "Scores over the cases",
    "relations": "Which scores and methods are alike?",
    "cases": "Cases",
    "pictures": "Pictures of cases",
    "raters": "How far do the raters agree?",
    "ceiling": "Methods and raters",
    "maps": "Probabilities, volumes, contact",
}


def markdown(report: Report) -> str:
    """The whole report; text from outside is escaped, so that it is shown as it is."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    content = report.content
    yield from (f"# {markdown_escaped(report.title)}", "", markdown_escaped(facts(content)), "")
    yield from _list(content.summary)
    yield from ("## Leaderboard", "")
    for board in content.boards:
        yield from _board(board)
    for section, title in SECTIONS.items():
        yield from _section(report, section, title)
    if content.breakdowns:
        yield from ("## By structure", "")
        for breakdown in content.breakdowns:
            yield from _breakdown(breakdown)
    yield from _gaps(report)
    yield from _methods(report)


def _section(report: Report, section: str, title: str) -> Iterator[str]:
    groups, said = report.drawn.of(section), report.content.said.get(section, ())
    if not groups and not said:
        return
    yield from (f"## {title}", "")
    yield from _list(said)
    if section == "ceiling" and report.content.ceiling:
        yield from _ceiling(report.content.ceiling)
    for group in groups:
        for drawn in group.figures:
            yield f"![{markdown_escaped(drawn.alt)}](figures/{drawn.name}.png)"
            words = f"**{markdown_escaped(drawn.title)}.** {markdown_escaped(drawn.caption)}"
            yield from ("", words, "")


def _board(board: Board) -> Iterator[str]:
    scores = [
        f"{column.title}{'' if column.structure == 'all' else f', {column.structure}'} "
        f"{column.arrow}{f' ({column.unit})' if column.unit else ''}"
        for column in board.columns
    ]
    rows = [
        [
            row.position,
            row.method,
            row.mean_rank,
            row.sd_rank,
            *row.sure,
            *(f"{cell.value} ({cell.rank})" for cell in row.cells),
        ]
        for row in board.rows
    ]
    head = ["#", "method", "mean rank", "SD", *board.sure, *scores]
    yield from _table(board.caption, head, rows)


def _breakdown(breakdown: Breakdown) -> Iterator[str]:
    rows = [[structure, *(value for value, _best in cells)] for structure, cells in breakdown.rows]
    yield from _table(breakdown.caption, ["structure", *breakdown.methods], rows)


def _ceiling(table: CeilingTable) -> Iterator[str]:
    rows = [
        [
            row.column.full_title,
            f"{row.raters} ({row.span})",
            *(f"{cell.value}, {cell.words}, {cell.difference}" for cell in row.cells),
            str(row.cases),
        ]
        for row in table.rows
    ]
    head = ["score", "raters", *table.methods, "cases"]
    yield from _table(table.caption, head, rows)


def _gaps(report: Report) -> Iterator[str]:
    gaps = report.content.gaps
    yield from ("## Not scored", "")
    if not gaps:
        yield from ("Nothing: every method has every score of every case.", "")
        return
    rows = [
        [
            gap.status_words,
            gap.method,
            gap.case,
            gap.scores,
            gap.readings,
            gap.counts_as,
            gap.detail,
        ]
        for gap in gaps[:LISTED]
    ]
    caption = f"{len(rows)} of {len(gaps)} entries, by method and case"
    head = ["status", "method", "case", "scores", "readings", "counts as", "reason"]
    yield from _table(caption, head, rows)


def _methods(report: Report) -> Iterator[str]:
    yield from ("## Methods", "")
    for paragraph in report.methods:
        yield from (f"**{paragraph.title}.** {markdown_escaped(paragraph.text)}", "")
    rows = [
        [m.title, m.name, m.summary, m.better, m.bounds, m.unit, "yes" if m.ranked else "no"]
        for m in report.definitions
    ]
    head = ["metric", "name", "what it measures", "better", "range", "unit", "ranked"]
    yield from _table("Scores", head, rows)
    for source in report.protocol.sources:
        yield f"- {markdown_escaped(source.text)}{f' <{source.link}>' if source.link else ''}"
    yield from ("", f"**Cite this report.** {markdown_escaped(report.citation)}", "")
    if versions := ", ".join(map(" ".join, report.provenance.versions)):
        yield from (f"**Versions.** {markdown_escaped(versions)}", "")
    if report.commands:
        yield from ("**To repeat this report**, in its folder:", "", "```sh")
        yield from report.commands
        yield from ("```", "")
    yield "For research on methods, not for decisions on patients."


def _list(sentences: Sequence[str]) -> Iterator[str]:
    yield from (f"- {markdown_escaped(sentence)}" for sentence in sentences)
    yield ""


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from (f"**{markdown_escaped(caption)}**", "")
    yield from markdown_table(list(map(plain, head)), [list(map(plain, row)) for row in rows])
    yield ""
