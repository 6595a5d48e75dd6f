"""What this machine has to spare: cores, and memory that a process may take."""

from __future__ import annotations

import math
import os
from pathlib import Path

MEMORY_PER_JOB = 1.5e9  # bytes that a case of the largest usual size needs
CGROUP = Path("/sys/fs/cgroup")  # where Linux keeps the limits of a container or batch job


def default_jobs(n_tasks: int, *, bytes_each: float = MEMORY_PER_JOB) -> int:
    """As many processes as there are cores, tasks, and shares of free memory."""
    fitting = free_memory() // bytes_each
    return int(max(1, min(cores(), n_tasks, fitting)))


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> float:
    """Bytes that can be taken now without swapping, by the machine and by a container's limit."""
    return min(_machine_memory(), _group_memory(CGROUP))


def _machine_memory() -> float:
    """What Linux calls available; free pages elsewhere; no limit where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return float(amount.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _group_memory(root: Path) -> float:
    """What is left of the limit of this process's control group and of those around it."""
    left = math.inf
    for folder in _groups(root):
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            try:
                most = float((folder / limit).read_text("ascii"))
                taken = float((folder / used).read_text("ascii"))
            except (OSError, ValueError):  # no such file, or the word `max`
                continue
            left = min(left, max(most - taken, 0))
    return left


def _groups(root: Path) -> list[Path]:
    """The folders of this process's control group, version 2 and 1, up to the root."""
    try:
        lines = Path("/proc/self/cgroup").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers in ("", "memory"):
            top = root / controllers
            inside = top / path.lstrip("/")
            found += [inside, *(p for p in inside.parents if p.is_relative_to(top))]
    return found
