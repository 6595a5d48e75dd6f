"""The report's account of how the numbers came about, from `run.json` and the metrics' laws."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from segjury.analysis.columns import Column, metric_title
from segjury.errors import escaped
from segjury.metrics import declared_metric
from segjury.results import Run
from segjury.wording import listed, number, plain, unit

_PRIVATE = {"host", "hostname", "node", "user", "username"}
_LINK = re.compile(r"https?://[^\s<>\"']+")


@dataclass(frozen=True)
class Source:
    """A publication or page; `link` is empty unless it is a plain web address."""

    text: str
    link: str = ""


@dataclass(frozen=True)
class Definition:
    """A metric in words."""

    name: str
    title: str
    summary: str
    better: str
    unit: str
    bounds: str
    ranked: bool


@dataclass(frozen=True)
class ProtocolSummary:
    """Which rules were applied; parts are empty where `run.json` does not say."""

    name: str = ""
    title: str = ""
    hash: str = ""
    text: str = ""
    sources: tuple[Source, ...] = ()
    policy: tuple[tuple[str, str], ...] = ()
    undefined: tuple[tuple[str, str], ...] = ()  # metrics that have a rule of their own for it
    on_files: tuple[str, ...] = ()  # sentences on labels, raters and samples, where not the usual


@dataclass(frozen=True)
class Provenance:
    """Where and when the run was made."""

    version: str = ""
    started: str = ""
    seconds: str = ""
    limits: str = ""  # of each prediction
    versions: tuple[tuple[str, str], ...] = ()
    machine: tuple[tuple[str, str], ...] = ()


def protocol(run: Run) -> ProtocolSummary:
    """The protocol's part of a run."""
    given = run.protocol
    return ProtocolSummary(
        name=plain(given.name),
        title=plain(given.title),
        hash=plain(given.hash),
        text=_readable(given.text),
        sources=tuple(_source(item) for item in _sequence(given.definition.get("sources"))),
        policy=_policy(given.definition),
        undefined=tuple(
            (metric_title(_text(use.get("name"))), _text(use["undefined"]))
            for use in _sequence(given.definition.get("metrics"))
            if isinstance(use, Mapping) and use.get("undefined")
        ),
        on_files=tuple(map(plain, _on_files(given.definition))),
    )


def _on_files(definition: Mapping[str, Any]) -> Iterator[str]:
    """Regions, ignored voxels, incomplete panels, weights and samples, where there are any."""
    reference = definition.get("reference")
    spec: Mapping[str, Any] = reference if isinstance(reference, Mapping) else {}
    numbers = {str(name): _sequence(held) or (held,) for name, held in _pairs_of(spec, "labels")}
    if any(len(held) > 1 for held in numbers.values()):
        each = (f"{name} {listed(held, last=' and ')}" for name, held in numbers.items())
        yield (
            f"Labels are made up of the numbers in the files: {'; '.join(each)}. Labels that share "
            "a number overlap, and each is scored by itself."
        )
    if spec.get("ignore") is not None:
        yield f"Voxels to which any rater gave {spec['ignore']} were not scored."
    if spec.get("min_raters") is not None:
        yield f"A case needs masks of at least {spec['min_raters']} raters, or is left out."
    if weights := [
        f"{name} {_number(weight)}" for name, weight in _pairs_of(spec, "rater_weights")
    ]:
        shown = ", ".join(weights)
        yield f"Raters were weighted where a score allows it: {shown}; 1 for the others."
    uses = _sequence(definition.get("metrics"))
    named = (declared_metric(str(use.get("name"))) for use in uses if isinstance(use, Mapping))
    if any(metric.needs_samples for metric in named if metric):
        yield (
            "Of a prediction with samples and no mask, the mask is the label that most samples "
            "give a voxel; without a probability map, the map is the share of the samples."
        )


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _pairs_of(part: Mapping[str, Any], key: str) -> list[tuple[Any, Any]]:
    held = part.get(key)
    return list(held.items()) if isinstance(held, Mapping) else []


