"""What a number was computed with: our version and source, and the libraries'."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable

LIBRARIES = ("numpy", "scipy", "pandas", "SimpleITK", "nibabel", "isal", "scikit-image", "pillow")
EXTRAS = ("pydicom",)  # where they are installed
# What a kept result depends on: rooms and files, none of which imports another of ours.
SCORED_BY = (
    *("arrays.py", "errors.py", "rounding.py", "images", "consensus", "metrics", "protocols"),
    *(f"benchmark/{name}.py" for name in ("case", "copies", "folders", "layout", "loading")),
    *("benchmark/names.py", "benchmark/orientation.py"),
    *(f"scoring/{name}.py" for name in ("comparison", "facts", "features", "one_case")),
    *(f"scoring/{name}" for name in ("policy.py", "records.py", "score.py", "scorers", "store.py")),
    *(
        f"runtime/{name}.py"
        for name in ("__init__", "cluster", "engine", "limits", "memo", "writing")
    ),
    *(f"runtime/{name}.py" for name in ("paths", "processes", "provenance", "resources")),
)


def version() -> str:
    """Our version."""
    return metadata.version("segjury")


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that numbers may depend on."""
    found = {"python": platform.python_version()} | {p: metadata.version(p) for p in LIBRARIES}
    for name in EXTRAS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@cache
def code_fingerprint() -> str:
    """Changes with anything that a score is computed by: our source, Python or a library.

    The version alone would not do: a checkout keeps its version while its source changes.
    """
    total = hashlib.blake2b(source_digest(resources.files("segjury")), digest_size=16)
    for said in (version(), *versions().items()):
        total.update(f"{said}\0".encode())
    return total.hexdigest()


def source_digest(package: Traversable) -> bytes:
    """Digest of the files of `SCORED_BY` in a copy of this package, by path and content."""
    total = hashlib.blake2b(digest_size=16)
    for name in SCORED_BY:
        for path, file in _sources(name, package.joinpath(name)):
            total.update(f"{path}\0".encode() + file.read_bytes())
    return total.digest()


def _sources(path: str, entry: Traversable) -> Iterator[tuple[str, Traversable]]:
    """The Python files of a folder and the folders in it, or the one file."""
    if entry.is_dir():
        for below in sorted(entry.iterdir(), key=lambda each: each.name):
            yield from _sources(f"{path}/{below.name}", below)
    elif path.endswith(".py"):
        yield path, entry
