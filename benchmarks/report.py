"""Time, memory and size of a report with one process and with two."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import apart, table

VESSELS = ("PORTA", "SMV", "AORTA", "CELIAC TRUNK", "SMA")
SCORES = [(name, "all") for name in ("dsc", "thr_dsc", "mr_ece", "crps")]
SCORES += [("vi", vessel) for vessel in VESSELS]
READINGS = ("released", "published", "corrected")


def report(folder: Path, *, quick: bool) -> Iterator[str]:
    """What `segjury report` needs for a table of random PDACVI scores."""
    methods, cases = (3, 6) if quick else (20, 64)
    scores, page = folder / "scores.csv", folder / "report.html"
    _write_scores(scores, methods, cases)
    rows, first = [], 0.0
    for jobs in (1,) if quick else (1, 2):
        options = ["--out", str(page), "--jobs", str(jobs)]
        seconds, gb = apart("measuring.program", "report", str(scores), *options)
        first = first or seconds
        size = f"{page.stat().st_size / 1e6:.1f} MB"
        rows.append([f"{jobs}", f"{seconds:.0f} s", f"{seconds / first:.2f}", f"{gb:.2f} GB", size])
    head = [f"processes, for {methods} methods, {cases} cases, {len(SCORES)} scores", "time"]
    yield table([*head, "ratio to the first", "peak memory of the first process", "page"], rows)


def _write_scores(path: Path, methods: int, cases: int) -> None:
    """A table of the form that an evaluation writes."""
    import pandas as pd

    rng = np.random.default_rng(0)
    skill = rng.uniform(0.5, 0.8, methods)
    rows = [
        {
            "method": f"Team {m:02d} of a university",
            "case": f"P{c:03d}",
            "metric": metric,
            "structure": structure,
            "reading": reading,
            "value": rng.beta(20 * skill[m], 20 * (1 - skill[m])),
            "cohort": "high-complexity" if c % 5 == 0 else "",
        }
        for reading, m, c, (metric, structure) in itertools.product(
            READINGS, range(methods), range(cases), SCORES
        )
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