def _policy(definition: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What rows without a score cost; nothing of maps where no metric looks at one."""
    uses = _sequence(definition.get("metrics"))
    named = (declared_metric(str(use.get("name"))) for use in uses if isinstance(use, Mapping))
    has_maps = any(metric.needs_probability for metric in named if metric)
    pairs = _pairs(definition.get("policy"))
    return tuple((name, value) for name, value in pairs if has_maps or name != "missing_map")


def provenance(run: Run) -> Provenance:
    """Versions, machine and times of a run; names of computers and people are left out."""
    timed = run.seconds is not None and math.isfinite(run.seconds)
    return Provenance(
        version=plain(run.segjury),
        started=plain(run.started),
        seconds=number(run.seconds, 1) if timed and run.seconds is not None else "",
        limits=_limits(run),
        versions=_pairs(run.versions),
        machine=tuple((name, text) for name, text in _pairs(run.machine) if name not in _PRIVATE),
    )


def _limits(run: Run) -> str:
    """The most that scoring a prediction could take, in words; empty for no limit."""
    given = (run.time_limit_s, "s of processor time"), (run.memory_limit_gb, "GB of memory")
    return " or ".join(f"{limit:g} {of}" for limit, of in given if limit is not None)


def definitions(
    ranked: Iterable[Column], unranked: Iterable[Column], scores: pd.DataFrame
) -> tuple[Definition, ...]:
    """Each metric of the report once, the ranked ones first."""
    known: dict[str, Definition] = {}
    values = scores.groupby("metric")["value"]
    lowest, highest = values.min(), values.max()
    for counts, shown in ((True, ranked), (False, unranked)):
        for column in shown:
            name = column.metric
            limits = float(lowest[name]), float(highest[name])
            known.setdefault(name, _definition(column, counts, *limits))
    return tuple(known.values())


def _definition(column: Column, ranked: bool, low: float, high: float) -> Definition:
    """A metric that is better the other way is not the one we know, though it has its name.

    Of values beyond its bounds, such as per cent, the range is not told.
    """
    known = declared_metric(column.metric)
    if known is not None and known.direction != column.direction:
        known = None
    inside = known is not None and known.bounds[0] <= low and high <= known.bounds[1]
    return Definition(
        name=plain(column.metric),
        title=column.title,
        summary=known.summary if known else "Given by the table; not defined here.",
        better=column.direction or "not said",
        unit=column.unit,
        bounds=_bounds(known.bounds) if known and inside else "",
        ranked=ranked,
    )


def _bounds(bounds: tuple[float, float]) -> str:
    low, high = bounds
    start = f"{low:g}" if math.isfinite(low) else "\N{MINUS SIGN}∞"
    return f"{start} to {high:g}" if math.isfinite(high) else f"{start} and up"


def _readable(text: str) -> str:
    """The lines of a text, what cannot be seen in them written out."""
    return "\n".join(escaped(line.expandtabs()) for line in text.strip().splitlines())


def _source(item: object) -> Source:
    if isinstance(item, Mapping):
        words = [_text(value) for key, value in item.items() if key != "url"]
        return _linked(", ".join(word for word in words if word), _text(item.get("url")))
    text = _text(item)
    link = _LINK.search(text)
    return _linked(text, link.group() if link else "")


def _linked(text: str, address: str) -> Source:
    safe = address if _LINK.fullmatch(address) else ""
    return Source(text or address, safe)


def _pairs(value: object, prefix: str = "") -> tuple[tuple[str, str], ...]:
    """A mapping as lines, nested ones with a dot."""
    lines: list[tuple[str, str]] = []
    for key, item in _mapping(value).items():
        name = f"{prefix}{_text(key)}"
        if isinstance(item, Mapping):
            lines += _pairs(item, f"{name}.")
        else:
            lines.append((name, unit(_text(item))))
    return tuple(lines)


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return () if not value else (value,)
    return value


def _text(value: object) -> str:
    return "" if value is None else plain(value)
