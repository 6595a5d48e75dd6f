"""`segjury init` and scoring without a protocol, as a person types them."""

from __future__ import annotations

import json
import os
import shlex
import time

import pytest

from tests.benchmark.init.files import put_all, put_json
from tests.commands import segjury

CASES = ("c_1", "c_2", "c_3")


@pytest.fixture
def nnunet(tmp_path):
    """Labels and two methods as nnU-Net has them."""
    put_all(tmp_path, *(f"labelsTs/{case}" for case in CASES), labels=(1, 2))
    for method in ("a", "b"):
        put_all(tmp_path / "runs" / method, *CASES, labels=(1, 2))
        put_json(tmp_path / "runs" / method / "plans.json", {})
    put_json(
        tmp_path / "dataset.json",
        {"labels": {"background": 0, "whole": [1, 2], "core": 2}, "file_ending": ".nii.gz"},
    )
    return tmp_path


def test_the_commands_it_prints_run(nnunet):
    done = segjury("init", "labelsTs", "--predictions", "runs", cwd=nnunet)
    assert done.returncode == 0, done.stderr
    assert "3 cases of nnU-Net as {case}" in done.stderr
    assert "labels whole (1, 2), core (2): dataset.json" in done.stderr
    check, evaluate = (shlex.split(line) for line in done.stdout.splitlines())
    assert check[:3] == ["segjury", "check", "protocol.toml"]
    checked = segjury(*check[1:], "--ignore-warnings", "--jobs", "1", cwd=nnunet)
    assert checked.returncode == 0, checked.stdout
    assert "not read" not in checked.stdout
    scored = segjury(*evaluate[1:], "--jobs", "1", cwd=nnunet)
    assert scored.returncode == 0, scored.stderr


def test_a_file_that_is_there_is_kept_unless_told(nnunet):
    (nnunet / "protocol.toml").write_text("mine")
    done = segjury("init", "labelsTs", cwd=nnunet)
    assert done.returncode == 2
    assert "protocol.toml is there already. Give --out another name, or say --force." in done.stderr
    assert (nnunet / "protocol.toml").read_text() == "mine"
    assert segjury("init", "labelsTs", "--force", cwd=nnunet).returncode == 0
    assert (nnunet / "protocol.toml").read_text().startswith("# What")


def test_nnunets_folders_are_scored_without_a_protocol(nnunet):
    words = ("--reference", "labelsTs", "--predictions", "runs", "--out", "results", "--jobs", "1")
    done = segjury("evaluate", *words, cwd=nnunet)
    assert done.returncode == 0, done.stderr
    (note,) = (line for line in done.stderr.splitlines() if line.startswith("note: "))
    assert note == (
        "note: no protocol given: 3 cases of nnU-Net as {case}; labels whole (1, 2), core (2); "
        "metrics dsc, nsd at 2 mm, hd95. Write it to a file with `segjury init labelsTs`"
    )
    record = json.loads((nnunet / "results" / "run.json").read_text())["protocol"]
    segjury("init", "labelsTs", "--predictions", "runs", cwd=nnunet)
    assert record["text"] == (nnunet / "protocol.toml").read_text()
    again = segjury("evaluate", "protocol.toml", *words, cwd=nnunet)
    assert "6 taken from an earlier run" in again.stderr  # as it is the same protocol
    ranked = segjury("rank", "results/scores.csv", cwd=nnunet)
    assert ranked.returncode == 0, ranked.stderr


def test_one_folder_of_files_is_one_method(nnunet):
    words = ("--reference", "labelsTs", "--predictions", "runs/b", "--out", "results")
    done = segjury("evaluate", *words, "--jobs", "1", cwd=nnunet)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 predictions scored" in done.stderr


def test_files_are_checked_without_a_protocol(nnunet):
    words = ("--reference", "labelsTs", "--predictions", "runs", "--ignore-warnings")
    done = segjury("check", *words, "--jobs", "1", cwd=nnunet)
    assert done.returncode == 0, done.stdout
    assert "note: no protocol given: 3 cases of nnU-Net" in done.stderr
    assert "not read" not in done.stdout
    assert "a protocol is needed" in segjury("check", "--predictions", "runs", cwd=nnunet).stderr


def test_a_folder_that_is_not_understood_says_what_was_looked_for(nnunet):
    put_all(nnunet / "odd", "train/a", "test/b", "train/q_1", "more/q_1")
    words = ("--reference", "odd", "--predictions", "runs", "--out", "results")
    done = segjury("evaluate", *words, cwd=nnunet)
    assert done.returncode == 2
    assert "no protocol is given, and none can be made from the files: " in done.stderr
    assert "looked for <case>/annotation_<rater>" in done.stderr


