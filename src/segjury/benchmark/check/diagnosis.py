"""What kind of problem a failed reading is, and what may be behind it.

Scoring and checking read with the same functions and say the same words, so that the words tell.
"""

from __future__ import annotations

import re

from segjury.benchmark.check.problem import Problem, Severity
from segjury.errors import InputError, MissingInputError

# What the readers say after the name of the file; the first that fits decides.
_WORDS = {
    r"has shape \(|probabilities have shape \(": "other-shape",
    r"has spacing \[": "other-spacing",
    r"has origin \[": "other-origin",
    r"has direction \[": "other-direction",
    r"is not a mask: ": "not-whole-numbers",
    r"has unknown labels? ": "unknown-label",
    r"has NaN where a probability ": "nan-probability",
    r"has values from \S+ to \S+, expected probabilities ": "out-of-range",
}
ROUNDING = 1e-3  # what a map may leave [0, 1] by in resampling


def failed(
    error: InputError,
    file: str | None = None,
    *,
    severity: Severity = "error",
    kind: str = "",
    more: str = "",
) -> Problem:
    """A file that cannot be used: the words of scoring, then what may be behind it."""
    hint = more or _hint(_said(error, file))
    fix = ". ".join(text.rstrip(".") for text in (error.fix, hint) if text)
    kind = kind or error_kind(error, file)
    return Problem(severity, kind, None, None, file, error.what, fix)


def error_kind(error: InputError, file: str | None) -> str:
    """The kind of a failed search or reading."""
    if isinstance(error, MissingInputError):
        return "missing-prediction" if error.what == "no prediction" else "missing-file"
    if error.fix == "Keep one of them":
        return "two-files"
    return words_kind(_said(error, file)) or "unreadable-file"


def words_kind(said: str) -> str | None:
    """The kind of problem that a reader's words tell; None for others."""
    return next((kind for words, kind in _WORDS.items() if re.match(words, said)), None)


def _said(error: InputError, file: str | None) -> str:
    return error.what.removeprefix(file or "").lstrip()


def _hint(said: str) -> str:
    shapes = re.match(r"has shape \((.+)\), the \w+ has \((.+)\)$", said)
    if shapes:
        sizes, expected = (sorted(map(int, shape.split(","))) for shape in shapes.groups())
        return "Its axes may be swapped" if sizes == expected else ""
    values = re.match(r"has values from (\S+) to (\S+), expected probabilities", said)
    return _guessed_scale(*map(float, values.groups())) if values else ""


def _guessed_scale(lowest: float, highest: float) -> str:
    """What numbers outside [0, 1] may be."""
    if lowest >= -ROUNDING and highest <= 1 + ROUNDING:
        return "It looks like rounding or resampling: clip it to 0 and 1"
    if lowest < 0:
        return "It looks like logits: apply the sigmoid, or the softmax over the labels"
    for top, scale in ((100, "percent"), (255, "8-bit grey values"), (65535, "16-bit grey values")):
        if top / 2 < highest <= top:
            return f"It looks like {scale}: divide by {top}"
    return ""
