"""`segjury ensemble`: the best methods' vote, scored as one more method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from segjury.cli import options
from segjury.cli.program import app


@app.command(epilog="Example: [cyan]segjury ensemble results/scores.csv --top 3 --method staple[/]")
def ensemble(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="The scores.csv that evaluate wrote.")
    ],
    top: Annotated[int, typer.Option(min=2, help="How many of the best methods vote.")] = 3,
    methods: Annotated[
        str, typer.Option(help="Methods that vote, with commas.", show_default="the best")
    ] = "",
    method: Annotated[str, typer.Option(help="How they vote: majority or staple.")] = "majority",
    name: Annotated[
        str, typer.Option(help="Name of the ensemble.", show_default="ensemble-METHOD-K")
    ] = "",
    reference: Annotated[
        Path | None, typer.Option(help="Cases.", show_default="as in run.json")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Methods.", show_default="as in run.json")
    ] = None,
    jobs: options.JobsOption = None,
) -> None:
    """Let the best methods vote, and score the result as one more method.

    The ensemble's masks are written beside the methods' predictions, and scores.csv and its
    companions are written again with it; only the ensemble is computed. Of tied labels, the better
    method's wins. Probability maps are averaged.
    """
    from segjury.cli.output.print_tables import print_ranked_table
    from segjury.cli.output.terminal import answer, progress_bar, warn
    from segjury.methods.ensembles import Voting, score_ensemble
    from segjury.platforms.notebook import read

    voting: Voting = options.choice("method", method, get_args(Voting))
    with progress_bar() as progress:
        bar = progress.add_task("voting", total=None)
        made, notes = score_ensemble(
            scores,
            top=top,
            methods=options.names(methods),
            voting=voting,
            name=name,
            reference=reference,
            predictions=predictions,
            jobs=jobs,
            progress=lambda _case: progress.advance(bar),
        )
    for note in notes:
        warn(note)
    answer(f"{made.name}: {voting} of {', '.join(made.methods)}")
    print_ranked_table(read(scores).leaderboard(samples=0), None)
