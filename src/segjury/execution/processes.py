"""Tasks in this process, or in several of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal, Self, TypeVar

from segjury.errors import InputError
from segjury.execution.engine import Ended
from segjury.execution.resources import free_memory

Task = TypeVar("Task")
Result = TypeVar("Result")
Word = Literal["ready", "done", "raised", "ended"]  # what a process says
SPAWN = multiprocessing.get_context("spawn")  # not forked, so that processes start clean


@dataclass(frozen=True)
class Processes:
    """`jobs` processes; with one, everything runs in this process unless it is `isolated`.

    A process is started beside others only while `bytes_each` of memory are free.
    """

    jobs: int
    bytes_each: float = 0
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

        When a process of the standard pool dies, the whole pool is lost, and nobody knows whose
        task it was. Here each process has one task at a time and a pipe of its own, so that a
        death costs that task only.
        """
        if not self.isolated and (self.jobs == 1 or len(tasks) <= 1):
            for task in tasks:
                yield task, work(task)
            return
        waiting, busy, idle = deque(tasks), dict[_Worker, Task](), list[_Worker]()
        any_started = False
        try:
            while waiting or busy:
                while waiting and len(busy) < self.jobs and (idle or self._has_room(busy)):
                    worker = idle.pop() if idle else _Worker(work)
                    busy[worker] = waiting.popleft()
                    worker.begin(busy[worker])
                of: dict[Any, _Worker] = {worker.pipe: worker for worker in busy}
                for worker in map(of.__getitem__, wait(of)):
                    said, found = worker.answer()
                    any_started |= said == "ready"
                    if said == "raised":
                        raise found
                    if said == "ready":
                        continue
                    if said == "done":
                        idle.append(worker)
                    elif not any_started:
                        raise _not_started()
                    yield busy.pop(worker), found
        finally:
            for worker in busy:
                worker.kill()
            for worker in idle:
                worker.dismiss()

    def _has_room(self, busy: Sized) -> bool:
        return not busy or not self.bytes_each or free_memory() >= self.bytes_each


class _Worker:
    """A process that does one task after the other."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self._process: BaseProcess = SPAWN.Process(target=_serve, args=(work, theirs), daemon=True)
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
            return "ended", Ended()
        return word, found

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def dismiss(self) -> None:
        """Let the process end, which has nothing to do."""
        self.pipe.close()
        self._process.join()


def _not_started() -> InputError:
    return InputError(
        "no process could be started",
        "In a program of your own, call it below `if __name__ == '__main__':`; or use one job",
    )


# ---- in the process ------------------------------------------------------------------------


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """Do tasks until there are no more; interrupts are for the process that this one works for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe.send(("ready", None))
    with suppress(EOFError):  # nobody needs us any more
        while True:
            pipe.send(_done(work, pipe.recv()))


def _done(work: Callable[[Any], Any], task: object) -> tuple[Word, object]:
    try:
        return "done", work(task)
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))  # else it ends with the process
        return "raised", error


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
