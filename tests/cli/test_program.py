"""The commands as a person types them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import tomllib

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from segjury.cli.program import COMMANDS
from tests.commands import segjury, segjury_apart

PROTOCOL = "curvas-pdacvi-2025"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A whole demo with few cases: its output, and the folder it wrote."""
    out = tmp_path_factory.mktemp("demo") / "out"
    done = segjury_apart("demo", "--out", out, "--cases", "5", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return done.stdout, out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    done = segjury_apart(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout


def test_help_imports_nothing_heavy():
    code = "import sys, segjury.cli; print(sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    for heavy in ("numpy", "pandas", "scipy", "SimpleITK", "matplotlib", "pydantic"):
        assert f"'{heavy}'" not in loaded.stdout


def test_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", segjury_apart("--version").stdout)


def test_the_demo_ends_with_the_leaderboard_and_the_report(demo):
    printed, out = demo
    assert printed.strip().splitlines()[-1] == f"report: {out / 'report.html'}"
    board = pd.read_csv(out / "leaderboard.csv")
    assert len(board) == 6
    for method in board["method"]:
        assert method in printed
    page = (out / "report.html").read_text()
    assert all(method in page for method in board["method"])
    figures = {path.name for path in (out / "figures").iterdir()}
    for name in ("ranks", "boxes-dsc", "cd-dsc", "reliability", "failures", "raters"):
        assert {f"{name}.{form}" for form in ("svg", "png", "pdf", "csv")} <= figures
    for picture in ("slices", "agreement", "probability-maps", "contact"):
        assert any(name.startswith(f"{picture}-p") for name in figures), picture
    assert "could not be drawn" not in page


def test_one_figure_alone_is_that_of_the_report(demo, tmp_path):
    _, out = demo
    for ending in ("svg", "png", "pdf", "csv"):
        path = tmp_path / f"alone.{ending}"
        done = segjury("figure", "boxes", out, "--score", "vi SMA", "--out", path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"figure: {path}\n"
        again = out / "figures" / f"boxes-vi-sma.{ending}"
        if ending != "csv":
            assert path.read_bytes() == again.read_bytes()
        else:  # the one of a page has twelve digits
            one, two = pd.read_csv(path), pd.read_csv(again)
            pd.testing.assert_frame_equal(one, two, check_dtype=False)


def test_a_picture_of_any_case_and_method(demo, tmp_path):
    _, out = demo
    path = tmp_path / "new" / "p2.csv"
    chosen = ("--method", "Consensus", "--method", "Calibrated")
    done = segjury("figure", "slices", out, "--case", "P002", *chosen, "--out", path)
    assert done.returncode == 0, done.stderr
    shown = set(pd.read_csv(path)["name"])
    assert {"Consensus", "Calibrated", "Rater 1", "Rater 5"} <= shown
    assert "Overconfident" not in shown


def test_the_list_of_figures_names_all():
    printed = segjury("figure", "list").stdout
    for name in ("blob", "cd", "podium", "reliability", "invasion", "slices", "mip", "contact"):
        assert re.search(rf"^\s+{name}\s", printed, re.MULTILINE), name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing", "{out}", "--out", "x.svg"), "there is no figure 'nothing'"),
        (("blob",), "the figure needs SCORES"),
        (("blob", "{out}"), "the figure needs --out"),
        (("blob", "{out}", "--out", "x.jpg"), "--out is 'x.jpg'. Use a name that ends in .svg"),
        (("boxes", "{out}", "--score", "nsd", "--out", "x.svg"), "boxes has no score 'nsd'"),
        (("ranks", "{out}", "--case", "P001", "--out", "x.svg"), "ranks takes no --case"),
        (("blob", "{out}", "--score", "dsc", "--out", "x.svg"), "cannot carry the figure blob"),
        (("slices", "{out}", "--out", "x.png"), "the picture slices needs a --case"),
        (("slices", "{out}", "--case", "P9", "--out", "x.png"), "there is no case 'P9'"),
        (
            ("slices", "{out}", "--case", "P001", "--method", "Nobody", "--out", "x.png"),
            "the table has no method 'Nobody'. It has ",
        ),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(demo, tmp_path, arguments, said):
    _, out = demo
    done = segjury("figure", *(text.format(out=out) for text in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_figures_and_with_a_title(demo, tmp_path):
    _, out = demo
    path = tmp_path / "report.md"
    done = segjury("report", out, "--figures", "none", "--title", "Ours", "--out", path)
    assert done.returncode == 0, done.stderr
    assert path.read_text("utf-8").startswith("# Ours\n")
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]
    for options, said in (
        (("--out", tmp_path / "report.doc"), "which says no format"),
        (("--out", tmp_path / "r.html", "--format", "word"), "--format is 'word'"),
        (("--out", tmp_path / "r.html", "--figures", "bubble"), "--figures is 'bubble'"),
        (("--out", tmp_path), "is a folder"),
    ):
        done = segjury("report", out, *options)
        assert done.returncode == 2
        assert said in done.stderr


def test_the_demo_shows_ranks_that_depend_on_what_is_asked(demo):
    _, out = demo
    board = pd.read_csv(out / "leaderboard.csv").set_index("method")
    first = {column: board[column].idxmin() for column in board if column.startswith("rank_")}
    assert len({first["rank_dsc"], first["rank_mr_ece"]}) == 2
    scores = pd.read_csv(out / "scores.csv")
    assert (scores["cohort"] == "high-complexity").any()
    assert "leads instead" in (out / "report.html").read_text()


def test_protocols_are_listed_and_printed():
    assert PROTOCOL in segjury("protocols").stdout
    printed = segjury("protocols", PROTOCOL).stdout
    for text in ("mr_ece", "corrected", "source:", "hash:", "[policy]"):
        assert text in printed
    assert tomllib.loads(printed)["name"] == PROTOCOL  # so that `> my.toml` gives a protocol


def test_a_phantom_passes_its_own_check(demo):
    _, out = demo
    done = segjury("check", PROTOCOL, "--reference", out / "reference", "--predictions",
                   out / "predictions", "--jobs", "1")  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "0 errors" in done.stderr


def test_a_warning_alone_is_a_problem_too(tmp_path):
    segjury("phantom", PROTOCOL, tmp_path, "--cases", 1, "--methods", 0)
    path = tmp_path / "reference" / "P001" / "annotation_4.nii.gz"
    image = nib.load(path)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj) * 0, image.affine), path)
    done = segjury("check", PROTOCOL, "--reference", tmp_path / "reference")
    assert done.stdout == "warning: case P001: annotation_4 marks nothing\n"
    assert done.returncode == 2


def test_a_misspelt_case_is_named(tmp_path):
    segjury("phantom", PROTOCOL, tmp_path, "--cases", 2, "--methods", 1)
    reference, predictions = tmp_path / "reference", tmp_path / "predictions"
    (predictions / "Overconfident" / "P002").rename(predictions / "Overconfident" / "p002")
    folders = ("--reference", reference, "--predictions", predictions)
    said = "method Overconfident: p002 is no case of the reference"
    assert said in segjury("check", PROTOCOL, *folders).stdout
    assert said in segjury("evaluate", PROTOCOL, *folders, "--out", tmp_path / "out").stderr


def test_rank_by_what_only_one_reading_has(demo):
    _, out = demo
    done = segjury("rank", out / "scores.csv", "--metrics", "contact_angle")
    assert done.returncode == 0, done.stderr
    assert "released" not in done.stdout


def test_check_lists_one_line_per_problem(tmp_path):
    segjury("phantom", PROTOCOL, tmp_path, "--cases", 2, "--methods", 2)
    reference, predictions = tmp_path / "reference", tmp_path / "predictions"
    (reference / "P001" / "annotation_2.nii.gz").write_bytes(b"")
    method = sorted(path.name for path in predictions.iterdir())[0]
    path = predictions / method / "P002" / "probability.nii.gz"
    image = nib.load(path)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj) * 2, image.affine), path)
    empty = reference / "P002" / "annotation_4.nii.gz"
    image = nib.load(empty)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj) * 0, image.affine), empty)
    done = segjury("check", PROTOCOL, "--reference", reference, "--predictions", predictions)
    assert done.returncode == 2
    first, second, third = done.stdout.splitlines()
    assert (
        first == "error: case P001: annotation_2.nii.gz is an empty file. Write or copy it again."
    )
    assert second == "warning: case P002: annotation_4 marks nothing"
    assert third.startswith(f"error: case P002, method {method}: probability.nii.gz has values ")
    assert third.endswith("expected probabilities in [0, 1]. Scale the map to probabilities.")
    assert "2 errors, 1 warning" in done.stderr


