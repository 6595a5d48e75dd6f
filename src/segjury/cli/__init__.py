"""The command line: one thin function per command."""

from segjury.cli import (  # noqa: F401  (they add their commands)
    benchmark,
    check,
    consensus,
    data,
    demo,
    evaluate,
    labels,
    masks,
    raters,
    ratings,
    report,
    scores,
    simulate,
)
from segjury.cli.program import app, main

__all__ = ["app", "main"]
