"""Limits of a step: it ends what takes too much, and nothing else."""

from __future__ import annotations

import math
import os
import time

import numpy as np
import psutil
import pytest

from segjury.runtime import Exceeded, Limits, OverLimit, Processes, limits, processes, step
from segjury.runtime.limits import Usage, usage

SECONDS = Limits(seconds=0.2)
MEMORY = Limits(memory=0.1e9)


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def in_c(seconds):
    """One call that lets nobody else run: a number too long to be written quickly."""
    end = time.process_time() + seconds
    digits = 10_000
    while time.process_time() < end:
        digits *= 2
        pow(3, digits)


def hold(gigabytes):
    held = np.ones(int(gigabytes * 1e9), np.uint8)
    time.sleep(0.5)
    return held.size


WAYS = {"burn": burn, "in_c": in_c, "sleep": time.sleep, "hold": hold, "return": lambda _much: None}


def work(task):
    """Do something in a step of its own, before it or after it."""
    way, much, inside = task
    if not inside:
        WAYS[way](much)
    with step(("so far", way)):
        if inside:
            WAYS[way](much)
    return way


def outcome(task, given):
    ((_, found),) = Processes(1, limits=given).outcomes(work, [task])
    return found


@pytest.mark.parametrize("way", ["burn", "in_c"])
def test_processor_time_ends_a_step(way):
    found = outcome((way, 30, True), SECONDS)
    assert found == OverLimit(Exceeded("time", 0.2), ("so far", way))
    assert found.exceeded.reason == "took more than 0.2 s of processor time"


def test_a_step_that_only_waits_ends_by_the_clock(monkeypatch):
    monkeypatch.setattr(limits, "CLOCK_FACTOR", 2)
    found = outcome(("sleep", 30, True), SECONDS)
    assert found.exceeded == Exceeded("clock", 0.4)
    assert found.exceeded.reason == "took more than 0.4 s"


def test_waiting_is_not_charged_as_processor_time():
    assert outcome(("sleep", 0.5, True), SECONDS) == "sleep"


def test_memory_ends_a_step():
    found = outcome(("hold", 0.3, True), MEMORY)
    assert found == OverLimit(Exceeded("memory", 0.1e9), ("so far", "hold"))
    assert found.exceeded.reason == "needed more than 0.1 GB of memory"


@pytest.mark.parametrize(("way", "much", "given"), [("burn", 0.4, SECONDS), ("hold", 0.3, MEMORY)])
def test_what_is_taken_outside_a_step_is_not_charged(way, much, given):
    assert outcome((way, much, False), given) == way


def test_others_go_on_and_the_place_is_taken_by_another():
    tasks = [("burn", 30, True), ("sleep", 0.4, True), ("return", 0, True)]
    found = dict(Processes(2, limits=SECONDS).outcomes(work, tasks))
    assert isinstance(found.pop(tasks[0]), OverLimit)
    assert found == {tasks[1]: "sleep", tasks[2]: "return"}


def test_no_process_is_left(monkeypatch):
    started = []

    class Watched(processes._Worker):
        def __init__(self, work):
            super().__init__(work)
            started.append(self._process)

    monkeypatch.setattr(processes, "_Worker", Watched)
    outcome(("burn", 30, True), SECONDS)
    assert [process.exitcode is not None for process in started] == [True]


def test_without_limits_a_step_is_nothing():
    assert dict(Processes(1).outcomes(work, [("return", 0, True)])) == {
        ("return", 0, True): "return"
    }
    assert not Limits()


# ---- what a process has taken --------------------------------------------------------------


@pytest.mark.parametrize("told", [usage, limits._told_by_ps])
def test_usage_is_that_of_the_process(told):
    this = psutil.Process()
    burn(0.02)
    times = this.cpu_times()
    found = told(os.getpid())
    assert found.seconds == pytest.approx(times.user + times.system, abs=1)
    assert found.memory == pytest.approx(this.memory_info().rss, rel=0.1)


def test_times_of_ps_are_seconds(monkeypatch):
    for said, seconds in {"1:02.50": 62.5, "02:00:05": 7205.0, "1-00:00:01": 86401.0}.items():
        answer = type("Answer", (), {"stdout": f" 2000 {said}\n"})
        monkeypatch.setattr(limits.subprocess, "run", lambda *_a, answer=answer, **_k: answer)
        assert limits._told_by_ps(1) == Usage(seconds, 2_048_000)


def test_nobody_knows_of_a_process_that_is_gone():
    found = usage(2**22 + 1)
    assert math.isnan(found.seconds)
    assert math.isnan(found.memory)


def test_where_processor_time_is_not_known_the_clock_counts():
    unknown = Usage(math.nan, math.nan)
    assert SECONDS.exceeded(unknown, unknown, 0.1) is None
    assert SECONDS.exceeded(unknown, unknown, 0.3) == Exceeded("time", 0.2)
