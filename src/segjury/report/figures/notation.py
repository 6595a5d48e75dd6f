"""How numbers, units and metrics are written, in figures and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterable

from segjury.metrics import METRICS

_DECIMALS = {
    "dsc": 3,
    "thr_dsc": 3,
    "mr_ece": 4,
    "ece": 4,
    "crps": 3,
    "vi": 1,
    "contact_angle": 1,
    "dice": 3,
    "jaccard": 3,
    "nsd": 3,
    "cldice": 3,
    "confidence": 3,
    "volsim": 3,
    "mi": 3,
    "bavd": 3,
    "betti": 1,
    "small_recall": 3,
}
_UNITS = {"cm3": "cm³", "mm3": "mm³", "degree": "degrees", "deg": "degrees"}
_LONGEST = 1e15  # from here on numbers have an exponent
NONE = "–"  # noqa: RUF001  (a dash stands for no number)


def decimals(metric: str, values: Iterable[float]) -> int:
    """Digits after the point for a metric; of an unknown one, four significant at the largest.

    Values outside the metric's bounds are of another scale, such as per cent, and so unknown.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    limit = METRICS[metric].bounds[1] if metric in METRICS else math.inf
    if metric in _DECIMALS and largest <= limit:
        return _DECIMALS[metric]
    if largest == 0:
        return 4
    return min(12, max(0, 3 - math.floor(math.log10(largest))))


def number(value: float, digits: int) -> str:
    """A number with a fixed count of decimals and a true minus; a dash where there is none."""
    if not math.isfinite(value):
        return NONE
    text = f"{value:.{digits}f}" if abs(value) < _LONGEST else f"{value:.3e}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def rank(value: float) -> str:
    """A rank: whole where it is, halves and thirds of ties to two digits."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else NONE


def plural(count: int, noun: str) -> str:
    """A number of things: `1 pair`, `15 pairs`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def unit(text: str) -> str:
    """A unit as it is printed."""
    return _UNITS.get(text, text)


def metric_title(metric: str, structure: str = "all") -> str:
    """A metric's declared title, or its name made readable, and the structure it is about."""
    title = METRICS[metric].title if metric in METRICS else metric.replace("_", " ")
    return title if structure == "all" else f"{title}, {structure}"


def metric_unit(metric: str, given: Iterable[object] = ()) -> str:
    """The unit the table gives, else the declared one."""
    named = [text for text in given if isinstance(text, str) and text]
    declared = METRICS[metric].unit if metric in METRICS else ""
    return unit(named[0] if named else declared)


def metric_direction(metric: str) -> str:
    """`higher` or `lower`, whichever is better; empty where nobody said."""
    return METRICS[metric].direction if metric in METRICS else ""
