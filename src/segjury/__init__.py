"""Score, rank and report segmentation benchmarks in which experts disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjury.errors import InputError

if TYPE_CHECKING:
    from segjury.scoring.run import evaluate

__all__ = ["InputError", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import what is used, when it is used, so that `import segjury` stays fast."""
    if name == "evaluate":
        from segjury.scoring.run import evaluate

        return evaluate
    raise AttributeError(f"module 'segjury' has no attribute '{name}'")
