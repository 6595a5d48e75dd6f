"""Processes: results as they come, and an end when the user wants one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from segjury.execution import run

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
