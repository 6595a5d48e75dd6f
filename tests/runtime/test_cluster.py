"""A real Dask scheduler with two workers, started here: the same bytes, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pandas as pd
import psutil
import pytest

from segjury.errors import InputError
from segjury.protocols import load_protocol
from segjury.runtime.cluster import Cluster
from segjury.scoring.one_case import CaseTask, evaluate_case
from segjury.scoring.store import write_marker
from tests.benchmark_files import (
    evaluate_command,
    evaluate_words,
    poisonous,
    tables,
    write_small_benchmark,
)
from tests.commands import segjury

METHODS = ("Alpha", "Beta")
QUICK = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",  # else it loses four workers to one task
    "DASK_LOGGING__DISTRIBUTED": "error",
}


@contextmanager
def cluster(folder, environment, *, workers=2):
    """A scheduler and some workers of one thread each; gives the scheduler file."""
    folder.mkdir()
    file = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    commands = [["dask_scheduler", "--port", "0", *here]]
    if workers:
        count = ["--nthreads", "1", "--nworkers", str(workers)]
        commands += [["dask_worker", *count, "--local-directory", str(folder), *here]]
    started = []
    try:
        for module, *options in commands:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *options]
            with (folder / f"{module}.log").open("w") as log:
                started.append(
                    subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
                )
            while not file.exists() and started[0].poll() is None:
                time.sleep(0.05)
        yield file
    finally:
        family = [p for each in started for p in psutil.Process(each.pid).children(recursive=True)]
        for process in (*started, *family):
            process.kill()
        for process in started:
            process.wait()


def evaluate(folder, *options, **how):
    command = evaluate_command(folder, *options)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, **how)


def started(bench, scheduler):
    """A run that has finished a result."""
    running = subprocess.Popen(
        evaluate_command(bench, "--scheduler", scheduler),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list((bench / "out").glob("parts/*.json")) and running.poll() is None:
        time.sleep(0.005)
    return running


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    write_small_benchmark(folder, METHODS)
    assert evaluate(folder, "--jobs", 1).returncode == 0
    return folder


@pytest.fixture
def bench(serial, tmp_path):
    shutil.copytree(serial, tmp_path / "bench", ignore=shutil.ignore_patterns("out"))
    return tmp_path / "bench"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    with cluster(folder / "run", poisonous(folder / "site") | QUICK) as file:
        yield file


def test_serial_two_processes_and_a_cluster_give_the_same_bytes(serial, bench, scheduler):
    by_two = evaluate(bench, "--jobs", 2)
    assert by_two.returncode == 0, by_two.stderr
    assert tables(bench) == tables(serial)
    shutil.rmtree(bench / "out")
    address = json.loads(scheduler.read_text())["address"]
    done = evaluate(bench, "--scheduler", address)
    assert done.returncode == 0, done.stderr
    assert tables(bench) == tables(serial)
    run = json.loads((bench / "out" / "run.json").read_text())
    assert run["engine"] == f"dask {address}"


def test_relative_paths_mean_the_same_on_every_worker(serial, bench, scheduler):
    command = evaluate_command(bench, "--scheduler", scheduler)
    command = [part.replace(f"{bench}/", "") for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=bench)
    assert done.returncode == 0, done.stderr
    assert tables(bench) == tables(serial)


def test_a_method_that_ends_every_worker_costs_its_own_rows(serial, bench, scheduler):
    source = bench / "predictions" / "Alpha" / "00_typical"
    shutil.copytree(source, bench / "predictions" / "Poison" / "00_typical")
    done = evaluate(bench, "--scheduler", scheduler)
    assert done.returncode == 75, done.stderr
    table = pd.read_csv(bench / "out" / "scores.csv")
    poison = table[(table["method"] == "Poison") & (table["case"] == "00_typical")]
    assert set(poison["status"]) == {"failed"}
    assert poison["value"].isna().all()
    others = table[table["method"] != "Poison"].reset_index(drop=True)
    expected = pd.read_csv(serial / "out" / "scores.csv")
    pd.testing.assert_frame_equal(others, expected, check_dtype=False)


def test_a_worker_killed_in_the_middle_is_recovered(serial, bench, tmp_path):
    with cluster(tmp_path / "dask", dict(os.environ)) as file:
        running = started(bench, file)
        workers = [
            process
            for process in psutil.process_iter(["cmdline", "cwd"])
            if process.info["cwd"] == str(tmp_path / "dask")
            and "spawn_main" in " ".join(process.info["cmdline"] or [])
        ]
        workers[0].kill()
        _, said = running.communicate(timeout=240)
    assert running.returncode == 0, said
    assert tables(bench) == tables(serial)


def test_a_lost_scheduler_is_one_line_and_worth_another_try(serial, bench, tmp_path):
    with cluster(tmp_path / "dask", dict(os.environ)) as file:
        running = started(bench, file)
    _, said = running.communicate(timeout=60)
    if running.returncode != 0:  # it may have been quicker than we were
        assert running.returncode == 75
        assert len(said.splitlines()) == 1
        assert "was lost" in said
    assert evaluate(bench, "--jobs", 1).returncode == 0
    assert tables(bench) == tables(serial)


def test_a_scheduler_file_may_come_late(scheduler, tmp_path):
    late = tmp_path / "late.json"
    coming = threading.Timer(1, lambda: late.write_text(scheduler.read_text()))
    coming.start()
    assert not late.exists()
    assert dict(Cluster(str(late)).outcomes(str, [1, 2])) == {1: "1", 2: "2"}


def test_a_scheduler_file_that_never_comes_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("segjury.runtime.cluster.PATIENCE_S", 0.2)
    with pytest.raises(InputError, match=r"there is no file .*late\.json"):
        next(Cluster(str(tmp_path / "late.json")).outcomes(str, [1]))


def test_a_cluster_without_workers_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("segjury.runtime.cluster.LONG_WITHOUT_WORKERS_S", 0.2)
    said = []

    def tell(text):
        said.append(text)
        raise KeyboardInterrupt

    without = cluster(tmp_path / "dask", dict(os.environ), workers=0)
    with without as file, pytest.raises(KeyboardInterrupt):
        next(Cluster(str(file), tell).outcomes(str, [1]))
    assert "has no workers yet" in said[0]


@pytest.mark.parametrize("absent", ["reference/00_typical", "predictions/Beta", "out"])
def test_a_worker_without_the_storage_is_no_fault_of_a_method(bench, absent):
    (bench / "out").mkdir()
    task = CaseTask(
        load_protocol("curvas-pdacvi-2025"),
        ("corrected",),
        bench / "reference",
        bench / "predictions",
        "00_typical",
        METHODS,
        store=bench / "out",
        mark=write_marker(bench / "out"),
    )
    shutil.rmtree(bench / absent)
    (bench / "out").mkdir(exist_ok=True)  # of another disk
    with pytest.raises(InputError, match=rf"the worker on .* has no .*{absent}"):
        evaluate_case(task)


def test_no_scheduler_is_one_line(bench, monkeypatch):
    monkeypatch.setattr("segjury.runtime.cluster.PATIENCE_S", 1)
    done = segjury(*evaluate_words(bench, "--scheduler", "tcp://127.0.0.1:9"))
    assert done.returncode == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
