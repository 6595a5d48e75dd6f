"""Walk over the cases with an engine; what ended a worker is tried again, method by method."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from segjury.runtime import Engine, WorkerDied
from segjury.scoring.one_case import CaseScores, CaseTask, ended_result, evaluate_case


@dataclass(frozen=True)
class Progress:
    """How far a run is, told after each case."""

    case: str
    done: int  # cases so far
    of: int
    computed: int  # methods scored now; the results of the others were there before
    kept: int
    seconds: float
    problems: tuple[str, ...]


def score_cases(
    engine: Engine, tasks: Sequence[CaseTask]
) -> Generator[tuple[CaseScores, Progress], None, None]:
    """The scores of each case as soon as it is done, in any order; closing it ends the rest.

    A case whose worker was ended is tried again at the end, each method apart, so that a
    prediction which ends every worker costs its own rows only.
    """
    done, again = 0, []
    with closing(engine.outcomes(evaluate_case, tasks)) as outcomes:
        for task, found in outcomes:
            if isinstance(found, WorkerDied):
                again.append(task)
                continue
            done += 1
            yield found, _told(task, found, done, len(tasks))
    for task in again:
        found = _method_by_method(engine.isolated(), task)
        done += 1
        yield found, _told(task, found, done, len(tasks))


def _method_by_method(engine: Engine, task: CaseTask) -> CaseScores:
    apart = [replace(task, methods=(method,)) for method in task.methods]
    results, kept, seconds = {}, 0, 0.0
    with closing(engine.outcomes(evaluate_case, apart)) as outcomes:
        for each, found in outcomes:
            (method,) = each.methods
            if isinstance(found, WorkerDied):
                results[method] = ended_result(each, method, found)
            else:
                (results[method],) = found.results
                kept, seconds = kept + found.kept, seconds + found.seconds
    return CaseScores(tuple(results[method] for method in task.methods), kept, seconds)


def _told(task: CaseTask, found: CaseScores, done: int, of: int) -> Progress:
    problems = tuple(
        f"method {result.method}: {result.problem}" for result in found.results if result.problem
    )
    computed = len(found.results) - found.kept
    return Progress(task.case, done, of, computed, found.kept, found.seconds, problems)
