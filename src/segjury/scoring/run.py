"""Score every method on every case of a protocol.

The cases are those of the reference, so a missing prediction is an explicit row.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segjury import images, runtime
from segjury.benchmark.case_table import case_table
from segjury.benchmark.folders import (
    chosen_methods,
    reference_inputs,
    refuse_wrong_folders,
    sample_places,
)
from segjury.benchmark.layout import case_names, scored_cases, unknown_raters
from segjury.errors import InputError
from segjury.metrics import METRICS, READINGS, Reading
from segjury.protocols import Protocol, load_protocol, protocol_text
from segjury.runtime import UNLIMITED, Limits, provenance
from segjury.runtime.limits import GB
from segjury.runtime.paths import make_folder, resolved
from segjury.scoring.cases import Progress, score_cases
from segjury.scoring.copy_warnings import copy_warnings, on_same_masks
from segjury.scoring.efficiency import Costs, read_efficiency, with_efficiency
from segjury.scoring.memory import PROCESS_BYTES, case_bytes
from segjury.scoring.one_case import CaseTask
from segjury.scoring.policy import cap_missing
from segjury.scoring.records import Result
from segjury.scoring.store import write_marker
from segjury.scoring.tables import tabulate
from segjury.wording import listed

if TYPE_CHECKING:
    from segjury.results import Results

MOST_NAMED = 5

__all__ = ["Progress", "score_benchmark"]


def score_benchmark(
    protocol: str | Path | Protocol,
    *,
    reference: Path,
    predictions: Path,
    readings: Sequence[Reading] = READINGS,
    methods: Sequence[str] | None = None,
    jobs: int | None = 1,
    scheduler: str | None = None,
    store: Path | None = None,
    case_file: Path | None = None,
    efficiency: Path | None = None,
    follow_links: bool = False,
    allow_code: bool = False,
    limits: Limits = UNLIMITED,
    progress: Callable[[Progress], None] = lambda _done: None,
    on_note: Callable[[str], None] = lambda _text: None,
    text: str = "",
) -> Results:
    """Score every method on every case; see `segjury.run`.

    With a `store`, finished results are kept there and taken from it in the next run. `progress`
    is called after each case, `on_note` with what is good to know meanwhile. Without a number of
    `jobs`, cores and memory decide. `text` is that of a protocol which is loaded already.
    """
    definition = load_protocol(protocol, allow_code=allow_code)
    for use in definition.metrics:
        if not use.place and use.name not in METRICS:  # a run's record, which runs no code
            raise InputError(
                f"the code of {use.name} is not loaded", "Evaluate with the protocol file"
            )
    readings = definition.chosen_readings(readings)
    every_case = case_names(definition, reference)
    chosen = chosen_methods(predictions, methods)
    refuse_wrong_folders(definition, reference, every_case, predictions, chosen)
    known = case_table(definition, reference, every_case, case_file)
    cases, left_out = scored_cases(definition, reference, every_case)
    costs = read_efficiency(efficiency, chosen, cases) if efficiency else Costs({})
    if store is not None:
        make_folder(store)
    begun, clock = datetime.now(UTC), time.perf_counter()
    bytes_each = _bytes_of_a_process(
        definition, reference, cases, [predictions / m for m in chosen]
    )
    workers = runtime.default_jobs(len(cases), bytes_each=bytes_each) if jobs is None else jobs
    engine = runtime.engine_for(
        workers, scheduler, bytes_each=bytes_each, limits=limits, on_note=on_note
    )
    every = CaseTask(
        definition,
        readings,
        resolved(reference),  # a worker may have another working directory
        resolved(predictions),
        case="",
        methods=tuple(chosen),
        everyone=tuple(chosen),
        store=resolved(store) if store else None,
        mark=write_marker(store) if store and scheduler else "",
        follow_links=follow_links,
        code=provenance.code_fingerprint(),
        limits=limits,
    )
    tasks = [replace(every, case=case) for case in cases]
    results, kept, copies = score_cases(engine, tasks, progress)
    if store and every.mark:
        (store / every.mark).unlink(missing_ok=True)
    text = text if isinstance(protocol, Protocol) else protocol_text(protocol)
    about = _about(every, text) | {
        "case_table": str(resolved(case_file)) if case_file else None,
        "efficiency": str(resolved(efficiency)) if efficiency else None,
        "cases": len(cases),
        "left_out": left_out,
        "kept": kept,
        "engine": engine.name,
        "jobs": workers if scheduler is None else None,
        "started": begun.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
    }
    results = with_efficiency(definition, cap_missing(definition, results), readings, costs)
    warnings = (
        *(f"case {case} is left out: {why}" for case, why in left_out.items()),
        *_unknown_raters(definition, reference, every_case),
        *_same_masks(results),
        *copy_warnings(copies, len(cases)),
        *costs.warnings,
    )
    return tabulate(definition, results, known, about, warnings)


def _unknown_raters(protocol: Protocol, reference: Path, cases: Sequence[str]) -> Iterator[str]:
    """A warning of files that are named as those of raters who are not in the panel."""
    unknown = unknown_raters(protocol, reference, cases)
    if unknown:
        panel = listed(protocol.reference.all_names, most=MOST_NAMED)
        file = min(name for names in unknown.values() for name in names)
        have = "has" if len(unknown) == 1 else "have"
        yield (
            f"{len(unknown)} of {len(cases)} cases {have} files of raters who are not in the panel "
            f"({panel}), such as {file}"
        )


def _same_masks(results: Sequence[Result]) -> Iterator[str]:
    """Warnings of raters whose masks of a case are the same."""
    facts = {result.case: result.facts for result in results if result.facts}
    for case, known in facts.items():
        yield from on_same_masks(case, known)


def _about(task: CaseTask, text: str) -> dict[str, Any]:
    """What a run is made with, for its record; `text` is the protocol's as written."""
    protocol = task.protocol
    return {
        "segjury": provenance.version(),
        "protocol": {
            "name": protocol.name,
            "title": protocol.title,
            "hash": protocol.hash,
            "text": text,
            "definition": protocol.model_dump(mode="json"),
        },
        "readings": list(task.readings),
        "reference": str(task.reference),
        "predictions": str(task.predictions),
        "methods": list(task.methods),
        "follow_links": task.follow_links,
        "time_limit_s": task.limits.seconds,
        "memory_limit_gb": None if task.limits.memory is None else task.limits.memory / GB,
        "versions": provenance.versions(),
        "code": task.code,
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
    }


def _bytes_of_a_process(
    protocol: Protocol, reference: Path, cases: Sequence[str], methods: Sequence[Path]
) -> int:
    """The memory that scoring the largest case takes, with as many samples as in the first."""
    samples = [0]
    if protocol.needs_samples:
        samples += [len(sample_places(protocol, method, cases[0])) for method in methods]
    voxels = [0]
    for case in cases:
        for path in reference_inputs(protocol, reference, case)[:1]:
            try:
                voxels.append(math.prod(images.read_grid(path).shape))
            except InputError:
                continue  # the case will say so itself
    return PROCESS_BYTES + case_bytes(
        max(voxels),
        metrics=[use.name for use in protocol.metrics],
        n_labels=len(protocol.reference.labels),
        n_maps=len(protocol.probability_stems),
        n_samples=min(max(samples), protocol.prediction.most_samples),
    )
