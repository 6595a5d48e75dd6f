from __future__ import annotations

import json

import pytest

from segjury.errors import InputError
from segjury.protocols import load_protocol
from segjury.results import Run

RECORD = {
    "segjury": "0.1",
    "protocol": {"name": "n", "definition": load_protocol("curvas-2024").model_dump(mode="json")},
    "readings": ["released"],
    "reference": "/gone/reference",
    "predictions": "/gone/predictions",
    "methods": ["A"],
    "cases": 3,
    "jobs": None,
    "relative": {"reference": "../reference", "predictions": "../predictions"},
}


def write(folder, record):
    (folder / "run.json").write_text(json.dumps(record), "utf-8")
    return folder


def test_a_record_is_read_from_its_folder_or_from_beside_its_table(tmp_path):
    folder = write(tmp_path, RECORD)
    run = Run.read(folder / "scores.csv")
    assert run == Run.read(folder)
    assert (run.methods, run.readings, run.cases, run.jobs) == (["A"], ["released"], 3, None)
    assert run.protocol.model == load_protocol("curvas-2024")


@pytest.mark.parametrize("text", ["", "[1]", '"x"', "null", '{"a": ', "\0", "[" * 100_000])
def test_what_is_no_record_is_none(tmp_path, text):
    (tmp_path / "run.json").write_text(text, "utf-8")
    assert Run.read(tmp_path) is None


def test_a_folder_without_a_record_has_none(tmp_path):
    assert Run.read(tmp_path) is None


@pytest.mark.parametrize(
    ("field", "odd"),
    [
        ("methods", "A"),
        ("methods", [["A"]]),
        ("readings", ["mine"]),
        ("protocol", 5),
        ("relative", {"reference": [7]}),
        ("cases", "many"),
        ("jobs", {}),
        ("seconds", []),
        ("versions", ["numpy"]),
        ("follow_links", "perhaps"),
    ],
)
def test_a_field_that_cannot_be_meant_costs_no_other(field, odd):
    run = Run.model_validate({**RECORD, field: odd})
    assert getattr(run, field) == getattr(Run(), field)
    others = {name: getattr(run, name) for name in RECORD if name != field}
    assert others == {name: getattr(Run.model_validate(RECORD), name) for name in others}


def test_a_protocol_that_is_not_whole_is_none():
    assert Run.model_validate({"protocol": {"definition": {"name": "x"}}}).protocol.model is None


def test_what_another_version_writes_is_kept(tmp_path):
    Run.model_validate({**RECORD, "later": {"a": [1]}}).write(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["later"] == {"a": [1]}


def test_the_folders_are_found_from_the_results_when_all_are_moved(tmp_path):
    (tmp_path / "reference").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    run = Run.model_validate(RECORD)
    assert run.folder("reference", out).samefile(tmp_path / "reference")
    with pytest.raises(InputError, match="there is no folder /gone/predictions"):
        run.folder("predictions", out)


def test_a_record_says_where_the_folders_are_from_the_results(tmp_path):
    run = Run(reference=str(tmp_path / "a" / "ref"), predictions=str(tmp_path / "pred"))
    run.write(tmp_path / "a")
    written = json.loads((tmp_path / "a" / "run.json").read_text("utf-8"))
    assert written["relative"] == {"reference": "ref", "predictions": "../pred"}


def test_a_record_without_folders_says_which_argument_would():
    with pytest.raises(InputError, match="Say it: `reference`"):
        Run().folder("reference", "x")
