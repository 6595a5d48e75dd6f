"""`segjury demo`: a whole synthetic benchmark in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segjury.cli import options
from segjury.cli.program import app

PROTOCOL = "curvas-pdacvi-2025"


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
    from segjury.analysis.files import write_analysis, write_ranked_tables
    from segjury.benchmark.phantoms import write_phantom
    from segjury.cli.output.print_tables import print_analysis, print_ranked_table
    from segjury.cli.output.run_log import Log
    from segjury.cli.output.terminal import answer, drawing_bar, progress_bar, warn
    from segjury.platforms.notebook import read, run
    from segjury.runtime import default_jobs

    with progress_bar() as progress:
        bar = progress.add_task("making cases", total=cases)
        write_phantom(
            PROTOCOL,
            out,
            cases=cases,
            methods=6,
            seed=seed,
            force=True,
            progress=lambda _case: progress.advance(bar),
        )
    with Log("shown").cases(cases) as scored:
        run(
            PROTOCOL,
            reference=out / "reference",
            predictions=out / "predictions",
            out=out,
            jobs=jobs,
            progress=scored,
        )
    study = read(out).analyze()
    write_analysis(study.analysis, out, study.ranked)
    print_analysis(study.analysis, None)
    boards = study.leaderboards()
    write_ranked_tables(boards, out, study.columns_of(boards))
    for board in boards:
        print_ranked_table(board, None)
    with drawing_bar() as drawn:
        report = study.report(out / "report.html", jobs=jobs or default_jobs(8), progress=drawn)
    for problem in report.problems:
        warn(problem)
    answer(f"report: {report.path}")
