"""The demonstration: a whole benchmark in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app


@app.command(
    epilog="Example: [cyan]segjury demo --out demo[/]",
)
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("segjury-demo"),
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic data.")] = 0,
    jobs: options.JobsOption = None,
) -> None:
    """Make a small synthetic PDACVI benchmark, score six methods, rank, analyze and report."""
    from segjury.cli.analyze import analyze
    from segjury.cli.evaluate import evaluate
    from segjury.cli.phantom import phantom
    from segjury.cli.rank import rank
    from segjury.cli.report import report

    phantom("curvas-pdacvi-2025", out, cases=cases, methods=6, seed=seed, shape="", force=True)
    evaluate(
        "curvas-pdacvi-2025",
        reference=out / "reference",
        predictions=out / "predictions",
        out=out,
        reading="all",
        methods="",
        jobs=jobs,
        cases=None,
        efficiency=None,
    )
    analyze(out / "scores.csv", out=out)
    rank(out / "scores.csv", out=out)
    report(out / "scores.csv", out=out / "report.html", jobs=jobs)
