"""What a number was computed with: our version and source, and the libraries'."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import metadata, resources

LIBRARIES = ("numpy", "scipy", "pandas", "SimpleITK", "nibabel", "isal", "scikit-image")
NO_SCORES = ("cli", "phantoms", "report")  # parts that no score depends on


def version() -> str:
    """Our version."""
    return metadata.version("segjury")


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that numbers may depend on."""
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in LIBRARIES}


@cache
def code_fingerprint() -> str:
    """Changes with anything that a score is computed by: our source, Python or a library.

    The version alone would not do: a checkout keeps its version while its source changes.
    """
    total = hashlib.blake2b(digest_size=16)
    for said in (version(), *versions().items()):
        total.update(f"{said}\0".encode())
    folders = [resources.files("segjury")]
    while folders:
        for entry in sorted(folders.pop().iterdir(), key=lambda each: each.name):
            if entry.is_dir() and entry.name not in NO_SCORES:
                folders.append(entry)
            elif entry.name.endswith(".py"):
                total.update(f"{entry.name}\0".encode() + entry.read_bytes())
    return total.hexdigest()
