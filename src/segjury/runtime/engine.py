"""What every way of running tasks offers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from segjury.runtime.limits import Exceeded

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class WorkerDied:
    """Instead of a result: the process that worked on the task was ended from outside."""

    reason: str = "the process that worked on it was ended from outside, perhaps for want of memory"


@dataclass(frozen=True)
class OverLimit:
    """Instead of a result: a step of the task took too much; `so_far` is what it began with."""

    exceeded: Exceeded
    so_far: Any


class Engine(Protocol):
    """A way of running tasks."""

    @property
    def name(self) -> str:
        """What it is, for the record of a run."""
        ...

    def outcomes(
        self, work: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Generator[tuple[Task, Result | WorkerDied | OverLimit], None, None]:
        """Each task with its result as soon as it is done, in any order.

        An exception of `work` is raised here. Closing the generator ends what still runs.
        """
        ...

    def isolated(self) -> Self:
        """The same for tasks that may have ended a process: each apart from the others."""
        ...
