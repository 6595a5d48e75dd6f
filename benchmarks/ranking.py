"""Time and memory of ranking and analysis, from arrays and from a table of a million rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import apart, best_seconds, table

METHODS, CASES, SCORES, RESAMPLES = 20, 64, 9, 1000
TABLES = {  # methods, cases, metrics
    "10 000 cases": (20, 10_000, 5),
    "100 methods": (100, 2000, 5),
}


def ranking(folder: Path, *, quick: bool) -> Iterator[str]:
    """The bootstrap of ranks beside the same done one by one, and the commands on large tables."""
    yield _bootstrap(RESAMPLES // 100 if quick else RESAMPLES)
    rows = []
    for name, (methods, cases, metrics) in TABLES.items():
        cases = cases // 100 if quick else cases
        path = folder / "scores.csv"
        _write_scores(path, methods, cases, metrics)
        higher = [f"--higher=m{k}" for k in range(metrics)]
        out = ["--out", str(folder / "out")]
        used = [
            apart("measuring.program", command, str(path), *higher, *out)
            for command in ("rank", "analyze")
        ]
        count = f"{methods * cases * metrics:,}".replace(",", " ")
        rows.append([name, count, *(f"{s:.1f} s, {gb:.2f} GB" for s, gb in used)])
    yield table(["table with", "rows", "`rank`", "`analyze`"], rows)


def _bootstrap(resamples: int) -> str:
    import pandas as pd

    from segjury.analysis.ranking import Panel, Ranking
    from segjury.analysis.stability import case_stability

    rng = np.random.default_rng(0)
    names = tuple(f"metric{k}" for k in range(SCORES))
    panel = Panel(
        reading="given",
        methods=tuple(f"method{m}" for m in range(METHODS)),
        cases=tuple(f"case{c}" for c in range(CASES)),
        keys=names,
        metrics=names,
        higher=np.ones(SCORES, bool),
        values=rng.beta(8, 2, (SCORES, CASES, METHODS)),
        lost=np.zeros((SCORES, CASES, METHODS), bool),
        assigned=np.zeros((SCORES, CASES, METHODS), bool),
    )
    frames = [pd.DataFrame(values) for values in panel.values]

    def resampled() -> None:
        case_stability(panel, Ranking(), samples=resamples, level=0.95, rng=rng)

    def one_by_one() -> None:
        for _ in range(resamples // 10):
            drawn = rng.integers(0, CASES, CASES)
            ranks = [frame.iloc[drawn].mean().rank(ascending=False) for frame in frames]
            pd.concat(ranks, axis=1).mean(axis=1).rank()

    ours, theirs = best_seconds([resampled, one_by_one], 2)
    head = [f"{resamples} resamples, {METHODS} methods, {CASES} cases, {SCORES} scores", "time"]
    rows = [["as `analyze` does", f"{ours:.2f} s"], ["with pandas", f"{10 * theirs:.2f} s"]]
    return table([*head, "ratio"], [[*rows[0], "1"], [*rows[1], f"{10 * theirs / ours:.0f}"]])


def _write_scores(path: Path, methods: int, cases: int, metrics: int) -> None:
    """A long table of random scores."""
    import pandas as pd

    index = pd.MultiIndex.from_product(
        [
            [f"method{m}" for m in range(methods)],
            [f"case{c}" for c in range(cases)],
            [f"m{k}" for k in range(metrics)],
        ],
        names=["method", "case", "metric"],
    )
    values = np.random.default_rng(0).beta(8, 2, len(index))
    pd.DataFrame({"value": values}, index=index).reset_index().to_csv(path, index=False)
