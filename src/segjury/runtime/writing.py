"""Files that appear whole or not at all, whatever ends the writing."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from segjury.errors import is_hidden
from segjury.runtime.paths import make_folder

PARTIAL = ".partial-"  # how the name of a file begins that is not yet whole


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to; what is there at the end becomes `path`, or nothing does.

    The content is on the disk before the name is, so that not even a power cut leaves half a
    file. The place has the ending of `path`, and a name that no other process or machine takes.
    """
    make_folder(path.parent)
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(6)}{''.join(path.suffixes[-2:])}")
    try:
        yield partial
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            error.filename = str(path)  # a full disk does not say of what
        raise


def _sync_folder(folder: Path) -> None:
    """Have the new name of a file on the disk too, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def json_text(content: Any, *, indent: int | None = None) -> str:
    """A document of JSON in any script; what cannot be seen is written as JSON's escapes do."""
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    unseen = [char for char in set(text) if char != "\n" and is_hidden(char)]
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in unseen})


def write_text(text: str, path: Path) -> None:
    """A text file that ends with one newline."""
    with whole_file(path) as partial:
        partial.write_text(f"{text.rstrip()}\n", "utf-8")


@contextmanager
def whole_files(folder: Path, last: str) -> Iterator[Path]:
    """A place to write several files to; at the end they go to `folder`, or none does.

    The file called `last` is removed first and comes last, so that it never stands beside files
    of another time.
    """
    make_folder(folder)
    try:
        with TemporaryDirectory(prefix=PARTIAL, dir=folder) as place:
            yield Path(place)
            (folder / last).unlink(missing_ok=True)
            for path in sorted(Path(place).iterdir(), key=lambda path: path.name == last):
                path.replace(folder / path.name)
            _sync_folder(folder)
    except OSError as error:
        error.filename = str(folder / Path(str(error.filename)).name)
        raise


def remove_partial(folder: Path) -> None:
    """Remove what killed processes left half-written in a folder."""
    for left in folder.glob(f"{PARTIAL}*"):
        if left.is_dir():
            with suppress(RecursionError):  # it is nested too deep
                shutil.rmtree(left, ignore_errors=True)
            continue
        with suppress(OSError):
            left.unlink()
