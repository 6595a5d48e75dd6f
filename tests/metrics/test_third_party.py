"""A metric of somebody else goes from a protocol file to the report, if its user allows it."""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from importlib import metadata

import numpy as np
import pandas as pd
import pytest

import segjury
from segjury.analysis.ranking import Rules
from segjury.errors import InputError
from segjury.metrics import METRICS, third_party
from segjury.metrics.metric import DECLARED
from segjury.protocols import load_protocol, options
from segjury.results import Run
from tests.commands import segjury as run
from tests.small_benchmarks import CASES, METHODS, write_benchmark

CODE = '''
import numpy as np
from segjury.metrics import Metric

def _miss(reference, prediction, *, spacing_mm, power: float = 1.0):
    """Difference of the volumes in mm3."""
    apart = abs(int(reference.sum()) - int(prediction.sum())) * float(np.prod(spacing_mm))
    return apart**power

tumour_burden = Metric(
    name="tumour_burden",
    title="Tumour burden error",
    summary="Difference of the two volumes.",
    formula="|V(R) - V(P)|",
    direction="lower",
    bounds=(0.0, float("inf")),
    unit="mm3",
    decimals=1,
    symmetric=True,
    scales_with="volume",
    score=_miss,
)
bad = Metric(
    name="bad",
    title="Bad",
    summary="More of the prediction is better.",
    direction="higher",
    bounds=(0.0, 0.5),
    symmetric=True,
    score=lambda reference, prediction, *, spacing_mm: 1 - prediction.mean() + spacing_mm[0],
)
fails = Metric(
    name="fails",
    title="Fails",
    summary="Never comes to an end.",
    direction="higher",
    bounds=(0.0, 1.0),
    score=lambda reference, prediction, *, spacing_mm: 1 / 0,
)

def _seen(reference, prediction, *, spacing_mm, probability, raters):
    assert reference.dtype == np.uint8 and raters.shape[1:] == reference.shape
    assert probability.shape[1:] == reference.shape and not probability.flags.writeable
    return len(raters) / 10

seen = Metric(
    name="seen",
    title="Seen",
    summary="What it is given.",
    direction="higher",
    bounds=(0.0, 1.0),
    scope="case",
    needs_probability=True,
    needs_raters=True,
    score=_seen,
)
dsc = Metric(
    name="dsc", title="Mine", summary="Mine.", direction="higher", bounds=(0.0, 1.0), score=_miss
)
'''
PROTOCOL = """
name = "mine"
title = "Mine"

[reference]
raters = "annotation_{rater}"
n_raters = 2
labels = { lesion = 1 }

[prediction]
mask = "segmentation"

[[metrics]]
name = "dsc"

[[metrics]]
"""
BURDEN = 'python = "their_scores.burden:tumour_burden"\nworst = 1000.0\n'


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """The package `their_scores`, importable here and in processes that are started."""
    folder = tmp_path / "packages" / "their_scores"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "burden.py").write_text(CODE)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent), prepend=":")
    importlib.invalidate_caches()
    yield folder
    forget()


def forget():
    """As in a new process, in which nobody has loaded the metric."""
    DECLARED.clear()
    options._third_party.cache_clear()
    third_party.installed_metrics.cache_clear()
    for name in [name for name in sys.modules if name.startswith("their_scores")]:
        del sys.modules[name]


@pytest.fixture
def protocol(tmp_path):
    def written(entry=BURDEN, text=PROTOCOL):
        path = tmp_path / "my.toml"
        path.write_text(text + entry)
        return path

    return written


@pytest.fixture
def bench(tmp_path, protocol):
    write_benchmark(protocol('name = "dice"\n'), tmp_path)
    return tmp_path


def words(bench, path, *more):
    folders = ("--reference", bench / "reference", "--predictions", bench / "predictions")
    return ("evaluate", path, *folders, "--out", bench / "out", *more)


def test_from_the_protocol_file_to_the_report(bench, protocol):
    done = run(*words(bench, protocol(BURDEN + "power = 2\n"), "--allow-code", "--jobs", 2))
    assert done.returncode == 0, done.stderr
    scores = pd.read_csv(bench / "out" / "scores.csv")
    found = scores[(scores["metric"] == "tumour_burden") & (scores["reading"] == "corrected")]
    # STAPLE of boxes 3 and 4 voxels wide takes the larger, as method B does; both methods
    # leave out one voxel of 2 mm3
    apart = found.set_index(["method", "case"])["value"]
    assert set(found["unit"]) == {"mm3"}
    assert set(found["status"]) == {"ok"}
    assert [apart["A", case] for case in CASES] == [(2.0 * (9 + 1)) ** 2] * 3
    assert [apart["B", case] for case in CASES] == [2.0**2] * 3

    # from here on nothing runs the code: it is gone
    for path in (bench / "packages" / "their_scores").glob("*.py"):
        path.unlink()
    forget()
    done = run("rank", bench / "out", "--out", bench / "out")
    assert done.returncode == 0, done.stderr
    board = pd.read_csv(bench / "out" / "leaderboard.csv").set_index("method")
    assert board["rank_tumour_burden"].to_dict() == {"A": 2.0, "B": 1.0}
    forget()
    page, quick = bench / "report.html", ("--figures", "boxes", "--bootstrap", 100, "--jobs", 1)
    done = run("report", bench / "out", "--out", page, *quick)
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    assert "Tumour burden error" in text
    assert "Difference of the two volumes." in text


