"""Tasks in this process, or in several of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event
from typing import Self, TypeVar

from segjury.errors import InputError
from segjury.execution.engine import Ended

Task = TypeVar("Task")
Result = TypeVar("Result")
SPAWN = multiprocessing.get_context("spawn")  # not forked, so that processes start clean


@dataclass(frozen=True)
class Processes:
    """`jobs` processes; with one, everything runs in this process unless it is `isolated`."""

    jobs: int
    isolated: bool = False

    @property
    def name(self) -> str:
        """What it is, for the record of a run."""
        return "processes" if self.jobs > 1 else "serial"

    def alone(self) -> Self:
        """One process beside this one."""
        return replace(self, jobs=1, isolated=True)

    def outcomes(
        self, work: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Generator[tuple[Task, Result | Ended], None, None]:
        """Each task with its result as soon as it is done, in any order.

        When a process dies, the standard pool is lost with it and does not tell whose task it
        was: all tasks under way count as ended, and a new pool goes on with the others.
        """
        if not self.isolated and (self.jobs == 1 or len(tasks) <= 1):
            for task in tasks:
                yield task, work(task)
            return
        waiting = deque(tasks)
        while waiting:
            yield from _in_pool(work, waiting, min(self.jobs, len(waiting)))


def _in_pool(
    work: Callable[[Task], Result], waiting: deque[Task], jobs: int
) -> Generator[tuple[Task, Result | Ended], None, None]:
    """Take tasks from `waiting` until there are none or the pool breaks.

    No more tasks are handed over than there are processes, so that few are lost with a pool.
    """
    others = set(multiprocessing.active_children())
    started = SPAWN.Event()
    under_way: dict[Future[Result], Task] = {}
    with ProcessPoolExecutor(
        jobs, mp_context=SPAWN, initializer=_begin, initargs=(started,)
    ) as pool:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < jobs:
                    task = waiting.popleft()
                    with _interrupts_held():
                        under_way[_submitted(pool, work, task)] = task
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                broken = any(isinstance(each.exception(), BrokenProcessPool) for each in done)
                for future in list(under_way) if broken else done:
                    task = under_way.pop(future)
                    lost = isinstance(future.exception(), BrokenProcessPool)
                    yield task, Ended() if lost else future.result()
                if broken:
                    _check_started(started)
                    return
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


def _submitted(
    pool: ProcessPoolExecutor, work: Callable[[Task], Result], task: Task
) -> Future[Result]:
    """The future of a task, also where the pool broke a moment ago."""
    try:
        return pool.submit(work, task)
    except BrokenProcessPool as error:
        lost: Future[Result] = Future()
        lost.set_exception(error)
        return lost


def _check_started(started: Event) -> None:
    """Refuse to go on where not even one process could begin."""
    if not started.is_set():
        raise InputError(
            "no process could be started",
            "In a program of your own, call it below `if __name__ == '__main__':`; or use one job",
        )


def _begin(started: Event) -> None:
    """The first thing that a new process does; interrupts are for the process it works for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    started.set()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End at once when the process that this one works for is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let interrupts wait for a moment; a process that is started meanwhile never sees any."""
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
