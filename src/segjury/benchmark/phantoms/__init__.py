"""Synthetic benchmarks whose answers are known, one phantom per protocol, and analytic shapes."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from segjury.errors import InputError

BENCHMARKS = {
    "curvas-pdacvi-2025": "pdacvi",
    "curvas-2024": "curvas24",
    "smile-uhura-2023": "smile",
    "aortaseg-2024": "aortaseg",
}


def benchmark_writer(protocol: str) -> partial[None]:
    """The function that writes a synthetic benchmark: `writing.write_benchmark` for `protocol`."""
    from segjury.benchmark.phantoms.writing import write_benchmark

    if protocol not in BENCHMARKS:
        raise InputError(
            f"no phantom for the protocol {protocol!r}", f"Use one of {', '.join(BENCHMARKS)}"
        )
    return partial(write_benchmark, import_module(f"{__name__}.{BENCHMARKS[protocol]}").PHANTOM)
