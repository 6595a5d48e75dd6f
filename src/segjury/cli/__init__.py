"""The command line: one thin function per command, in the order of `segjury --help`."""

from segjury.cli import demo, benchmark, simulate, check, evaluate, scores, report, ratings, consensus, masks, data  # noqa: F401, I001  (they add their commands)
from segjury.cli.program import app, main

__all__ = ["app", "main"]
