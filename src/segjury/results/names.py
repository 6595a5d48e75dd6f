"""Methods and metrics by the names that a table has for them, whatever capitals they come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from segjury.errors import InputError, did_you_mean, same_name
from segjury.metrics import declared_metric
from segjury.metrics.metric import Direction


def a_list(argument: str, given: Sequence[str]) -> Sequence[str]:
    """Names as they are; one text is refused, whose letters would be the names."""
    if isinstance(given, str):
        raise InputError(f"`{argument}` is one text, '{given}'", f"Give a list: ['{given}']")
    return given


def method_names(present: Iterable[str], given: Sequence[str]) -> list[str]:
    """Methods as the table calls them."""
    known, names = list(present), []
    for name in given:
        meant = same_name(name, known)
        if meant is None:
            raise InputError(
                f"the table has no method '{name}'", did_you_mean(name, known, "It has")
            )
        names.append(meant)
    return names


def chosen_methods(
    present: Iterable[str], methods: Sequence[str] | None, exclude: Sequence[str]
) -> list[str]:
    """The methods asked for, all unless told, without those to leave out; in the table's order."""
    known = list(present)
    wanted = set(method_names(known, a_list("methods", methods)) if methods else known)
    wanted -= set(method_names(known, a_list("exclude", exclude)))
    if not wanted:
        raise InputError("no method is left", "Leave out fewer: `exclude`")
    return [name for name in known if name in wanted]


def metric_names(scores: pd.DataFrame, given: Sequence[str]) -> list[str]:
    """Metrics as the table calls them; they may be given by their titles too."""
    if isinstance(given, str):
        raise InputError(f"'{given}' is one text", f"Give a list of metrics: ['{given}']")
    present = [str(name) for name in scores["metric"].unique()]
    titles = {name: m.title if (m := declared_metric(name)) else name for name in present}
    names = []
    for name in given:
        meant = named_or_titled(name, titles)
        if meant is None:
            raise InputError(
                f"the table has no metric {name}", did_you_mean(name, present, "It has")
            )
        names.append(meant)
    return names


def named_or_titled(given: str, titles: dict[str, str]) -> str | None:
    """The name that is meant, of several with a title each: by name before by title."""
    meant = same_name(given, titles)
    if meant is not None:
        return meant
    title = same_name(given, dict.fromkeys(titles.values()))
    found = [name for name, each in titles.items() if each == title]
    return found[0] if len(found) == 1 else None


def directions(
    scores: pd.DataFrame, higher: Sequence[str], lower: Sequence[str]
) -> dict[str, Direction]:
    """Which values of the metrics named are better, by their names in the table."""
    more, less = metric_names(scores, higher), metric_names(scores, lower)
    both = [name for name in more if name in less]
    if both:
        raise InputError(f"`higher` and `lower` both name {', '.join(both)}", "Choose one")
    up: dict[str, Direction] = dict.fromkeys(more, "higher")
    down: dict[str, Direction] = dict.fromkeys(less, "lower")
    return up | down