def test_real_strays_are_still_told(nnunet):
    segjury("init", ".", "--predictions", "runs", cwd=nnunet)
    put_all(nnunet, "imagesTs/c_1_0000", "imagesTs/c_2_0000", "imagesTr/d_1_0000", "labelsTr/d_1")
    for name in ("labelsTs/notes.txt", "thumb.png", "runs/a/notes.txt"):
        (nnunet / name).touch()
    words = ("protocol.toml", "--reference", ".", "--predictions", "runs", "--jobs", "1")
    done = segjury("check", *words, cwd=nnunet)
    lines = [line for line in done.stdout.splitlines() if "not read" in line]
    assert [line.rpartition(": ")[2] for line in lines] == [
        "thumb.png, labelsTs/notes.txt",
        "notes.txt",
    ]


# ---- hostile folders -------------------------------------------------------------------------


def refused(folder, *words):
    """What is said of a folder: one line, exit code 2, in little time."""
    begun = time.monotonic()
    done = segjury("init", folder, *words, "--out", folder.parent / "x.toml")
    assert time.monotonic() - begun < 10
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert not (folder.parent / "x.toml").exists()
    return done.stderr


def test_an_empty_folder_a_file_and_nothing_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert "has no image of a known format" in refused(tmp_path / "empty")
    assert "is a file" in refused(tmp_path / "file")
    assert "is not there" in refused(tmp_path / "nothing")
    assert "is not there" in refused(tmp_path / "empty", "--predictions", tmp_path / "nothing")


def test_very_many_stray_files_are_refused_in_little_time(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    origin = folder / "0.txt"
    origin.touch()
    for k in range(1, 100_000):
        if k % 20_000 == 1:  # a file may have only so many names
            origin = folder / f"{k}.txt"
            origin.touch()
        else:
            os.link(origin, folder / f"{k}.txt")
    assert "has no image of a known format" in refused(folder)


def test_very_many_odd_images_are_refused_in_little_time(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(20_000):
        (folder / f"a_{k % 7}_{k}_b_{k * k}.nii.gz").touch()
    assert "is an empty file" in refused(folder)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "a\u202eb", "x" * 220])
def test_a_case_whose_name_cannot_be_shown_is_refused(tmp_path, name):
    folder = put_all(tmp_path / "odd", name, "c")
    assert "the name of case" in refused(folder)


def test_a_name_that_is_no_text_is_refused(tmp_path):
    folder = put_all(tmp_path / "odd", "c")
    os.link(folder / "c.nii.gz", os.fsencode(folder) + b"/\xff\xfe.nii.gz")
    assert "the name of case" in refused(folder)


def test_folders_in_circles_and_far_below_are_not_followed(tmp_path):
    folder = put_all(tmp_path / "loop", "P1/annotation_1", "P1/annotation_2")
    (folder / "P1" / "again").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    deep = folder.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "x.nii.gz").touch()
    done = segjury("init", folder, "--out", tmp_path / "x.toml")
    assert done.returncode == 0, done.stderr
    assert "also has" in done.stderr  # the folder d counts as a case


def test_a_name_in_a_pattern_that_is_code_of_a_terminal_is_not_printed(tmp_path):
    folder = put_all(tmp_path / "odd", "la\x1b[31mbels/c_1", "la\x1b[31mbels/c_2")
    assert "\x1b" not in refused(folder)


def test_the_protocol_is_called_as_its_file(tmp_path):
    put_all(tmp_path / "labels", *CASES)
    for name, title in (("kidneys.toml", "kidneys"), ("protocol.toml", "labels")):
        done = segjury("init", "labels", "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f'title = "{title}"' in (tmp_path / name).read_text()


def test_files_side_by_side_are_named_where_case_folders_are_expected(nnunet):
    done = segjury(
        *("evaluate", "kits-2023", "--reference", "labelsTs", "--predictions", "runs"),
        *("--out", "results"),
        cwd=nnunet,
    )
    assert done.returncode == 2
    assert "labelsTs has no case folders" in done.stderr
    assert "`segjury init` finds out how" in done.stderr


def test_a_protocol_file_that_is_not_there_is_called_a_file(tmp_path):
    done = segjury("check", "my.toml", "--reference", ".", cwd=tmp_path)
    assert done.stderr.startswith("error: there is no protocol file my.toml")
