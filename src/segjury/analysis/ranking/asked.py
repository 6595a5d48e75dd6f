"""What was asked for instead of a protocol's way of ranking, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import pandas as pd

from segjury.errors import InputError, did_you_mean
from segjury.protocols.ranking import MissingPolicy, Ranking, Scheme, Ties
from segjury.results.names import metric_names


def ranking_asked(
    usual: Ranking,
    scores: pd.DataFrame,
    *,
    scheme: str | None = None,
    aggregate: str | float | None = None,
    ties: str | None = None,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
) -> Ranking:
    """The usual way of ranking with what was asked for instead."""
    words = {"scheme": (scheme, Scheme), "ties": (ties, Ties), "missing": (missing, MissingPolicy)}
    changed: dict[str, Any] = {argument: given for argument, (given, _) in words.items() if given}
    for argument, given in changed.items():
        known = get_args(words[argument][1])
        if given not in known:
            raise InputError(f"`{argument}` is '{given}'", did_you_mean(given, known))
    if aggregate is not None:
        if aggregate not in ("mean", "median") and not 0 <= _number(aggregate) <= 1:
            raise InputError(
                f"`aggregate` is '{aggregate}'",
                "Use mean, median, or a quantile from 0 to 1, as 0.25",
            )
        changed["aggregate"] = aggregate
    for name, weight in (weights or {}).items():
        if not 0 < _number(weight) < math.inf:
            raise InputError(
                f"`weights` gives {name} the weight '{weight}'", "Give a number above 0"
            )
    if weights:
        names = metric_names(scores, [*weights])
        changed["weights"] = dict(zip(names, weights.values(), strict=True))
    return Ranking.model_validate(usual.model_dump() | changed)


def _number(given: object) -> float:
    """A number as it is, NaN for anything else."""
    return given if isinstance(given, int | float) else math.nan
