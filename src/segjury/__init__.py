"""Score, rank and report segmentation benchmarks in which experts disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.benchmark.check import check
    from segjury.benchmark.curate import curate
    from segjury.benchmark.init import init
    from segjury.benchmark.phantoms import write_phantom
    from segjury.benchmark.phantoms.simulation import simulate_raters
    from segjury.benchmark.split import split
    from segjury.platforms.compare import compare
    from segjury.platforms.notebook import measure_raters, read, run
    from segjury.protocols import load_protocol
    from segjury.scoring.evaluate import evaluate

    __version__: str

__all__ = [
    "InputError",
    "__version__",
    "check",
    "compare",
    "curate",
    "evaluate",
    "init",
    "load_protocol",
    "measure_raters",
    "read",
    "run",
    "simulate_raters",
    "split",
    "write_phantom",
]

_MODULES = {  # imported when first used, so that `import segjury` stays fast
    "check": "segjury.benchmark.check",
    "compare": "segjury.platforms.compare",
    "curate": "segjury.benchmark.curate",
    "evaluate": "segjury.scoring.evaluate",
    "init": "segjury.benchmark.init",
    "load_protocol": "segjury.protocols",
    "measure_raters": "segjury.platforms.notebook",
    "read": "segjury.platforms.notebook",
    "run": "segjury.platforms.notebook",
    "simulate_raters": "segjury.benchmark.phantoms.simulation",
    "split": "segjury.benchmark.split",
    "write_phantom": "segjury.benchmark.phantoms",
}
_ROOMS = ("consensus", "images", "methods", "metrics")  # of functions that a notebook calls


def __getattr__(name: str) -> Any:
    """What a notebook calls, or a room, imported when it is used."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        return version("segjury")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in _ROOMS:
        return import_module(f"segjury.{name}")
    raise AttributeError(f"module 'segjury' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
