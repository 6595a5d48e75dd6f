"""The command line: one thin function per command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from segjury.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from segjury.ranking import Leaderboard, MissingPolicy

BAD_INPUT = 2
INTERRUPTED = 130
READING_CHOICES = ("all", "released", "published", "corrected")

app = typer.Typer(
    name="segjury",
    help="Score, rank and report segmentation benchmarks in which experts disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

ProtocolArgument = Annotated[
    str, typer.Argument(metavar="PROTOCOL", help="Name of a protocol, or the path of a .toml file.")
]
ReferenceOption = Annotated[Path, typer.Option(help="Folder with one folder per case.")]
JobsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Processes.", show_default="by cores and memory"),
]
ScoresArgument = Annotated[
    Path, typer.Argument(metavar="SCORES", help="A scores.csv, or a CSV of any other tool.")
]

HigherOption = Annotated[list[str] | None, typer.Option(help="Metric where more is better.")]
LowerOption = Annotated[list[str] | None, typer.Option(help="Metric where less is better.")]
MissingOption = Annotated[
    str, typer.Option(help="A case that some methods lack: error, or exclude it for all.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("segjury"))
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Score, rank and report segmentation benchmarks in which experts disagree."""


def main() -> None:
    """Run the program; bad input is one line on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        _fail(error)
        sys.exit(BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stdout = None
        sys.exit(0)
    except OSError as error:  # a full disk, a folder that cannot be written to
        _fail(f"{error.strerror or error}: {error.filename or 'no file named'}")
        sys.exit(BAD_INPUT)


def _fail(error: InputError | str) -> None:
    print("error:", " ".join(str(error).split()), file=sys.stderr)  # one line, whatever a name is


# ---- commands ------------------------------------------------------------------------------


@app.command(
    epilog="Example: [cyan]segjury demo --out demo[/]",
)
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("segjury-demo"),
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic data.")] = 0,
    jobs: JobsOption = None,
) -> None:
    """Make a small synthetic PDACVI benchmark, score six methods, rank them, write the report."""
    phantom("curvas-pdacvi-2025", out, cases=cases, methods=6, seed=seed, shape="", force=True)
    evaluate(
        "curvas-pdacvi-2025",
        reference=out / "reference",
        predictions=out / "predictions",
        out=out,
        reading="all",
        methods="",
        jobs=jobs,
    )
    rank(out / "scores.csv", out=out)
    report(out / "scores.csv", out=out / "report.html")


@app.command(epilog="Example: [cyan]segjury protocols curvas-pdacvi-2025 > my.toml[/]")
def protocols(
    name: Annotated[str | None, typer.Argument(help="Protocol to print.")] = None,
) -> None:
    """List the protocols; with a name, print its definition, metrics, readings and sources.

    Written to a file, it is a protocol file: a copy to change and use as your own.
    """
    from segjury.protocols import builtin_names, load_protocol, protocol_text

    console = _console()
    if name is None:
        for known in builtin_names():
            console.print(f"[bold]{known}[/]  {load_protocol(known).title}", highlight=False)
        return
    protocol = load_protocol(name)
    table = _table("metric", "better", "unit", "readings", "ranked", "what it is")
    for use in protocol.metrics:
        metric = use.metric
        table.add_row(
            metric.name,
            metric.direction,
            metric.unit or "-",
            ", ".join(use.readings),
            "yes" if use.ranked else "no",
            metric.summary,
        )
    with console.capture() as capture:
        console.print(f"{protocol.title}\n{protocol.summary}", highlight=False, markup=False)
        console.print(table)
        for source in protocol.sources:
            console.print(f"source: {source.title} {source.url}", highlight=False, markup=False)
        console.print(f"hash: {protocol.hash}", highlight=False)
    about = capture.get()
    if not console.is_terminal:  # `segjury protocols NAME > my.toml` gives a file to edit
        about = "".join(f"# {line}".rstrip() + "\n" for line in about.splitlines())
    print(f"{about}\n{protocol_text(name)}", end="")


@app.command(
    epilog="Example: [cyan]segjury phantom curvas-pdacvi-2025 bench --cases 12 --methods 6[/]"
)
def phantom(
    protocol: ProtocolArgument,
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 10,
    methods: Annotated[int, typer.Option(min=0, help="Number of simulated methods.")] = 6,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same files.")] = 0,
    shape: Annotated[str, typer.Option(help="Voxels, as X,Y,Z.", show_default="small")] = "",
    force: Annotated[bool, typer.Option("--force", help="Write into an existing one.")] = False,
) -> None:
    """Write a synthetic benchmark with simulated raters and methods."""
    from segjury.phantoms import benchmark_writer

    if not force and any((out / part).exists() for part in ("reference", "predictions")):
        raise InputError(f"{out} holds a benchmark", "Give another folder, or --force to overwrite")
    options: dict[str, Any] = {"shape": _shape(shape)} if shape else {}
    write = benchmark_writer(protocol)
    with _progress() as progress:
        bar = progress.add_task("making cases", total=cases)
        write(
            out,
            cases=cases,
            methods=methods,
            seed=seed,
            progress=lambda _case: progress.advance(bar),
            **options,
        )
    print(out)


@app.command(
    epilog="Example: [cyan]segjury check curvas-pdacvi-2025 --reference ref --predictions pred[/]"
)
def check(
    protocol: ProtocolArgument,
    reference: ReferenceOption,
    predictions: Annotated[
        Path | None, typer.Option(help="Folder with one folder per method.")
    ] = None,
    jobs: JobsOption = None,
) -> None:
    """Check the files of a benchmark: one line per problem, exit code 2 if there is any.

    A warning does not keep a case from being scored: a rater who marks nothing, a vessel that is
    not there, an origin that differs.
    """
    from segjury import dataset
    from segjury.case import case_names
    from segjury.protocols import load_protocol

    form = load_protocol(protocol)
    with _progress() as progress:
        bar = progress.add_task("checking", total=len(case_names(reference)))
        problems = dataset.check(
            form,
            reference=reference,
            predictions=predictions,
            jobs=jobs,
            progress=lambda _case: progress.advance(bar),
        )
    for problem in problems:
        print(problem)
    errors = sum(not problem.warning for problem in problems)
    summary = f"{errors} errors, {len(problems) - errors} warnings"
    _console(stderr=True).print(summary, highlight=False)
    if problems:
        raise typer.Exit(BAD_INPUT)


@app.command(
    epilog="Example: [cyan]segjury evaluate curvas-pdacvi-2025 --reference ref --predictions pred "
    "--out results[/]"
)
def evaluate(
    protocol: ProtocolArgument,
    reference: ReferenceOption,
    predictions: Annotated[Path, typer.Option(help="Folder with one folder per method.")],
    out: Annotated[Path, typer.Option(help="Folder for scores.csv and run.json.")],
    reading: Annotated[
        str, typer.Option(help=f"One of {', '.join(READING_CHOICES)}, or several with commas.")
    ] = "all",
    methods: Annotated[
        str, typer.Option(help="Methods to score, with commas.", show_default="all")
    ] = "",
    jobs: JobsOption = None,
) -> None:
    """Score every method on every case.

    Finished results are kept: an interrupted run goes on where it stopped, and only what changed
    is computed again. Exit code 2 says that some prediction was missing or unusable; its rows
    carry the protocol's worst value and the reason.
    """
    from segjury import evaluation as engine
    from segjury.case import case_names, method_names, unknown_cases

    out.mkdir(parents=True, exist_ok=True)  # before any work, so that a wrong place costs none
    chosen = _names(methods)
    total = len(case_names(reference)) * len(chosen or method_names(predictions))
    try:
        with _progress() as progress:
            bar = progress.add_task("scoring", total=total)
            evaluation = engine.run(
                protocol,
                reference=reference,
                predictions=predictions,
                readings=_readings(reading),
                methods=chosen,
                jobs=jobs,
                store=out / "parts",
                progress=lambda _case, n: progress.advance(bar, n),
            )
    except KeyboardInterrupt:
        _fail("interrupted. What was finished is kept; run the same command to go on")
        raise typer.Exit(INTERRUPTED) from None
    engine.write(evaluation, out)
    for warning in unknown_cases(reference, predictions, evaluation.run["methods"]):
        print(f"warning: {warning}", file=sys.stderr)
    for problem in evaluation.problems:
        _fail(problem)
    print(out / "scores.csv")
    if evaluation.problems:
        status = evaluation.scores.groupby(["method", "case"])["status"].first()
        missing, failed = (int((status == word).sum()) for word in ("missing", "failed"))
        scored = f"{len(status) - missing - failed} of {len(status)} predictions scored"
        print(f"{scored}, {missing} missing, {failed} failed", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


@app.command(epilog="Example: [cyan]segjury rank results/scores.csv --cohort high-complexity[/]")
def rank(
    scores: ScoresArgument,
    reading: Annotated[
        str | None, typer.Option(help="Reading to rank by.", show_default="corrected first")
    ] = None,
    cohort: Annotated[str | None, typer.Option(help="Only the cases of this cohort.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Metrics that count, with commas.", show_default="the protocol's")
    ] = "",
    scheme: Annotated[
        str, typer.Option(help="How metric values become one order.")
    ] = "mean-of-metric-ranks",
    aggregate: Annotated[
        str, typer.Option(help="Over cases: mean or median.", show_default="the protocol's")
    ] = "",
    missing: MissingOption = "error",
    higher: HigherOption = None,
    lower: LowerOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for leaderboard.csv.")] = None,
) -> None:
    """Rank the methods by the mean of their metric ranks and print the leaderboard."""
    from segjury import ranking
    from segjury.table import read_run, read_scores, write_csv

    table = read_scores(scores)
    ranked, usual = ranking.protocol_ranking(read_run(scores))
    _choice("scheme", scheme, ("mean-of-metric-ranks",))
    options: dict[str, Any] = {
        "cohort": cohort,
        "metrics": _names(metrics) or ranked,
        "aggregate": _choice("aggregate", aggregate or usual, ("mean", "median")),
        "missing": _choice("missing", missing, ("error", "exclude")),
        "directions": _directions(higher, lower),
    }
    first = ranking.leaderboard(table, reading=reading, **options)
    others = [
        ranking.leaderboard(table, reading=name, **options)
        for name in ranking.comparable_readings(table, first)
    ]
    _print_leaderboard(first, others, cohort)
    for note in ranking.notes(table, first.reading, cohort):
        print(f"note: {note}")
    if out is not None:
        write_csv(first.table(), out / "leaderboard.csv")
        for other in others:
            write_csv(other.table(), out / f"leaderboard_{other.reading}.csv")
        _console(stderr=True).print(f"written: {out / 'leaderboard.csv'}", highlight=False)


@app.command(epilog="Example: [cyan]segjury report results/scores.csv --out report.html[/]")
def report(
    scores: ScoresArgument,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    higher: HigherOption = None,
    lower: LowerOption = None,
    missing: MissingOption = "error",
    reference: Annotated[
        Path | None, typer.Option(help="Cases, for pictures.", show_default="as in run.json")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Methods, for pictures.", show_default="as in run.json")
    ] = None,
) -> None:
    """Write the report: one HTML file, and a folder `figures` beside it (SVG, PNG, PDF)."""
    from segjury.publish import publish

    if out.is_dir():
        raise InputError(f"{out} is a folder", "Give the name of the HTML file to write")
    with _console(stderr=True).status("writing the report"):
        written = publish(
            scores,
            out,
            directions=_directions(higher, lower),
            missing=cast("MissingPolicy", _choice("missing", missing, ("error", "exclude"))),
            reference=reference,
            predictions=predictions,
        )
    if written.note:
        print(f"warning: {written.note}", file=sys.stderr)
    print(f"report: {out}")


# ---- small parts ---------------------------------------------------------------------------


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = 200  # a file or pipe has no width to respect
    return console


def _progress() -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=(console := _console(stderr=True)),
        transient=True,
        disable=not console.is_terminal,  # a log file wants no bars
    )


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    return Table(*columns, box=box.SIMPLE_HEAD)


def _print_leaderboard(first: Leaderboard, others: list[Leaderboard], cohort: str | None) -> None:
    """The order first, then value and rank per metric, in as many tables as the width needs."""
    from rich.text import Text

    console = _console()
    of = f", cohort {cohort}" if cohort else ""
    beside = "; then the positions in the other readings" if others else ""
    console.print(f"reading {first.reading}{of}: mean rank{beside}", highlight=False)
    methods = list(first.values.index)
    table = _table("", "method", "mean rank", "sd", *(other.reading for other in others))
    for method in methods:
        table.add_row(
            str(first.position[method]),
            Text(str(method)),  # never read as markup
            f"{first.mean_rank[method]:.2f}",
            f"{first.sd_rank[method]:.2f}",
            *(f"{other.position[method]}" for other in others),
        )
    console.print(table)
    console.print("value (rank) per metric", highlight=False)
    keys = [str(key) for key in first.values.columns]
    name_width = max(len(str(method)) for method in methods) + 4
    per_table = max(1, (console.width - name_width) // (max(map(len, [*keys, "0.0000 (10)"])) + 2))
    for start in range(0, len(keys), per_table):
        shown = keys[start : start + per_table]
        table = _table("method", *shown)
        for method in methods:
            cells = (
                f"{first.values.loc[method, key]:.4g} ({first.ranks.loc[method, key]:g})"
                for key in shown
            )
            table.add_row(Text(str(method)), *cells)
        console.print(table)


def _names(given: str) -> list[str] | None:
    names = [name for name in given.split(",") if name]
    if given and not names:
        raise InputError(f"'{given}' names nothing", "Give names with commas, or leave it out")
    return names or None


def _directions(higher: list[str] | None, lower: list[str] | None) -> dict[str, Any]:
    more = [name for given in higher or [] for name in given.split(",")]
    less = [name for given in lower or [] for name in given.split(",")]
    both = set(more) & set(less)
    if both:
        raise InputError(f"--higher and --lower both name {', '.join(both)}", "Choose one")
    return dict.fromkeys(more, "higher") | dict.fromkeys(less, "lower")


def _readings(given: str) -> tuple[Any, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        _choice("reading", name, READING_CHOICES)
    return READING_CHOICES[1:] if not names or "all" in names else names


def _choice(option: str, given: str, allowed: tuple[str, ...]) -> str:
    if given not in allowed:
        raise InputError(f"--{option} is '{given}'", f"Use one of {', '.join(allowed)}")
    return given


def _shape(given: str) -> tuple[int, int, int]:
    try:
        x, y, z = (int(size) for size in given.split(","))
    except ValueError:
        raise InputError(f"--shape is '{given}'", "Give three numbers, as 512,512,160") from None
    if min(x, y, z) < 1:
        raise InputError(f"--shape is '{given}'", "Give sizes of at least 1")
    return x, y, z
