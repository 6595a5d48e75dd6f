"""Tasks in this process, or in several of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal, Self, TypeVar

from segjury.errors import InputError, PassingError
from segjury.runtime.engine import OverLimit, WorkerDied
from segjury.runtime.limits import UNLIMITED, Limits, Usage, usage
from segjury.runtime.resources import free_memory

Task = TypeVar("Task")
Result = TypeVar("Result")
Word = Literal["ready", "step", "rest", "done", "raised", "ended"]  # what a process says
FAILED_STARTS = 2  # in a row, besides one for each process: more are no chance
SECONDS_BETWEEN_LOOKS = 0.05  # at what a process takes
SPAWN = multiprocessing.get_context("spawn")  # not forked, so that processes start clean


@dataclass(frozen=True)
class Processes:
    """`jobs` processes; with one, everything runs in this process unless `apart`.

    A process is started beside others only while `bytes_each` of memory are free. With `limits` all
    run beside this one, which ends those whose `step` takes more.
    """

    jobs: int
    bytes_each: float = 0
    apart: bool = False
    limits: Limits = UNLIMITED

    @property
    def name(self) -> str:
        """What it is, for the record of a run."""
        return "processes" if self.jobs > 1 else "serial"

    def isolated(self) -> Self:
        """One process beside this one."""
        return replace(self, jobs=1, apart=True)

    def outcomes(
        self, work: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Generator[tuple[Task, Result | WorkerDied | OverLimit], None, None]:
        """Each task with its result as soon as it is done, in any order.

        When a process of the standard pool dies, the whole pool is lost, and nobody knows whose
        task it was. Here each process has one task at a time and a pipe of its own, so that a
        death costs that task only.
        """
        if not (self.apart or self.limits) and (self.jobs == 1 or len(tasks) <= 1):
            for task in tasks:
                yield task, work(task)
            return
        waiting, busy, idle = deque(tasks), dict[_Worker, Task](), list[_Worker]()
        failed_starts = 0  # one after the other
        try:
            while waiting or busy:
                while waiting and len(busy) < self.jobs:
                    worker = idle.pop() if idle else self._started(work, busy)
                    if worker is None:
                        break
                    busy[worker] = waiting.popleft()
                    worker.begin(busy[worker])
                of: dict[Any, _Worker] = {worker.pipe: worker for worker in busy}
                for worker in map(of.__getitem__, wait(of, _patience(busy))):
                    said, found = worker.answer()
                    if said in ("ready", "step", "rest"):
                        failed_starts = 0
                        continue
                    if said == "raised":
                        raise found
                    task = busy.pop(worker)
                    if said == "ended" and not worker.is_ready:  # so it has not begun
                        failed_starts += 1
                        if failed_starts > self.jobs + FAILED_STARTS:
                            raise _not_started()
                        waiting.appendleft(task)
                        continue
                    if said == "done":
                        idle.append(worker)
                    yield task, found
                for worker in [each for each in busy if each.step]:
                    over = worker.over(self.limits)
                    if over:
                        worker.kill()
                        yield busy.pop(worker), over
        finally:
            for worker in (*busy, *idle):
                worker.kill()

    def _started(self, work: Callable[[Any], Any], busy: Sized) -> _Worker | None:
        """A new process; none where there is no room for one beside those that are busy."""
        if busy and self.bytes_each and free_memory() < self.bytes_each:
            return None
        try:
            return _Worker(work)
        except OSError as error:
            if busy:
                return None
            what = f"no process could be started ({error.strerror or error})"
            raise PassingError(what, "Run the same command again") from None


def _patience(busy: Collection[_Worker]) -> float | None:
    """How long to wait for what processes say before looking at them."""
    return SECONDS_BETWEEN_LOOKS if any(worker.step for worker in busy) else None


@dataclass(frozen=True)
class _Step:
    """A step that a process has begun."""

    before: Usage
    clock_s: float
    so_far: bytes  # pickled


class _Worker:
    """A process that does one task after the other."""

    is_ready = False
    step: _Step | None = None  # that it is at, if limits are held against it

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self._process: BaseProcess = SPAWN.Process(target=_serve, args=(work, theirs), daemon=True)
        resource_tracker.ensure_running()  # else starting it would let interrupts in
        if multiprocessing.current_process().daemon:  # as a worker of Dask, which may start none
            multiprocessing.current_process().daemon = False
        with _interrupts_held():
            self._process.start()
        theirs.close()  # so that the pipe ends with the process

    def begin(self, task: object) -> None:
        """Hand over a task."""
        with suppress(OSError):  # if the process is dead, its answer will tell
            self.pipe.send(task)

    def answer(self) -> tuple[Word, Any]:
        """What the process says, if only by its end."""
        try:
            word, found = self.pipe.recv()
        except (EOFError, OSError):
            self.kill()
            return "ended", WorkerDied()
        self.is_ready = True
        self.step = _Step(found[0], time.monotonic(), found[1]) if word == "step" else None
        return word, found

    def over(self, limits: Limits) -> OverLimit | None:
        """The limit that the step exceeds, if it does, and what it began with."""
        if self.step is None or self._process.pid is None or self.pipe.poll():
            return None  # what it has said meanwhile may be that the step is over
        clock_s = time.monotonic() - self.step.clock_s
        exceeded = limits.exceeded(self.step.before, usage(self._process.pid), clock_s)
        if exceeded is None:
            return None
        return OverLimit(exceeded, pickle.loads(self.step.so_far))  # noqa: S301 - our own

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _not_started() -> InputError:
    return InputError(
        "processes end as soon as they are started",
        "In a program of your own, call it below `if __name__ == '__main__':`; or use one job",
    )


# ---- in the process ------------------------------------------------------------------------


_watcher: Connection | None = None  # to the process that holds limits against this one


@contextmanager
def step(so_far: object) -> Iterator[None]:
    """The part of a task that limits are held against.

    Where it takes too much, this process is ended, and `so_far` is all that comes of the task.
    """
    if _watcher is None:
        yield
        return
    begun = usage(os.getpid()), pickle.dumps(so_far)
    _watcher.send_bytes(pickle.dumps(("step", begun)))
    try:
        yield
    finally:
        _watcher.send_bytes(pickle.dumps(("rest", None)))


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """Do tasks until there are no more; interrupts are for the process that this one works for."""
    global _watcher
    _watcher = pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # nobody needs us any more
        pipe.send_bytes(pickle.dumps(("ready", None)))
        while True:
            pipe.send_bytes(_done(work, pipe.recv()))


def _done(work: Callable[[Any], Any], task: object) -> bytes:
    """The result of a task, or what it raised, as it goes through a pipe."""
    try:
        return pickle.dumps(("done", work(task)))
    except Exception as error:
        where = "".join(traceback.format_exception(error))  # else it ends with the process
        error.add_note(where)
        try:
            raised = pickle.dumps(("raised", error))
            pickle.loads(raised)  # noqa: S301 - our own
        except Exception:  # there are errors that cannot be copied
            return pickle.dumps(("raised", RuntimeError(where)))
        return raised


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
