"""What the fingerprint of the code covers: all that a kept result depends on, and no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import grimp
import pytest

import segjury
from segjury.runtime.provenance import SCORED_BY, source_digest

PACKAGE = Path(segjury.__file__).parent
ROOMS = {"images", "consensus", "metrics", "protocols", "benchmark", "scoring", "runtime"}
LOOSE = {"arrays.py", "errors.py", "rounding.py"}


def test_the_fingerprint_covers_the_rooms_from_voxels_to_rows():
    assert {name.split("/")[0] for name in SCORED_BY} == ROOMS | LOOSE


def test_nothing_that_scoring_imports_is_outside_the_fingerprint():
    covered = ["segjury." + name.removesuffix(".py").replace("/", ".") for name in SCORED_BY]
    covered = [name.removesuffix(".__init__") for name in covered]

    def is_covered(module):
        whole = [name for name in covered if name != "segjury.runtime"]
        return module in covered or module.startswith(tuple(f"{name}." for name in whole))

    graph = grimp.build_graph("segjury", cache_dir=None)
    modules = {module for module in graph.modules if is_covered(module)}
    assert "segjury.scoring.one_case" in modules
    imported = {
        name for module in modules for name in graph.find_modules_directly_imported_by(module)
    }
    assert sorted(imported - modules) == []


@pytest.fixture
def package(tmp_path):
    """A copy of the source that may be changed."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "segjury"))


@pytest.mark.parametrize(
    "name",
    [
        "errors.py",
        "images/grid.py",
        "metrics/geometry/skeleton.py",
        "benchmark/case.py",
        "scoring/one_case.py",
        "scoring/scorers/measured.py",
    ],
)
def test_a_change_of_what_scores_changes_the_fingerprint(package, name):
    before = source_digest(package)
    with (package / name).open("a") as file:
        file.write("# changed\n")
    assert source_digest(package) != before


@pytest.mark.parametrize("room", ["cli", "report", "analysis", "results", "raters", "methods"])
def test_a_change_of_what_shows_or_reads_scores_does_not(package, room):
    before = source_digest(package)
    for path in (package / room).rglob("*.py"):
        path.write_text("# changed\n")
    assert source_digest(package) == before
