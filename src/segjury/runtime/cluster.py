"""Tasks on the workers of a running Dask scheduler."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from segjury.errors import InputError, PassingError
from segjury.runtime.engine import WorkerDied

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Result = TypeVar("Result")
PATIENCE_S = 30  # to reach a scheduler
LONG_WITHOUT_WORKERS_S = 60
HOST_AND_PORT = re.compile(r".*(://|:\d+$)")


@dataclass(frozen=True)
class Cluster:
    """The scheduler at an address, or the one that wrote a scheduler file.

    Dask gives a task of a lost worker to another one, as often as its setting
    `distributed.scheduler.allowed-failures` says; after that the task has ended. It counts the
    tasks beside one that ends its worker too, unless `apart` has one done at a time.
    """

    address: str
    on_note: Callable[[str], None] = lambda _text: None
    apart: bool = False

    @property
    def name(self) -> str:
        """What it is, for the record of a run."""
        return f"dask {self.address}"

    def isolated(self) -> Self:
        """The same, with one task at a time."""
        return replace(self, apart=True)

    def outcomes(
        self, work: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Generator[tuple[Task, Result | WorkerDied], None, None]:
        """Each task with its result as soon as it is done, in any order.

        Where this ends early, tasks that wait are dropped; a worker finishes the one it is at.
        """
        if not tasks:
            return
        client = self._connected()
        from distributed import KilledWorker, as_completed
        from distributed.client import FutureCancelledError

        try:
            self._await_workers(client)
            for batch in [[task] for task in tasks] if self.apart else [tasks]:
                futures = client.map(work, batch, pure=False, retries=0)
                task_of = dict(zip(futures, batch, strict=True))
                for future in as_completed(futures):
                    try:
                        found: Result | WorkerDied = future.result()
                    except KilledWorker:
                        found = WorkerDied()
                    except (FutureCancelledError, OSError) as error:
                        if future.status != "cancelled":
                            raise
                        raise _lost(self.address, error) from None
                    yield task_of[future], found
                    future.release()  # or the scheduler keeps every result
        finally:
            client.close(timeout=5)

    def _connected(self) -> Client:
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "`scheduler` needs Dask, which is not installed",
                "Install it: pip install 'segjury[cluster]'",
            ) from None
        # a lost scheduler is told in our words, not in a traceback
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            if HOST_AND_PORT.match(self.address):
                return Client(self.address, timeout=PATIENCE_S)
            _await_file(Path(self.address))
            return Client(scheduler_file=self.address, timeout=PATIENCE_S)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"there is no Dask scheduler at {self.address} ({reason})",
                "Start one, and give its address as tcp://HOST:8786, or its scheduler file",
            ) from None

    def _await_workers(self, client: Client) -> None:
        """Say that there are no workers, if that lasts; they may wait in a queue for hours."""
        try:
            client.wait_for_workers(1, timeout=LONG_WITHOUT_WORKERS_S)
        except TimeoutError:
            self.on_note(
                f"the Dask scheduler at {self.address} has no workers yet; waiting for some"
            )


def _await_file(path: Path) -> None:
    """Give a scheduler that was just started the time to write its file."""
    end = time.monotonic() + PATIENCE_S
    while not path.is_file():
        if time.monotonic() > end:
            raise TimeoutError(f"there is no file {path}")
        time.sleep(0.1)


def _lost(address: str, error: Exception) -> InputError:
    return PassingError(
        f"the Dask scheduler at {address} was lost ({error})",
        "What was finished is kept; start it and run the same command to go on",
    )
