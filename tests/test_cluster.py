"""A real Dask scheduler with two workers, started here: the same bytes, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pandas as pd
import psutil
import pytest

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
def cluster(folder, environment):
    """A scheduler and two workers of one thread each; gives the scheduler file."""
    folder.mkdir()
    file = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    commands = [["dask_scheduler", "--port", "0", *here]]
    commands += [["dask_worker", "--nthreads", "1", "--nworkers", "2", *here]]
    commands[1] += ["--local-directory", str(folder)]
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
        running = subprocess.Popen(
            evaluate_command(bench, "--scheduler", file),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        parts = bench / "out" / "parts"
        while not (parts.is_dir() and any(parts.iterdir())) and running.poll() is None:
            time.sleep(0.005)
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


def test_no_scheduler_is_one_line(bench, monkeypatch):
    monkeypatch.setattr("segjury.execution.cluster.PATIENCE_S", 1)
    done = segjury(*evaluate_words(bench, "--scheduler", "tcp://127.0.0.1:9"))
    assert done.returncode == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
