"""Time and memory of ranking and analysis, from arrays and from a table of a million rows.

    python benchmarks/statistics.py [--rows 1000000]

The first table is the bootstrap alone: 1000 resamples of 64 cases, 20 methods and 9 scores, under
each scheme, beside the same resamples ranked one by one with pandas, as scripts do. The second is
the whole program: `segjury rank` and `segjury analyze` on a CSV of so many rows, in a process of
their own, in three shapes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

SHAPES = {  # methods, cases, metrics
    "many metrics": (20, 1000, 50),
    "many cases": (20, 10_000, 5),
    "many methods": (100, 2000, 5),
}


def timed(work: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the quickest of several runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bootstrap() -> None:
    """Print the times of 1000 resamples under each scheme."""
    from segjury.analysis.stability import case_stability
    from segjury.ranking import Panel, Ranking

    rng = np.random.default_rng(0)
    methods, cases, keys = 20, 64, 9
    names = tuple(f"metric{k}" for k in range(keys))
    panel = Panel(
        reading="given",
        methods=tuple(f"method{m}" for m in range(methods)),
        cases=tuple(f"case{c}" for c in range(cases)),
        keys=names,
        metrics=names,
        higher=np.ones(keys, bool),
        values=rng.beta(8, 2, (keys, cases, methods)),
        lost=np.zeros((keys, cases, methods), bool),
    )
    print("1000 resamples x 20 methods x 64 cases x 9 scores")
    rules = {
        "mean-of-metric-ranks, mean": Ranking(),
        "mean-of-metric-ranks, median": Ranking(aggregate="median"),
        "rank-then-aggregate": Ranking(scheme="rank-then-aggregate"),
        "test-then-rank": Ranking(scheme="test-then-rank"),
    }
    for name, ranking in rules.items():
        slow = ranking.scheme == "test-then-rank"

        def work(ranking: Ranking = ranking) -> object:
            return case_stability(panel, ranking, samples=1000, level=0.95, rng=rng)

        print(f"  {name:32}{timed(work, 1 if slow else 3):8.2f} s")
    frames = [pd.DataFrame(values) for values in panel.values]

    def one_by_one() -> None:
        for _ in range(100):
            drawn = rng.integers(0, cases, cases)
            ranks = [frame.iloc[drawn].mean().rank(ascending=False) for frame in frames]
            pd.concat(ranks, axis=1).mean(axis=1).rank()

    print(f"  {'one by one with pandas':32}{10 * timed(one_by_one, 1):8.2f} s (100, times ten)")


def whole_program(rows: int) -> None:
    """Print the times and peak memory of the commands on large tables."""
    print(f"{'table':>14} {'rows':>10} {'command':>8} {'seconds':>8} {'peak GB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (methods, cases, metrics) in SHAPES.items():
            cases = max(2, cases * rows // 1_000_000)
            path = Path(folder) / "scores.csv"
            table(methods, cases, metrics).to_csv(path, index=False)
            lower = [f"--higher=m{k}" for k in range(metrics)]
            for command in ("rank", "analyze"):
                seconds, peak = run([command, str(path), *lower, "--out", f"{folder}/out"])
                count = methods * cases * metrics
                print(f"{name:>14} {count:10} {command:>8} {seconds:8.1f} {peak:8.2f}", flush=True)


def table(methods: int, cases: int, metrics: int) -> pd.DataFrame:
    """A long table of random scores."""
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product(
        [
            [f"method{m}" for m in range(methods)],
            [f"case{c}" for c in range(cases)],
            [f"m{k}" for k in range(metrics)],
        ],
        names=["method", "case", "metric"],
    )
    return pd.DataFrame({"value": rng.beta(8, 2, len(index))}, index=index).reset_index()


def run(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in GB of the program."""
    code = (
        "import json, resource, sys, time; start = time.perf_counter()\n"
        "from segjury.cli import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6\n"
        "print(json.dumps([time.perf_counter() - start, peak]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    seconds, peak = json.loads(done.stderr.splitlines()[-1])
    return seconds, peak


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    bootstrap()
    whole_program(options.rows)
