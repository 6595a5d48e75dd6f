"""The command line: one thin function per command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from segjury.errors import InputError

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
        cases=None,
        efficiency=None,
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
    from segjury.console import plain_table, terminal
    from segjury.protocols import builtin_names, load_protocol, protocol_text

    shown = terminal()
    if name is None:
        for known in builtin_names():
            shown.print(f"[bold]{known}[/]  {load_protocol(known).title}", highlight=False)
        return
    protocol = load_protocol(name)
    table = plain_table("metric", "better", "unit", "readings", "ranked", "what it is")
    for use in protocol.metrics:
        metric = use.metric
        ranked = "yes" if use.ranked is True else ", ".join(use.ranked or ["no"])
        readings = ", ".join(use.readings)
        unit = use.unit_used or "-"
        table.add_row(metric.name, metric.direction, unit, readings, ranked, metric.summary)
    with shown.capture() as capture:
        shown.print(f"{protocol.title}\n{protocol.summary}", highlight=False, markup=False)
        shown.print(table)
        for source in protocol.sources:
            shown.print(f"source: {source.title} {source.url}", highlight=False, markup=False)
        shown.print(f"hash: {protocol.hash}", highlight=False)
    about = capture.get()
    if not shown.is_terminal:  # `segjury protocols NAME > my.toml` gives a file to edit
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
    from segjury.console import progress_bar
    from segjury.phantoms import benchmark_writer

    if not force and any((out / part).exists() for part in ("reference", "predictions")):
        raise InputError(f"{out} holds a benchmark", "Give another folder, or --force to overwrite")
    options: dict[str, Any] = {"shape": _shape(shape)} if shape else {}
    write = benchmark_writer(protocol)
    with progress_bar() as progress:
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
    from segjury.console import progress_bar, say
    from segjury.loading import case_names
    from segjury.protocols import load_protocol

    form = load_protocol(protocol)
    with progress_bar() as progress:
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
    warnings = len(problems) - errors
    summary = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    say(summary, stderr=True)
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
    cases: Annotated[
        Path | None,
        typer.Option(help="CSV about the cases: case, then groups.", show_default="as in protocol"),
    ] = None,
    efficiency: Annotated[
        Path | None, typer.Option(help="CSV of method, time_s, memory_gb_s; with case or without.")
    ] = None,
) -> None:
    """Score every method on every case.

    Finished results are kept: an interrupted run goes on where it stopped, and only what changed
    is computed again. Exit code 2 says that some prediction was missing or unusable; its rows
    carry the protocol's worst value and the reason.
    """
    from segjury import evaluation as engine
    from segjury.console import progress_bar
    from segjury.loading import case_names, method_names, unknown_cases

    out.mkdir(parents=True, exist_ok=True)  # before any work, so that a wrong place costs none
    chosen = _names(methods)
    total = len(case_names(reference)) * len(chosen or method_names(predictions))
    try:
        with progress_bar() as progress:
            bar = progress.add_task("scoring", total=total)
            evaluation = engine.run(
                protocol,
                reference=reference,
                predictions=predictions,
                readings=_readings(reading),
                methods=chosen,
                jobs=jobs,
                store=out / "parts",
                case_file=cases,
                efficiency=efficiency,
                progress=lambda _case, n: progress.advance(bar, n),
            )
    except KeyboardInterrupt:
        _fail("interrupted. What was finished is kept; run the same command to go on")
        raise typer.Exit(INTERRUPTED) from None
    engine.write(evaluation, out)
    for warning in unknown_cases(reference, predictions, evaluation.run["methods"]):
        print(f"warning: {warning}", file=sys.stderr)
    for warning in evaluation.warnings:
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
        str,
        typer.Option(
            help="mean-of-metric-ranks, or rank-then-aggregate: rank on each case first.",
            show_default="the protocol's",
        ),
    ] = "",
    aggregate: Annotated[
        str, typer.Option(help="Over cases: mean or median.", show_default="the protocol's")
    ] = "",
    missing: MissingOption = "error",
    higher: HigherOption = None,
    lower: LowerOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for leaderboard.csv.")] = None,
) -> None:
    """Rank the methods by the mean of their ranks and print the leaderboard."""
    from segjury import ranking
    from segjury.console import print_leaderboard, say
    from segjury.protocols.protocol import Scheme
    from segjury.table import read_run, read_scores, write_csv

    table = read_scores(scores)
    usual = ranking.Rules.of_run(read_run(scores))
    rules = ranking.Rules(
        metrics=tuple(_names(metrics) or ()) or None,
        by_reading=usual.by_reading,
        directions=_directions(higher, lower),
        scheme=_choice("scheme", scheme or usual.scheme, get_args(Scheme)),
        aggregate=_choice("aggregate", aggregate or usual.aggregate, get_args(ranking.Aggregate)),
        missing=_choice("missing", missing, get_args(ranking.MissingPolicy)),
        remarks=usual.remarks,
    )
    first = rules.leaderboard(table, reading=reading, cohort=cohort)
    others = [
        rules.leaderboard(table, reading=name, cohort=cohort)
        for name in rules.other_readings(table, first)
    ]
    print_leaderboard(first, others, cohort)
    notes = ranking.notes(table, first.reading, cohort)
    for note in (*notes, *rules.remarks.get(first.reading, ())):
        print(f"note: {note}")
    if out is not None:
        write_csv(first.table(), out / "leaderboard.csv")
        for other in others:
            write_csv(other.table(), out / f"leaderboard_{other.reading}.csv")
        say(f"written: {out / 'leaderboard.csv'}", stderr=True)


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
    from segjury.console import terminal
    from segjury.publish import publish

    if out.is_dir():
        raise InputError(f"{out} is a folder", "Give the name of the HTML file to write")
    with terminal(stderr=True).status("writing the report"):
        written = publish(
            scores,
            out,
            directions=_directions(higher, lower),
            missing=_choice("missing", missing, ("error", "exclude")),
            reference=reference,
            predictions=predictions,
        )
    if written.note:
        print(f"warning: {written.note}", file=sys.stderr)
    print(f"report: {out}")


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
    jobs: JobsOption = None,
) -> None:
    """Let the best methods vote, and score the result as one more method.

    The ensemble's masks are written beside the methods' predictions, and scores.csv and its
    companions are written again with it; only the ensemble is computed. Of tied labels, the better
    method's wins. Probability maps are averaged.
    """
    from segjury.console import progress_bar
    from segjury.ensembles import Voting, score_ensemble

    voting: Voting = _choice("method", method, get_args(Voting))
    with progress_bar() as progress:
        bar = progress.add_task("voting", total=None)
        made, notes = score_ensemble(
            scores,
            top=top,
            methods=_names(methods),
            voting=voting,
            name=name,
            reference=reference,
            predictions=predictions,
            jobs=jobs,
            progress=lambda _case: progress.advance(bar),
        )
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    print(f"{made.name}: {voting} of {', '.join(made.methods)}")
    rank(scores)


@app.command(epilog="Example: [cyan]segjury vessels mask.nii.gz --out vessels[/]")
def vessels(
    masks: Annotated[list[Path], typer.Argument(metavar="MASK...", help="Masks of vessels.")],
    label: Annotated[
        int | None, typer.Option(min=1, help="Label to measure.", show_default="every one, as one")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for vessels.csv, branches.csv and radii.csv.")
    ] = None,
) -> None:
    """Measure the vessels in masks: length, radii, tortuosity, branching, fractal dimension.

    Everything is measured along the centreline, in mm. The tables have one line per mask, per
    branch, and per voxel of the centreline.
    """
    from segjury.console import plain_table, progress_bar, say, terminal
    from segjury.files import read_mask
    from segjury.table import write_csv
    from segjury.vessels import morphometrics_from_voxels, tables

    found = {}
    with progress_bar() as progress:
        bar = progress.add_task("measuring", total=len(masks))
        for path in masks:
            mask = read_mask(path, labels=range(1, 256))
            voxels = mask.voxels if label is None else mask.where(label)
            if label is not None and not voxels.size:
                raise InputError(f"{path.name} has no label {label}", "Give one that it has")
            found[str(path)] = morphometrics_from_voxels(
                voxels, mask.grid.shape, spacing_mm=mask.grid.spacing_mm
            )
            progress.advance(bar)
    summary, branches, radii = tables(found)
    short = [path.name for path in masks]
    shown = plain_table("", *(short if len(set(short)) == len(masks) else found))
    for quantity in summary.columns[1:]:
        shown.add_row(quantity, *(f"{value:.6g}" for value in summary[quantity]))
    terminal().print(shown)
    if out is not None:
        for name, table in (("vessels", summary), ("branches", branches), ("radii", radii)):
            write_csv(table, out / f"{name}.csv")
        say(f"written: {out / 'vessels.csv'}", stderr=True)


# ---- options ------------------------------------------------------------------------------


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


def _choice(option: str, given: str, allowed: tuple[Any, ...]) -> Any:
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
