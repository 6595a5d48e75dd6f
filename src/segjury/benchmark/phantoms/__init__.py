"""Synthetic benchmarks whose answers are known: a phantom for each protocol; analytic shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from segjury.errors import InputError
from segjury.protocols import Protocol, load_protocol

BENCHMARKS = {  # those with anatomy of their own; the others are made from what they say
    "curvas-pdacvi-2025": "pdacvi",
    "curvas-2024": "curvas24",
    "smile-uhura-2023": "smile",
    "aortaseg-2024": "aortaseg",
}


SHAPES = {"qubiq-2021": (64, 64, 1), "lidc-idri": (64, 64, 1)}  # of images with one slice


def benchmark_writer(protocol: str | Path | Protocol, *, allow_code: bool = False) -> partial[None]:
    """The function that writes a synthetic benchmark: `writing.write_benchmark` for `protocol`.

    That is the name of a protocol or the path of a file; one that names Python code is refused
    unless `allow_code`.
    """
    from segjury.benchmark.phantoms.general import USUAL_SHAPE, phantom_of
    from segjury.benchmark.phantoms.writing import write_benchmark

    if isinstance(protocol, str) and protocol in BENCHMARKS:
        module = import_module(f"{__name__}.{BENCHMARKS[protocol]}")
        return partial(write_benchmark, module.PHANTOM)
    loaded = load_protocol(protocol, allow_code=allow_code)
    phantom = phantom_of(loaded, SHAPES.get(loaded.name, USUAL_SHAPE))
    return partial(write_benchmark, phantom)


def write_phantom(
    protocol: str | Path | Protocol,
    out: str | Path,
    *,
    cases: int = 10,
    methods: int = 6,
    seed: int = 0,
    shape: tuple[int, int, int] | None = None,
    force: bool = False,
    allow_code: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a synthetic benchmark of a protocol: `reference` and `predictions` in the folder `out`.

    The protocol is given by name or as a file. A benchmark that is there is overwritten only with
    `force`. The same seed gives the same files; `shape` is small unless told, and of one slice for
    most protocols if asked for. `progress` hears of each finished case.
    """
    folder = Path(out)
    if not force and any((folder / part).exists() for part in ("reference", "predictions")):
        raise InputError(
            f"{folder} holds a benchmark", "Give another folder, or `force` to overwrite"
        )
    write = benchmark_writer(protocol, allow_code=allow_code)
    write(folder, cases=cases, methods=methods, seed=seed, shape=shape, progress=progress)
    return folder
