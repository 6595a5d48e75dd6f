"""Processes: results as they come, and an end when the user wants one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from segjury.execution import Ended, Processes, processes, run

PROGRAM = """
import sys, time
from segjury.execution import run

def work(seconds):
    time.sleep(seconds)
    return seconds

if __name__ == "__main__":
    print("started", flush=True)
    for task, result in run(work, [0.1, 60, 60, 60], jobs=2):
        print(result, flush=True)
"""


def double(number):
    return 2 * number


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_comes_back_with_its_result(jobs):
    assert dict(run(double, [1, 2, 3], jobs=jobs)) == {1: 2, 2: 4, 3: 6}


def mortal(seconds):
    """Sleep; end the process where no time is given."""
    if not seconds:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(seconds)
    return os.getpid()


def raises(message):
    raise ValueError(message)


def test_a_death_costs_its_own_task_only():
    found = dict(Processes(2).outcomes(mortal, [0, 2, 0.01]))
    assert {seconds for seconds, each in found.items() if isinstance(each, Ended)} == {0}


def test_a_process_does_one_task_after_the_other():
    found = dict(Processes(2).outcomes(mortal, [0.01, 0.02, 0.03, 0.04]))
    assert len(set(found.values())) in (1, 2)
    assert os.getpid() not in found.values()


def test_an_error_of_a_task_is_raised_here_with_its_place():
    with pytest.raises(ValueError, match="what") as caught:
        list(Processes(2).outcomes(raises, ["what", "what"]))
    assert "in raises" in caught.value.__notes__[0]


def test_no_process_is_left(monkeypatch):
    started = []

    class Watched(processes._Worker):
        def __init__(self, work):
            super().__init__(work)
            started.append(self._process)

    monkeypatch.setattr(processes, "_Worker", Watched)
    outcomes = Processes(2).outcomes(mortal, [0.01, 60, 60])
    next(outcomes)
    outcomes.close()
    assert len(started) == 2
    assert all(process.exitcode is not None for process in started)


@pytest.mark.parametrize(("free", "expected"), [(2e9, 2), (0.5e9, 1)])
def test_a_process_is_started_beside_others_only_if_there_is_memory(monkeypatch, free, expected):
    monkeypatch.setattr(processes, "free_memory", lambda: free)
    found = dict(Processes(2, bytes_each=1e9).outcomes(mortal, [0.3, 0.31, 0.32]))
    assert len(set(found.values())) == expected


@pytest.mark.parametrize("interrupts", [1, 2])
def test_interrupts_end_the_workers_too(tmp_path, interrupts):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal signals the whole group, so do we
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # or a shell's `&` counts
    )
    assert process.stdout is not None
    while "0.1" not in process.stdout.readline():
        pass
    for _ in range(interrupts):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    _, complaints = process.communicate(timeout=50)  # the tasks alone would take two minutes
    assert process.returncode != 0
    assert "SpawnProcess" not in complaints  # no worker's traceback
