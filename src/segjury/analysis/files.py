"""The files of a ranking and of an analysis: CSV, JSON, LaTeX and a summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segjury.analysis.analysis import Analysis
from segjury.analysis.as_json import as_json, plain
from segjury.analysis.columns import Column
from segjury.analysis.latex import latex_analysis, latex_leaderboard
from segjury.analysis.leaderboards import RankedTable
from segjury.analysis.sentences import summary
from segjury.analysis.tables import tables
from segjury.errors import escaped
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import json_text, write_text


def write_ranked_tables(
    ranked_tables: Sequence[RankedTable], folder: Path, columns: Sequence[Column] = ()
) -> None:
    """Write `leaderboard.csv`, `.json` and `.tex`, those of a part with its name behind.

    `columns` say how scores are written in LaTeX.
    """
    taken: set[str] = set()
    for ranked_table in ranked_tables:
        words = ["leaderboard", *map(_safe, ranked_table.part or ())]
        name = "_".join(words)
        while name in taken:  # two parts may differ in what a file name cannot hold
            words.append("2")
            name = "_".join(words)
        taken.add(name)
        _write_ranked_table(ranked_table, folder, name, columns)


def _write_ranked_table(
    ranked_table: RankedTable, folder: Path, name: str, columns: Sequence[Column]
) -> None:
    write_csv(ranked_table.table, folder / f"{name}.csv")
    write_text(_readable(_ranked_table(ranked_table)), folder / f"{name}.json")
    write_text(latex_leaderboard(ranked_table, columns, name), folder / f"{name}.tex")
    for other in ranked_table.others:
        write_csv(other.table, folder / f"{name}_{_safe(other.reading)}.csv")


def write_analysis(analysis: Analysis, folder: Path, columns: Sequence[Column] = ()) -> None:
    """Write `analysis.json`, `analysis_*.csv`, `analysis.tex` and `summary.md`.

    `columns` say how scores are written in LaTeX.
    """
    for name, table in tables(analysis).items():
        write_csv(table, folder / f"analysis_{name}.csv")
    write_text(latex_analysis(analysis, columns), folder / "analysis.tex")
    write_text("".join(f"- {_one_line(s)}\n" for s in summary(analysis)), folder / "summary.md")
    write_text(_readable(as_json(analysis)), folder / "analysis.json")


def _readable(value: Any, depth: int = 3) -> str:
    """JSON with a line for each entry of the outer levels, compact within."""
    if not depth or not isinstance(value, dict) or not value:
        return json_text(value)
    entries = (f"{json_text(name)}: {_readable(part, depth - 1)}" for name, part in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def _safe(name: str) -> str:
    """A part of a file name, whatever a group is called."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "part"


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


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
