"""Runs that are killed, stopped, crowded or out of room lose nothing and corrupt nothing."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import pandas as pd
import psutil
import pytest

from segjury.errors import InputError
from segjury.runtime.lock import LOCK, locked
from segjury.runtime.writing import PARTIAL, whole_file
from tests.benchmark_files import (
    evaluate_command,
    evaluate_words,
    poisonous,
    tables,
    write_small_benchmark,
)
from tests.commands import segjury, segjury_apart

METHODS = ("Alpha", "Beta", "Gamma")
CASES = 2


def evaluate(folder, *options):
    return segjury(*evaluate_words(folder, *options))


def evaluate_apart(folder, *options, **how):
    return segjury_apart(*evaluate_words(folder, *options), **how)


def start(folder, *options, **how):
    return subprocess.Popen(
        evaluate_command(folder, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **how,
    )


def parts(folder):
    return list((folder / "out" / "parts").glob("[!.]*.json"))


def wait_for_a_part(folder, process):
    while not parts(folder) and process.poll() is None:
        time.sleep(0.005)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A benchmark scored in one go, and how long that took."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_small_benchmark(folder, METHODS)
    clock = time.monotonic()
    done = evaluate_apart(folder, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    return folder, time.monotonic() - clock


@pytest.fixture
def bench(undisturbed, tmp_path):
    """The same benchmark, not scored yet."""
    folder, _ = undisturbed
    shutil.copytree(folder, tmp_path / "bench", ignore=shutil.ignore_patterns("out"))
    return tmp_path / "bench"


# ---- killed, stopped -----------------------------------------------------------------------


def test_six_kills_at_random_moments_cost_nothing(undisturbed, bench):
    folder, seconds = undisturbed
    moments = random.Random(0)  # noqa: S311 - no secret
    for kill in range(6):
        running = start(bench, "--jobs", 1 + kill % 2)
        try:
            running.wait(timeout=moments.uniform(0.3, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    done = evaluate(bench, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert tables(bench) == tables(folder)
    assert not list(bench.rglob(f"{PARTIAL}*"))


def test_a_killed_run_takes_its_processes_with_it(bench):
    running = start(bench, "--jobs", 2)
    wait_for_a_part(bench, running)
    family = psutil.Process(running.pid).children(recursive=True)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


@pytest.mark.parametrize(
    ("sent", "code", "word", "jobs"),
    [
        (signal.SIGINT, 130, "interrupted", 1),
        (signal.SIGINT, 130, "interrupted", 2),
        (signal.SIGTERM, 143, "terminated", 2),
    ],
)
def test_a_stopped_run_keeps_what_is_done(undisturbed, bench, sent, code, word, jobs):
    folder, _ = undisturbed
    running = start(bench, "--jobs", jobs)
    wait_for_a_part(bench, running)
    os.killpg(running.pid, sent)  # as a terminal or a batch system does
    _, said = running.communicate(timeout=60)
    if running.returncode != 0:  # it may have been quicker than we were
        assert running.returncode == code
        assert said == f"error: {word}. What was finished is kept; run the same command to go on\n"
    kept = len(parts(bench))
    assert kept > 0
    done = evaluate(bench, "--jobs", jobs)
    assert f"{kept} taken from an earlier run" in done.stderr
    assert tables(bench) == tables(folder)


# ---- crowded, out of room ------------------------------------------------------------------


def test_a_second_run_on_the_same_folder_is_refused(bench):
    with locked(bench / "out"):
        done = evaluate(bench)
    assert done.returncode == 2
    assert f"another run is writing to {bench / 'out'}. Wait until it ends" in done.stderr
    assert {p.name for p in (bench / "out").iterdir()} == {LOCK}


def test_a_claim_ends_with_its_holder(tmp_path):
    with locked(tmp_path), pytest.raises(InputError), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_what_was_left_half_written_is_removed(tmp_path):
    (tmp_path / "parts").mkdir()
    left = [tmp_path / f"{PARTIAL}1.csv", tmp_path / "parts" / f"{PARTIAL}2.json"]
    for path in left:
        path.touch()
    with locked(tmp_path):
        assert not any(path.exists() for path in left)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")

    def interrupted():
        with whole_file(path) as partial:
            partial.write_text("hal")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    with whole_file(path) as partial:
        partial.write_text("after")
    assert path.read_text() == "after"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("limit", "jobs"), [(10_000, 1), (10_000, 2), (100_000, 1)]
)  # less than a part, less than details.csv
def test_a_full_disk_is_a_message_and_breaks_no_table(undisturbed, bench, limit, jobs):
    folder, _ = undisturbed
    sizes = [path.stat().st_size for path in parts(folder)]
    assert 10_000 < min(sizes) < max(sizes) < 100_000 < len(tables(folder)["details.csv"])

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = evaluate_apart(bench, "--jobs", jobs, preexec_fn=small_files)
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert "Make room, and run the same command to go on" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (bench / "out" / "details.csv").exists()
    assert not list(bench.rglob(f"{PARTIAL}*"))
    assert evaluate(bench, "--jobs", 1).returncode == 0
    assert tables(bench) == tables(folder)


# ---- what changed --------------------------------------------------------------------------


def computed(folder, *options):
    """The events of a run: which cases had something to compute."""
    done = evaluate(folder, "--jobs", 1, "--log-json", *options)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    return {e["case"]: e["computed"] for e in events if e["event"] == "case"}, events


def test_only_what_changed_is_computed_again(bench):
    everything = dict.fromkeys(("00_typical", "05_disjoint"), len(METHODS))
    nothing = dict.fromkeys(everything, 0)
    assert computed(bench)[0] == everything
    assert computed(bench)[0] == nothing
    later = bench / "predictions" / "Beta" / "00_typical" / "probability.nii.gz"
    os.utime(later)  # the same content
    assert computed(bench)[0] == nothing
    shutil.copy(later.with_name("segmentation.nii.gz"), later)
    assert computed(bench)[0] == nothing | {"00_typical": 1}
    assert computed(bench, "--reading", "corrected")[0] == everything
    (bench / "reference" / "05_disjoint" / "annotation_5.nii.gz").unlink()
    assert computed(bench, "--reading", "corrected")[0] == nothing | {"05_disjoint": len(METHODS)}


def test_events_tell_a_run_from_start_to_end(bench):
    shutil.rmtree(bench / "predictions" / "Beta" / "00_typical")
    _, events = computed(bench)
    assert [e["event"] for e in events] == [
        *("start", "case", "case", "warning", "warning", "problem", "end")
    ]
    assert events[0]["cases"] == CASES
    assert "case 00_typical, method Beta: no prediction" in events[5]["message"]
    end = {"exit_code": 2, "scored": 5, "missing": 1, "failed": 0, "kept": 0}
    assert events[-1].items() >= end.items()
    done = evaluate(bench, "--log-json", "--methods", "Delta")
    problem, last = (json.loads(line) for line in done.stderr.splitlines()[-2:])
    assert "no method Delta" in problem["message"]
    assert last["exit_code"] == done.returncode == 2


def test_quiet_says_only_what_is_wrong(bench):
    done = evaluate(bench, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shutil.rmtree(bench / "predictions" / "Beta" / "00_typical")
    done = evaluate(bench, "-q")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: case 00_typical, method Beta: no prediction")


# ---- workers that die ----------------------------------------------------------------------


def test_a_worker_killed_in_the_middle_is_recovered(undisturbed, bench):
    folder, _ = undisturbed
    running = start(bench, "--jobs", 2)
    wait_for_a_part(bench, running)
    workers = [
        child
        for child in psutil.Process(running.pid).children()
        if "spawn_main" in " ".join(child.cmdline())
    ]
    workers[0].kill()
    _, said = running.communicate(timeout=120)
    assert running.returncode == 0, said
    assert tables(bench) == tables(folder)


def test_a_prediction_that_ends_every_worker_costs_its_own_rows(undisturbed, bench, tmp_path):
    folder, _ = undisturbed
    source = bench / "predictions" / "Alpha" / "00_typical"
    shutil.copytree(source, bench / "predictions" / "Poison" / "00_typical")
    done = evaluate_apart(bench, "--jobs", 2, env=poisonous(tmp_path / "site"))
    assert done.returncode == 75, done.stderr
    assert (
        "case 00_typical, method Poison: not scored: the process that worked on it" in done.stderr
    )
    table = pd.read_csv(bench / "out" / "scores.csv")
    hit = (table["method"] == "Poison") & (table["case"] == "00_typical")
    assert set(table[hit]["status"]) == {"failed"}
    assert table[hit]["value"].isna().all()  # nobody knows whose fault it was
    others = table[table["method"] != "Poison"].reset_index(drop=True)
    expected = pd.read_csv(folder / "out" / "scores.csv")
    pd.testing.assert_frame_equal(others, expected, check_dtype=False)
    again = evaluate(bench, "--jobs", 1)  # by a process with room enough
    assert "case 05_disjoint, method Poison: no prediction" in again.stderr
    table = pd.read_csv(bench / "out" / "scores.csv")
    assert set(table[hit]["status"]) == {"ok"}


# ---- links ---------------------------------------------------------------------------------


def test_links_out_of_the_predictions_are_refused_unless_asked(bench, tmp_path):
    place = bench / "predictions" / "Beta" / "00_typical"
    shutil.move(place, tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    refused = evaluate(bench, "--jobs", 1)
    assert refused.returncode == 2
    assert "method Beta: segmentation.nii.gz is reached by a link that leaves" in refused.stderr
    assert evaluate(bench, "--jobs", 1, "--follow-links").returncode == 0
    place.unlink()
    shutil.copytree(tmp_path / "elsewhere", place)  # the same content, and no link any more
    assert evaluate(bench, "--jobs", 1).returncode == 0