def test_code_is_refused_by_name_unless_it_is_allowed(bench, protocol):
    done = run(*words(bench, protocol()))
    assert done.returncode == 2
    assert done.stderr == (
        "error: my.toml runs their_scores.burden:tumour_burden. "
        "Read that code, then say --allow-code.\n"
    )
    assert "their_scores" not in sys.modules
    with pytest.raises(InputError, match=r"my\.toml runs their_scores.*`allow_code`"):
        load_protocol(protocol())


def evaluated(bench, path):
    folders = {"reference": bench / "reference", "predictions": bench / "predictions"}
    table = segjury.evaluate(path, **folders, readings=["corrected"], allow_code=True)
    return table.set_index(["metric", "method", "case"])


def test_a_metric_of_the_case_gets_maps_of_labels_all_raters_and_all_maps(bench, protocol):
    for method in METHODS:
        for case in CASES:
            folder = bench / "predictions" / method / case
            (folder / "probability.nii.gz").write_bytes(
                (folder / "segmentation.nii.gz").read_bytes()
            )
    table = evaluated(bench, protocol('python = "their_scores.burden:seen"\n'))
    assert set(table.loc["seen"]["value"]) == {0.2}


def test_a_metric_that_fails_is_to_blame_for_its_own_rows_alone(bench, protocol):
    table = evaluated(bench, protocol('python = "their_scores.burden:fails"\n'))
    assert set(table.loc["fails"]["status"]) == {"undefined"}
    reason = "their_scores.burden:fails failed: ZeroDivisionError"
    assert table.loc["fails"]["detail"].str.contains(reason).all()
    assert set(table.loc["dsc"]["status"]) == {"ok"}


def test_a_value_outside_the_bounds_does_not_count(bench, protocol):
    table = evaluated(bench, protocol('python = "their_scores.burden:bad"\n'))
    assert table.loc["bad"]["value"].isna().all()
    assert table.loc["bad"]["detail"].str.contains("expected 0 to 0.5").all()


def test_kept_results_follow_the_code_and_the_run_records_it(bench, protocol, package):
    path = protocol()
    assert run(*words(bench, path, "--allow-code", "--jobs", 1)).returncode == 0
    first = json.loads((bench / "out" / "run.json").read_text())
    again = run(*words(bench, path, "--allow-code", "--jobs", 1))
    assert "6 taken from an earlier run" in again.stderr
    (package / "__init__.py").write_text("# a change\n")
    options._third_party.cache_clear()
    changed = run(*words(bench, path, "--allow-code", "--jobs", 1))
    assert "taken from an earlier run" not in changed.stderr
    second = json.loads((bench / "out" / "run.json").read_text())
    before, after = (each["protocol"]["definition"]["metrics"][1] for each in (first, second))
    assert before["python"] == after["python"] == "their_scores.burden:tumour_burden"
    assert len(before["source"]) == 64
    assert before["source"] != after["source"]


def test_a_record_declares_the_metric_without_its_code(protocol):
    definition = load_protocol(protocol(), allow_code=True).model_dump(mode="json")
    DECLARED.clear()
    recorded = Run.model_validate_json(json.dumps({"protocol": {"definition": definition}}))
    del sys.modules["their_scores.burden"]
    rules = Rules.of_run(recorded)
    assert rules.by_reading["corrected"] == ("dsc", "tumour_burden")
    assert DECLARED["tumour_burden"].bounds == (0.0, np.inf)
    assert DECLARED["tumour_burden"].score is None
    assert "their_scores.burden" not in sys.modules


def test_a_record_cannot_be_scored_with(bench, protocol):
    assert run(*words(bench, protocol(), "--allow-code", "--jobs", 1)).returncode == 0
    forget()
    done = run("ensemble", bench / "out")
    assert done.returncode == 2
    assert "the code of tumour_burden is not loaded. Evaluate with the protocol" in done.stderr


@pytest.mark.parametrize(
    "wrong", [{"bounds": 5}, {"bounds": [1, 0]}, {"decimals": 99}, {"name": "dsc"}, {"unit": []}]
)
def test_a_damaged_record_declares_nothing(protocol, wrong):
    definition = load_protocol(protocol(), allow_code=True).model_dump(mode="json")
    forget()
    definition["metrics"][1]["declared"] |= wrong
    assert Rules.of_run(Run.model_validate({"protocol": {"definition": definition}})) == Rules()
    assert not DECLARED


