"""Layouts of references: which pattern explains the files, who the raters are, and the cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from segjury.benchmark.init import propose
from segjury.errors import InputError
from segjury.scoring.evaluate import evaluate
from tests.benchmark.init.files import box, put, put_all


def found_in(folder):
    """The pattern, the raters and the cases of a proposal, as the protocol's own reading has it."""
    made = propose(folder)
    spec = made.protocol.reference
    return spec.raters, list(spec.panel), cases_of(made)


def cases_of(made):
    from segjury.benchmark.layout import case_names

    return case_names(made.protocol, made.reference)


def of(pattern, cases, raters):
    return [pattern.format(case=case, rater=rater) for case, rater in product(cases, raters)]


DIGITS = ("case_1", "case_02_b", "case_11")
LAYOUTS = {
    "own, nested": ("{case}/annotation_{rater}", ("P001", "P002"), ("1", "2", "3")),
    "own, a number as the case": ("{case}/annotation_{rater}", ("1", "2", "3"), ("1", "2", "3")),
    "reader": ("labels/{case}_reader-{rater}", DIGITS, ("A", "B", "C", "D")),
    "annotation": ("{case}_annotation{rater}", DIGITS, ("1", "2")),
    "many digits": ("{case}_annotation{rater}", DIGITS, ("1", "2", "10", "100")),
    "zeros in front": ("{case}_annotator{rater}", DIGITS, ("01", "02", "10")),
    "rater": ("{case}-rater{rater}", DIGITS, ("1", "2")),
    "initials": ("{case}_seg_{rater}", DIGITS, ("JB", "JD")),
    "initials alone": ("{case}_{rater}", DIGITS, ("JB", "KL")),
    "a folder per rater": ("reader{rater}/{case}", DIGITS, ("A", "B")),
    "a folder per rater, by initials": ("{rater}/{case}", DIGITS, ("JB", "KL")),
    "folders below the rater": ("raters/{rater}/masks/{case}", DIGITS, ("anna", "bert")),
    "more raters than cases": ("{case}/expert_{rater}", ("P01", "P02"), ("1", "2", "3")),
    "one case": ("{case}_reader{rater}", ("P01",), ("1", "2", "3")),
    "initials in folders of cases": ("{case}/{rater}", ("P01", "P02", "P03"), ("JB", "KL")),
    "BIDS": (
        "{case}/anat/{case}_desc-rater{rater}_dseg",
        ("sub-01", "sub-02"),
        ("A", "B"),
    ),
    "BIDS with a session": (
        "{case}/ses-1/anat/{case}_ses-1_desc-{rater}_dseg",
        ("sub-01", "sub-02"),
        ("manual1", "manual2"),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_pattern_the_raters_and_the_cases_are_found(tmp_path, name):
    pattern, cases, raters = LAYOUTS[name]
    put_all(tmp_path / "bench", *of(pattern, cases, raters))
    shown, panel, known = found_in(tmp_path / "bench")
    if name == "BIDS with a session":  # what the names share is in the pattern
        pattern, raters = pattern.replace("{rater}", "manual{rater}"), ("1", "2")
    assert shown == pattern.removeprefix("{case}/") or shown == pattern
    assert panel == list(raters)
    assert known == sorted(cases)


ONE_RATER = {
    "a folder per case": ("{case}/segmentation", "segmentation"),
    "files": ("{case}", "{case}"),
    "files with a word": ("{case}_seg", "{case}_seg"),
    "a folder of files": ("masks/{case}", "masks/{case}"),
}


@pytest.mark.parametrize("name", ONE_RATER)
def test_one_rater_needs_no_name(tmp_path, name):
    written, expected = ONE_RATER[name]
    cases = ["siteA_001", "siteA_002", "siteB_001", "siteB_003"]
    put_all(tmp_path, *(written.format(case=case) for case in cases))
    assert found_in(tmp_path) == (expected, ["1"], cases)


def test_predictions_tell_a_name_from_a_rater(tmp_path):
    cases = [f"site{site}_{case}" for site in range(5) for case in (1, 2)]
    put_all(tmp_path / "masks", *cases)
    put_all(tmp_path / "runs" / "A", *cases)
    alone, _, _ = found_in(tmp_path / "masks")
    assert alone == "{case}_{rater}"
    made = propose(tmp_path / "masks", tmp_path / "runs")
    assert made.protocol.reference.raters == "{case}"
    assert cases_of(made) == cases


def test_a_panel_with_gaps_needs_as_many_as_the_case_with_fewest_has(tmp_path):
    names = of("labels/{case}_reader-{rater}", ("c_1", "c_2", "c_3", "c_4"), "ABCD")
    put_all(tmp_path, *(n for n in names if n not in {names[0], names[1], names[6]}))
    made = propose(tmp_path)
    spec = made.protocol.reference
    assert (spec.rater_names, spec.min_raters) == (("A", "B", "C", "D"), 2)
    assert "# 1 case has 2 raters, 1 has 3, 2 have 4\n" in made.text
    assert spec.raters == "labels/{case}_reader-{rater}"


def test_numbered_raters_may_be_anonymous_and_a_person_decides(tmp_path):
    made = propose(put_all(tmp_path, *of("{case}/annotation_{rater}", ("P1", "P2"), "12")))
    assert made.protocol.reference.n_raters == 2
    assert "# anonymous = true  # TODO" in made.text


def test_what_lies_beside_the_masks_is_told_from_them(tmp_path):
    cases = ("P1", "P2", "P3")
    put_all(tmp_path, *of("{case}/annotation_{rater}", cases, "12"))
    put_all(tmp_path, *of("{case}/{rater}", cases, ("image", "vessels", "annotation_staple")))
    spec = propose(tmp_path).protocol.reference
    assert (spec.raters, spec.n_raters) == ("annotation_{rater}", 2)
    assert (spec.image, spec.consensus) == ("image", "annotation_staple")


def test_images_in_a_folder_of_their_own(tmp_path):
    put_all(tmp_path, *of("labels/{case}_rater{rater}", DIGITS, "12"))
    put_all(tmp_path, *(f"images/{case}" for case in DIGITS))
    spec = propose(tmp_path).protocol.reference
    assert (spec.raters, spec.image) == ("labels/{case}_rater{rater}", "images/{case}")


def test_the_raw_folders_of_nnunet_are_the_test_cases_and_their_first_channel(tmp_path):
    put_all(tmp_path, "labelsTr/h_001", "labelsTr/h_002", "labelsTs/h_003", "labelsTs/h_004")
    put_all(tmp_path, *of("imagesTs/h_{case}_{rater}", ("003", "004"), ("0000", "0001")))
    made = propose(tmp_path)
    spec = made.protocol.reference
    assert (spec.raters, spec.image) == ("labelsTs/{case}", "imagesTs/{case}_0000")
    assert cases_of(made) == ["h_003", "h_004"]


def test_without_test_labels_the_training_cases_are_taken(tmp_path):
    put_all(tmp_path, "labelsTr/h_001", "labelsTr/h_002")
    assert propose(tmp_path).protocol.reference.raters == "labelsTr/{case}"


def test_sessions_are_linked_as_cases_where_no_pattern_says_their_folders(tmp_path):
    names = [
        f"sub-0{sub}/ses-{ses}/anat/sub-0{sub}_ses-{ses}_desc-rater{rater}_dseg"
        for sub, ses, rater in product((1, 2), (1, 2), "AB")
    ]
    put_all(tmp_path / "bids", *names)
    with pytest.raises(InputError, match=r"no pattern describes .* give `link`"):
        propose(tmp_path / "bids")
    made = propose(tmp_path / "bids", link=tmp_path / "links")
    assert made.reference == tmp_path / "links" / "reference"
    assert cases_of(made) == ["sub-01_ses-1", "sub-01_ses-2", "sub-02_ses-1", "sub-02_ses-2"]
    assert made.protocol.reference.rater_names == ("A", "B")
    put_all(tmp_path / "runs" / "A", *cases_of(made))
    scores = evaluate(made.protocol, reference=made.reference, predictions=tmp_path / "runs")
    assert set(scores["status"]) == {"ok"}


def test_a_benchmark_beside_its_predictions_may_be_named_by_the_folder_above(tmp_path):
    from segjury import init

    put_all(tmp_path, *of("reference/{case}/annotation_{rater}", ("P1", "P2"), "12"))
    put_all(tmp_path, "predictions/A/P1/segmentation", "predictions/A/P2/segmentation")
    made = init(tmp_path)
    assert (made.reference, made.predictions) == (tmp_path / "reference", tmp_path / "predictions")


@pytest.mark.parametrize("ending", [".mha", ".nrrd", ".nii"])
def test_any_format_will_do(tmp_path, ending):
    names = of("{case}_rater{rater}", ("P1", "P2"), "12")
    assert found_in(put_all(tmp_path, *(f"{name}{ending}" for name in names)))[2] == ["P1", "P2"]


def test_the_same_files_give_the_same_text(tmp_path):
    names = of("{case}_rater{rater}", DIGITS, "123")
    first = propose(put_all(tmp_path / "one" / "bench", *names)).text
    assert first == propose(put_all(tmp_path / "two" / "bench", *names[::-1])).text


# ---- what is refused -----------------------------------------------------------------------


def test_files_that_follow_no_layout_are_refused_with_what_was_looked_for(tmp_path):
    put_all(tmp_path, "train/a", "test/b", "x/c", "y/d")
    put_all(tmp_path, "train/q_1", "y/q_1")
    with pytest.raises(InputError, match="looked for <case>/annotation_<rater>"):
        propose(tmp_path)


def test_a_mask_in_two_formats_is_refused(tmp_path):
    put(tmp_path / "a.nii.gz", box())
    put(tmp_path / "a.mha", box())
    with pytest.raises(InputError, match="a is there as"):
        propose(tmp_path)


def test_images_alone_are_no_masks(tmp_path):
    for k in range(3):
        put(tmp_path / f"ct_{k}.nii.gz", (box() * 0.25).astype("f4"))
    with pytest.raises(InputError, match="is not a mask"):
        propose(tmp_path)


def test_a_folder_whose_name_no_pattern_can_have_is_given_itself_or_linked(tmp_path):
    folder = put_all(tmp_path / "x", *of("labels (1)/{case}_reader-{rater}", DIGITS, "AB"))
    with pytest.raises(InputError, match="no pattern describes the folders of labels"):
        propose(folder)
    assert found_in(folder / "labels (1)")[1:] == (["A", "B"], sorted(DIGITS))
    assert cases_of(propose(folder, link=tmp_path / "links")) == sorted(DIGITS)


def test_images_whose_names_no_pattern_can_have_are_left_out(tmp_path):
    put_all(tmp_path, *of("{case}/annotation_{rater}", ("P1", "P2"), "12"))
    put_all(tmp_path, "P1/image (1)", "P2/image (1)", "P1/ct {x}", "P2/ct {x}")
    made = propose(tmp_path)
    assert made.protocol.reference.image is None


def test_cases_may_be_named_in_any_script(tmp_path):
    cases = ("Müller (1)", "山田 #2")
    shown, panel, known = found_in(put_all(tmp_path, *of("{case}_reader{rater}", cases, "12")))
    assert (shown, panel, known) == ("{case}_reader{rater}", ["1", "2"], sorted(cases))


def test_a_file_named_as_the_case_beside_its_mask_is_the_image(tmp_path):
    from segjury.benchmark.check import check

    put_all(tmp_path, *(f"{case}{end}" for case in DIGITS for end in ("", "_mask")))
    made = propose(tmp_path)
    spec = made.protocol.reference
    assert (spec.raters, spec.image) == ("{case}_mask", "{case}")
    assert cases_of(made) == sorted(DIGITS)
    assert check(made.protocol, reference=tmp_path).problems == []


def test_an_odd_file_or_a_picture_beside_the_masks_changes_nothing(tmp_path):
    put_all(tmp_path, *of("labels/{case}_reader-{rater}", DIGITS, "AB"), "labels/overview")
    (tmp_path / "labels" / "overview.png").touch()
    shown, panel, _ = found_in(tmp_path)
    assert (shown, panel) == ("labels/{case}_reader-{rater}", ["A", "B"])


def test_pictures_are_masks_where_there_are_no_volumes(tmp_path):
    from PIL import Image

    for case, rater in product(("P1", "P2"), "AB"):
        array = np.zeros((12, 10), np.uint8)
        array[2:8, 3:7] = 255
        Image.fromarray(array).save(tmp_path / f"{case}_reader-{rater}.png")
    made = propose(tmp_path)
    assert made.protocol.reference.labels == {"label_1": 1}
    assert cases_of(made) == ["P1", "P2"]
