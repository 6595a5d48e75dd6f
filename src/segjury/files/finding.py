"""Which image files there are in a folder."""

from __future__ import annotations

from pathlib import Path

from segjury.errors import InputError, MissingInputError

SUFFIXES = (".nii.gz", ".nii", ".mha", ".nrrd")


def candidates(folder: Path, stem: str) -> list[Path]:
    """The images `stem` in `folder`, with any known suffix."""
    return [path for s in SUFFIXES if (path := folder / f"{stem}{s}").is_file()]


def find(folder: Path, stem: str) -> Path:
    """The one image `stem` in `folder`."""
    found = candidates(folder, stem)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{folder.name} has {names}", "Keep one of them")
    if not found:
        for path in (folder / f"{stem}{suffix}" for suffix in SUFFIXES):
            if path.is_symlink():
                raise InputError(f"{path.name} is a link that leads to no file", "Copy the file")
        raise MissingInputError(f"{stem}{SUFFIXES[0]} is missing")
    return found[0]
