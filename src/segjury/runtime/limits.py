"""Limits of time and memory, and what a process has taken so far."""

from __future__ import annotations

import math
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

GB = 1e9
CLOCK_FACTOR = 10  # times the limit by the clock: for a process that only waits
MEMORY = re.compile(r"^Vm(?:RSS|Swap):\s*(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Usage:
    """What a process has taken: processor time, and the memory it holds; NaN if nobody can tell."""

    seconds: float
    memory: float  # bytes


@dataclass(frozen=True)
class Exceeded:
    """A limit that was exceeded: of processor time, of time by the clock, or of memory in bytes."""

    kind: Literal["time", "clock", "memory"]
    limit: float

    @property
    def reason(self) -> str:
        """What it was too much of, in words."""
        if self.kind == "memory":
            return f"needed more than {self.limit / GB:g} GB of memory"
        of = " of processor time" if self.kind == "time" else ""
        return f"took more than {self.limit:g} s{of}"


@dataclass(frozen=True)
class Limits:
    """The most that a step of a task may take, beside what its process took before.

    `seconds` are of processor time, so that a busy machine makes nobody slower; by the clock it is
    `CLOCK_FACTOR` times as many. `memory` is in bytes. None is no limit.
    """

    seconds: float | None = None
    memory: float | None = None

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return self.seconds is not None or self.memory is not None

    def exceeded(self, before: Usage, now: Usage, clock_s: float) -> Exceeded | None:
        """The limit that a step exceeds, if it does."""
        taken = now.seconds - before.seconds
        held = now.memory - before.memory
        return next((each for each in self.all if _beyond(each, taken, clock_s, held)), None)

    @property
    def all(self) -> tuple[Exceeded, ...]:
        """All limits that can be exceeded."""
        found = []
        if self.seconds is not None:
            found += [Exceeded("time", self.seconds)]
            found += [Exceeded("clock", CLOCK_FACTOR * self.seconds)]
        if self.memory is not None:
            found += [Exceeded("memory", self.memory)]
        return tuple(found)


UNLIMITED = Limits()


def _beyond(limit: Exceeded, seconds: float, clock_s: float, memory: float) -> bool:
    processor = clock_s if math.isnan(seconds) else seconds
    return {"time": processor, "clock": clock_s, "memory": memory}[limit.kind] > limit.limit


def usage(pid: int) -> Usage:
    """What a process has taken: as Linux tells it, or else the program `ps`."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        memory = MEMORY.findall(Path(f"/proc/{pid}/status").read_text("utf-8", "replace"))
        ticks = os.sysconf("SC_CLK_TCK")
        return Usage((int(times[11]) + int(times[12])) / ticks, 1024 * sum(map(int, memory)))
    except (OSError, ValueError, IndexError):
        return _told_by_ps(pid)


def _told_by_ps(pid: int) -> Usage:
    """For systems without `/proc`, such as macOS."""
    command = ["ps", "-o", "rss=", "-o", "time=", "-p", str(pid)]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        kilobytes, time = said.stdout.split()
        days, _, clock = time.rpartition("-")
        seconds = 86400 * float(days or 0)
        for power, part in enumerate(reversed(clock.split(":"))):
            seconds += 60**power * float(part)
        return Usage(seconds, 1024 * float(kilobytes))
    except (OSError, ValueError, subprocess.SubprocessError):
        return Usage(math.nan, math.nan)
