"""Options that several commands take, and what they mean."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segjury.cli import completion
from segjury.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from segjury.results import Results

READING_CHOICES = completion.READINGS

ProtocolArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROTOCOL",
        help="Name of a protocol, or the path of a .toml file.",
        autocompletion=completion.protocols,
    ),
]
OptionalProtocolArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PROTOCOL]",
        help="Name of a protocol, or path of a .toml file. Without one, it is made from the files.",
        autocompletion=completion.protocols,
        show_default=False,
    ),
]
REFERENCE_HELP = "Folder of the raters' masks: one folder per case, or as the protocol says."
ReferenceOption = Annotated[Path, typer.Option(help=REFERENCE_HELP)]
JobsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Processes.", show_default="by cores and memory"),
]
FollowLinksOption = Annotated[
    bool,
    typer.Option("--follow-links", help="Read predictions through links that leave their folder."),
]
AllowCodeOption = Annotated[
    bool, typer.Option("--allow-code", help="Run the Python code that the protocol names.")
]
TimeLimitOption = Annotated[
    str,
    typer.Option(
        help="Most processor time to score a prediction: seconds, or as 90s, 5m, 1h; ten times as "
        "much by the clock.",
        show_default="none",
    ),
]
MemoryLimitOption = Annotated[
    str,
    typer.Option(
        help="Most memory to score a prediction: GB, or as 500MB.",
        show_default="none",
    ),
]
ScoresArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES", help="A scores.csv, or a table of any other tool: CSV, xlsx, parquet."
    ),
]

_METRIC = completion.one_of(completion.METRICS)
HigherOption = Annotated[
    list[str] | None, typer.Option(help="Metric where more is better.", autocompletion=_METRIC)
]
LowerOption = Annotated[
    list[str] | None, typer.Option(help="Metric where less is better.", autocompletion=_METRIC)
]
ReadingOption = Annotated[
    str | None,
    typer.Option(
        help="Reading to rank by.",
        show_default="corrected first",
        autocompletion=completion.one_of(READING_CHOICES[1:]),
    ),
]
CohortOption = Annotated[
    str | None,
    typer.Option(help="Only the cases of this cohort, or as in 'mean_pairwise_dsc<=0.3'."),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(help="Also each part of the cases by this column: cohort, dataset, group, ..."),
]
MethodsOption = Annotated[
    str, typer.Option(help="Only these methods, with commas.", show_default="all")
]
ExcludeOption = Annotated[str, typer.Option(help="Methods to leave out, with commas.")]
MetricsOption = Annotated[
    str,
    typer.Option(
        help="Metrics that count, with commas.",
        show_default="the protocol's",
        autocompletion=completion.several_of(completion.METRICS),
    ),
]
SchemeOption = Annotated[
    str,
    typer.Option(
        help="mean-of-metric-ranks (with one metric: aggregate-then-rank); rank-then-aggregate: "
        "rank on each case first; test-then-rank: by the number of methods beaten significantly.",
        show_default="the protocol's",
        autocompletion=completion.one_of(completion.SCHEMES),
    ),
]
AggregateOption = Annotated[
    str,
    typer.Option(
        help="Over cases: mean, median, or a quantile as 0.25.",
        show_default="the protocol's",
        autocompletion=completion.one_of(completion.AGGREGATES),
    ),
]
TiesOption = Annotated[
    str,
    typer.Option(
        help="Rank of equal values: average, min, max or dense.",
        show_default="the protocol's",
        autocompletion=completion.one_of(completion.TIES),
    ),
]
WeightsOption = Annotated[
    str, typer.Option(help="Weights of metrics, as time_s=0.5,dsc=2.", show_default="1 each")
]
MissingOption = Annotated[
    str,
    typer.Option(
        help="A value that some methods lack: error, worst, or exclude the case for all.",
        show_default="the protocol's, else error",
        autocompletion=completion.one_of(completion.MISSING),
    ),
]
ColumnsOption = Annotated[
    str, typer.Option(help="Names of columns in a table of others, as method=team,case=patient.")
]
GroupsOption = Annotated[
    str, typer.Option(help="Columns of numbers that are groups of cases, with commas.")
]
MatrixOption = Annotated[
    str | None,
    typer.Option(help="The table has one line per case, one column per method, of this metric."),
]
SamplesOption = Annotated[
    int, typer.Option(min=0, help="Resamples of the cases; 0 for none.", metavar="N")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the resamples.")]


PicturedReferenceOption = Annotated[
    Path | None, typer.Option(help="Cases, for pictures.", show_default="as in run.json")
]
PicturedPredictionsOption = Annotated[
    Path | None, typer.Option(help="Methods, for pictures.", show_default="as in run.json")
]
RatersOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder that segjury raters wrote, for the human ceiling.",
        show_default="raters beside SCORES, if there",
    ),
]
BaselineOption = Annotated[
    list[str] | None,
    typer.Option(help="A method that the others are compared with; may be given again."),
]

AlphaOption = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of the tests.")]
FailureOption = Annotated[
    list[str] | None,
    typer.Option(help="Count failures by this rule too, as 'dsc<0.5' or 'crps>p90'."),
]


def names(given: str) -> list[str] | None:
    """Names with commas between them; None for none. One with a comma may stand in quotes."""
    try:
        cells = next(csv.reader([given], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise InputError(f"{given!a} is no list of names", "Give names with commas") from None
    names = [name.strip() for name in cells if name.strip()]
    if given and not names:
        raise InputError(f"'{given}' names nothing", "Give names with commas, or leave it out")
    return names or None


def readings(given: str) -> tuple[Any, ...]:
    """Readings to compute."""
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        choice("reading", name, READING_CHOICES)
    return READING_CHOICES[1:] if not names or "all" in names else names


def choice(option: str, given: str, allowed: tuple[Any, ...]) -> Any:
    """One of the words that an option takes."""
    if given not in allowed:
        raise InputError(f"--{option} is '{given}'", did_you_mean(given, allowed))
    return given


def shape(given: str) -> tuple[int, int, int]:
    """Voxels as X,Y,Z."""
    try:
        x, y, z = (int(size) for size in given.split(","))
    except ValueError:
        raise InputError(f"--shape is '{given}'", "Give three numbers, as 512,512,160") from None
    if min(x, y, z) < 1:
        raise InputError(f"--shape is '{given}'", "Give sizes of at least 1")
    return x, y, z


def numbers(option: str, given: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    try:
        return tuple(float(number) for number in given.split(","))
    except ValueError:
        raise InputError(f"--{option} is '{given}'", "Give numbers with commas, as 1,2.5") from None


def seconds(option: str, given: str) -> float | None:
    """A time such as 90, 90s or 5m; None for none."""
    return _quantity(option, given, {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}, "90s or 5m")


def gigabytes(option: str, given: str) -> float | None:
    """An amount of memory such as 3, 3GB or 500MB; None for none."""
    return _quantity(option, given, {"": 1, "gb": 1, "mb": 1e-3}, "3GB or 500MB")


def _quantity(option: str, given: str, units: Mapping[str, float], example: str) -> float | None:
    if given.strip().lower() in ("", "none"):
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", given.lower(), re.ASCII)
    value = float(found[1]) * units.get(found[2], math.nan) if found else math.nan
    if not 0 < value < math.inf:
        raise InputError(f"--{option} is '{given}'", f"Give a number above 0, as {example}")
    return value


def pairs(option: str, given: str) -> dict[str, str]:
    """What an option such as `a=b,c=d` says."""
    found: dict[str, str] = {}
    for part in names(given) or []:
        name, sign, value = (text.strip() for text in part.partition("="))
        if not (name and sign and value) or name in found:
            raise InputError(f"--{option} is '{given}'", "Write it as name=value,name=value")
        found[name] = value
    return found


def results(
    scores: Path,
    columns: str,
    groups: str,
    matrix: str | None,
    beside: Sequence[str],
    **more: Any,
) -> Results:
    """The table that a command is about, with what lies `beside` it."""
    from segjury.results import Results

    return Results.read(
        scores,
        columns=pairs("columns", columns),
        groups=names(groups) or (),
        matrix=matrix,
        beside=beside,
        **more,
    )


def chosen(methods: str, exclude: str) -> dict[str, Any]:
    """The methods that a command is about, as the library takes them."""
    return {"methods": names(methods), "exclude": names(exclude) or ()}


def ranking(
    *,
    metrics: str = "",
    scheme: str = "",
    aggregate: str = "",
    ties: str = "",
    weights: str = "",
    missing: str = "",
    higher: list[str] | None = None,
    lower: list[str] | None = None,
) -> dict[str, Any]:
    """What was asked for instead of the protocol's way of ranking, as the library takes it."""
    return {
        "metrics": names(metrics),
        "scheme": scheme or None,
        "aggregate": _number(aggregate) if aggregate else None,
        "ties": ties or None,
        "weights": {name: _number(text) for name, text in pairs("weights", weights).items()},
        "missing": missing or None,
        "higher": [name for given in higher or [] for name in names(given) or []],
        "lower": [name for given in lower or [] for name in names(given) or []],
    }


def _number(given: str) -> float | str:
    """A number where the text is one; the library refuses what it cannot take."""
    try:
        return float(given)
    except ValueError:
        return given
