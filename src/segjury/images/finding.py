"""Which image files there are in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from segjury.errors import InputError, MissingInputError
from segjury.images.formats import SUFFIXES, raster
from segjury.images.unread import unread_sibling


def is_file(path: Path) -> bool:
    """Whether there is a file that may be looked at."""
    try:
        return path.is_file()
    except OSError:  # its folder may not be entered
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder that may be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def suffix(name: str) -> str | None:
    """The known ending of a file's name; None if it has none."""
    return next((end for end in SUFFIXES if name.endswith(end)), None)


def is_picture(path: Path) -> bool:
    """Whether a file is a picture, which says nothing of voxel sizes or sides of the body."""
    return path.name.endswith(raster.SUFFIXES)


def candidates(folder: Path, stem: str) -> list[Path]:
    """The images `stem` in `folder`, with any known suffix."""
    return [path for s in SUFFIXES if is_file(path := folder / f"{stem}{s}")]


def find(folder: Path, stem: str) -> Path:
    """The one image `stem` in `folder`."""
    paths = candidates(folder, stem)
    if len(paths) > 1:
        names = ", ".join(path.name for path in paths)
        raise InputError(f"{folder.name} has {names}", "Keep one of them", kind="two-files")
    if not paths:
        if is_folder(folder) and not os.access(folder, os.R_OK | os.X_OK):
            raise InputError(f"{folder.name} cannot be read (Permission denied)", "Allow it")
        for path in (folder / f"{stem}{suffix}" for suffix in SUFFIXES):
            if path.is_symlink():
                raise InputError(f"{path.name} is a link that leads to no file", "Copy the file")
            if path.exists():
                raise InputError(f"{path.name} is no file", "Put a file in its place")
        other = unread_sibling(folder, stem)
        told = f" ({other})" if other else ""
        raise MissingInputError(f"{stem}{SUFFIXES[0]} is missing{told}")
    return paths[0]
