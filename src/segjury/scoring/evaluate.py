"""Score a benchmark from a notebook or the command line: in memory, or into a folder."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from segjury.benchmark.folders import (
    refuse_output_among_inputs,
    submitted,
    unknown_cases,
)
from segjury.benchmark.init import assume
from segjury.benchmark.layout import case_names
from segjury.benchmark.names import doubtful
from segjury.errors import InputError, escaped
from segjury.metrics import READINGS, Reading
from segjury.protocols import Protocol, load_protocol
from segjury.runtime.limits import GB, Limits, usage
from segjury.runtime.lock import locked
from segjury.scoring.run import Progress, score_benchmark
from segjury.wording import grouped, listed

if TYPE_CHECKING:
    import pandas as pd

    from segjury.results import Results, Run

MOST_NAMED = 10


def evaluate(
    protocol: str | Path | Protocol | None,
    *,
    reference: str | Path,
    predictions: str | Path,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    cases: str | Path | None = None,
    efficiency: str | Path | None = None,
    follow_links: bool = False,
    allow_code: bool = False,
    time_limit_s: float | None = None,
    memory_limit_gb: float | None = None,
) -> pd.DataFrame:
    """Score every method on every case and return the long table; see `run` for the options."""
    return run(
        protocol,
        reference=reference,
        predictions=predictions,
        readings=readings,
        methods=methods,
        jobs=jobs,
        scheduler=scheduler,
        cases=cases,
        efficiency=efficiency,
        follow_links=follow_links,
        allow_code=allow_code,
        time_limit_s=time_limit_s,
        memory_limit_gb=memory_limit_gb,
    ).scores


def run(
    protocol: str | Path | Protocol | None,
    *,
    reference: str | Path,
    predictions: str | Path,
    out: str | Path | None = None,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int | None = 1,
    scheduler: str | None = None,
    cases: str | Path | None = None,
    efficiency: str | Path | None = None,
    follow_links: bool = False,
    allow_code: bool = False,
    time_limit_s: float | None = None,
    memory_limit_gb: float | None = None,
    progress: Callable[[Progress], None] = lambda _done: None,
    on_note: Callable[[str], None] = lambda _text: None,
    text: str = "",
) -> Results:
    """Score every method on every case.

    Parameters
    ----------
    protocol
        A name, the path of a `.toml` file, or a protocol that is loaded. With None it is made from
        the files, as `segjury.init` does, and `on_note` tells how.
    reference, predictions
        The folder with one folder per case, and that with one folder per method, or the folder of
        one method.
    out
        A folder for `scores.csv` and all that goes beside it. Finished results are kept there: an
        interrupted run goes on where it stopped, and only what changed is computed again.
    readings, methods
        All unless told.
    jobs
        Processes; with None, cores and memory decide. With several, call it under
        `if __name__ == "__main__":`, as always with processes.
    scheduler
        The address of a Dask scheduler whose workers do it instead.
    cases
        A table of the cases, if it is not in the reference folder.
    efficiency
        A table of the time and memory that the methods took.
    follow_links
        Read predictions through links that leave their folder.
    allow_code
        Run the Python code that a protocol file names; read it first.
    time_limit_s, memory_limit_gb
        The most that scoring one prediction may take: seconds of processor time (ten times as many
        by the clock), and memory beside that of the reference. One that takes more has the status
        `over_limit`, and costs what the protocol's `policy.over_limit` says. With a limit, all is
        done in other processes, so call it under `if __name__ == "__main__":`.
    progress, on_note
        Called after each case, and with what is good to know meanwhile.
    text
        The TOML of a protocol that is loaded, for the record of the run.

    Returns
    -------
    Results
        The tables; `.problems` say what could not be scored, and `.warnings` what to look at.

    """
    limits = _limits(time_limit_s, memory_limit_gb)
    truth, given = Path(reference), Path(predictions)
    if protocol is None:
        made = assume(truth, given)
        protocol, text = made.protocol, made.text
        on_note(made.assumed)
    folder = None if out is None else Path(out)
    definition = load_protocol(protocol, allow_code=allow_code)
    known = case_names(definition, truth)  # before anything is made
    if folder:
        refuse_output_among_inputs(folder, truth, given)
    given, methods = submitted(definition, given, methods, cases=known)
    with locked(folder) if folder else nullcontext():
        results = score_benchmark(
            protocol,
            reference=truth,
            predictions=given,
            readings=readings,
            methods=methods,
            jobs=jobs,
            scheduler=scheduler,
            store=folder / "parts" if folder else None,
            case_file=Path(cases) if cases else None,
            efficiency=Path(efficiency) if efficiency else None,
            follow_links=follow_links,
            allow_code=allow_code,
            limits=limits,
            progress=progress,
            on_note=on_note,
            text=text,
        )
        scored = results.run.methods if results.run else []
        warnings = [
            *_strays(unknown_cases(definition, known, given, scored, follow_links=follow_links)),
            *grouped(doubtful(known, "case")),
            *grouped(doubtful(scored, "method")),
            *results.warnings,
            *(_left_out(results.run, folder) if folder else ()),
        ]
        results = replace(results, path=folder, warnings=tuple(warnings))
        if folder:
            results.write(folder)
    return results


def _limits(time_limit_s: float | None, memory_limit_gb: float | None) -> Limits:
    for name, limit in (("time_limit_s", time_limit_s), ("memory_limit_gb", memory_limit_gb)):
        if limit is not None and not 0 < limit < math.inf:
            raise InputError(f"`{name}` is {limit:g}", "Give a number above 0, or none")
    if memory_limit_gb is None:
        return Limits(time_limit_s)
    if math.isnan(usage(os.getpid()).memory):
        raise InputError("this system does not tell the memory of a process", "Set no limit of it")
    return Limits(time_limit_s, memory_limit_gb * GB)


def _strays(unknown: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Warnings of folders that are no case of the reference, by method."""
    for method, names in unknown.items():
        about = f"method {method}: "
        lines = [f"{about}{escaped(name)} is no case of the reference" for name in names]
        yield from grouped(lines, about=about)


def _left_out(run: Run | None, out: Path) -> list[str]:
    """Warnings of what the tables of an earlier run in `out` have and these will not."""
    from segjury.results import Run

    before, warnings = Run.read(out), []
    for kind in ("methods", "readings") if before and run else ():
        gone = [name for name in getattr(before, kind) if name not in getattr(run, kind)]
        if gone:
            names = listed(gone, most=MOST_NAMED)
            warnings.append(f"the tables no longer have the {kind} {names}")
    return warnings
