"""The command that scores a benchmark."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segjury.cli import completion, options
from segjury.cli.program import BAD_INPUT, STOPS, TRY_AGAIN, Terminated, app, ending
from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.results import Results


@app.command(
    epilog="Examples: [cyan]segjury evaluate curvas-pdacvi-2025 --reference ref --predictions pred "
    "--out results[/]; [cyan]segjury evaluate --reference labelsTs --predictions runs --out out[/];"
    " [cyan]... --scheduler tcp://HOST:8786[/]"
)
def evaluate(
    *,
    protocol: options.OptionalProtocolArgument = None,
    reference: options.ReferenceOption,
    predictions: Annotated[
        Path, typer.Option(help="Folder with one folder per method, or of one method.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for scores.csv and run.json.")],
    reading: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(options.READING_CHOICES)}, or several with commas.",
            autocompletion=completion.several_of(options.READING_CHOICES),
        ),
    ] = "all",
    methods: Annotated[
        str, typer.Option(help="Methods to score, with commas.", show_default="all")
    ] = "",
    jobs: options.JobsOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask scheduler to use instead: its address, or its scheduler file."),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="CSV about the cases: case, then groups.", show_default="as in protocol"),
    ] = None,
    efficiency: Annotated[
        Path | None, typer.Option(help="CSV of method, time_s, memory_gb_s; with case or without.")
    ] = None,
    follow_links: options.FollowLinksOption = False,
    allow_code: options.AllowCodeOption = False,
    time_limit: options.TimeLimitOption = "",
    memory_limit: options.MemoryLimitOption = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what is wrong.")] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log events as lines of JSON on standard error.")
    ] = False,
) -> None:
    """Score every method on every case.

    Without a protocol, one is made from the files, as `segjury init` does.

    Finished results are kept: an interrupted run goes on where it stopped, and only what changed
    is computed again.

    Exit codes: 0 all went well; 2 bad input: some prediction was missing, unusable or over a limit,
    its rows carry the protocol's worst value and the reason, all else is scored and written; 75
    something could not be scored for a reason that may be gone: run the same command again; 130
    interrupted; 143 terminated.
    """
    from segjury.benchmark.init import assume
    from segjury.benchmark.layout import case_names, scored_cases
    from segjury.cli.output.run_log import Log
    from segjury.cli.output.terminal import answer
    from segjury.protocols import load_protocol
    from segjury.scoring.evaluate import run

    log = Log("json" if log_json else "quiet" if quiet else "shown")
    try:
        made = None if protocol else assume(reference, predictions)
        if made:
            log.note(made.assumed)
        asked = made.protocol if made else str(protocol)
        definition = load_protocol(asked, allow_code=allow_code)
        n_cases = len(scored_cases(definition, reference, case_names(definition, reference))[0])
        log.event("start", cases=n_cases, out=str(out))
        with log.cases(n_cases) as progress:
            results = run(
                asked,
                reference=reference,
                predictions=predictions,
                out=out,
                readings=options.readings(reading),
                methods=options.names(methods),
                jobs=jobs,
                scheduler=scheduler,
                cases=cases,
                efficiency=efficiency,
                follow_links=follow_links,
                allow_code=allow_code,
                time_limit_s=options.seconds("time-limit", time_limit),
                memory_limit_gb=options.gigabytes("memory-limit", memory_limit),
                progress=progress,
                on_note=log.warning,
                text=made.text if made else "",
            )
    except (InputError, OSError, KeyboardInterrupt, Terminated) as error:
        message, code = ending(error)
        kept = ". What was finished is kept; run the same command to go on"
        log.problems([message + kept if isinstance(error, STOPS) else message])
        log.end(code)
        raise typer.Exit(code) from None
    for warning in results.warnings:
        log.warning(warning)
    log.problems(results.problems)
    if not quiet:
        with suppress(OSError):  # the table is written
            answer(out / "scores.csv")
    code = TRY_AGAIN if results.worth_repeating else BAD_INPUT if results.problems else 0
    counts = _counts(results)
    log.end(code, _in_words(counts), **counts)
    if code:
        raise typer.Exit(code)


def _counts(results: Results) -> dict[str, int]:
    """How many predictions there are, how they ended, and how many an earlier run had done."""
    from segjury.results.columns import LOST

    status = results.scores.groupby(["method", "case"])["status"].first()
    lost = {word: int((status == word).sum()) for word in LOST}
    kept = results.run.kept if results.run else 0
    return {"scored": len(status) - sum(lost.values()), **lost, "kept": kept}


def _in_words(counts: dict[str, int]) -> str:
    from segjury.results.columns import LOST

    total = counts["scored"] + sum(counts[word] for word in LOST)
    parts = [f"{counts['scored']} of {total} predictions scored"]
    parts += [f"{counts[word]} {words}" for word, words in LOST.items() if counts[word]]
    parts += [f"{counts['kept']} taken from an earlier run"] if counts["kept"] else []
    return ", ".join(parts)
