"""The text of a protocol: what was found, and in comments what a person should decide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from segjury.benchmark.init.choosing import Choice
from segjury.benchmark.init.dataset_json import Labels
from segjury.benchmark.init.labels import Seen
from segjury.benchmark.init.layouts import ReferenceLayout, plural_counts
from segjury.benchmark.init.predictions import DEFAULT, PredictionLayout
from segjury.errors import escaped
from segjury.protocols.patterns import RATER
from segjury.wording import listed, plural

MOST_NAMED = 5
WIDTH = 100  # of a list on one line
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NO_NAME = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True)
class Facts:
    """All that is known of a benchmark's files."""

    title: str
    layout: ReferenceLayout
    labels: Labels
    seen: Seen
    predictions: PredictionLayout | None
    predicted: Seen | None  # the numbers in masks of predictions


def protocol_lines(facts: Facts, metrics: Iterable[Choice]) -> list[str]:
    """The lines of the file."""
    return [
        *_head(facts),
        "",
        *_reference(facts),
        "",
        *_prediction(facts.predictions),
        *(line for choice in metrics for line in ("", *_metric(choice))),
        "",
        *_rules(),
    ]


def short_name(title: str) -> str:
    """The name of a protocol with a title: small letters, digits and hyphens."""
    return _NO_NAME.sub("-", title.lower()).strip("-._")[:60].strip("-._") or "benchmark"


def _head(facts: Facts) -> list[str]:
    return [
        "# What `segjury init` found. Lines marked with TODO need a look before results are shown.",
        "",
        f"name = {_value(short_name(facts.title))}  # short, in tables and file names",
        f"title = {_value(facts.title)}  # TODO the full name, above leaderboards and reports",
    ]


# ---- the reference -------------------------------------------------------------------------


def _reference(facts: Facts) -> list[str]:
    layout = facts.layout
    lines = [
        f"[reference]  # {plural(len(layout.marks), 'case')}, {_remark(layout.kind)}",
        f"raters = {_value(layout.pattern)}  # the file of a mask, without its ending",
        *_panel(layout),
        *_labels(facts),
    ]
    if layout.image:
        lines.append(f"image = {_value(layout.image)}  # for pictures alone")
    else:
        lines.append('# image = "image"  # the file of the image, for pictures in reports')
    if layout.consensus:
        lines.append(
            f"consensus = {_value(layout.consensus)}  # TODO leave out to have it computed (STAPLE)"
        )
    return lines


def _panel(layout: ReferenceLayout) -> list[str]:
    n_raters = len(layout.raters)
    if RATER not in layout.pattern:
        return ["n_raters = 1"]
    if layout.is_numbered and n_raters <= 16:
        lines = [
            f"n_raters = {n_raters}",
            "# anonymous = true  # TODO if rater 1 of one case may be another than of the next",
        ]
    else:
        lines = [_key("rater_names", list(layout.raters))]
    fewest = min(layout.counts)
    if fewest < n_raters:
        lines += [
            f"min_raters = {fewest}  # TODO a case with fewer is left out",
            f"# {plural_counts(layout.counts)}",
        ]
    return lines


def _labels(facts: Facts) -> list[str]:
    labels, seen = facts.labels, facts.seen
    if labels.source:
        said = f"# names from {_remark(labels.source)}"
    else:
        said = "# TODO give the labels their names: the files have numbers alone"
    lines = [said, _key("labels", {name: _number(held) for name, held in labels.numbers.items()})]
    found = listed(seen.numbers, most=20) or "none"
    lines.append(f"# numbers found {seen.said}: {found}")
    if labels.others:
        others = {f"label_{n}": n for n in labels.others}
        lines.append(f"{_key('other_labels', others)}  # TODO found, but {labels.source} has none")
    if labels.ignore:
        lines.append(f"ignore = {labels.ignore}  # voxels that are not scored")
    if seen.problems:
        lines.append(f"# not read: {_remark(seen.problems[0])}")
    predicted = facts.predicted.numbers if facts.predicted else ()
    if stray := [n for n in predicted if n not in labels.known]:
        lines.append(f"# TODO predictions have {listed(stray, most=20)} too, which is refused")
    return lines


def _number(held: tuple[int, ...]) -> int | list[int]:
    return held[0] if len(held) == 1 else list(held)


# ---- predictions ---------------------------------------------------------------------------


def _prediction(layout: PredictionLayout | None) -> list[str]:
    if layout is None:
        return [
            "[prediction]  # TODO none were looked at: <method>/<case>/segmentation, or, as",
            "# nnU-Net writes them, <method>/<case> with <case>.npz; both are read",
            f"mask = {_value(DEFAULT)}",
        ]
    lines = [
        f"[prediction]  # {plural(len(layout.masks), 'method')}",
        f"mask = {_value(layout.mask)}  # {_on_mask(layout)}",
    ]
    if layout.probability:
        lines.append(f"probability = {_value(layout.probability)}{_without(layout, 'maps')}")
    elif layout.archives:
        lines.append(f"# probability maps are in <case>.npz{_without(layout, 'maps')[3:]}")
    if layout.unplaced:
        maps = listed(map(_remark, layout.unplaced), most=MOST_NAMED)
        lines.append(f"# TODO {{label}} in `probability` is a label's name; not used: {maps}")
    if layout.sample:
        lines.append(f"sample = {_value(layout.sample)}{_without(layout, 'samples')}")
    return lines


def _on_mask(layout: PredictionLayout) -> str:
    if layout.only_samples:
        return "not there: each voxel gets the label that most samples give it"
    return "below the folder of the method, or in that of the case"


def _without(layout: PredictionLayout, what: str) -> str:
    """Which methods have no maps or samples, as a comment."""
    has = layout.with_maps if what == "maps" else layout.with_samples
    lack = [method for method in layout.methods if method not in has]
    if not lack:
        return ""
    return f"  # no {what}: {listed(map(_remark, lack), most=MOST_NAMED)}"


# ---- metrics and rules -----------------------------------------------------------------------


def _metric(choice: Choice) -> list[str]:
    remarks = {
        "tolerance_mm": "  # TODO as far apart as two experts may draw the same surface",
        "worst": "  # of a missing prediction",
    }
    return [
        "[[metrics]]",
        f"name = {_value(choice.name)}  # {choice.tells}",
        'readings = ["corrected"]',
        *(f"{key} = {_value(value)}{remarks.get(key, '')}" for key, value in choice.keys.items()),
    ]


def _rules() -> list[str]:
    return [
        "[policy]",
        'empty_reference = "score"  # TODO or "exclude" cases without a label, false positives too',
        "",
        "[ranking]",
        'scheme = "mean-of-metric-ranks"  # TODO or "rank-then-aggregate", "test-then-rank"',
    ]


# ---- TOML ----------------------------------------------------------------------------------


def _key(key: str, value: Any) -> str:
    """A key and its value, in several lines where it is a long list."""
    line = f"{key} = {_value(value)}"
    if len(line) <= WIDTH or not isinstance(value, list):
        return line
    return "\n".join([f"{key} = [", *(f"  {_value(each)}," for each in value), "]"])


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_bare(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return str(value)


def _bare(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _remark(text: str) -> str:
    """Text from outside that may stand in a comment, on one line."""
    return escaped(" ".join(text.split()))[:200]
