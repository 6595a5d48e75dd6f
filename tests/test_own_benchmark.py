"""A benchmark of one's own, from files in folders to a report, without a script or a hand edit.

Four named readers, of whom a fifth of the marks is missing, in flat files; two regions that
overlap; five methods, of which one has no probability maps and one is mirrored.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from tests.benchmark.init.files import put_json
from tests.commands import segjury

GRID = Grid((24, 22, 12), (1.0, 1.0, 2.0), (-30.0, 10.0, 5.0))
CASES = tuple(f"kidney_{k:02}" for k in range(1, 6))
READERS = ("A", "B", "C", "D")
MISSING = {("kidney_01", "A"), ("kidney_02", "C"), ("kidney_04", "D"), ("kidney_05", "B")}
LABELS = {"background": 0, "kidney and mass": [1, 2], "mass": 2}
METHODS = ("close", "wide", "no-maps", "turned", "mirrored")


def kidney(case: int, radius: float) -> np.ndarray:
    """A ball of kidney with a mass in it, away from the middle of the image; 1 and 2."""
    x, y, z = np.indices(GRID.shape)
    off = (x - 7 - case / 2) ** 2 + (y - 8) ** 2 + (2 * (z - 5)) ** 2
    inner = (x - 6 - case / 2) ** 2 + (y - 9) ** 2 + (2 * (z - 5)) ** 2
    return np.asfortranarray(np.where(inner <= (radius / 2) ** 2, 2, off <= radius**2), np.uint8)


def write(path, array, grid=GRID):
    write_volume(path, Volume(np.asfortranarray(array), grid))


def turned_about(array):
    """The same voxels in the same places, stored along axes that point the other way."""
    direction = np.array(GRID.direction) * [-1, -1, 1]
    origin = list(GRID.origin_mm)
    for axis in (0, 1):
        origin[axis] += GRID.spacing_mm[axis] * (GRID.shape[axis] - 1)
    grid = replace(
        GRID,
        origin_mm=tuple(float(each) for each in origin),
        direction=tuple(tuple(float(each) for each in row) for row in direction),
    )
    return array[::-1, ::-1], grid


def predicted(case, method):
    """What a method marks, which is no reader's."""
    mask = kidney(case, 6.6 if method == "wide" else 5.3)
    mask[tuple(np.argwhere(mask)[METHODS.index(method)])] = 0
    return mask


