"""Synthetic benchmarks whose answers are known, one phantom per protocol, and analytic shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from segjury.errors import InputError, did_you_mean

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
            f"no phantom for the protocol {protocol!r}", did_you_mean(protocol, BENCHMARKS)
        )
    return partial(write_benchmark, import_module(f"{__name__}.{BENCHMARKS[protocol]}").PHANTOM)


def write_phantom(
    protocol: str,
    out: str | Path,
    *,
    cases: int = 10,
    methods: int = 6,
    seed: int = 0,
    shape: tuple[int, int, int] | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a synthetic benchmark of a protocol: `reference` and `predictions` in the folder `out`.

    One that is there is overwritten only with `force`. The same seed gives the same files; `shape`
    is small unless told. `progress` hears of each finished case.
    """
    folder = Path(out)
    if not force and any((folder / part).exists() for part in ("reference", "predictions")):
        raise InputError(
            f"{folder} holds a benchmark", "Give another folder, or `force` to overwrite"
        )
    write = benchmark_writer(protocol)
    write(folder, cases=cases, methods=methods, seed=seed, shape=shape, progress=progress)
    return folder
