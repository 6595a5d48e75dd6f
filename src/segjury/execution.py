"""Run a function over tasks, one after the other or in several processes, in one `map` shape."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from segjury.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

MEMORY_PER_JOB = 1.5e9  # bytes that a case of the largest usual size needs


def default_jobs(n_tasks: int) -> int:
    """As many processes as there are cores, tasks, and free memory for."""
    fitting = int(_free_memory() // MEMORY_PER_JOB)
    return max(1, min(os.cpu_count() or 1, n_tasks, fitting))


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")  # the system does not tell


def ahead(
    work: Callable[[Task], Result], items: Iterable[Task], *, depth: int
) -> Iterator[Future[Result]]:
    """Yield the work on each item in order, with up to `depth` items begun ahead of it.

    For reading files while others are worked on: two more threads, and no more than `depth`
    results waiting in memory.
    """
    with ThreadPoolExecutor(2) as pool:
        begun: deque[Future[Result]] = deque()
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) > depth:
                yield begun.popleft()
        while begun:
            yield begun.popleft()


def run(
    work: Callable[[Task], Result], tasks: Sequence[Task], *, jobs: int
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result as soon as it is done, in any order.

    With one job everything runs in this process. Processes are spawned, not forked, so that they
    start clean; on an interrupt they are ended, and what they had not finished is dropped.
    """
    if jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, work(task)
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=context) as pool:
        with _interrupts_ignored():  # by the workers too, who inherit it: they are ended below
            futures = {pool.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise InputError(
                "a process was ended from outside, perhaps for want of memory",
                "Run the same command to go on, with fewer --jobs",
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """For a moment; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
