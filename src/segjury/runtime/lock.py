"""One run at a time on a folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segjury.errors import InputError
from segjury.runtime.paths import make_folder
from segjury.runtime.writing import remove_partial

LOCK = "run.lock"  # stays in the folder: removing it would let two runs in


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder of results for this process; refused while another one holds it.

    The system takes the claim back from a process that ends, however it ends. What such a
    process left half-written is removed.
    """
    from filelock import FileLock, Timeout

    make_folder(folder)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(
            f"another run is writing to {folder}", "Wait until it ends, or give another `out`"
        ) from None
    try:
        for place in (folder, folder / "parts"):
            remove_partial(place)
        yield
    finally:
        lock.release()
