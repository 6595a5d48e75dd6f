"""Score cases on an engine, and try those again whose scoring was ended."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from segjury.benchmark.copies import Copy
from segjury.runtime import Engine, OverLimit, Processes, WorkerDied
from segjury.scoring.one_case import (
    CaseScores,
    CaseTask,
    CutShort,
    ended_result,
    evaluate_case,
    over_limit_result,
)
from segjury.scoring.records import Result


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
    engine: Engine, tasks: Sequence[CaseTask], progress: Callable[[Progress], None]
) -> tuple[list[Result], int, list[Copy]]:
    """The results in the order of the cases, how many an earlier run had done, and the copies."""
    by_case, kept = dict[str, CaseScores](), 0
    with closing(_scored(engine, tasks, _work(engine, tasks))) as outcomes:
        for task, scored in outcomes:
            by_case[task.case] = scored
            kept += scored.kept
            progress(_told(task, scored, len(by_case), len(tasks)))
    ordered = [by_case[task.case] for task in tasks]
    copies = [copy for scored in ordered for copy in scored.copies]
    return [result for scored in ordered for result in scored.results], kept, copies


def _work(engine: Engine, tasks: Sequence[CaseTask]) -> Callable[[CaseTask], CaseScores]:
    """What is done with a case: limits need a process that this machine can end."""
    limited = any(task.limits for task in tasks)
    return _evaluate_beside if limited and not isinstance(engine, Processes) else evaluate_case


def _evaluate_beside(task: CaseTask) -> CaseScores:
    """Score a case in a process beside this one, on a machine of a cluster."""
    engine = Processes(1, apart=True, limits=task.limits)
    with closing(_scored(engine, [task], evaluate_case)) as outcomes:
        return next(scored for _, scored in outcomes)


def _scored(
    engine: Engine, tasks: Sequence[CaseTask], work: Callable[[CaseTask], CaseScores]
) -> Generator[tuple[CaseTask, CaseScores], None, None]:
    """The scores of each case as soon as it has all, in any order; closing it ends the rest.

    A method that met a limit is tried again alone, since others were read meanwhile. A case whose
    process was ended from outside is tried again at the end, each method apart. So a prediction
    which is too much for every process costs its own rows only.
    """
    cases = {task.case: _Case(task) for task in tasks}
    waiting, died = list(tasks), list[CaseTask]()
    while waiting:
        again = list[CaseTask]()
        with closing(engine.outcomes(work, waiting)) as outcomes:
            for task, found in outcomes:
                if isinstance(found, WorkerDied):
                    died.append(task)
                    continue
                again += cases[task.case].take(task, found)
                yield from cases[task.case].whole()
        waiting = sorted(again, key=lambda task: task.alone)  # those that may take long at the end
    apart = [
        replace(task, methods=(method,), alone=bool(task.limits))
        for task in died
        for method in task.methods
    ]
    with closing(engine.isolated().outcomes(work, apart)) as outcomes:
        for task, found in outcomes:
            cases[task.case].take(task, found)
            yield from cases[task.case].whole()


@dataclass
class _Case:
    """The results of a case as they come."""

    task: CaseTask
    _results: dict[str, Result] = field(default_factory=dict)
    _kept: int = 0
    _seconds: float = 0.0
    _copies: dict[str, list[Copy]] = field(default_factory=dict)  # by method

    def take(self, task: CaseTask, found: CaseScores | WorkerDied | OverLimit) -> list[CaseTask]:
        """Take what came of some of the methods; what is to be done again."""
        if isinstance(found, CaseScores):
            self._add(task, found)
            return []
        if isinstance(found, WorkerDied):
            (method,) = task.methods
            self._results[method] = ended_result(task, method, found)
            return []
        cut: CutShort = found.so_far
        self._add(task, cut.scores)
        result = over_limit_result(task, cut, found.exceeded)
        if result:
            self._results[cut.method] = result
            return []
        rest = tuple(m for m in task.methods if m not in self._results and m != cut.method)
        again = replace(task, methods=(cut.method,), alone=True)
        return [replace(task, methods=rest), again] if rest else [again]

    def _add(self, task: CaseTask, scores: CaseScores) -> None:
        self._results |= {result.method: result for result in scores.results}
        self._kept += scores.kept
        self._seconds += scores.seconds
        for method in task.methods:  # a later task knows fewer methods to compare it with
            of_method = [copy for copy in scores.copies if copy.method == method]
            self._copies.setdefault(method, of_method)

    def whole(self) -> Iterator[tuple[CaseTask, CaseScores]]:
        """The case and its scores, once it has all."""
        if len(self._results) == len(self.task.methods):
            results = tuple(self._results[method] for method in self.task.methods)
            copies = tuple(copy for found in self._copies.values() for copy in found)
            yield self.task, CaseScores(results, self._kept, self._seconds, copies)


def _told(task: CaseTask, found: CaseScores, done: int, of: int) -> Progress:
    problems = tuple(
        f"method {result.method}: {result.problem}" for result in found.results if result.problem
    )
    computed = len(found.results) - found.kept
    return Progress(task.case, done, of, computed, found.kept, found.seconds, problems)
