"""Files are found wherever the patterns of a protocol say, and only there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import segjury
from segjury.benchmark.curate.inspection import CurateTask, inspect_case
from segjury.benchmark.folders import sample_places
from segjury.benchmark.layout import Place, case_names, scored_cases, unknown_raters
from segjury.errors import InputError
from segjury.protocols.patterns import is_named_as
from tests.small_panels import balls, protocol, put, soft, write_case

METRICS = ["dsc", "thr_dsc", {"name": "crps", "worst": "empty-prediction"}, "mr_ece"]
NAMES = ["A", "B", "C"]
LAYOUTS = {
    "nested": ("annotation_{rater}", "segmentation", "probability"),
    "flat": ("labels/{case}_reader-{rater}", "{case}_seg", "{case}_prob"),
    "folders of raters": ("{rater}/{case}", "masks/{case}", "maps/{case}"),
    "BIDS": (
        "sub-{case}/anat/sub-{case}_desc-{rater}_dseg",
        "sub-{case}/anat/sub-{case}_dseg",
        "sub-{case}/anat/sub-{case}_probseg",
    ),
    "deep": ("{case}/reads/{rater}/mask", "{case}/out/mask", "{case}/out/map"),
}


def written(folder, layout, cases=("P1", "P2_a"), **reference):
    raters, mask, map_ = LAYOUTS[layout]
    given = protocol(
        METRICS,
        raters=raters,
        rater_names=NAMES,
        prediction={"mask": mask, "probability": map_},
        **reference,
    )
    for number, case in enumerate(cases):
        masks = dict(zip(NAMES, balls(number, 3), strict=True))
        methods = {
            m: (drawn, {"foreground": soft(drawn, k)})
            for k, m in enumerate(("M1", "M2"), 1)
            if (drawn := balls(10 * k + number, 1)[0]).any()
        }
        write_case(folder, given, case, masks, methods)
    return given


def scores(given, folder):
    places = {name: folder / name for name in ("reference", "predictions")}
    return segjury.evaluate(given, **places)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_changes_no_score(tmp_path, layout):
    nested = written(tmp_path / "nested", "nested")
    other = written(tmp_path / "other", layout)
    expected, got = scores(nested, tmp_path / "nested"), scores(other, tmp_path / "other")
    assert got.drop(columns="detail").equals(expected.drop(columns="detail"))
    assert set(got["status"]) == {"ok"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_check_finds_nothing_wrong_in_any_layout(tmp_path, layout):
    given = written(tmp_path, layout)
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    kinds = [problem.kind for problem in segjury.check(given, **places).problems]
    assert kinds == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copied_rater_is_found_in_any_layout(tmp_path, layout):
    given = written(tmp_path, layout)
    a, b = (
        Place.of(given.reference.raters, tmp_path / "reference", "P1", rater=name).find()
        for name in "AB"
    )
    b.write_bytes(a.read_bytes())
    found = segjury.check(given, reference=tmp_path / "reference").problems
    assert [problem.kind for problem in found] == ["copied-rater"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_rater_is_looked_at_in_any_layout(tmp_path, layout):
    given = written(tmp_path, layout)
    task = CurateTask(given, tmp_path / "reference", "P1", ())
    voxels = [int(mask.sum()) for mask in balls(0, 3)]
    assert inspect_case(task).facts["volume_cm3"] == pytest.approx(sum(voxels) * 2 / 3000)


def test_an_image_beside_flat_masks_is_no_case(tmp_path):
    given = protocol(["dsc"], raters="{case}", n_raters=1, image="{case}_0000")
    for name in ("P1", "P1_0000", "P2", "P2_0000"):
        put(tmp_path, name + "{case}", balls(1, 1)[0], case="")
    assert case_names(given, tmp_path) == ["P1", "P2"]


def test_names_of_cases_may_hold_what_stands_between(tmp_path):
    given = protocol(["dsc"], raters="{case}_reader-{rater}", rater_names=["A", "AB"])
    for name in ("x_reader-A_reader-A", "x_reader-A_reader-AB"):
        put(tmp_path, name + "{case}", balls(1, 1)[0], case="")
    assert case_names(given, tmp_path) == ["x_reader-A"]


def test_a_rater_whose_name_ends_as_anothers_makes_no_case_of_its_own(tmp_path):
    given = protocol(["dsc"], raters="{case}-{rater}", rater_names=["A", "B-A"])
    for name in ("P1-A", "P1-B-A", "P2-B-A", "P2-A"):
        put(tmp_path, name + "{case}", balls(1, 1)[0], case="")
    assert case_names(given, tmp_path) == ["P1", "P2"]


def test_a_folder_without_such_files_is_refused(tmp_path):
    given = protocol(["dsc"], raters="labels/{case}_{rater}", n_raters=2)
    (tmp_path / "labels").mkdir()
    with pytest.raises(InputError, match=r"has no file labels/\{case\}_\{rater\}.nii.gz"):
        case_names(given, tmp_path)


def test_a_file_of_an_unknown_rater_is_named(tmp_path):
    given = written(tmp_path, "flat")
    put(tmp_path / "reference", LAYOUTS["flat"][0], balls(1, 1)[0], case="P1", rater="D")
    found = unknown_raters(given, tmp_path / "reference", ["P1", "P2_a"])
    assert found == {"P1": ["P1_reader-D"]}


def test_cases_with_too_few_raters_are_left_out_with_the_reason(tmp_path):
    given = written(tmp_path, "flat", min_raters=2)
    for name in ("B", "C"):
        (tmp_path / "reference" / "labels" / f"P1_reader-{name}.nii.gz").unlink()
    assert scored_cases(given, tmp_path / "reference", ["P1", "P2_a"]) == (
        ["P2_a"],
        {"P1": "1 of 3 raters marked it (A), at least 2 are needed"},
    )
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    results = segjury.run(given, **places)
    assert set(results.scores["case"]) == {"P2_a"}
    assert results.problems == ()
    assert [w for w in results.warnings if w.startswith("case P1 is left out: 1 of 3 raters")]
    assert results.run.left_out.keys() == {"P1"}


def test_a_prediction_of_a_case_that_is_left_out_is_no_stray(tmp_path):
    given = written(tmp_path, "flat", min_raters=3)
    (tmp_path / "reference" / "labels" / "P1_reader-C.nii.gz").unlink()
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    checked = segjury.check(given, **places)
    assert [(p.kind, p.case) for p in checked.problems] == [("too-few-raters", "P1")]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("../{case}_{rater}", "cannot begin or end with a dot"),
        ("/elsewhere/{case}_{rater}", "cannot begin or end with a dot"),
        ("{case}/./{rater}", "cannot begin or end with a dot"),
        ("{case}_{reader}", "{reader} is not known"),
        ("{case_{rater}", "a brace is not closed"),
        ("a/b/c/d/e/f/g/h/i/{case}_{rater}", "more than 8 folders deep"),
        ("{case}\\\\{rater}", "pattern"),
        ("{case}", "raters must contain {rater}"),
        ("{case}_{label}_{rater}", "in the reference, which has no {label}"),
    ],
)
def test_a_pattern_cannot_lead_out_of_the_folder(pattern, words, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        f'name = "mine"\ntitle = "Mine"\n[reference]\nraters = "{pattern}"\nn_raters = 2\n'
        '[[metrics]]\nname = "dsc"\n'
    )
    with pytest.raises(InputError) as told:
        segjury.load_protocol(file)
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rater_names": ["A", "A"]}, "A is named twice"),
        ({"rater_names": ["Ann", "ann"]}, "differ in capitals only"),
        ({"rater_names": ["A", "consensus"]}, "consensus is no name of a rater"),
        ({"rater_names": ["A", "B"], "n_raters": 2}, "either n_raters or rater_names"),
        ({}, "either n_raters or rater_names"),
        ({"n_raters": 2, "min_raters": 3}, "min_raters is 3 of 2 raters"),
        ({"rater_names": ["A", "B"], "repeats": {"B": "C"}}, "a second read of C, no first read"),
        ({"rater_names": ["A", "B"], "rater_weights": {"C": 2.0}}, "names C, who is no rater"),
    ],
)
def test_a_panel_that_cannot_be_meant_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        protocol(["dsc"], **changed)


def test_a_file_that_moves_to_another_rater_or_role_is_scored_again(tmp_path):
    given = written(tmp_path, "folders of raters", min_raters=1, rater_weights={"A": 1, "B": 9})
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    (places["reference"] / "A" / "P1.nii.gz").unlink()
    segjury.run(given, **places, out=tmp_path / "kept")
    (places["reference"] / "B" / "P1.nii.gz").rename(places["reference"] / "A" / "P1.nii.gz")
    (places["predictions"] / "M1" / "masks" / "P2_a.nii.gz").unlink()
    segjury.run(given, **places, out=tmp_path / "kept")
    moved = places["predictions"] / "M1"
    (moved / "maps" / "P2_a.nii.gz").rename(moved / "masks" / "P2_a.nii.gz")
    again = segjury.run(given, **places, out=tmp_path / "kept")
    fresh = segjury.run(given, **places, out=tmp_path / "fresh")
    assert again.details.equals(fresh.details)
    assert again.scores.equals(fresh.scores)


def test_a_file_of_an_unknown_rater_is_told_with_the_longest_name_of_a_case(tmp_path):
    given = protocol(["dsc"], raters="{case}_{rater}", rater_names=["A", "B"])
    for name in ("P1_A", "P1_a_A", "P1_a_X"):
        (tmp_path / f"{name}.nii.gz").touch()
    assert unknown_raters(given, tmp_path, ["P1", "P1_a"]) == {"P1_a": ["P1_a_X"]}


def test_a_folder_of_many_samples_is_listed_once_and_again_when_it_changes(tmp_path, monkeypatch):
    given = protocol(
        ["ged"], n_raters=2, prediction={"mask": "{case}", "sample": "{case}_{sample}"}
    )
    names = [f"P{k}_{number}.nii.gz" for k in range(20) for number in (1, 2, 10)]
    for name in names:
        (tmp_path / name).touch()
    os.utime(tmp_path, (1e9, 1e9))
    listed, list_folder = [], Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: listed.append(path) or list_folder(path))
    found = {k: sample_places(given, tmp_path, f"P{k}") for k in range(20)}
    assert found[1] == [[tmp_path / f"P1_{number}.nii.gz"] for number in (1, 2, 10)]
    assert [path for places in found.values() for (path,) in places] == [
        tmp_path / name for name in names
    ]
    assert len(listed) == 1
    (tmp_path / "P1_3.nii.gz").touch()
    assert len(sample_places(given, tmp_path, "P1")) == 4


@pytest.mark.parametrize("name", ["a{}b", "{lesion}", "{1}", "{case}", "a}"])
def test_a_label_that_a_pattern_would_take_for_a_placeholder_is_refused(name):
    with pytest.raises(ValueError, match="the name has a brace"):
        protocol(["thr_dsc"], n_raters=2, labels={name: 1})


def test_a_placeholder_that_stands_many_times_costs_no_time():
    pattern = "{case}" * 30
    assert is_named_as(pattern, Path(f"{'ab' * 30}.nii.gz"))
    assert not is_named_as(f"{pattern}_left", Path(f"{'a' * 240}.nii.gz"))


def test_a_structure_cannot_be_called_as_the_whole_case():
    structures = {"file": "vessels", "labels": {"all": 1}}
    with pytest.raises(ValueError, match="a structure cannot be called all"):
        protocol(["vi"], n_raters=2, structures=structures)
