"""Tasks on the workers of a running Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from segjury.errors import InputError
from segjury.execution.engine import Ended

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Result = TypeVar("Result")
PATIENCE_S = 30  # to reach a scheduler


@dataclass(frozen=True)
class Cluster:
    """The scheduler at an address, or the one that wrote a scheduler file.

    Dask gives a task of a lost worker to another one, as often as its setting
    `distributed.scheduler.allowed-failures` says; after that the task has ended.
    """

    address: str

    @property
    def name(self) -> str:
        """What it is, for the record of a run."""
        return f"dask {self.address}"

    def alone(self) -> Self:
        """The same: Dask keeps tasks apart by itself."""
        return self

    def outcomes(
        self, work: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Generator[tuple[Task, Result | Ended], None, None]:
        """Each task with its result as soon as it is done, in any order."""
        if not tasks:
            return
        client = self._connected()
        from distributed import KilledWorker, as_completed
        from distributed.client import FutureCancelledError

        try:
            futures = client.map(work, tasks, pure=False, retries=0)
            task_of = dict(zip(futures, tasks, strict=True))
            for future in as_completed(futures):
                try:
                    found: Result | Ended = future.result()
                except KilledWorker:
                    found = Ended()
                except (FutureCancelledError, OSError) as error:
                    if future.status != "cancelled":
                        raise
                    raise _lost(self.address, error) from None
                yield task_of[future], found
                future.release()  # or the scheduler keeps every result
        finally:
            client.close(timeout=5)  # its tasks go with it

    def _connected(self) -> Client:
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "--scheduler needs Dask, which is not installed",
                "Install segjury with its extra `cluster`",
            ) from None
        try:
            if Path(self.address).is_file():
                return Client(scheduler_file=self.address, timeout=PATIENCE_S)
            return Client(self.address, timeout=PATIENCE_S)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"there is no Dask scheduler at {self.address} ({reason})",
                "Start one, and give its address as tcp://HOST:8786, or its scheduler file",
            ) from None


def _lost(address: str, error: Exception) -> InputError:
    return InputError(
        f"the Dask scheduler at {address} was lost ({error})",
        "What was finished is kept; start it and run the same command to go on",
    )
