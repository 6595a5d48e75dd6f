"""Feed a reader with damaged files, led by the code they reach (atheris), until it breaks.

    python fuzz/fuzz.py TARGET [--seconds 60]
    python fuzz/fuzz.py --list

A crash, a hang of ten seconds or more than 2 GB of memory end the run; the input is left in the
folder where it was started.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["segjury", "nibabel", "tomllib", "zipfile"]):
    from targets import TARGETS, reworded

MOST_BYTES = 1 << 32  # of address space: what a header claims and no file holds must not be taken


def main() -> None:
    """Run one target for some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS, nargs="?")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--list", action="store_true", help="print the names of all targets")
    options = parser.parse_args()
    if options.list or options.target is None:
        print(*TARGETS)
        return
    target = TARGETS[options.target]
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{options.target}-"))
    seeds = folder / "seeds"
    seeds.mkdir()
    for number, content in enumerate(target.seeds):
        (seeds / str(number)).write_bytes(content)
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))

    def mutated(content: bytes, most: int, seed: int) -> bytes:
        """The fuzzer's own ways and, as often, other words in the same form."""
        rng = random.Random(seed)  # noqa: S311 - no secret
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(content, most))
        return reworded(bytes(content), target.seeds, rng)[:most]

    atheris.Setup(
        [
            sys.argv[0],
            str(seeds),
            f"-max_total_time={options.seconds}",
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-max_len=8192",
            "-print_final_stats=1",
            f"-artifact_prefix={options.target}-",
        ],
        lambda content: target.run(content, folder),
        custom_mutator=mutated,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
