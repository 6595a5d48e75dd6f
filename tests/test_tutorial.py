"""The tutorial, typed as it stands: every command of its page works, one after the other."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pandas as pd

from tests.places import DOCS

PAGE = DOCS / "tutorial.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands():
    """The commands of the page, in its order."""
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    found = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(found) >= 10
    return found


def start(command, folder):
    assert command[0] == "segjury"
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_every_command_of_the_tutorial_works(tmp_path):
    for command in commands():
        if command[1] == "evaluate":  # with Ctrl-C in the middle, as the page invites to
            running = start(command, tmp_path)
            while running.poll() is None and not list(tmp_path.glob("results/parts/[!.]*")):
                time.sleep(0.01)
            os.killpg(running.pid, signal.SIGINT)
            running.communicate()
            kept = len(list(tmp_path.glob("results/parts/[!.]*")))
            assert kept > 0
        done = start(command, tmp_path)
        _, complaints = done.communicate()
        assert done.returncode == 0, (command, complaints)
        if command[1] == "evaluate":
            assert f"{kept} taken from an earlier run" in complaints
    kept = (tmp_path / "curated" / "cases_kept.txt").read_text().split()
    scores = pd.read_csv(tmp_path / "results" / "scores.csv")
    assert sorted(set(scores["case"])) == sorted(kept)
    assert set(scores["status"]) <= {"ok", "undefined"}
    split = pd.read_csv(tmp_path / "split.csv")
    assert sorted(split["case"]) == sorted(kept)
    analysis = json.loads((tmp_path / "results" / "analysis.json").read_text())
    assert analysis["metrics"]["dsc"]["baselines"].keys() == {"Calibrated"}
    page = (tmp_path / "results" / "report.html").read_text("utf-8")
    assert "Methods and raters" in page