def test_a_record_that_names_code_alone_runs_none(protocol):
    definition = load_protocol(protocol(), allow_code=True).model_dump(mode="json")
    forget()
    del definition["metrics"][1]["declared"]
    assert Rules.of_run(Run.model_validate({"protocol": {"definition": definition}})) == Rules()
    assert "their_scores" not in sys.modules


def test_another_process_gets_the_metric_by_its_name(protocol, package):
    loaded = load_protocol(protocol(BURDEN + "power = 3\n"), allow_code=True)
    packed = pickle.dumps(loaded)
    assert pickle.loads(packed).hash == loaded.hash  # noqa: S301 - our own
    assert pickle.loads(packed).metrics[1].options == {"power": 3.0}  # noqa: S301
    (package / "burden.py").write_text(CODE + "\n# another version\n")
    options._third_party.cache_clear()
    with pytest.raises(InputError, match="has another version of their_scores"):
        pickle.loads(packed)  # noqa: S301


WRONG = {
    "option": ("their_scores.burden:tumour_burden", "power = 'high'", "power: .*number"),
    "unknown": ("their_scores.burden:tumour_burden", "force = 1", "force: this key is not known"),
    "no module": ("their_stores:x", "", r"their_stores:x cannot be loaded.*PYTHONPATH"),
    "no name": ("their_scores.burden:x", "", "their_scores.burden:x cannot be loaded"),
    "no metric": ("their_scores.burden:CODE", "", "cannot be loaded"),
    "no place": ("their_scores", "", "Write MODULE:NAME"),
    "a function": ("their_scores.burden:_miss", "", "is no segjury.metrics.Metric"),
    "a known name": ("their_scores.burden:dsc", "", "called dsc, as one of segjury's"),
    "a record": (
        "their_scores.burden:tumour_burden",
        "declared = {}",
        "written by segjury, not by hand",
    ),
}


@pytest.mark.parametrize(("place", "more", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_an_entry_is_said(protocol, place, more, message):
    path = protocol(f'python = "{place}"\nworst = 1.0\n{more}\n')
    with pytest.raises(InputError, match=message):
        load_protocol(path, allow_code=True)


# ---- entry points --------------------------------------------------------------------------


@pytest.fixture
def installed(monkeypatch):
    def entry_points(*, group):
        offered = {"tumour_burden": "their_scores.burden:tumour_burden", "gone": "their_scores:x.y"}
        return [metadata.EntryPoint(name, place, group) for name, place in offered.items()]

    monkeypatch.setattr(third_party.metadata, "entry_points", entry_points)


@pytest.mark.usefixtures("installed")
def test_an_installed_metric_needs_its_name_alone(bench, protocol):
    table = evaluated(bench, protocol('name = "tumour_burden"\nworst = 1000.0\n'))
    assert table.loc["tumour_burden", "A", "P1"]["value"] == 2.0 * (9 + 1)


@pytest.mark.usefixtures("installed")
def test_the_list_has_installed_metrics_and_a_broken_one_is_a_warning():
    done = run("metrics")
    assert done.returncode == 0
    for name in (*METRICS, "tumour_burden"):
        assert name in done.stdout
    assert (
        "warning: metric gone of an installed package: their_scores:x.y cannot be loaded"
        in done.stderr
    )
    assert "|V(R) - V(P)|" in run("metrics", "tumour_burden").stdout


# ---- the command ---------------------------------------------------------------------------


def test_one_metric_is_described():
    said = run("metrics", "nsd").stdout
    for expected in ("NSD", "0 to 1", "higher", "option tolerance_mm: distance that is no error"):
        assert expected in said


def test_an_unknown_metric_is_an_error_that_lists_the_known():
    done = run("metrics", "dcs")
    assert done.returncode == 2
    assert "there is no metric 'dcs'. Did you mean 'dsc'? Known are dsc, " in done.stderr


def test_a_lawful_metric_passes():
    done = run("metrics", "check", "their_scores.burden:tumour_burden")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok") == len(done.stdout.splitlines()) == 8


def test_each_broken_law_is_reported():
    done = run("metrics", "check", "their_scores.burden:bad")
    assert done.returncode == 2
    broken = [line for line in done.stdout.splitlines() if line.startswith("BROKEN")]
    for law in ("perfect", "bounds", "worse", "exchanged", "voxel size", "empty"):
        assert any(law in line for line in broken), law


def test_a_metric_that_raises_breaks_the_laws():
    done = run("metrics", "check", "their_scores.burden:fails")
    assert done.returncode == 2
    assert "fails with ZeroDivisionError" in done.stdout
