"""The files of a ranking and of an analysis: CSV, JSON, LaTeX and a summary."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segjury.analysis.analysis import Analysis
from segjury.analysis.as_json import as_json, plain
from segjury.analysis.leaderboards import RankedTable, certainty
from segjury.analysis.sentences import summary
from segjury.analysis.tables import ALL, parts, tables
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import write_text
from segjury.wording import latex_table, p_value


def write_ranked_tables(ranked_tables: Sequence[RankedTable], folder: Path) -> None:
    """Write `leaderboard.csv`, `.json` and `.tex`, those of a part with its name behind."""
    taken: set[str] = set()
    for ranked_table in ranked_tables:
        words = ["leaderboard", *map(_safe, ranked_table.part or ())]
        name = "_".join(words)
        while name in taken:  # two parts may differ in what a file name cannot hold
            words.append("2")
            name = "_".join(words)
        taken.add(name)
        _write_ranked_table(ranked_table, folder, name)


def _write_ranked_table(ranked_table: RankedTable, folder: Path, name: str) -> None:
    write_csv(ranked_table.table, folder / f"{name}.csv")
    write_text(_readable(_ranked_table(ranked_table)), folder / f"{name}.json")
    write_text(_latex_leaderboard(ranked_table), folder / f"{name}.tex")
    for other in ranked_table.others:
        write_csv(other.table, folder / f"{name}_{_safe(other.reading)}.csv")


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write `analysis.json`, `analysis_*.csv`, `analysis.tex` and `summary.md`."""
    for name, table in tables(analysis).items():
        write_csv(table, folder / f"analysis_{name}.csv")
    write_text(_latex_analysis(analysis), folder / "analysis.tex")
    write_text("".join(f"- {_one_line(s)}\n" for s in summary(analysis)), folder / "summary.md")
    write_text(_readable(as_json(analysis)), folder / "analysis.json")


def _readable(value: Any, depth: int = 3) -> str:
    """JSON with a line for each entry of the outer levels, compact within."""
    if not depth or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    entries = (
        f"{json.dumps(name, ensure_ascii=False)}: {_readable(part, depth - 1)}"
        for name, part in value.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}"


def _safe(name: str) -> str:
    """A part of a file name, whatever a group is called."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "part"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ranked_table(ranked_table: RankedTable) -> dict[str, Any]:
    board, stability = ranked_table.board, ranked_table.stability
    rows = []
    for method in map(str, board.position.index):
        row: dict[str, Any] = {
            "method": method,
            "position": board.position[method],
            "mean_rank": board.mean_rank[method],
            "sd_rank": board.sd_rank[method],
            "values": board.values.loc[method].to_dict(),
            "ranks": board.ranks.loc[method].to_dict(),
        }
        if stability is not None:
            m, ranks = ranked_table.methods.index(method), stability.overall
            row["bootstrap"] = {
                "samples": stability.samples,
                "level": ranks.level,
                **ranks.of_method(m),
                "frequencies": ranks.frequencies[m],
            }
        rows.append(row)
    found: dict[str, Any] = plain(
        {
            "reading": board.reading,
            "part": ranked_table.part,
            "cases": ranked_table.cases,
            "ranking": ranked_table.rules.ranking.model_dump(mode="json"),
            "leaderboard": rows,
            "notes": ranked_table.notes,
        }
    )
    return found


def _latex_leaderboard(ranked_table: RankedTable) -> str:
    board = ranked_table.board
    part = "" if ranked_table.part is None else f", {ranked_table.part[0]} {ranked_table.part[1]}"
    caption = (
        f"Leaderboard, {board.reading} reading{part}, {ranked_table.cases} cases: value (rank)"
    )
    keys = [str(key) for key in board.values.columns]
    sure = certainty(ranked_table)
    head = ["method", "mean rank", *sure, *keys]
    cells = [
        [
            f"{value:.4g} ({place:.3g})"
            for value, place in zip(board.values[key], board.ranks[key], strict=True)
        ]
        for key in keys
    ]
    rows = [
        [method, f"{board.mean_rank[method]:.2f} ± {board.sd_rank[method]:.2f}", *values]
        for method, *values in zip(
            map(str, board.position.index), *sure.values(), *cells, strict=True
        )
    ]
    return latex_table(head, rows, caption=caption)


def _latex_analysis(analysis: Analysis) -> str:
    """Ranks with their intervals, values, omnibus tests, and comparisons with baselines."""
    return "\n".join(
        table
        for (column, value), part in parts(analysis)
        for table in _latex_part(column, value, part)
    )


def _latex_part(column: str, value: str, analysis: Analysis) -> list[str]:
    where = "" if column == ALL else f", {column} {value}"
    methods = analysis.panel.methods
    found = [
        _latex_ranks(analysis, where),
        latex_table(
            ["method", *analysis.scores],
            [[method, *_medians(analysis, m)] for m, method in enumerate(methods)],
            caption=f"Median ± interquartile range{where}",
        ),
    ]
    tested = {key: score.tests for key, score in analysis.scores.items() if score.tests}
    if tested:
        rows = [
            [key, str(t.cases), f"{t.friedman.chi2:.2f}", str(t.friedman.df), f"{t.friedman.p:.3g}"]
            for key, t in tested.items()
        ]
        found.append(
            latex_table(
                ["score", "cases", "chi2", "df", "p"], rows, caption=f"Friedman's test{where}"
            )
        )
    for base in (name for name in analysis.settings.baselines if tested and name in methods):
        compared = [tests.against(methods.index(base)) for tests in tested.values()]
        rows = [
            [methods[m], *(p_value(pairs[m].p, digits=3) for pairs in compared)]
            for m in compared[0]
        ]
        caption = f"Wilcoxon signed-rank p against {base}, Holm within each score{where}"
        found.append(latex_table(["method", *tested], rows, caption=caption))
    return found


def _latex_ranks(analysis: Analysis, where: str) -> str:
    """The order, with intervals and groups where there are cases enough for them."""
    board, stability = analysis.board, analysis.stability
    ranks, informative = stability.overall, stability.informative
    sure = [f"{100 * ranks.level:g} % interval", "group"] if informative else []
    rows = [
        [
            method,
            f"{board.mean_rank[method]:.2f} ± {board.sd_rank[method]:.2f}",
            str(board.position[method]),
            *([f"{ranks.low[m]:g} to {ranks.high[m]:g}", ranks.groups[m]] if informative else []),
        ]
        for m, method in enumerate(analysis.panel.methods)
    ]
    caption = f"Ranks{where}, {len(analysis.panel.cases)} cases"
    caption += f", {stability.samples} resamples" if informative else ""
    return latex_table(["method", "mean rank", "place", *sure], rows, caption=caption)


def _medians(analysis: Analysis, method: int) -> list[str]:
    quartiles = (score.quartiles[:, method] for score in analysis.scores.values())
    return [f"{median:.4g} ± {q3 - q1:.3g}" for q1, median, q3 in quartiles]
