"""Folders nested deeper than calls may be, which is made cheap by allowing fewer of these."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

DEPTH = 400
CALLS = 300  # usually 1000


@contextlib.contextmanager
def few_calls() -> Iterator[None]:
    """Allow few calls within calls, as in the depth of a large program."""
    usual, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame.f_back:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + CALLS)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def write_deep_folder(folder: Path) -> None:
    """Write a folder in which others are nested, with a file in the last."""
    place = folder.joinpath(*["d"] * DEPTH)
    place.mkdir(parents=True)
    (place / "file").touch()
