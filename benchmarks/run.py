"""Print the tables of the README's section on performance, in Markdown.

    python benchmarks/run.py [--quick] [--only NAME]

Everything is compared within one run, since a busy machine slows all alike. `--quick` takes small
sizes, to see that all works; its numbers say nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import scoring
from answers import answers
from hostile import hostile
from ranking import ranking
from reading import reading
from report import report

PARTS: dict[str, Callable[..., Iterator[str]]] = {
    "protocols": scoring.protocols,
    "growth": scoring.growth,
    "processes": scoring.processes,
    "limits": scoring.limits,
    "answers": answers,
    "hostile": hostile,
    "reading": reading,
    "ranking": ranking,
    "report": report,
}


def run(name: str, *, quick: bool) -> Iterator[str]:
    """The tables of a part, each as soon as it is there."""
    with tempfile.TemporaryDirectory() as place:
        yield from PARTS[name](Path(place), quick=quick)


def main() -> None:
    """Print all tables, or those of one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    given = parser.parse_args()
    begun = time.perf_counter()
    for name in [given.only] if given.only else PARTS:
        for text in run(name, quick=given.quick):
            print(f"{text}\n", flush=True)
    print(f"<!-- {(time.perf_counter() - begun) / 60:.1f} minutes in all -->")


if __name__ == "__main__":
    main()
