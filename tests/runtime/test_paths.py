"""Paths that end in no traceback: thousands of folders deep, or round in a circle of links."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from segjury.errors import InputError
from segjury.runtime.paths import make_folder, remove_folder, resolved
from tests.commands import segjury
from tests.deep_folders import DEPTH, few_calls, write_deep_folder

PROTOCOL = "curvas-pdacvi-2025"
DEEP = Path(*["d"] * DEPTH)


def test_folders_are_made_however_deep(tmp_path):
    with few_calls():
        make_folder(tmp_path / DEEP)
        make_folder(tmp_path / DEEP)
    assert (tmp_path / DEEP).is_dir()


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below" / "it"):
        with pytest.raises(OSError, match="file"):
            make_folder(folder)


def test_a_folder_that_is_too_deep_to_remove_is_told(tmp_path):
    write_deep_folder(tmp_path / "a")
    with few_calls(), contextlib.suppress(InputError):  # from Python 3.13 on, none is too deep
        remove_folder(tmp_path / "a")
        assert not (tmp_path / "a").exists()


def test_a_folder_is_removed(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    remove_folder(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_places_are_resolved_as_far_as_they_go(tmp_path):
    (tmp_path / "link").symlink_to("folder")
    assert resolved(tmp_path / "link" / "x") == Path(os.path.realpath(tmp_path)) / "folder" / "x"


@pytest.mark.parametrize("name", ["loop", "l0"])
def test_links_that_lead_nowhere_are_told(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    for number in range(DEPTH):
        (tmp_path / f"l{number}").symlink_to(f"l{number + 1}")
    for path in (tmp_path / name, tmp_path / name / "below"):
        with few_calls(), pytest.raises(InputError, match=f"{path} is a link that leads nowhere"):
            resolved(path)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", PROTOCOL, "--reference", "here", "--predictions", "here", "--out", "loop"],
        ["evaluate", PROTOCOL, "--reference", "here", "--predictions", "loop", "--out", "out"],
        ["check", PROTOCOL, "--reference", "loop"],
        ["curate", PROTOCOL, "--reference", "here", "--out", "loop"],
        ["raters", PROTOCOL, "--reference", "here", "--out", "loop"],
        ["vessels", "label", "loop/x.nii.gz", "--out", "out"],
        ["vessels", "loop"],
        ["consensus", "loop", "loop", "--out", "out.nii.gz"],
        ["phantom", PROTOCOL, "loop"],
    ],
    ids=" ".join,
)
def test_no_command_ends_in_a_traceback(tmp_path, words):
    (tmp_path / "here" / "P1").mkdir(parents=True)
    (tmp_path / "loop").symlink_to("loop")
    done = segjury(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
