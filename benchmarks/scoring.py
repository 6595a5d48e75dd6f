"""Time and memory of `evaluate`: per protocol, over sizes, over processes, and at the limits.

All metrics and all readings, on synthetic cases (`cases.py`) of true sizes.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cases import write_cases
from measuring import apart, best_seconds, peak_gb, program, size_text, table

PDACVI, CURVAS = "curvas-pdacvi-2025", "curvas-2024"
SMILE, AORTA = "smile-uhura-2023", "aortaseg-2024"
SIZES = {
    PDACVI: (512, 512, 160),
    CURVAS: (512, 512, 160),
    SMILE: (480, 640, 163),
    AORTA: (450, 450, 695),
}
GROWTH = ((512, 512, 40), (512, 512, 160), (512, 512, 1000))
LIMITS = (  # protocol, size, form, methods, what it is
    (PDACVI, (512, 512, 1000), "usual", 2, "five raters, sparse maps"),
    (PDACVI, (512, 512, 1000), "wide", 2, "raters and maps that fill half of the volume"),
    (PDACVI, (512, 512, 1000), "adverse", 2, "masks full everywhere, noise all over float64 maps"),
    (CURVAS, (512, 512, 1000), "dense", 1, "three raters, three dense float32 maps"),
    (SMILE, (960, 1280, 480), "usual", 1, "1.4 % vessels"),
)
CASES = {PDACVI: 24, CURVAS: 8, SMILE: 6, AORTA: 12}  # enough to work for some seconds


# ---- what is measured, in processes of its own ---------------------------------------------


def times(protocol: str, folder: str, repeat: int) -> list[float]:
    """Seconds to read the files one by one, to evaluate, and to evaluate one method less."""
    import segjury
    from segjury.benchmark.folders import method_names
    from segjury.images import read_volume

    place = Path(folder)
    paths = sorted(place.rglob("*.nii*"))
    reference, predictions = place / "reference", place / "predictions"
    methods = method_names(predictions)

    def read() -> None:
        for path in paths:
            read_volume(path)

    def evaluate(some: Sequence[str] = methods) -> object:
        return segjury.evaluate(
            protocol, reference=reference, predictions=predictions, methods=some
        )

    read()  # into the system's cache
    with tempfile.TemporaryDirectory() as tiny:  # what is imported late is not what is measured
        write_cases(protocol, Path(tiny), (32, 32, 32), methods=1)
        memory(protocol, tiny)
    return best_seconds([read, evaluate, lambda: evaluate(methods[:-1])], repeat)


def memory(protocol: str, folder: str) -> float:
    """Peak memory in GB of one evaluation."""
    import segjury

    place = Path(folder)
    segjury.evaluate(protocol, reference=place / "reference", predictions=place / "predictions")
    return peak_gb()


def whole(protocol: str, folder: str, jobs: int) -> float:
    """Seconds of the command, into a folder of results that may be there already."""
    place = Path(folder)
    options = ["--reference", str(place / "reference"), "--out", str(place / f"results{jobs}")]
    options += ["--predictions", str(place / "predictions"), "--jobs", str(jobs)]
    return program("evaluate", protocol, *options)[0]


# ---- tables --------------------------------------------------------------------------------


def protocols(folder: Path, *, quick: bool) -> Iterator[str]:
    """Time, reading and memory of one case of each protocol."""
    rows = []
    for protocol, shape in SIZES.items():
        shape = _shrunk(shape) if quick else shape
        made = _made(protocol, folder, shape)
        read, evaluate, less = apart("scoring.times", protocol, made, 2)
        cells = [f"{evaluate:.2f} s", f"{read:.2f} s", f"{read / evaluate:.2f}"]
        cells += [f"{evaluate - less:.2f} s", f"{apart('scoring.memory', protocol, made):.2f} GB"]
        rows.append([f"`{protocol}`", size_text(shape), *cells])
        shutil.rmtree(made)
    head = ["protocol", "voxels", "one case, two methods", "reading its files one by one"]
    yield table([*head, "ratio", "of it the second method", "peak memory"], rows)


def growth(folder: Path, *, quick: bool) -> Iterator[str]:
    """Time and memory per voxel over sizes."""
    rows, first = [], 0.0
    for shape in [_shrunk(shape) for shape in GROWTH] if quick else GROWTH:
        made, millions = _made(PDACVI, folder, shape), math.prod(shape) / 1e6
        _, evaluate, _ = apart("scoring.times", PDACVI, made, 2)
        gb = apart("scoring.memory", PDACVI, made)
        first = first or evaluate / millions
        per_million = [f"{1000 * evaluate / millions:.0f} ms", f"{evaluate / millions / first:.2f}"]
        rows.append([size_text(shape), f"{evaluate:.2f} s", *per_million, f"{gb:.2f} GB"])
        shutil.rmtree(made)
    yield table(["voxels", "time", "per million voxels", "ratio to the first", "peak memory"], rows)


def processes(folder: Path, *, quick: bool) -> Iterator[str]:
    """The whole command with one process and two, and started again when it is finished."""
    rows = []
    for protocol, shape in SIZES.items():
        shape, cases = (_shrunk(shape), 2) if quick else (shape, CASES[protocol])
        made = _made(protocol, folder, shape, cases=cases)
        one, two, again = (apart("scoring.whole", protocol, made, jobs) for jobs in (1, 2, 1))
        cells = [f"{one:.1f} s", f"{two:.1f} s", f"{one / two:.2f}", f"{again / one:.2f}"]
        rows.append([f"`{protocol}`", f"{cases} of {size_text(shape)}", *cells])
        shutil.rmtree(made)
    head = ["`segjury evaluate`", "cases", "one process", "two", "times as fast"]
    yield table([*head, "started again, ratio to the first"], rows)


def limits(folder: Path, *, quick: bool) -> Iterator[str]:
    """Peak memory of the largest cases, in usual and in adverse forms."""
    rows = []
    for protocol, size, form, methods, what in LIMITS:
        shape = _shrunk(size) if quick else size
        made = _made(protocol, folder, shape, form=form, methods=methods)
        gb = apart("scoring.memory", protocol, made)
        per_voxel = f"{1e9 * gb / math.prod(shape):.1f}"
        cells = [size_text(shape), f"{methods}", f"{gb:.2f} GB", per_voxel]
        rows.append([f"`{protocol}`, {what}", *cells])
        shutil.rmtree(made)
    yield table(["one process", "voxels", "methods", "peak memory", "bytes per voxel"], rows)


def _made(
    protocol: str,
    folder: Path,
    shape: Sequence[int],
    *,
    cases: int = 1,
    methods: int = 2,
    form: str = "usual",
) -> str:
    """The folder of new cases; written by a process of its own, as that takes memory too."""
    place = str(folder / "cases")
    apart("scoring.write", protocol, place, list(shape), methods, cases, form)
    return place


def write(
    protocol: str, folder: str, shape: list[int], methods: int, cases: int, form: str
) -> None:
    """Write cases of a protocol."""
    x, y, z = shape
    write_cases(protocol, Path(folder), (x, y, z), methods=methods, cases=cases, form=form)


def _shrunk(shape: Sequence[int]) -> tuple[int, ...]:
    """For a look at whether all works."""
    return tuple(max(32, size // 8) for size in shape)
