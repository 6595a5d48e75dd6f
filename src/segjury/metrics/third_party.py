"""Metrics of others: load one by its name in Python, and tell what of its code matters.

A third party declares a `Metric` with a `score` function,

    def score(reference, prediction, *, spacing_mm, **options) -> float

which gets the masks of a label (scope `label`) or maps of label numbers (scope `case`), reference
first, as arrays with axes x, y, z, and returns a number, or NaN where it is undefined. It also gets
`probability`, the map of the label or of all labels, where the metric `needs_probability`,
`raters`, one mask or map per rater, where it `needs_raters`, and `samples`, one per sample, where
it `needs_samples`. Its other keyword-only arguments are the options of a protocol file, checked by
their types, unless `options` says more of them.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import TypeAdapter, create_model

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.metrics.metric import DECLARED, Metric, Options

GROUP = "segjury.metrics"
GIVEN = ("spacing_mm", "probability", "raters", "samples")  # what a score gets besides options
RECORDED = (
    *("name", "title", "summary", "direction", "unit", "formula", "symmetric", "scales_with"),
    *("ranked", "scope", "needs_probability", "needs_raters", "needs_samples", "needs_voxels"),
    *("decimals", "readings", "failure"),
)


def load_metric(place: str) -> Metric:
    """The metric that `MODULE:NAME` leads to, with its options; an error says why it is none."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"'{place}' is no place of a metric", "Write MODULE:NAME")
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except InputError:
        raise
    except Exception as error:  # whatever the code of others raises while it is imported
        raise InputError(
            f"{place} cannot be loaded ({type(error).__name__}: {error})",
            "Install its package, or put its folder on PYTHONPATH",
        ) from None
    if not isinstance(found, Metric):
        raise InputError(f"{place} is no segjury.metrics.Metric", "Declare one, with its score")
    return _checked(found, place)


def _checked(metric: Metric, place: str) -> Metric:
    if metric.score is None:
        raise InputError(f"{place} has no score function", "Give it one: Metric(..., score=...)")
    if metric.name in METRICS:
        raise InputError(f"{place} is called {metric.name}, as one of segjury's", "Rename it")
    if metric.scope == "structure" or metric.measured == "elsewhere":
        raise InputError(f"{place} does not score a label or a case", "Use scope label or case")
    if metric.options is Options:
        metric = replace(metric, options=_options(metric.score, place))
    DECLARED[metric.name] = metric
    return metric


def _options(score: Any, place: str) -> type[Options]:
    """The options that the keyword-only arguments of a function are."""
    try:
        hints = get_type_hints(score)
        arguments = inspect.signature(score).parameters.values()
    except (TypeError, ValueError, NameError) as error:
        raise InputError(f"the arguments of {place} cannot be read ({error})") from None
    fields: dict[str, Any] = {
        each.name: (
            hints.get(each.name, Any),
            ... if each.default is each.empty else each.default,
        )
        for each in arguments
        if each.kind is each.KEYWORD_ONLY and each.name not in GIVEN
    }
    return create_model("Options", __base__=Options, **fields) if fields else Options


@cache
def installed_metrics() -> dict[str, str]:
    """Places of the metrics that installed packages offer, by name of their entry points."""
    return {point.name: point.value for point in metadata.entry_points(group=GROUP)}


def load_installed() -> list[Metric]:
    """All metrics that installed packages offer; one that cannot be loaded is a warning."""
    found = []
    for name, place in installed_metrics().items():
        try:
            found.append(load_metric(place))
        except InputError as error:
            warnings.warn(f"metric {name} of an installed package: {error}", stacklevel=2)
    return found


def source_hash(metric: Metric, place: str) -> str:
    """Fingerprint of a metric's code: of all Python files of its package, or of its module."""
    modules = {place.partition(":")[0], getattr(metric.score, "__module__", "") or ""} - {""}
    digest = hashlib.sha256()
    for name in sorted({module.partition(".")[0] for module in modules}):
        for path, content in _sources(sys.modules[name]):
            digest.update(f"{name}/{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _sources(module: ModuleType) -> list[tuple[str, bytes]]:
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    files = [(str(path.relative_to(top)), path) for top in folders for path in top.rglob("*.py")]
    if not folders and getattr(module, "__file__", None):  # what is built in has none
        files = [("", Path(str(module.__file__)))]
    return sorted((name, path.read_bytes()) for name, path in files)


def record(metric: Metric) -> dict[str, Any]:
    """What a metric declares, as JSON holds it: all that tables, rankings and reports need."""
    bounds = [limit if math.isfinite(limit) else None for limit in metric.bounds]
    return {field: getattr(metric, field) for field in RECORDED} | {"bounds": bounds}


def recorded(declaration: Mapping[str, Any]) -> Metric:
    """The metric of a record, without its code; ValueError of what is no record."""
    known = {field: declaration[field] for field in RECORDED if field in declaration}
    bounds = declaration.get("bounds")
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise ValueError("bounds must be a list of two numbers")
    ends = zip(bounds, (-math.inf, math.inf), strict=True)
    known["bounds"] = [end if limit is None else limit for limit, end in ends]
    metric = TypeAdapter(Metric).validate_python(known)
    if metric.name in METRICS:
        raise ValueError(f"{metric.name} is a metric of segjury's own")
    DECLARED[metric.name] = metric
    return metric
