"""Synthetic benchmarks whose answers are known, one writer per protocol, and analytic shapes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from segjury.errors import InputError

BENCHMARKS: dict[str, str] = {
    "curvas-pdacvi-2025": "segjury.benchmark.phantoms.pdacvi.cases",
    "curvas-2024": "segjury.benchmark.phantoms.curvas24.cases",
    "smile-uhura-2023": "segjury.benchmark.phantoms.smile.cases",
    "aortaseg-2024": "segjury.benchmark.phantoms.aortaseg.cases",
}


class BenchmarkWriter(Protocol):
    """What every `write_benchmark` accepts."""

    def __call__(
        self,
        out: Path,
        *,
        cases: int = ...,
        methods: int = ...,
        seed: int = ...,
        shape: tuple[int, int, int] = ...,
        progress: Callable[[str], None] | None = ...,
    ) -> None:
        """Write `cases` reference cases and the predictions of `methods` methods below `out`."""


def benchmark_writer(protocol: str) -> BenchmarkWriter:
    """The function that writes a synthetic benchmark for `protocol`."""
    if protocol not in BENCHMARKS:
        raise InputError(
            f"no phantom for the protocol {protocol!r}", f"Use one of {', '.join(BENCHMARKS)}"
        )
    return cast("BenchmarkWriter", import_module(BENCHMARKS[protocol]).write_benchmark)
