"""The programs of `benchmarks/`, on tiny sizes."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from tests.places import ROOT

FOLDER = ROOT / "benchmarks"
PROTOCOLS = ("curvas-pdacvi-2025", "curvas-2024", "smile-uhura-2023", "aortaseg-2024")


@pytest.fixture
def bench(monkeypatch):
    """The program, with all that it measures done in this process."""
    monkeypatch.syspath_prepend(FOLDER)
    scoring = import_module("scoring")

    def here(function, *arguments):
        module, _, name = function.rpartition(".")
        return getattr(import_module(module), name)(*arguments)

    monkeypatch.setattr(scoring, "apart", here)
    monkeypatch.setattr(scoring, "_shrunk", lambda _: (32, 32, 32))
    yield import_module("run")
    for name in {path.stem for path in FOLDER.glob("*.py")} & set(sys.modules):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("part", "rows"), [("protocols", 4), ("growth", 3), ("processes", 4), ("reading", 4)]
)
def test_a_part_prints_a_table_with_all_its_rows(bench, part, rows):
    (text,) = bench.run(part, quick=True)
    head, _, *body = [line.split(" | ") for line in text.splitlines()]
    assert len(body) == rows
    assert {len(line) for line in body} == {len(head)}
    assert "nan" not in text


@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_adverse_cases_are_scored_too(tmp_path, protocol):
    import segjury

    import_module("cases").write_cases(protocol, tmp_path, (32, 32, 32), form="adverse", methods=1)
    folders = {name: tmp_path / name for name in ("reference", "predictions")}
    scores = segjury.evaluate(protocol, **folders)
    assert set(scores["status"]) <= {"ok", "undefined"}
    assert (scores["status"] == "ok").mean() > 0.5
