"""The work on one case: prepare its reference once, then score all methods on it.

One bad file costs its own rows only; each finished result is on disk before the next begins.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from segjury import images, runtime
from segjury.arrays import Shape
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.benchmark.copies import Copy, InputFiles
from segjury.benchmark.folders import (
    content,
    digest,
    escapes,
    file_stats,
    prediction_inputs,
    prediction_layout,
    reference_inputs,
)
from segjury.benchmark.loading import load_prediction, load_reference, read_ahead
from segjury.benchmark.orientation import NO_HEADER, how_moved
from segjury.errors import InputError, MissingInputError, PassingError
from segjury.images.grid import Grid
from segjury.images.labels import Classes
from segjury.metrics import Reading
from segjury.protocols import Protocol
from segjury.runtime import UNLIMITED, Exceeded, Limits, WorkerDied
from segjury.runtime.provenance import code_fingerprint
from segjury.scoring import scorers
from segjury.scoring.facts import case_facts
from segjury.scoring.policy import (
    completed_rows,
    internal_problem,
    penalty_rows,
    reasons_together,
)
from segjury.scoring.records import Fact, Fault, Result, Status
from segjury.scoring.score import Scored, metric_readings, score
from segjury.scoring.store import FORMAT, Store


@dataclass(frozen=True)
class CaseTask:
    """One case to score, for all methods."""

    protocol: Protocol
    readings: tuple[Reading, ...]
    reference: Path
    predictions: Path
    case: str
    methods: tuple[str, ...]
    everyone: tuple[str, ...] = ()  # all methods of the run, some of which other tasks score
    store: Path | None = None
    mark: str = ""  # a file by which a worker knows that the store is the one of the run
    follow_links: bool = False
    code: str = ""  # fingerprint of the code that must do it; any where empty
    limits: Limits = UNLIMITED  # of each prediction
    alone: bool = False  # nothing is done beside the one method, which would be charged to it


@dataclass(frozen=True)
class CaseScores:
    """The results of a case: which were taken from an earlier run, and how long it took."""

    results: tuple[Result, ...]
    kept: int
    seconds: float
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True)
class CutShort:
    """What is known of a case if a limit ends the scoring of `method`: the results until then.

    `instead` is the result of that method, but for the reason; None where something else was done
    beside it. `mark` is its fingerprint.
    """

    scores: CaseScores
    method: str
    instead: Result | None
    mark: str


def evaluate_case(task: CaseTask) -> CaseScores:
    """Score the methods on one case; results found in the store are not computed again."""
    _check_worker(task)
    clock = time.perf_counter()
    # so that no file is read twice to know what it holds
    read = cache(partial(content, expected_shape=_shape(task)))
    copies = _copies(task, read)
    store, seen = _store(task), {m: file_stats(_inputs(task, m)) for m in task.methods}
    marks = fingerprints(task, read) if store else {}
    found = {method: _kept(task, store, method, marks) for method in task.methods}
    absent = [method for method in task.methods if found[method] is None]

    def so_far() -> CaseScores:
        results = tuple(result for result in found.values() if result is not None)
        kept, seconds = len(task.methods) - len(absent), time.perf_counter() - clock
        return CaseScores(results, kept, seconds, copies)

    def watched(method: str, instead: Result | None) -> AbstractContextManager[None]:
        if not task.limits:
            return nullcontext()
        return runtime.step(CutShort(so_far(), method, instead, marks.get(method, "")))

    for result in _evaluate_methods(task, absent, watched):
        found[result.method] = result
        same_files = file_stats(_inputs(task, result.method)) == seen[result.method]
        if store and same_files and not result.may_pass:
            store.save(result, marks[result.method])
    return so_far()


def _store(task: CaseTask) -> Store | None:
    return Store(task.store, (*task.readings, _links(task))) if task.store else None


def _kept(
    task: CaseTask, store: Store | None, method: str, marks: Mapping[str, str]
) -> Result | None:
    """The result of an earlier run; not one that met a limit which is another now."""
    result = store.load(task.case, method, marks[method]) if store else None
    if result and result.exceeded and result.exceeded not in task.limits.all:
        return None
    return result


def over_limit_result(task: CaseTask, cut: CutShort, exceeded: Exceeded) -> Result | None:
    """The result of a method that met a limit, kept for the next run; None if it was not alone."""
    if cut.instead is None:
        return None
    reason = f"scoring {exceeded.reason}"
    rows = tuple(replace(row, detail=reason) for row in cut.instead.rows)
    result = replace(cut.instead, rows=rows, problem=reason, exceeded=exceeded)
    store = _store(task)
    if store and fingerprints(task)[cut.method] == cut.mark:
        store.save(result, cut.mark)
    return result


def ended_result(task: CaseTask, method: str, ended: WorkerDied) -> Result:
    """A method whose scoring ended the process twice: failed, without a value or a penalty."""
    fix = "Run the same command again, with more memory for each"
    problem = f"not scored: {ended.reason}, twice. {fix}."
    rows = _unscored(task, problem).rows
    return Result(method, task.case, rows, problem=problem, fault="passing")


def _check_worker(task: CaseTask) -> None:
    """Refuse work that would give other numbers or none here, on another machine."""
    if task.code and task.code != code_fingerprint():
        raise InputError(
            f"the worker on {platform.node()} has another version of segjury or its libraries",
            "Install the same ones everywhere",
        )
    flat = task.protocol.reference.lies_flat
    needed = [task.reference if flat else task.reference / task.case]
    needed += [task.predictions / method for method in task.methods]
    needed += [task.store / task.mark] if task.store else []
    for path in needed:  # where storage is not mounted, the folders above may be there, empty
        if not path.exists():
            raise InputError(
                f"the worker on {platform.node()} has no {path}",
                "Put the data and --out on storage that all machines see at the same path",
            )


def _evaluate_methods(
    task: CaseTask,
    methods: Sequence[str],
    watched: Callable[[str, Result | None], AbstractContextManager[None]],
) -> Iterator[Result]:
    """The results of the methods; `watched` is where each is scored, with the result instead."""
    if not methods:
        return
    fault: Fault
    try:
        reference = load_reference(task.protocol, task.reference, task.case)
        facts = case_facts(reference, complete=task.protocol.reference.is_complete)
    except Exception as error:  # a fault of ours must not stop the other cases
        fault, problem = internal_problem(error)
        if isinstance(error, InputError) and not isinstance(error, PassingError):
            fault, problem = "reference", f"reference: {error}"
        rows = _unscored(task, problem).rows
        for method in methods:
            yield Result(method, task.case, rows, problem=problem, fault=fault)
        return
    uses = [use for use, _ in metric_readings(task.protocol, task.readings)]

    refused = _refused(task)

    def load(method: str) -> PredictedCase:
        if method in refused:
            raise refused[method].error
        folder = task.predictions / method
        return load_prediction(
            task.protocol,
            folder,
            task.case,
            reference.grid,
            ignored=reference.ignored,
            follow_links=task.follow_links,
        )

    for method, loaded in _loading(task, load, methods, reference.grid):
        try:
            scorers.prepare(reference, uses)  # while the first predictions are read
            instead = _over_limit(task, method, reference, facts) if task.alone else None
            with watched(method, instead):
                judged = _judged(task, reference, loaded)
        except Exception as error:  # nor the other methods, nor punish this one
            fault, problem = internal_problem(error)
            judged = _Judged(_unscored(task, problem), problem, fault)
        found = judged.scored
        yield Result(
            method,
            task.case,
            found.rows,
            found.details,
            judged.problem,
            judged.fault,
            facts,
            found.bins,
            kind=judged.kind,
            doubts=judged.doubts,
            absent=judged.absent,
        )


def _loading(
    task: CaseTask, load: Callable[[str], PredictedCase], methods: Sequence[str], grid: Grid
) -> Iterator[tuple[str, Callable[[], PredictedCase]]]:
    """Each method with what gives its prediction, the next ones being read meanwhile."""
    if task.alone:
        yield from ((method, partial(load, method)) for method in methods)
        return
    depth = read_ahead(task.protocol, task.predictions, methods, task.case, grid)
    loading = runtime.prefetch(load, methods, depth=depth)
    yield from ((method, each.result) for method, each in zip(methods, loading, strict=True))


def _over_limit(
    task: CaseTask, method: str, reference: ReferenceCase, facts: tuple[Fact, ...]
) -> Result:
    """What a method gets whose scoring meets a limit, but for the reason.

    Computed in either case: what it needs of the reference is then not charged to the method.
    """
    rows = penalty_rows(task.protocol, task.readings, reference, "over_limit", "")
    if task.protocol.policy.over_limit == "worst":
        return Result(method, task.case, tuple(rows), fault="method", facts=facts)
    empty = tuple(replace(row, value=math.nan) for row in rows)
    return Result(method, task.case, empty, facts=facts)


@dataclass(frozen=True)
class _Judged:
    """The scores of a prediction, and what is wrong with it or looks so."""

    scored: Scored
    problem: str = ""
    fault: Fault = ""
    kind: str = ""
    doubts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def _judged(
    task: CaseTask, reference: ReferenceCase, loaded: Callable[[], PredictedCase]
) -> _Judged:
    """The scores of a prediction, or what it costs that it cannot be used, and why it cannot.

    One without all of its probability maps or samples is scored as far as what is there goes: a
    problem, but no fault by which it has no scores.
    """
    try:
        prediction = loaded()
        scored = score(reference, prediction, task.protocol, task.readings)
        lacking = _lacking(task.protocol, prediction)
        if lacking:
            penalties = penalty_rows(task.protocol, task.readings, reference, "missing", "")
            rows = completed_rows(task.protocol, scored.rows, penalties, prediction)
            scored = replace(scored, rows=rows)
        kind = "missing-file" if lacking else ""
        return _Judged(
            scored,
            lacking,
            kind=kind,
            doubts=tuple(_doubts(reference, prediction)),
            absent=tuple(_absent(reference, prediction)),
        )
    except PassingError:
        raise
    except InputError as error:
        status: Status = "missing" if isinstance(error, MissingInputError) else "failed"
        costs = penalty_rows(task.protocol, task.readings, reference, status, str(error))
        kind = error.kind or "unreadable-file"
        return _Judged(Scored(tuple(costs)), str(error), "method", kind)


def _doubts(reference: ReferenceCase, prediction: PredictedCase) -> Iterator[str]:
    """What a prediction looks like that was written in another order than the image."""
    patterns, shape = reference.patterns, reference.grid.shape
    same_values = prediction.classes == patterns.classes
    if same_values and (moved := how_moved(patterns, prediction.marks, shape)):
        yield f"look {moved[0]}"
    if prediction.lost_header:
        yield f"are {NO_HEADER}"


def _absent(reference: ReferenceCase, prediction: PredictedCase) -> Iterator[str]:
    """The labels of which the reference has voxels, and the predicted mask none."""
    classes = prediction.classes or Classes.plain(len(reference.labels))
    seen = np.zeros(len(classes.sets) + 1, bool)
    for _, values in prediction.marks.pieces():
        seen[values] = True
        if seen[1:].all():
            return
    for name, label in reference.labels.items():
        if reference.consensus.size(label) and not seen[classes.holding(label)].any():
            yield name


def _lacking(protocol: Protocol, prediction: PredictedCase) -> str:
    """What a prediction lacks of which the protocol would make scores."""
    no_samples = prediction.why_no_samples if protocol.needs_samples else ""
    return reasons_together([*prediction.no_maps.values(), no_samples])


def _unscored(task: CaseTask, problem: str) -> Scored:
    """The rows of a prediction that is not to blame for having no scores."""
    return Scored(tuple(penalty_rows(task.protocol, task.readings, None, "failed", problem)))


def _inputs(task: CaseTask, method: str) -> list[Path]:
    """The files that a result is computed from."""
    return [
        *reference_inputs(task.protocol, task.reference, task.case),
        *prediction_inputs(task.protocol, task.predictions / method, task.case),
    ]


def _copies(task: CaseTask, read: Callable[[Path], bytes]) -> tuple[Copy, ...]:
    """The methods that are the reference's or another's, whose files are not read if not asked."""
    shared = _input_files(task, task.everyone or task.methods).shared()
    of_methods = [shared[method] for method in task.methods if method in shared]
    return (*of_methods, *_input_files(task, task.methods).copied(read))


def _refused(task: CaseTask) -> dict[str, Copy]:
    """The methods that share a file, where the policy refuses that."""
    refuse = task.protocol.policy.same_file == "refuse"
    return _input_files(task, task.everyone or task.methods).shared() if refuse else {}


def _input_files(task: CaseTask, methods: Sequence[str]) -> InputFiles:
    return InputFiles.of(
        task.protocol,
        task.reference,
        task.predictions,
        methods,
        task.case,
        follow_links=task.follow_links,
    )


def fingerprints(task: CaseTask, read: Callable[[Path], bytes] = content) -> dict[str, str]:
    """Per method: changes whenever its result could, with inputs, protocol, readings or code."""
    given = reference_inputs(task.protocol, task.reference, task.case)
    reference = digest(given, task.reference, read)
    refused = _refused(task)
    how = [code_fingerprint(), FORMAT, task.protocol.scoring_hash, *task.readings, _links(task)]
    marks = {}
    for method in task.methods:
        folder = task.predictions / method
        paths = prediction_inputs(task.protocol, folder, task.case)
        outside = [path.name for path in (folder, *paths) if escapes(path, folder)]
        layout = prediction_layout(task.protocol, folder, task.case)
        shared = [refused[method].words] if method in refused else []
        found = [reference, layout, digest(paths, folder, read), *outside, *shared]
        marks[method] = "\0".join([*how, *found])
    return marks


def _shape(task: CaseTask) -> Shape | None:
    """The shape that predictions must have; None where the case will fail for all of them."""
    references = reference_inputs(task.protocol, task.reference, task.case)
    try:
        return images.read_grid(references[0]).shape if references else None
    except InputError:
        return None


def _links(task: CaseTask) -> str:
    return "links followed" if task.follow_links else "links refused"
