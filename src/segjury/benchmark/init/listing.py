"""The files below a folder that somebody gave, few enough to look at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from segjury import images
from segjury.errors import InputError
from segjury.images.formats.raster import SUFFIXES as PICTURES
from segjury.protocols.patterns import MOST_FOLDERS

MOST_ENTRIES = 300_000  # files and folders that are listed
MOST_IMAGES = 100_000  # of them images


@dataclass(frozen=True)
class Image:
    """An image file: the folders on the way to it, its name without ending, and its ending."""

    parts: tuple[str, ...]
    end: str

    @property
    def path(self) -> str:
        """Where it is below the folder, without its ending."""
        return "/".join(self.parts)

    def below(self, folder: Path) -> Path:
        """The file itself."""
        return folder.joinpath(*self.parts[:-1], f"{self.parts[-1]}{self.end}")


@dataclass(frozen=True)
class Listing:
    """What lies below a folder, hidden files apart."""

    folder: Path
    images: tuple[Image, ...]
    archives: tuple[tuple[str, ...], ...]  # of nnU-Net's probabilities

    def of_volumes(self) -> Listing:
        """The same without pictures, which beside volumes are there to be looked at."""
        volumes = tuple(each for each in self.images if each.end not in PICTURES)
        return replace(self, images=volumes) if volumes else self

    def without(self, folder: Path) -> Listing:
        """The same but for a folder below."""
        below = folder.resolve().relative_to(self.folder.resolve()).parts
        return Listing(
            self.folder,
            tuple(each for each in self.images if each.parts[: len(below)] != below),
            tuple(parts for parts in self.archives if parts[: len(below)] != below),
        )


def list_files(folder: Path) -> Listing:
    """All files below a folder, as deep as a protocol can say; an error where there are too many.

    Links to folders are followed, each folder once, so that none leads in a circle.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise InputError(f"{folder} {what}", "Give the folder that has the files")
    found: list[Image] = []
    archives = []
    for parts in _files_below(folder):
        end = images.suffix(parts[-1])
        stem = parts[-1].removesuffix(end) if end else ""
        if end and stem:
            found.append(Image((*parts[:-1], stem), end))
        elif parts[-1].endswith(".npz"):
            archives.append(parts)
        if len(found) > MOST_IMAGES:
            raise InputError(
                f"{folder} has more than {MOST_IMAGES} images", "Give the folder of the masks alone"
            )
    return Listing(folder, tuple(found), tuple(archives))


def _files_below(folder: Path) -> Iterator[tuple[str, ...]]:
    waiting: list[tuple[str, ...]] = [()]
    seen: set[tuple[int, int]] = set()
    count = 0
    while waiting:
        above = waiting.pop()
        place = folder.joinpath(*above)
        folders = []
        with suppress(OSError):  # it may not be looked into
            about = place.stat()
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            with os.scandir(place) as entries:
                names = []
                for entry in entries:
                    count += 1
                    if count > MOST_ENTRIES:
                        raise InputError(
                            f"{folder} has more than {MOST_ENTRIES} files",
                            "Give the folder of the masks alone",
                        )
                    if not entry.name.startswith("."):
                        names.append((entry.name, images.is_folder(Path(entry.path))))
            for name, is_folder in sorted(names):
                if is_folder:
                    folders.append((*above, name))
                elif len(above) < MOST_FOLDERS:
                    yield (*above, name)
        if len(above) + 1 < MOST_FOLDERS:
            waiting += reversed(folders)