def test_rank_takes_the_metrics_of_the_protocol_and_writes_each_reading(demo, tmp_path):
    _, out = demo
    segjury("rank", out / "scores.csv", "--out", tmp_path)
    board = pd.read_csv(tmp_path / "leaderboard.csv")
    assert list(board.columns[:4]) == ["method", "position", "mean_rank", "sd_rank"]
    assert sum(column.startswith("rank_") for column in board.columns) == 9
    assert (tmp_path / "leaderboard_released.csv").exists()
    ranks = board[[c for c in board.columns if c.startswith("rank_")]]
    np.testing.assert_allclose(board["mean_rank"], ranks.mean(axis=1))
    np.testing.assert_allclose(board["sd_rank"], ranks.std(axis=1, ddof=0))


def test_rank_and_report_take_a_table_of_another_tool(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("method,case,metric,value\n[red]A,1,speed,2\nB,1,speed,3\n")
    refused = segjury("rank", path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: it is not known whether more is better for speed")
    ranked = segjury("rank", path, "--higher", "speed")
    assert ranked.returncode == 0
    assert "[red]A" in ranked.stdout  # a method's name is text, never markup
    done = segjury("report", path, "--higher", "speed", "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    assert "[red]A" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("phantom", "nothing", "out"), "nothing"),
        (("phantom", PROTOCOL, "out", "--shape", "1,2"), "--shape is '1,2'"),
        (
            ("evaluate", "nothing", "--reference", "in", "--predictions", "in", "--out", "o"),
            "nothing",
        ),
        (
            ("evaluate", PROTOCOL, "--reference", "in", "--predictions", "in", "--out", "in/o"),
            "--out in/o is in in",
        ),
        (("check", PROTOCOL, "--reference", "nowhere"), "there is no folder nowhere"),
        (("rank", "nowhere.csv"), "there is no table nowhere.csv"),
        (("report", "nowhere.csv", "--out", "r.html"), "there is no table nowhere.csv"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, arguments, message):
    (tmp_path / "in" / "folder").mkdir(parents=True)
    done = segjury(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_run_names_its_reading(demo):
    _, out = demo
    run = json.loads((out / "run.json").read_text())
    assert run["cases"] == 5
    ranked = [use["name"] for use in run["protocol"]["definition"]["metrics"] if use["ranked"]]
    assert ranked == ["dsc", "thr_dsc", "mr_ece", "crps", "vi"]


@pytest.fixture(scope="module")
def aorta(tmp_path_factory):
    """A small run of a protocol with 23 classes, one of its predictions missing."""
    folder = tmp_path_factory.mktemp("aorta")
    made = segjury(
        *("phantom", "aortaseg-2024", folder, "--cases", 2, "--methods", 6, "--shape", "44,32,87")
    )
    assert made.returncode == 0, made.stderr
    done = segjury(
        *("evaluate", "aortaseg-2024", "--reference", folder / "reference"),
        *("--predictions", folder / "predictions", "--out", folder / "out"),
        *("--efficiency", folder / "efficiency.csv"),
    )
    assert done.returncode == 2
    assert "method Failing: no prediction" in done.stderr
    return folder


def test_ranks_are_those_of_each_case_and_metric(aorta):
    done = segjury("rank", aorta / "out" / "scores.csv", "--out", aorta / "out")
    assert done.returncode == 0, done.stderr
    assert "note: nsd: surfel, tolerance 2 mm" in done.stdout
    assert "Failing 1 of 2" in done.stdout
    scores = pd.read_csv(aorta / "out" / "scores.csv", keep_default_na=False)
    rows = scores[(scores["reading"] == "corrected") & (scores["structure"] == "all")]
    rows = rows[rows["metric"].isin(["dsc", "nsd"])].astype({"value": float})
    ranks = rows.groupby(["case", "metric"])["value"].rank(ascending=False)
    ranks = ranks.where(rows["status"] == "ok", 6)
    expected = ranks.groupby(rows["method"]).mean()
    board = pd.read_csv(aorta / "out" / "leaderboard.csv").set_index("method")
    pd.testing.assert_series_equal(
        board["mean_rank"].sort_index(), expected.sort_index(), check_names=False
    )


def test_costs_are_ranked_like_any_metric(aorta):
    scores = aorta / "out" / "scores.csv"
    done = segjury("rank", scores, "--metrics", "dsc,time_s,memory_gb_s", "--out", aorta / "costs")
    assert done.returncode == 0, done.stderr
    board = pd.read_csv(aorta / "costs" / "leaderboard.csv")
    given = pd.read_csv(aorta / "efficiency.csv").groupby("method")["time_s"].mean()
    others = board[board["method"] != "Failing"].set_index("method")["time_s"]
    pd.testing.assert_series_equal(
        others.sort_index(), given.drop("Failing").sort_index(), check_names=False
    )


def test_the_report_tells_the_classes_apart(aorta):
    out = aorta / "report.html"
    done = segjury("report", aorta / "out" / "scores.csv", "--out", out)
    assert done.returncode == 0, done.stderr
    page = out.read_text()
    assert "By structure" in page
    assert "Left Common Carotid" in page
    assert "tolerance 2 mm" in page
    assert len(list((aorta / "figures").glob("boxes-*.svg"))) == 4  # two ranked, two costs


def test_vessels_are_measured_and_written(tmp_path):
    mask = np.zeros((20, 20, 30), np.uint8)
    mask[10, 10, 2:28] = 1
    mask[4, 4, 5:15] = 2
    path = tmp_path / "line.nii.gz"
    nib.save(nib.Nifti1Image(mask, np.diag([0.5, 0.5, 0.5, 1])), path)
    done = segjury("vessels", path, "--label", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = pd.read_csv(tmp_path / "out" / "vessels.csv").to_dict("records")
    assert row["length_mm"] == pytest.approx(25 * 0.5)
    assert (row["branches"], row["components"], row["ends"]) == (1, 1, 2)
    assert row["mean_tortuosity"] == pytest.approx(1)
    assert row["volume_mm3"] == pytest.approx(26 / 8)
    assert len(pd.read_csv(tmp_path / "out" / "branches.csv")) == 1
    assert len(pd.read_csv(tmp_path / "out" / "radii.csv")) == 26
    assert "components" in segjury("vessels", path).stdout


def test_a_mask_of_noise_is_no_vessels(tmp_path):
    mask = np.zeros((96, 96, 96), np.uint8)
    mask[::2, ::2, ::2] = 1
    path = tmp_path / "noise.nii.gz"
    nib.save(nib.Nifti1Image(mask, np.eye(4)), path)
    done = segjury("vessels", path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "noise.nii.gz has a centreline of 110,592 voxels" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_empty_mask_has_no_vessels(tmp_path):
    path = tmp_path / "empty.nii.gz"
    nib.save(nib.Nifti1Image(np.zeros((5, 5, 5), np.uint8), np.eye(4)), path)
    done = segjury("vessels", path, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "out" / "vessels.csv").loc[0, "length_mm"] == 0
    missing = segjury("vessels", tmp_path / "none.nii.gz")
    assert missing.returncode == 2
    assert "none.nii.gz is missing" in missing.stderr


def test_an_interrupted_command_says_so(tmp_path):
    code = (  # in the background, where tests may run, SIGINT is ignored unless asked for
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from segjury.cli import main; main()"
    )
    out = tmp_path / "bench"
    command = [sys.executable, "-c", code, "phantom", PROTOCOL, out, "--cases", "50"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not out.exists() and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (130, "error: interrupted\n")
