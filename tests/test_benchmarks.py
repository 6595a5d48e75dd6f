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

    hostile = import_module("hostile")
    for module in (scoring, hostile, import_module("answers")):
        monkeypatch.setattr(module, "apart", here)
    few = {name: hostile.MASKS[name] for name in ("sheets across z", "two corners")}
    monkeypatch.setattr(hostile, "MASKS", few)
    monkeypatch.setattr(hostile, "THICK_OR_TANGLED", {"snake": None})
    monkeypatch.setattr(hostile, "MAPS", {"dust": None, "noise, float64": None})
    monkeypatch.setattr(scoring, "_shrunk", lambda _: (32, 32, 32))
    yield import_module("run")
    for name in {path.stem for path in FOLDER.glob("*.py")} & set(sys.modules):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("part", "rows"),
    [
        *(("protocols", 4), ("growth", 3), ("processes", 4), ("answers", 4), ("hostile", 25)),
        ("reading", 4),
    ],
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


@pytest.mark.usefixtures("bench")
def test_hostile_masks_have_labels_of_the_classes_and_few_are_alike():
    masks = import_module("hostile_masks")
    names = masks.MASKS | masks.THICK_OR_TANGLED
    made = {name: masks.hostile_mask(name, (30, 31, 32), classes=3, seed=1) for name in names}
    for name, mask in made.items():
        assert (mask.shape, mask.dtype.name) == ((30, 31, 32), "uint8"), name
        assert mask.flags.f_contiguous, name
        assert 0 < mask.max() <= 3, name
    assert len({mask.tobytes() for mask in made.values()}) == len(made)
