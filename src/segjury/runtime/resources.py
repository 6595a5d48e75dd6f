"""What this machine has to spare: cores, and memory that a process may take."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

MEMORY_PER_JOB = 1.5e9  # bytes that a case of the largest usual size needs
CGROUP = Path("/sys/fs/cgroup")  # where Linux keeps the limits of a container or batch job
NAMES = {  # of limit, use and cached files, by the controllers of a group: version 2, and 1
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


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
    try:
        membership = Path("/proc/self/cgroup").read_text("ascii")
    except (OSError, ValueError):
        membership = ""
    return min(_machine_memory(), group_memory(membership))


def _machine_memory() -> float:
    """What Linux calls available; free pages elsewhere; no limit where the system does not tell."""
    try:
        available = _fields(Path("/proc/meminfo").read_text("ascii"))["MemAvailable:"]
        return available * 1024
    except (OSError, ValueError, KeyError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def group_memory(membership: str, root: Path = CGROUP) -> float:
    """What is left of the limits of the control groups in `/proc/self/cgroup`, and of those around.

    Cached files that nobody uses do not count as taken: they go as soon as memory is asked for.
    """
    left = math.inf
    for folder, (limit, used, cached) in _groups(membership, root):
        try:
            most = float((folder / limit).read_text("ascii"))  # fails for the word `max`
            taken = float((folder / used).read_text("ascii"))
            taken -= _fields((folder / "memory.stat").read_text("ascii")).get(cached, 0)
        except (OSError, ValueError):
            continue
        left = min(left, max(most - taken, 0))
    return left


def _groups(membership: str, root: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of a process's groups up to the root, and the names of their numbers."""
    for line in membership.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        names = NAMES.get(controllers)
        if names:
            top = root / controllers
            inside = top / path.lstrip("/")
            yield from ((p, names) for p in (inside, *inside.parents) if p.is_relative_to(top))


def _fields(text: str) -> dict[str, float]:
    """Lines of a name, a number and perhaps a unit."""
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines()}
