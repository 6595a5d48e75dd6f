"""Processes: results as they come, and an end when the user wants one."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from segjury.errors import InputError, PassingError
from segjury.runtime import Processes, WorkerDied, processes, run

PROGRAM = """
import sys, time
from segjury.runtime import run

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
    assert {seconds for seconds, each in found.items() if isinstance(each, WorkerDied)} == {0}


def test_a_process_does_one_task_after_the_other():
    found = dict(Processes(2).outcomes(mortal, [0.01, 0.02, 0.03, 0.04]))
    assert len(set(found.values())) in (1, 2)
    assert os.getpid() not in found.values()


def killed_at_start(monkeypatch, count):
    """Let the first processes die before they can do anything."""
    left = [count]

    class Unlucky(processes._Worker):
        def __init__(self, work):
            super().__init__(work)
            if left[0]:
                left[0] -= 1
                self._process.kill()

    monkeypatch.setattr(processes, "_Worker", Unlucky)


def test_a_process_that_dies_before_it_begins_costs_no_task(monkeypatch):
    killed_at_start(monkeypatch, 2)
    assert dict(Processes(2).outcomes(double, [1, 2, 3])) == {1: 2, 2: 4, 3: 6}


def test_processes_that_all_die_at_their_start_end_the_run(monkeypatch):
    killed_at_start(monkeypatch, 100)
    with pytest.raises(InputError, match="end as soon as they are started"):
        list(Processes(2).outcomes(double, [1, 2, 3]))


def test_no_more_processes_than_the_system_gives(monkeypatch):
    given = []

    class Scarce(processes._Worker):
        def __init__(self, work):
            if given:
                raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
            given.append(self)
            super().__init__(work)

    monkeypatch.setattr(processes, "_Worker", Scarce)
    found = dict(Processes(2).outcomes(mortal, [0.01, 0.02, 0.03]))
    assert len(set(found.values())) == 1
    with pytest.raises(PassingError, match="Resource temporarily unavailable"):
        list(Processes(2).outcomes(mortal, [0.01, 0.02]))


class OddError(Exception):
    def __init__(self, what, where):
        super().__init__(f"{what} at {where}")


def odd(way):
    if way == "raise":
        raise OddError("it", "there")
    return lambda: way  # no process can send it to another


@pytest.mark.parametrize(("way", "message"), [("raise", "it at there"), ("return", "pickle")])
def test_what_cannot_be_sent_is_told_in_words(way, message):
    with pytest.raises(Exception, match=message):
        list(Processes(2).outcomes(odd, [way, way]))


def test_a_stopped_process_does_not_keep_the_end_waiting():
    outcomes = Processes(2).outcomes(mortal, [0.01, 0.3])
    _, first = next(outcomes)
    os.kill(first, signal.SIGSTOP)
    assert len(list(outcomes)) == 1


def test_a_killed_program_takes_its_busy_processes_with_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
    while "0.1" not in process.stdout.readline():
        pass
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    assert family
    assert not psutil.wait_procs(family, timeout=20)[1]


def test_a_program_without_a_guard_is_told_so(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "call it below `if __name__ == '__main__':`" in done.stderr


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
