"""Tables of a ranking and of an analysis for a paper, in LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from segjury.analysis.analysis import Analysis
from segjury.analysis.columns import Column, decimals
from segjury.analysis.leaderboards import RankedTable, certainty
from segjury.analysis.tables import ALL, parts
from segjury.protocols.ranking import in_words
from segjury.results.columns import WHOLE
from segjury.wording import latex_escaped, latex_table, number, p_value, plural, rank

NEEDS = "% needs \\usepackage{booktabs}; a wide table fits in table* or with \\small"
ARROWS = "↑ higher is better, ↓ lower is better. Best in bold, second underlined"
_PLUS_MINUS, _BRACKET = " ± ", " ("

Cells = set[tuple[int, int]]


def latex_leaderboard(ranked: RankedTable, columns: Sequence[Column], name: str) -> str:
    """A leaderboard: mean rank, how sure it is, then value and rank of each score."""
    board = ranked.board
    methods = list(map(str, board.position.index))
    values = {str(key): board.values[key].tolist() for key in board.values.columns}
    shown = _columns(list(values), columns, values)
    sure = certainty(ranked)
    head = ["Method", "Mean rank", *(text.capitalize() for text in sure)]
    split, best, second = {1: _PLUS_MINUS}, Cells(), Cells()
    body = [
        [method, _spread(board.mean_rank[method], board.sd_rank[method], 2), *cells]
        for method, *cells in zip(methods, *sure.values(), strict=True)
    ]
    for place, about in enumerate(shown, len(head)):
        texts = [number(value, about.digits) for value in values[about.key]]
        for row, text in zip(body, texts, strict=True):
            row.append(f"{text}{_BRACKET}{rank(float(board.ranks[about.key][row[0]]))})")
        split[place] = _BRACKET
        _mark(place, values[about.key], texts, about.direction, best, second)
    caption = f"{_what(ranked)}. {ARROWS}.{_on_certainty(ranked)}"
    text = latex_table(
        [*head, *map(_heading, shown)],
        body,
        caption=caption,
        label=_label(name),
        split=split,
        best=best,
        second=second,
    )
    notes = "".join(f"% {latex_escaped(note)}\n" for note in ranked.notes)
    return f"{NEEDS}\n{notes}{text}"


def _what(ranked: RankedTable) -> str:
    """What a leaderboard is of."""
    reading = "" if ranked.board.reading == "given" else f", {ranked.board.reading} reading"
    part = "" if ranked.part is None else f", {' '.join(ranked.part)}"
    ranking = ranked.rules.ranking
    over = f"{in_words(ranking.aggregate)} over {plural(ranked.cases, 'case')}"
    ranks = "mean rank on the cases" if ranking.scheme == "rank-then-aggregate" else "rank"
    return f"Leaderboard{reading}{part}: {over}, {ranks} in brackets; mean ± SD of the ranks"


def _on_certainty(ranked: RankedTable) -> str:
    if ranked.stability is None:
        return ""
    return (
        f" Interval of the place in {ranked.stability.samples} resamples of the cases; methods "
        "that share a letter are not told apart by them."
    )


def latex_analysis(analysis: Analysis, columns: Sequence[Column]) -> str:
    """Ranks with their intervals, medians, omnibus tests, and comparisons with baselines."""
    labels: set[str] = set()
    found = [
        table
        for (column, value), part in parts(analysis)
        for table in _tables(column, value, part, columns, labels)
    ]
    return "\n".join([NEEDS, *found])


def _tables(
    column: str, value: str, analysis: Analysis, columns: Sequence[Column], taken: set[str]
) -> list[str]:
    """The tables of all cases, or of a part of them."""
    where = "" if column == ALL else f", {column} {value}"

    def label(name: str) -> str:
        return _label(f"{name}{where}", taken)

    found = [_ranks(analysis, where, label("ranks"))]
    shown = _columns(list(analysis.scores), columns, _values(analysis))
    found.append(_medians(analysis, shown, where, label("medians")))
    tested = {key: score.tests for key, score in analysis.scores.items() if score.tests}
    titles = {each.key: each.full_title for each in shown}
    if tested:
        rows = [
            [
                titles[key],
                str(tests.cases),
                f"{tests.friedman.chi2:.2f}",
                str(tests.friedman.df),
                p_value(tests.friedman.p, digits=3),
            ]
            for key, tests in tested.items()
        ]
        head, caption = ["Score", "Cases", "χ²", "df", "p"], f"Friedman's test{where}"
        found.append(latex_table(head, rows, caption=f"{caption}.", label=label("friedman")))
    methods = analysis.panel.methods
    for base in (name for name in analysis.settings.baselines if tested and name in methods):
        compared = [tests.against(methods.index(base)) for tests in tested.values()]
        rows = [
            [methods[m], *(p_value(pairs[m].p, digits=3) for pairs in compared)]
            for m in compared[0]
        ]
        caption = f"Wilcoxon signed-rank p against {base}, Holm within each score{where}."
        head = ["Method", *(titles[key] for key in tested)]
        named = label(f"wilcoxon {base}")
        found.append(latex_table(head, rows, caption=caption, label=named))
    return found


def _ranks(analysis: Analysis, where: str, label: str) -> str:
    """The order, with intervals and groups where there are cases enough for them."""
    board, stability = analysis.board, analysis.stability
    ranks, informative = stability.overall, stability.informative
    sure = [f"{100 * ranks.level:g} % interval", "Group"] if informative else []
    rows = [
        [
            method,
            _spread(board.mean_rank[method], board.sd_rank[method], 2),
            str(board.position[method]),
            *([f"{ranks.low[m]:g} to {ranks.high[m]:g}", ranks.groups[m]] if informative else []),
        ]
        for m, method in enumerate(analysis.panel.methods)
    ]
    caption = f"Ranks{where}, {plural(len(analysis.panel.cases), 'case')}: mean ± SD, place"
    caption += f", {stability.samples} resamples" if informative else ""
    head = ["Method", "Mean rank", "Place", *sure]
    return latex_table(head, rows, caption=f"{caption}.", label=label, split={1: _PLUS_MINUS})


def _medians(analysis: Analysis, shown: Sequence[Column], where: str, label: str) -> str:
    methods = analysis.panel.methods
    body, best, second = [[method] for method in methods], Cells(), Cells()
    for place, about in enumerate(shown, 1):
        q1, median, q3 = analysis.scores[about.key].quartiles
        texts = [number(value, about.digits) for value in median]
        for m, row in enumerate(body):
            row.append(_spread(median[m], q3[m] - q1[m], about.digits))
        _mark(place, list(map(float, median)), texts, about.direction, best, second)
    return latex_table(
        ["Method", *map(_heading, shown)],
        body,
        caption=f"Median ± interquartile range{where}. {ARROWS}.",
        label=label,
        split=dict.fromkeys(range(1, len(shown) + 1), _PLUS_MINUS),
        best=best,
        second=second,
    )


def _values(analysis: Analysis) -> dict[str, list[float]]:
    return {key: score.values.ravel().tolist() for key, score in analysis.scores.items()}


def _columns(
    keys: Sequence[str], columns: Sequence[Column], values: Mapping[str, Sequence[float]]
) -> list[Column]:
    """How the scores of a table are written; by their names alone where nobody says."""
    known = {each.key: each for each in columns}
    return [
        known.get(key) or Column(key, key, WHOLE, key, "", "", decimals(key, values[key]))
        for key in keys
    ]


def _heading(about: Column) -> str:
    """The head of a column of a score: `CRPS (cm³) ↓`."""
    unit = f" ({about.unit})" if about.unit else ""
    return f"{about.full_title}{unit} {about.arrow}".rstrip()


def _spread(value: float, spread: float, digits: int) -> str:
    return f"{number(value, digits)}{_PLUS_MINUS}{number(spread, digits)}"


def _mark(
    place: int,
    values: Sequence[float],
    texts: Sequence[str],
    direction: str,
    best: Cells,
    second: Cells,
) -> None:
    """Note the best and the second best cells of a column; those that print alike share a place."""
    known = [row for row, value in enumerate(values) if math.isfinite(value)]
    if not direction or len(known) < 2:
        return
    order = sorted(known, key=values.__getitem__, reverse=direction == "higher")
    places = list(dict.fromkeys(texts[row] for row in order))
    best |= {(row, place) for row in known if texts[row] == places[0]}
    second |= {(row, place) for row in known if [texts[row]] == places[1:2]}


def _label(name: str, taken: set[str] | None = None) -> str:
    """A label of a table, which no other of the file has."""
    found = "tab:" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    while taken is not None and found in taken:
        found += "-2"
    if taken is not None:
        taken.add(found)
    return found
