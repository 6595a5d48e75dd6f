"""What all benchmarks share: time, peak memory, processes of their own, tables in Markdown.

Timings are the best of several, and what is compared is timed in turns within one run: a busy
machine slows both alike, so that what counts is the ratio.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def best_seconds(works: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """The shortest time of each of some works, done in turns."""
    best = [float("inf")] * len(works)
    for _ in range(repeat):
        for number, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def peak_gb() -> float:
    """Peak memory of this process since it began; what its parent had does not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e9
    raise RuntimeError("this system does not tell the peak memory")


def apart(function: str, *arguments: Any) -> Any:
    """What `module.function` returns in a fresh process, whose memory is then its own alone."""
    command = [sys.executable, __file__, function, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{function}{arguments} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def program(*arguments: str) -> tuple[float, float]:
    """Seconds and peak memory in GB of `segjury` with arguments, in this process."""
    from segjury.cli import main

    sys.argv = ["segjury", *arguments]
    start = time.perf_counter()
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"segjury {' '.join(arguments)} ended with {end.code}") from None
    return time.perf_counter() - start, peak_gb()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def size_text(shape: Sequence[int]) -> str:
    """A size as people write it."""
    return "×".join(str(size) for size in shape)  # noqa: RUF001


def main() -> None:
    """Call a function of another module here and print what it returns."""
    from importlib import import_module

    module, _, name = sys.argv[1].rpartition(".")
    found = getattr(import_module(module), name)(*json.loads(sys.argv[2]))
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
