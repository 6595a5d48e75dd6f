"""Paths of any depth, and links that lead anywhere: what Python's own calls end in a traceback."""

from __future__ import annotations

import errno
import shutil
import stat
from pathlib import Path

from segjury.errors import InputError


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, if they are not there.

    `Path.mkdir` calls itself for each of them, and a path may name thousands.
    """
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        for place in (*reversed(folder.parents), folder):
            place.mkdir(exist_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it; refused if that is nested too deep."""
    try:
        shutil.rmtree(folder)
    except RecursionError:
        raise InputError(
            f"{folder} has folders that are nested too deep", "Remove it yourself"
        ) from None


def refuse_pipe(path: Path) -> None:
    """Refuse a named pipe, which nobody may ever write to; one that a shell opened is fine."""
    opened = path.is_absolute() and path.parts[1] in ("dev", "proc")
    if not opened and stat.S_ISFIFO(path.stat().st_mode):
        raise InputError(f"{path.name} is a pipe, not a file", "Give a file")


def resolved(path: Path) -> Path:
    """A path without links, from the root; refused if its links lead in a circle."""
    nowhere = InputError(f"{path} is a link that leads nowhere", "Give another place")
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:  # so many links that the system follows them no further
            raise nowhere from None
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # which some versions of Python raise of a circle
        raise nowhere from None
