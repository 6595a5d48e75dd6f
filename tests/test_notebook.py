"""What a notebook calls gives what the commands write."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import segjury
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.reading import write_volume
from segjury.images.volume import Volume
from segjury.platforms import notebook
from tests.commands import segjury as command
from tests.score_tables import make_scores

PROTOCOL = "curvas-2024"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A phantom of six cases, which resamples need."""
    folder = tmp_path_factory.mktemp("bench")
    segjury.write_phantom(PROTOCOL, str(folder), cases=6, methods=3, shape=(40, 40, 24))
    return folder


@pytest.fixture(scope="module")
def out(bench):
    """What the command writes."""
    folder = bench / "by-command"
    done = command("evaluate", PROTOCOL, *folders_as_options(bench), "--out", folder, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def results(out):
    return segjury.read(out)


@pytest.fixture(scope="module")
def study(results):
    return results.analyze(baselines=[results.scores["method"].iloc[0]], samples=100)


def folders(bench):
    return {kind: bench / kind for kind in ("reference", "predictions")}


def folders_as_options(bench):
    return [f"--{kind}={folder}" for kind, folder in folders(bench).items()]


def same(table, path):
    """A table as it is written is what the file holds."""
    return table.to_csv(index=False, lineterminator="\n") == path.read_text("utf-8")


# ---- names ---------------------------------------------------------------------------------


def test_all_names_are_there_and_none_is_a_room():
    assert dir(segjury) == sorted(segjury.__all__, key=dir(segjury).index)
    for name in segjury.__all__:
        assert getattr(segjury, name) is not None
    rooms = "runtime images consensus metrics protocols benchmark scoring results analysis raters"
    assert not set(f"{rooms} report methods platforms cli".split()) & set(segjury.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = segjury.nothing


def test_importing_it_imports_nothing_heavy():
    heavy = "{'numpy', 'pandas', 'scipy', 'pydantic', 'matplotlib'} & set(sys.modules)"
    code = f"import sys, segjury; print({heavy} or 'none')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"


# ---- running and reading -------------------------------------------------------------------


def test_a_run_writes_the_files_of_the_command_and_goes_on(bench, out, tmp_path, capfd):
    made = segjury.run(PROTOCOL, **folders(bench), out=str(tmp_path / "new"))
    for name in ("scores", "details", "calibration", "cases"):
        written = (tmp_path / "new" / f"{name}.csv").read_bytes()
        assert written == (out / f"{name}.csv").read_bytes(), name
        assert same(getattr(made, name), out / f"{name}.csv")
    assert (made.problems, made.worth_repeating) == ((), False)
    again = segjury.run(PROTOCOL, **folders(bench), out=tmp_path / "new")
    assert (made.run.kept, again.run.kept) == (0, 18)
    assert json.loads((tmp_path / "new" / "run.json").read_text())["kept"] == 18
    assert capfd.readouterr() == ("", "")


def test_a_run_in_memory_has_the_same_scores_and_writes_nothing(bench, out):
    before = set(bench.rglob("*"))
    table = segjury.evaluate(PROTOCOL, **folders(bench))
    assert same(table, out / "scores.csv")
    assert set(bench.rglob("*")) == before


def test_a_run_is_not_written_among_its_inputs(bench):
    with pytest.raises(InputError, match="is in"):
        segjury.run(PROTOCOL, **folders(bench), out=bench / "reference" / "out")


def test_what_a_later_run_leaves_out_is_a_warning(bench, tmp_path):
    segjury.run(PROTOCOL, **folders(bench), out=tmp_path)
    made = segjury.run(PROTOCOL, **folders(bench), out=tmp_path, readings=["corrected"])
    assert "the tables no longer have the readings released, published" in made.warnings


def test_a_folder_is_read_whole(results, out):
    assert all(map(len, (results.details, results.calibration, results.cases)))
    assert results.run.protocol.name == PROTOCOL
    assert results.ceiling is None
    assert results.path == out


def test_tables_that_lie_beside_are_read_only_if_wanted(out):
    found = segjury.read(out, beside=["cases"])
    assert found.cases is not None
    assert found.details is found.calibration is found.ceiling is None


def test_a_frame_is_read_as_its_file_would_be(tmp_path):
    table = make_scores(("A", "B"), 3, ("given",), ("dsc",))[["method", "case", "metric", "value"]]
    table.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(
        segjury.read(table).scores, segjury.read(tmp_path / "t.csv").scores
    )


def test_a_frame_of_another_tool_may_have_any_types():
    index = pd.MultiIndex.from_product([["A", "B"], [1, 2]], names=["team", "Case"])
    frame = pd.DataFrame(
        {"Dice": pd.array([1, 2, 3, None], "Int64"), "site": pd.Categorical(["x", "y", "x", "y"])},
        index,
    )
    found = segjury.read(frame, columns={"method": "team"}, lower=["dice"])
    assert found.scores["case"].tolist() == ["1", "2", "1", "2"]
    assert found.scores["value"].fillna(-1).tolist() == [1, 2, 3, -1]
    assert found.scores["site"].tolist() == ["x", "y", "x", "y"]
    assert found.better == {"dice": "lower"}
    assert list(frame.columns) == ["Dice", "site"]  # what was given stays as it was


# ---- leaderboards --------------------------------------------------------------------------


def test_a_leaderboard_is_that_of_the_command(results, out, tmp_path):
    command("rank", out / "scores.csv", "--out", tmp_path)
    board = results.leaderboard()
    assert same(board.table, tmp_path / "leaderboard.csv")
    assert list(board.readings) == ["published", "released"]
    for name, other in board.readings.items():
        assert same(other.table, tmp_path / f"leaderboard_{name}.csv")


def test_every_option_of_a_ranking_is_that_of_the_command(results, out, tmp_path):
    command(
        *("rank", out / "scores.csv", "--out", tmp_path, "--reading", "published"),
        *("--metrics", "DSC,ece", "--scheme", "rank-then-aggregate", "--aggregate", "0.25"),
        *("--ties", "min", "--weights", "dsc=2", "--missing", "worst"),
        *("--cohort", "mean_pairwise_dsc<=0.99"),
    )
    board = results.leaderboard(
        reading="published",
        metrics=["DSC", "ece"],
        scheme="rank-then-aggregate",
        aggregate=0.25,
        ties="min",
        weights={"dsc": 2},
        missing="worst",
        cohort="mean_pairwise_dsc<=0.99",
    )
    assert same(board.table, tmp_path / "leaderboard.csv")


def test_a_frame_is_ranked_as_was_said():
    rows = [(m, c, "speed", v) for m, v in (("A", 1.0), ("B", 2.0)) for c in ("1", "2")]
    frame = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    assert segjury.read(frame, higher=["speed"]).leaderboard().table["method"].tolist() == [
        *("B", "A")
    ]
    later = segjury.read(frame).leaderboard(lower=["SPEED"])
    assert later.table[["method", "position"]].to_numpy().tolist() == [["A", 1], ["B", 2]]


BAD_OPTIONS = {
    "scheme": ({"scheme": "best"}, "`scheme` is 'best'. Use one of mean-of-metric-ranks"),
    "ties": ({"ties": "none"}, "`ties` is 'none'. Use one of average"),
    "missing": ({"missing": "zero"}, "`missing` is 'zero'.*Use one of error, exclude, worst"),
    "aggregate": ({"aggregate": 2}, "`aggregate` is '2'. Use mean, median, or a quantile"),
    "weight": ({"weights": {"dsc": 0}}, "`weights` gives dsc the weight '0'"),
    "weighted": ({"weights": {"x": 1}}, "the table has no metric x"),
    "metrics": ({"metrics": ["x"]}, "the table has no metric x"),
    "one metric": ({"metrics": "dsc"}, "'dsc' is one text"),
    "both": ({"higher": ["dsc"], "lower": ["dsc"]}, "`higher` and `lower` both name dsc"),
    "reversed": ({"lower": ["dsc"]}, "dsc is better when higher"),
    "samples": ({"samples": -1}, "`samples` is -1"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_a_bad_argument_is_refused_by_its_name(results, options, message):
    with pytest.raises(InputError, match=message) as caught:
        results.leaderboard(**options)
    assert "--" not in str(caught.value)


# ---- studies -------------------------------------------------------------------------------


def test_a_study_is_the_analysis_of_the_command(study, results, out, tmp_path):
    base = results.scores["method"].iloc[0]
    command("analyze", out, "--out", tmp_path, "--baseline", base, "--bootstrap", 100)
    assert {f"analysis_{name}" for name in study.tables} == {
        path.stem for path in tmp_path.glob("analysis_*.csv")
    }
    for name, table in study.tables.items():
        assert same(table, tmp_path / f"analysis_{name}.csv"), name
    assert [f"- {said}" for said in study.sentences] == (
        (tmp_path / "summary.md").read_text("utf-8").splitlines()
    )
    pairs = pd.read_csv(tmp_path / "analysis_pairs.csv")
    assert len(study.tests("dsc")) == (pairs["score"] == "dsc").sum() > 0
    with pytest.raises(InputError, match="the table has no score 'x'"):
        study.tests("x")


def test_a_figure_of_a_study_is_that_of_the_command(study, out, tmp_path):
    drawn = study.figure("boxes", score="dsc")
    drawn.save(tmp_path / "mine.csv")
    options = ("--score", "dsc", "--bootstrap", 100, "--out", tmp_path / "its.csv")
    command("figure", "boxes", out / "scores.csv", *options)
    assert (tmp_path / "mine.csv").read_bytes() == (tmp_path / "its.csv").read_bytes()
    assert drawn._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="there is no figure 'x'"):
        study.figure("x")
    with pytest.raises(InputError, match="needs a `score`"):
        study.figure("boxes")


def test_a_report_of_a_study_is_that_of_the_command(results, out, tmp_path):
    mine, its = tmp_path / "mine" / "r.md", tmp_path / "its" / "r.md"
    written = results.analyze().report(str(mine), figures=[])
    assert (written.path, written.problems) == (mine, ())
    command("report", out, "--out", its, "--figures", "none")
    assert mine.read_bytes() == its.read_bytes()


def test_a_report_must_say_its_format_and_known_figures(study, tmp_path):
    with pytest.raises(InputError, match=r"`out` is 'r.doc', which says no format"):
        study.report(tmp_path / "r.doc")
    with pytest.raises(InputError, match="`figures` is 'x'"):
        study.report(tmp_path / "r.html", figures=["x"])


def test_the_first_leaderboard_of_a_study_has_the_resamples_of_its_analysis(study):
    assert study.first_leaderboard.stability is study.analysis.stability
    pd.testing.assert_frame_equal(study.first_leaderboard.table, study.leaderboards()[0].table)


def test_a_study_ranks_by_its_own_rules(results):
    study = results.analyze(metrics=["dsc"], samples=100)
    again = type(study).of(study, samples=100)
    assert list(study.analysis.scores) == list(again.analysis.scores) == ["dsc"]


def test_the_analysis_of_a_study_is_made_once(study):
    assert study.analyzed() is study
    assert study.analysis is study.analysis


# ---- what Jupyter shows --------------------------------------------------------------------


def test_names_from_outside_are_escaped():
    table = make_scores((HOSTILE, "B"), 6, ("given",), ("dsc",))
    found = segjury.read(table)
    study = found.analyze(samples=100)
    for shown in (found, found.leaderboard(), study):
        page = shown._repr_html_()
        assert HOSTILE not in page
        assert html.escape(HOSTILE) in page


def test_a_leaderboard_shows_how_sure_it_is(results):
    page = results.leaderboard()._repr_html_()
    assert "95 % interval" in page
    assert "position" in page
    assert "mean_rank" in page
    assert "rank_dsc" not in page  # the page would be too wide


def test_a_room_of_functions_needs_no_import_of_its_own():
    code = "import segjury; print(segjury.metrics.dsc([1, 0], [1, 0]), segjury.images.read_mask)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1.0 <function read_mask")


# ---- before and beside a run ---------------------------------------------------------------


def test_a_check_finds_what_the_command_does(bench):
    found = segjury.check(PROTOCOL, **{k: str(v) for k, v in folders(bench).items()})
    done = command("check", PROTOCOL, *folders_as_options(bench))
    assert [str(problem) for problem in found.problems] == done.stdout.splitlines()
    with pytest.raises(InputError, match="Give `reference`, `predictions` or both"):
        segjury.check(PROTOCOL)


def test_a_curation_is_written_as_by_the_command(bench, tmp_path):
    made = segjury.curate(PROTOCOL, reference=str(bench / "reference"), out=tmp_path / "mine")
    command("curate", PROTOCOL, "--reference", bench / "reference", "--out", tmp_path / "its")
    for path in (tmp_path / "its").iterdir():
        assert (tmp_path / "mine" / path.name).read_bytes() == path.read_bytes()
    assert len(made.cases) == 6


def test_a_split_takes_a_file_and_percentages(tmp_path):
    table = pd.DataFrame({"case": [f"c{n}" for n in range(10)], "sex": ["f", "m"] * 5})
    table.to_csv(tmp_path / "cases.csv", index=False)
    made = segjury.split(str(tmp_path / "cases.csv"), sizes="60%,40%", by=["sex"])
    assert made.sizes == (6, 4)
    assert made.of_cases == segjury.split(table, sizes=[6, 4], by=["sex"]).of_cases


def test_raters_are_measured_as_by_the_command(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(notebook, "write_rater_figures", lambda *_tables, **_level: [])
    reference = tmp_path / "reference"
    for case in sorted((bench / "reference").iterdir())[:2]:
        (shutil.copytree if case.is_dir() else shutil.copy)(case, reference / case.name)
    segjury.measure_raters(
        PROTOCOL, reference=reference, readings=["released"], out=tmp_path / "mine"
    )
    options = ("--reading", "released", "--jobs", 1, "--out", tmp_path / "its")
    command("raters", PROTOCOL, "--reference", reference, *options)
    for path in (tmp_path / "its").glob("*.*"):
        assert (tmp_path / "mine" / path.name).read_bytes() == path.read_bytes()


def test_a_phantom_is_not_overwritten_unawares(bench):
    with pytest.raises(InputError, match="or `force` to overwrite"):
        segjury.write_phantom(PROTOCOL, bench)


def test_raters_are_simulated_as_by_the_command(tmp_path):
    array = np.zeros((20, 20, 20), np.uint8)
    array[6:14, 6:14, 6:14] = 1
    write_volume(tmp_path / "mask.nii.gz", Volume(array, Grid(array.shape)))
    segjury.simulate_raters(
        str(tmp_path / "mask.nii.gz"), tmp_path / "mine", raters=3, bias=[0.5, 0, -0.5]
    )
    options = ("--raters", 3, "--bias", "0.5,0,-0.5", "--out", tmp_path / "its")
    command("phantom", "raters", tmp_path / "mask.nii.gz", *options)
    for path in (tmp_path / "its").iterdir():
        assert (tmp_path / "mine" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(InputError, match="`skill` has 2 numbers for 5 raters"):
        segjury.simulate_raters(tmp_path / "mask.nii.gz", tmp_path / "new", skill=[1, 2])


def test_a_protocol_that_is_loaded_stays():
    protocol = segjury.load_protocol(PROTOCOL)
    assert segjury.load_protocol(protocol) is protocol
