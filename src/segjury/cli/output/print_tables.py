"""Leaderboards and analyses as the terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from segjury.analysis import Analysis, RankedTable, certainty
from segjury.analysis.ranking import Leaderboard
from segjury.analysis.sentences import summary
from segjury.analysis.stability import Stability
from segjury.analysis.tables import ALL, parts
from segjury.analysis.tests import Pair
from segjury.analysis.versions import Versions
from segjury.cli.output.terminal import plain_table, say, terminal
from segjury.errors import escaped
from segjury.wording import p_value, plural


def print_ranked_table(ranked_table: RankedTable, cohort: str | None) -> None:
    """A leaderboard: notes, the order and how sure it is, then value and rank per metric."""
    first, others = ranked_table.board, ranked_table.others
    of = _reading(first.reading, cohort)
    of += "" if ranked_table.part is None else f", {ranked_table.part[0]} {ranked_table.part[1]}"
    beside = "; then the positions in the other readings" if others else ""
    scheme = ranked_table.rules.ranking.scheme
    say(f"{of}: {plural(ranked_table.cases, 'case')}, {scheme}{beside}")
    for note in ranked_table.notes:
        say(f"note: {note}")
    sure = certainty(ranked_table)
    head = ("", "method", "mean rank", "sd", *sure, *(other.reading for other in others))
    table = plain_table(*head)
    methods = list(map(str, first.position.index))
    for n, method in enumerate(methods):
        table.add_row(
            str(first.position[method]),
            method,
            f"{first.mean_rank[method]:.2f}",
            f"{first.sd_rank[method]:.2f}",
            *(cells[n] for cells in sure.values()),
            *(_position(other, method) for other in others),
        )
    terminal().print(table)
    if ranked_table.stability is not None:
        wrong = ranked_table.stability.overall.first_wrong
        say(
            f"interval: of the place in {ranked_table.stability.samples} resamples of the cases; "
            f"the first place goes to others in {100 * wrong:.3g} % of them.",
            "group: methods that share a letter are not told apart by the cases, pair by pair.",
        )
    say("", "value (rank) per metric")
    _print_wide(
        methods,
        {
            str(key): [
                f"{value:.4g} ({place:.3g})"
                for value, place in zip(first.values[key], first.ranks[key], strict=True)
            ]
            for key in first.values.columns
        },
    )


def _reading(reading: str, cohort: str | None) -> str:
    """What is ranked: the reading, unless the table is another tool's, and the cohort."""
    which = "leaderboard" if reading == "given" else f"reading {reading}"
    return f"{which}, cohort {cohort}" if cohort else which


def _position(board: Leaderboard, method: str) -> str:
    return str(board.position[method]) if method in board.position.index else "-"


def _print_wide(methods: Sequence[str], columns: Mapping[str, Sequence[str]]) -> None:
    """A line per method, in as many tables as the width needs."""
    shown, keys = terminal(), list(columns)
    widest = max(len(cell) for key in keys for cell in (escaped(key), *columns[key]))
    first = max(len(escaped(method)) for method in methods)
    per_table = max(1, (shown.width - first - 4) // (widest + 2))
    for start in range(0, len(keys), per_table):
        part = keys[start : start + per_table]
        table = plain_table("method", *part)
        for n, method in enumerate(methods):
            table.add_row(method, *(columns[key][n] for key in part))
        shown.print(table)


def print_analysis(analysis: Analysis, cohort: str | None) -> None:
    """What an analysis found: sentences first, then the tests in tables."""
    say(_reading(analysis.panel.reading, cohort))
    for sentence in summary(analysis):
        say(f"- {sentence}")
    for (column, value), part in parts(analysis):
        _print_scores(part, "" if column == ALL else f", {column} {value}")


def _print_scores(analysis: Analysis, where: str) -> None:
    level = analysis.settings.level
    say("", f"mean [{100 * level:g} % interval] per score{where}")
    _print_wide(
        analysis.panel.methods,
        {
            key: [
                f"{mean:.4g} [{low:.4g}, {high:.4g}]"
                for mean, low, high in zip(
                    score.means.estimate, score.means.low, score.means.high, strict=True
                )
            ]
            for key, score in analysis.scores.items()
        },
    )
    tested = {key: score.tests for key, score in analysis.scores.items() if score.tests}
    if not tested:
        return
    methods = analysis.panel.methods
    pairs = len(methods) * (len(methods) - 1) // 2
    say(f"tests{where}; pairs of {pairs} that differ at {analysis.settings.alpha:g} after Holm")
    table = plain_table(
        "score", "cases", "Friedman chi2", "p", "Conover", "Wilcoxon", "first place lost"
    )
    for key, tests in tested.items():
        table.add_row(
            key,
            str(tests.cases),
            f"{tests.friedman.chi2:.2f}",
            f"{tests.friedman.p:.3g}",
            str(tests.pairs_differing) if tests.found else "-",  # it comes after Friedman's
            str(sum(pair.p < tests.alpha for pair in tests.wilcoxon)),
            _lost(analysis.stability, key),
        )
    terminal().print(table)
    for base in (name for name in analysis.settings.baselines if name in methods):
        say(f"against {base}{where}: Wilcoxon p, Holm within each score; + better, - worse")
        compared = {key: tests.against(methods.index(base)) for key, tests in tested.items()}
        others = [methods[m] for m in next(iter(compared.values()))]
        if not others:
            continue
        cells = {key: [_compared(p) for p in pairs.values()] for key, pairs in compared.items()}
        _print_wide(others, cells)


def _compared(pair: Pair) -> str:
    signs = {1: "+", 0: "=", -1: "-"}
    return f"{pair.p:.3g} {signs[pair.sign]}"


def _lost(stability: Stability, key: str) -> str:
    """How often the first place of a score goes to others in resamples."""
    return f"{100 * stability.scores[key].first_wrong:.3g} %" if stability.informative else "-"


def print_versions(versions: Versions, cases: int) -> None:
    """Two versions of a method: each score, then the cases that changed most."""
    say(f"reading {versions.reading}: A is {versions.first}, B is {versions.second}")
    for note in versions.notes:
        say(f"note: {note}")
    table = plain_table("score", "A", "B", "B better", "equal", "worse", "median B - A", "p")
    for each in versions.scores:
        column = each.column
        interval = f" ({each.low:.3g} to {each.high:.3g})" if np.isfinite(each.low) else ""
        table.add_row(
            f"{column.full_title} {column.arrow}",
            f"{each.first:.4g}",
            f"{each.second:.4g}",
            *map(str, (each.better, each.equal, each.worse)),
            f"{each.median:.3g}{interval}",
            p_value(each.p),
        )
    terminal().print(table)
    say("p: Wilcoxon's signed-rank test over the cases, adjusted by Holm over the scores.")
    changed = versions.most_changed(cases)
    if not changed:
        return
    say("", "cases that changed most")
    rows = versions.by_case[versions.by_case["better"] != "equal"]
    shown = plain_table("case", "score", "A", "B", "better")
    for case in changed:
        of_case = rows[rows["case"] == case]
        pairs = of_case[["first", "second"]].to_numpy(float).tolist()
        for n, (first, second) in enumerate(pairs):
            better = {"first": "A", "second": "B"}[str(of_case["better"].iloc[n])]
            name, score = case if n == 0 else "", str(of_case["score"].iloc[n])
            shown.add_row(name, score, f"{first:.4g}", f"{second:.4g}", better)
    terminal().print(shown)
