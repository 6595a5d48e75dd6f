"""A prediction that is too much for a limit costs its own rows, whatever runs beside it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import segjury
from segjury.cli.options import gigabytes, seconds
from segjury.errors import InputError
from segjury.metrics.metric import DECLARED
from segjury.protocols import options
from segjury.runtime import limits
from tests.benchmark_files import tables
from tests.commands import segjury as run
from tests.runtime.test_cluster import QUICK, cluster
from tests.small_benchmarks import CASES, change, write_benchmark

# A metric that is too much where it sees a voxel in the corner.
CODE = """
import time
import numpy as np
from segjury.metrics import Metric

def burn():
    while True:
        sum(range(10**6))

def hold():
    held = np.ones(400_000_000, np.uint8)
    time.sleep(60)

def score(way):
    def scored(reference, prediction, *, spacing_mm):
        if prediction[0, 0, 0]:
            way()
        return float(prediction.mean())
    return scored

about = {"title": "Odd", "summary": "Odd.", "direction": "higher", "bounds": (0.0, 1.0)}
slow = Metric(name="slow", **about, score=score(burn))
idle = Metric(name="idle", **about, score=score(lambda: time.sleep(60)))
large = Metric(name="large", **about, score=score(hold))
"""
PROTOCOL = """
name = "odd"
title = "Odd"
reference = { raters = "annotation_{rater}", n_raters = 2, labels = { lesion = 1 } }
prediction = { mask = "segmentation" }
metrics = [{ name = "dsc" }, { name = "hd", worst = 99.0 }, { python = "odd_scores:NAME" }]
"""
TIME = ("--time-limit", "0.5")
OTHERS = (
    "warning: 3 of 3 cases have files of raters who are not in the panel (1, 2), such as "
    "annotation_3\n"
)
SLOW = "scoring took more than 0.5 s of processor time"


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory):
    """The module `odd_scores`, importable here and in processes that are started."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "odd_scores.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        yield
    DECLARED.clear()
    options._third_party.cache_clear()
    sys.modules.pop("odd_scores", None)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Three cases, methods A, B and C, of which B is too slow on P2; and what the run said."""
    folder = tmp_path_factory.mktemp("limits") / "bench"
    write_benchmark("curvas-pdacvi-2025", folder)
    shutil.copytree(folder / "predictions" / "A", folder / "predictions" / "C")
    for case in CASES:  # or both would be told to be the same
        change(
            folder / "predictions" / "C" / case, "segmentation", lambda mask: np.roll(mask, 1, 2)
        )
    provoke(folder, "B", "P2")
    return folder, evaluate(folder, protocol(folder), *TIME, jobs=2)


@pytest.fixture
def done(evaluated, tmp_path):
    """The same after the run."""
    return Path(shutil.copytree(evaluated[0], tmp_path / "bench"))


@pytest.fixture
def bench(done):
    """The same before the run."""
    shutil.rmtree(done / "out")
    return done


def provoke(folder, method, case):
    """Put a voxel into the corner."""

    def marked(mask):
        mask = mask.copy()
        mask[0, 0, 0] = 1
        return mask

    change(folder / "predictions" / method / case, "segmentation", marked)


def protocol(folder, name="slow", more=""):
    path = folder / f"{name}.toml"
    path.write_text(PROTOCOL.replace("NAME", name) + more)
    return path


def evaluate(folder, path, *more, jobs=1):
    words = ["evaluate", path, "--out", folder / "out", "--allow-code", "--reading", "corrected"]
    for name in ("reference", "predictions"):
        words += [f"--{name}", folder / name]
    return run(*words, *(("--jobs", jobs) if jobs else ()), *more)


def other_lines(folder):
    """The table, but for B on P2."""
    text = (folder / "out" / "scores.csv").read_bytes()
    return [line for line in text.splitlines() if not line.startswith(b"B,P2,")]


def of_b_on_p2(folder):
    table = pd.read_csv(folder / "out" / "scores.csv")
    return table[(table["method"] == "B") & (table["case"] == "P2")]


def test_its_rows_have_a_status_a_reason_and_the_worst_values(evaluated):
    folder, said = evaluated
    assert said.returncode == 2
    assert said.stderr == (
        f"{OTHERS}error: case P2, method B: {SLOW}\n8 of 9 predictions scored, 1 over the limit\n"
    )
    found = of_b_on_p2(folder)
    assert set(found["status"]) == {"over_limit"}
    assert set(found["detail"]) == {SLOW}
    assert dict(zip(found["metric"], found["value"], strict=True)) == {
        "dsc": 0,
        "hd": 99,
        "slow": 0,
    }


def test_all_other_rows_are_the_same_to_the_byte_as_without_it(evaluated, bench):
    shutil.rmtree(bench / "predictions" / "B" / "P2")
    assert "8 of 9 predictions scored, 1 missing" in evaluate(bench, protocol(bench)).stderr
    assert other_lines(bench) == other_lines(evaluated[0])


def test_memory_has_a_limit_too(evaluated, bench):
    said = evaluate(bench, protocol(bench, "large"), "--memory-limit", "100MB")
    reason = "scoring needed more than 0.1 GB of memory"
    assert said.stderr.startswith(f"{OTHERS}error: case P2, method B: {reason}\n8 of 9")
    assert set(of_b_on_p2(bench)["status"]) == {"over_limit"}
    renamed = [line.replace(b",slow,", b",large,") for line in other_lines(evaluated[0])]
    assert other_lines(bench) == renamed


def test_a_prediction_that_only_waits_ends_too(bench, monkeypatch):
    monkeypatch.setattr(limits, "CLOCK_FACTOR", 2)
    said = evaluate(bench, protocol(bench, "idle"), *TIME)
    assert "error: case P2, method B: scoring took more than 1 s\n" in said.stderr


def test_a_worker_of_a_cluster_outlives_it(evaluated, bench, tmp_path):
    with cluster(tmp_path / "dask", os.environ | QUICK, workers=1) as file:
        said = evaluate(bench, protocol(bench), *TIME, "--scheduler", file)
    assert said.stderr == evaluated[1].stderr
    assert tables(bench) == tables(evaluated[0])


# ---- kept, recorded ------------------------------------------------------------------------


def computed(done):
    """How many predictions were scored in each case."""
    events = map(json.loads, done.stderr.splitlines())
    return [each["computed"] for each in events if each["event"] == "case"]


def test_a_rerun_with_the_same_limit_computes_nothing(done):
    first = (done / "out" / "scores.csv").read_bytes()
    again = evaluate(done, protocol(done), *TIME, "--memory-limit", "4GB", "--log-json")
    assert again.returncode == 2
    assert computed(again) == [0, 0, 0]
    assert json.loads(again.stderr.splitlines()[-1])["over_limit"] == 1
    assert (done / "out" / "scores.csv").read_bytes() == first
    record = json.loads((done / "out" / "run.json").read_text())
    assert (record["time_limit_s"], record["memory_limit_gb"]) == (0.5, 4)


def test_a_rerun_with_another_limit_computes_it_again(done):
    again = evaluate(done, protocol(done), "--time-limit", "0.6s", "--log-json")
    assert sorted(computed(again)) == [0, 0, 1]
    assert "more than 0.6 s" in again.stderr


def test_a_changed_prediction_is_computed_again_without_a_limit(done):
    for suffix in ("segmentation", "probability"):
        name = f"P2/{suffix}.nii.gz"
        shutil.copy(done / "predictions" / "A" / name, done / "predictions" / "B" / name)
    again = evaluate(done, protocol(done), "--log-json")
    assert again.returncode == 0
    assert sorted(computed(again)) == [0, 0, 1]


# ---- what it costs -------------------------------------------------------------------------


def test_the_ranking_and_the_report_say_it(done):
    ranked = run("rank", done / "out")
    assert ranked.returncode == 0
    said = "predictions over the limit, scored as the protocol says: B 1 of 3"
    assert said in " ".join(ranked.stdout.split())
    quick = ("--figures", "boxes", "--bootstrap", 100, "--jobs", 1)
    assert run("report", done / "out", "--out", done / "report.md", *quick).returncode == 0
    text = (done / "report.md").read_text()
    assert "| over the limit | B | P2 |" in text
    assert SLOW in text
    assert "So does one whose scoring takes more than 0.5 s of processor time." in text


def test_excluded_it_has_no_value(bench):
    path = protocol(bench, more='policy = { over_limit = "exclude" }\n')
    assert evaluate(bench, path, *TIME).returncode == 2
    assert of_b_on_p2(bench)["value"].isna().all()
    refused = run("rank", bench / "out")
    assert "method B has no value of dsc for case P2, others have" in refused.stderr
    ranked = run("rank", bench / "out", "--missing", "exclude")
    assert ranked.returncode == 0


# ---- how limits are given ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "given"),
    [
        *(("--time-limit", given) for given in ("soon", "0", "-5", "1e9", "5 GB")),
        *(("--memory-limit", given) for given in ("3TB", "nan", "5m")),
    ],
)
def test_a_limit_that_is_none_is_refused(bench, option, given):
    done = evaluate(bench, protocol(bench), f"{option}={given}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {option} is '{given}'. Give a number above 0, as ")
    assert not (bench / "out").exists()


def test_limits_have_units():
    given = {"90": 90, "90s": 90, "1.5 m": 90, "2h": 7200, "5min": 300, "none": None}
    assert {text: seconds("x", text) for text in given} == given
    given = {"3": 3, "3GB": 3, "500 MB": 0.5, ".5gb": 0.5, "": None}
    assert {text: gigabytes("x", text) for text in given} == given


def test_python_takes_limits_too_and_all_methods_may_be_over_them(bench):
    provoke(bench, "A", "P2")
    folders = {"reference": bench / "reference", "predictions": bench / "predictions"}
    how = folders | {"methods": ["A", "B"], "readings": ["corrected"], "allow_code": True}
    table = segjury.evaluate(protocol(bench), **how, time_limit_s=0.5)
    over = table[table["status"] == "over_limit"]
    assert set(zip(over["method"], over["case"], strict=True)) == {("A", "P2"), ("B", "P2")}
    for name in ("time_limit_s", "memory_limit_gb"):
        with pytest.raises(InputError, match=f"`{name}` is 0. Give a number above 0"):
            segjury.run(protocol(bench), **how, **{name: 0})
