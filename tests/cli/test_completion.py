"""Completion in the shell: what is offered, and that the names are those of the library."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import pytest

from segjury.cli import completion
from segjury.metrics import METRICS
from segjury.protocols import builtin_names
from segjury.protocols.ranking import MissingPolicy, Scheme, Ties
from segjury.report.publish import known_kinds
from tests.commands import segjury_apart


def test_the_names_are_those_of_the_library():
    assert sorted(completion.METRICS) == sorted(METRICS)
    assert sorted(completion.FIGURES) == sorted(known_kinds())
    assert sorted(completion.SCHEMES) == sorted(get_args(Scheme))
    assert sorted(completion.TIES) == sorted(get_args(Ties))
    assert sorted(completion.MISSING) == sorted(get_args(MissingPolicy))
    assert completion.protocols("") == builtin_names()


def offered(*words):
    """What bash would offer for the last word of a command, and what was imported for it."""
    code = (
        "import sys, segjury.cli, atexit; sys.argv = ['segjury']; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); segjury.cli.main()"
    )
    line = " ".join(["segjury", *words])
    typed = {
        "_SEGJURY_COMPLETE": "complete_bash",
        "COMP_WORDS": line.replace(" ", "\n"),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | typed,
        capture_output=True,
        text=True,
        check=False,
    )
    for heavy in ("numpy", "pandas", "matplotlib", "segjury.metrics"):
        assert heavy not in done.stderr.split()
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["eva"], ["evaluate"]),
        (["evaluate", "curvas-p"], ["curvas-pdacvi-2025"]),
        (["rank", "s.csv", "--scheme", "t"], ["test-then-rank"]),
        (["rank", "s.csv", "--metrics", "dsc,mr"], ["dsc,mr_ece"]),
        (["figure", "rank"], ["ranks", "rank-map"]),
        (["metrics", "hd"], ["hd", "hd95"]),
        (["rank", "s.csv", "--reading", "c"], ["corrected"]),
    ],
)
def test_names_are_completed_without_a_heavy_import(words, names):
    assert sorted(offered(*words)) == sorted(names)


def test_the_script_for_a_shell_is_shown():
    environment = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = segjury_apart("--show-completion", "bash", env=environment)
    assert done.returncode == 0, done.stderr
    assert "complete -o default -F" in done.stdout
