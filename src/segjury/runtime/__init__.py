"""Run a function over tasks: in this process, in several, or on a cluster, in one shape."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from segjury.errors import InputError
from segjury.runtime.engine import Engine, OverLimit, WorkerDied
from segjury.runtime.limits import UNLIMITED, Exceeded, Limits
from segjury.runtime.processes import Processes, step
from segjury.runtime.resources import default_jobs

__all__ = [
    "UNLIMITED",
    "Engine",
    "Exceeded",
    "Limits",
    "OverLimit",
    "Processes",
    "WorkerDied",
    "default_jobs",
    "engine_for",
    "prefetch",
    "run",
    "step",
]

Task = TypeVar("Task")
Result = TypeVar("Result")


def engine_for(
    jobs: int,
    scheduler: str | None = None,
    *,
    bytes_each: float = 0,
    limits: Limits = UNLIMITED,
    on_note: Callable[[str], None] = lambda _text: None,
) -> Engine:
    """Processes of this machine that need `bytes_each`, or the workers of a Dask scheduler.

    `limits` hold for the steps of tasks on this machine; a worker of Dask must see to them itself.
    `on_note` is called with what is good to know while it runs.
    """
    if scheduler is None:
        return Processes(jobs, bytes_each, limits=limits)
    from segjury.runtime.cluster import Cluster

    return Cluster(scheduler, on_note)


def run(
    work: Callable[[Task], Result], tasks: Sequence[Task], *, jobs: int
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result as soon as it is done, in any order.

    A task whose process is ended from outside is tried once more, alone.
    """
    again = []
    engine = Processes(jobs)
    with closing(engine.outcomes(work, tasks)) as outcomes:
        for task, found in outcomes:
            if isinstance(found, WorkerDied | OverLimit):  # the latter never, without limits
                again.append(task)
            else:
                yield task, found
    with closing(engine.isolated().outcomes(work, again)) as outcomes:
        for task, found in outcomes:
            if isinstance(found, WorkerDied | OverLimit):
                raise InputError(
                    WorkerDied().reason, "Run the same command again, with fewer `jobs`"
                )
            yield task, found


def prefetch(
    work: Callable[[Task], Result], items: Iterable[Task], *, depth: int, threads: int = 2
) -> Iterator[Future[Result]]:
    """Yield the work on each item in order, with up to `depth` items begun ahead of it.

    For reading files while others are worked on: some more threads, and no more than `depth`
    results waiting in memory.
    """
    with ThreadPoolExecutor(threads) as pool:
        begun: deque[Future[Result]] = deque()
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) > depth:
                yield begun.popleft()
        while begun:
            yield begun.popleft()