def write_method(folder, name):
    for c, case in enumerate(CASES):
        mask, grid = predicted(c, name), GRID
        whole = np.where(mask > 0, 0.9, 0.02).astype(np.float32)
        mass = np.where(mask == 2, 0.7, 0.02).astype(np.float32)
        files = {"segmentation": mask, "probability_kidney and mass": whole}
        files |= {"probability_mass": mass}
        for stem, array in files.items():
            if name == "no-maps" and stem != "segmentation":
                continue
            if name == "turned":  # with a header that says so
                array, grid = turned_about(files[stem])
            if name == "mirrored":  # with a header that does not say so
                array = files[stem][::-1]
            write(folder / name / case / f"{stem}.nii.gz", array, grid)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The files of the benchmark, as their owner has them."""
    folder = tmp_path_factory.mktemp("own")
    for (c, case), (r, reader) in product(enumerate(CASES), enumerate(READERS)):
        if (case, reader) not in MISSING:
            write(folder / "labels" / f"{case}_reader-{reader}.nii.gz", kidney(c, 4.8 + 0.4 * r))
    put_json(
        folder / "labels" / "dataset.json", {"labels": LABELS, "name": "Kidneys, four readers"}
    )
    for name in METHODS:
        write_method(folder / "runs", name)
    return folder


@pytest.fixture(scope="module")
def done(bench):
    """What `init` and all that it names have printed, in their order."""
    printed = {"init": segjury("init", "labels", "--predictions", "runs", cwd=bench)}
    for line in printed["init"].stdout.splitlines():
        words = shlex.split(line)[1:]
        printed[words[0]] = segjury(*words, "--jobs", "1", cwd=bench)
    printed["rank"] = segjury("rank", "results/scores.csv", "--out", "results", cwd=bench)
    printed["report"] = segjury(
        *("report", "results/scores.csv", "--out", "results/report.html"),
        *("--figures", "ranks,lines"),
        cwd=bench,
    )
    return printed


def test_all_that_lies_there_is_found(done):
    assert done["init"].returncode == 0
    assert done["init"].stderr.splitlines()[:-1] == [
        "5 cases, files side by side, as {case}_reader-{rater}",
        "4 raters: A, B, C, D",
        "4 cases have 3 raters, 1 has 4",
        "labels kidney and mass (1, 2), mass (2): dataset.json",
        "5 methods: close, mirrored, no-maps, turned, wide, masks as segmentation",
        "probability maps of 4 methods as probability",
    ]


def test_the_check_tells_what_is_wrong_and_no_strays(done):
    said = done["check"].stdout
    assert "not read" not in said
    assert "reader" not in said  # the reference is as it should be
    assert "no-maps" in said
    assert "mirrored" in said


def test_every_prediction_is_scored(done, bench):
    assert "Traceback" not in done["evaluate"].stderr
    scores = pd.read_csv(bench / "results" / "scores.csv")
    assert set(scores["metric"]) == {"dsc", "nsd", "thr_dsc", "brier", "pooled_ece", "crps"}
    assert set(scores["structure"]) == {"kidney and mass", "mass", "all"}
    ok = scores[scores["method"] != "no-maps"]
    assert set(ok["status"]) == {"ok"}
    maps = scores[(scores["method"] == "no-maps") & ~scores["metric"].isin(["dsc", "nsd"])]
    assert set(maps["status"]) == {"missing"}


@pytest.mark.usefixtures("done")
def test_the_dice_is_that_of_the_shapes(bench):
    """Against the consensus of three or four balls in each other, which is one of the balls."""
    scores = pd.read_csv(bench / "results" / "scores.csv").set_index(
        ["method", "case", "metric", "structure"]
    )["value"]
    for c, case in enumerate(CASES):
        mask = predicted(c, "close") > 0
        dice = []
        for r in range(len(READERS)):
            ball = kidney(c, 4.8 + 0.4 * r) > 0
            dice.append(2 * (ball & mask).sum() / (ball.sum() + mask.sum()))
        found = scores["close", case, "dsc", "kidney and mass"]
        assert found == pytest.approx(min(dice, key=lambda each: abs(each - found)), abs=1e-12)
        wide, mirrored = (scores[m, case, "dsc", "kidney and mass"] for m in ("wide", "mirrored"))
        assert found > wide > mirrored


@pytest.mark.usefixtures("done")
def test_a_method_whose_header_says_how_it_is_turned_scores_as_if_it_were_not(bench):
    """Its masks differ from those of another method by a voxel each."""
    scores = pd.read_csv(bench / "results" / "scores.csv").set_index(["method", "metric"])
    dice = scores[scores["structure"] == "kidney and mass"]["value"]
    apart = dice["turned", "dsc"].to_numpy() - dice["close", "dsc"].to_numpy()
    assert np.abs(apart).max() < 0.005
    told = scores.loc["turned", "detail"].unique()
    assert all("has its axes stored as -x, -y, z" in each for each in told)


def test_a_run_names_the_mirrored_method_once(done):
    said = [line for line in done["evaluate"].stderr.splitlines() if "mirrored along" in line]
    assert said == ["warning: method mirrored: 5 of 5 cases look mirrored along x"]


def test_methods_are_ranked(bench, done):
    assert done["rank"].returncode == 0, done["rank"].stderr
    board = pd.read_csv(bench / "results" / "leaderboard.csv")
    assert set(board["method"]) == set(METHODS)
    assert set(board["method"][:2]) == {"close", "turned"}


def test_raters_are_measured(bench, done):
    assert done["raters"].returncode == 0, done["raters"].stderr
    said = (bench / "results" / "raters" / "raters.md").read_text("utf-8")
    assert "4 raters; 4 cases were marked by 3 raters, 1 by 4." in said
    assert "On mass: all raters mark" in said
    assert "On all labels: all raters mark" not in said  # regions overlap: a sum counts twice


def test_the_report_is_written(bench, done):
    assert done["report"].returncode == 0, done["report"].stderr
    page = (bench / "results" / "report.html").read_text("utf-8")
    assert "Kidneys, four readers" in page
    assert "Method mirrored: 5 of 5 cases look mirrored along x." in page
