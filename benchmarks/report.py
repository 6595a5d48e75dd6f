"""Time, memory and size of a report, and what each kind of figure costs.

    python benchmarks/report.py [--methods 20] [--cases 64] [--results FOLDER]

Draws a table of random PDACVI scores, or the results of a run. The first table is per kind: seconds
of processor time to build its figures and to write them in each format, and their sizes. The second
is the whole program, `segjury report`, with one process and with two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

VESSELS = ("PORTA", "SMV", "AORTA", "CELIAC TRUNK", "SMA")
SCORES = [(name, "all") for name in ("dsc", "thr_dsc", "mr_ece", "crps")]
SCORES += [("vi", vessel) for vessel in VESSELS]
READINGS = ("released", "published", "corrected")
RUN = """
import json, resource, sys, time
start = time.perf_counter()
from segjury.cli import main
sys.argv = ["segjury", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code
who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
used = max(resource.getrusage(each).ru_maxrss for each in who)
print(json.dumps({"seconds": time.perf_counter() - start, "gb": used / 1e6}))
"""


def random_scores(methods: int, cases: int) -> pd.DataFrame:
    """A table of the form that an evaluation writes."""
    rng = np.random.default_rng(0)
    keys = [
        (r, m, c, *s)
        for r in READINGS
        for m in range(methods)
        for c in range(cases)
        for s in SCORES
    ]
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
        for reading, m, c, metric, structure in keys
    ]
    return pd.DataFrame(rows)


def kinds(results: Path) -> None:
    """Print what each kind of figure costs."""
    from segjury.figures.catalogue import KINDS
    from segjury.figures.save import FORMATS, figure_bytes
    from segjury.figures.study import Study, completed
    from segjury.ranking import Rules
    from segjury.table import read_calibration, read_cases, read_details, read_run, read_scores

    study = Study(
        completed(read_scores(results)),
        Rules.of_run(read_run(results)),
        details=read_details(results),
        cases=read_cases(results),
        calibration=read_calibration(results),
    )
    _ = study.analysis
    print(
        f"{'kind':<16}{'figures':>8}{'build':>8}" + "".join(f"{form:>8}" for form in FORMATS),
        end="",
    )
    print("".join(f"{form + ' kB':>8}" for form in FORMATS))
    total = np.zeros(8)
    for name, kind in KINDS.items():
        line = np.zeros(8)
        for subject in kind.subjects(study):
            start = time.process_time()
            figure = kind.draw(study, **subject)
            line[:2] += 1, time.process_time() - start
            for n, form in enumerate(FORMATS):
                start = time.process_time()
                line[5 + n] += len(figure_bytes(figure, form)) / 1000
                line[2 + n] += time.process_time() - start
        total += line
        _print(name, line)
    _print("all", total)


def _print(name: str, line: np.ndarray) -> None:
    cells = (
        f"{line[0]:8.0f}",
        *(f"{s:8.2f}" for s in line[1:5]),
        *(f"{kb:8.0f}" for kb in line[5:]),
    )
    print(f"{name:<16}{''.join(cells)}")


def whole(results: Path, folder: Path) -> None:
    """Print what the program needs, with one process and with two."""
    print(f"\n{'segjury report':<16}{'seconds':>8}{'GB':>8}{'page MB':>9}{'ratio':>8}")
    first = 0.0
    for jobs in (1, 2):
        page = folder / f"{jobs}.html"
        command = [sys.executable, "-c", RUN, "report", str(results), "--out", str(page)]
        done = subprocess.run([*command, "--jobs", str(jobs)], check=True, capture_output=True)
        used = json.loads(done.stdout.splitlines()[-1])
        first = first or used["seconds"]
        size = page.stat().st_size / 1e6
        ratio = used["seconds"] / first
        print(f"{f'{jobs} process(es)':<16}{used['seconds']:8.1f}{used['gb']:8.2f}", end="")
        print(f"{size:9.2f}{ratio:8.2f}")


def main() -> None:
    """Measure one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--methods", type=int, default=20)
    parser.add_argument("--cases", type=int, default=64)
    parser.add_argument("--results", type=Path, help="a folder of results to draw instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = given.results
        if results is None:
            results = Path(folder, "scores.csv")
            random_scores(given.methods, given.cases).to_csv(results, index=False)
        kinds(results)
        whole(results, Path(folder))


if __name__ == "__main__":
    main()
