"""Labels of a proposal: from dataset.json, from label files, or from the masks alone."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest

from segjury.benchmark.init import propose
from segjury.errors import InputError
from tests.benchmark.init.files import GRID, box, put, put_all, put_json

MASKS = ("labelsTs/h_1", "labelsTs/h_2")


def dataset(tmp_path, **content):
    put_all(tmp_path, *MASKS, labels=(1, 2))
    put_json(tmp_path / "dataset.json", {"file_ending": ".nii.gz", **content})
    return propose(tmp_path)


def test_numbers_without_names_are_labels_that_a_person_names(tmp_path):
    made = propose(put_all(tmp_path, "a", "b", labels=(2, 5)))
    assert made.protocol.reference.labels == {"label_2": 2, "label_5": 5}
    assert "# TODO give the labels their names" in made.text
    assert "# numbers found in 2 masks: 2, 5\n" in made.text


def test_names_and_regions_of_dataset_json(tmp_path):
    labels = {"background": 0, "kidney and mass": [1, 2], "mass": 2, "ignore": 3}
    made = dataset(tmp_path, labels=labels, regions_class_order=[1, 2], name="KiTS")
    spec = made.protocol.reference
    assert spec.labels == {"kidney and mass": (1, 2), "mass": 2}
    assert list(spec.labels) == ["kidney and mass", "mass"]  # the order of nnU-Net's channels
    assert spec.ignore == 3
    assert (made.protocol.title, made.protocol.name) == ("KiTS", "kits")


def test_dataset_json_may_lie_above_the_masks(tmp_path):
    dataset(tmp_path, labels={"background": 0, "a": 1, "b": 2})
    assert propose(tmp_path / "labelsTs").protocol.reference.labels == {"a": 1, "b": 2}


def test_the_older_form_names_labels_by_number(tmp_path):
    made = dataset(tmp_path, labels={"0": "background", "1": "liver", "2": "tumour"})
    assert made.protocol.reference.labels == {"liver": 1, "tumour": 2}


def test_one_that_says_nothing_of_labels_is_passed_over(tmp_path):
    made = dataset(tmp_path, name="x")
    assert made.protocol.reference.labels == {"label_1": 1, "label_2": 2}


def test_a_number_that_dataset_json_does_not_name_may_stay_in_the_files(tmp_path):
    made = dataset(tmp_path, labels={"background": 0, "a": 1})
    assert made.protocol.reference.other_labels == {"label_2": 2}
    assert made.notes == ("masks have labels that dataset.json does not name: 2",)


@pytest.mark.parametrize(
    "name", ["a/b", "a\nb", "all", "x" * 300, "a\u202eb", '"quoted"', "é", "{a}", "", " "]
)
def test_a_name_that_no_label_can_have_is_changed_into_one_that_can(tmp_path, name):
    made = dataset(tmp_path, labels={"background": 0, name: 1, "b": 2})
    assert list(made.protocol.reference.labels.values()) == [1, 2]


def test_no_label_is_lost_where_the_name_with_a_number_is_taken_too(tmp_path):
    named = {"0": "background", "1": "a 3", "2": "a", "3": "a\n"}
    made = dataset(tmp_path, labels=named)
    assert made.protocol.reference.labels == {"a 3": 1, "a": 2, "a 4": 3}


BROKEN = {
    "no table": [1, 2],
    "labels are a text": {"labels": "kidney"},
    "labels are a list": {"labels": ["kidney"]},
    "a number as a text": {"labels": {"background": 0, "kidney": "1"}},
    "a fraction": {"labels": {"kidney": 1.5}},
    "true": {"labels": {"kidney": True}},
    "nothing": {"labels": {"kidney": None}},
    "too large": {"labels": {"kidney": 256}},
    "far too large as a text": {"labels": {"9" * 5000: "kidney"}},
    "negative": {"labels": {"kidney": -1}},
    "an empty region": {"labels": {"kidney": []}},
    "the background in a region": {"labels": {"kidney": [0, 1]}},
    "a table": {"labels": {"kidney": {"a": 1}}},
    "no labels": {"labels": {}},
    "the background alone": {"labels": {"background": 0}},
    "two of one number": {"labels": {"a": 1, "b": 1}},
    "two numbers to ignore": {"labels": {"a": 1, "ignore": [2, 3]}},
    "a label to ignore": {"labels": {"a": 1, "ignore": 1}},
    "many labels": {"labels": {str(k): f"l{k}" for k in range(1000)}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_dataset_json_is_told_in_a_sentence(tmp_path, name):
    put_all(tmp_path, *MASKS)
    put_json(tmp_path / "dataset.json", BROKEN[name])
    with pytest.raises(InputError, match=r"dataset\.json") as raised:
        propose(tmp_path)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"labels": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}", "label 'a' is"),
        (b" " * (1 << 24) + b"{}", "has more than"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"", "not valid JSON"),
        (b'{"labels": ' + b"9" * 5000 + b"}", "not valid JSON|no table"),
    ],
    ids=["deep", "deep label", "huge", "no text", "empty", "digits"],
)
def test_a_hostile_dataset_json_is_told_in_a_sentence(tmp_path, content, said):
    put_all(tmp_path, *MASKS)
    (tmp_path / "dataset.json").write_bytes(content)
    with pytest.raises(InputError, match=said):
        propose(tmp_path)


def test_names_of_an_itk_snap_label_file(tmp_path):
    put_all(tmp_path, "a", "b", labels=(1, 2))
    lines = [
        "# ITK-SnAP Label Description File",
        '    0     0    0    0        0  0  0    "Clear Label"',
        '    1   255    0    0        1  1  1    "left atrium"',
        '    2     0  255    0        1  1  1    "vein"',
    ]
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    made = propose(tmp_path)
    assert made.protocol.reference.labels == {"left atrium": 1, "vein": 2}
    assert "# names from labels.txt" in made.text


def test_no_label_of_an_itk_snap_file_is_lost_where_names_are_alike(tmp_path):
    put_all(tmp_path, "a", "b", labels=(1, 2, 3))
    names = {1: "vein 3", 2: "vein", 3: "vein"}
    lines = [f'{number} 0 0 0 1 1 1 "{name}"' for number, name in names.items()]
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    labels = propose(tmp_path).protocol.reference.labels
    assert labels == {"vein 3": 1, "vein": 2, "vein 4": 3}


def test_names_in_the_header_of_a_slicer_segmentation(tmp_path):
    path = put(tmp_path / "P1.nrrd", box(4, 1, 2)).rename(tmp_path / "P1.seg.nrrd")
    content = path.read_bytes()
    head, end, data = content.partition(b"\n\n")
    names = b"\nSegment0_LabelValue:=1\nSegment0_Name:=aorta"
    names += b"\nSegment0_Layer:=0\nSegment1_LabelValue:=2\nSegment1_Name:=left atrium"
    names += b"\nSegment1_Layer:=0"
    path.write_bytes(head + names + end + data)
    made = propose(tmp_path)
    assert made.protocol.reference.labels == {"aorta": 1, "left atrium": 2}
    assert made.protocol.reference.raters == "{case}"


def test_labels_of_floats_are_read_and_others_refused(tmp_path):
    put(tmp_path / "a.nii.gz", box().astype("f4") * 3)
    assert propose(tmp_path).protocol.reference.labels == {"label_3": 3}
    image = nib.Nifti1Image(np.full(GRID.shape, 300, np.int16), np.eye(4))
    nib.save(image, tmp_path / "a.nii.gz")
    with pytest.raises(InputError, match="has the value 300, labels are numbers from 1 to 255"):
        propose(tmp_path)


def test_empty_masks_are_refused(tmp_path):
    put(tmp_path / "a.nii.gz", box() * 0)
    with pytest.raises(InputError, match="mark nothing"):
        propose(tmp_path)


def test_a_broken_mask_is_left_to_the_check_where_others_are_whole(tmp_path):
    put_all(tmp_path, "P1", "P2", "P3")
    (tmp_path / "P2.nii.gz").write_bytes(b"nothing")
    made = propose(tmp_path)
    assert "P2.nii.gz is not a gzip file" in made.notes[0]
    assert "# numbers found in 2 of 3 masks: 1\n" in made.text


def test_too_many_raters_and_labels_for_any_protocol_are_told(tmp_path):
    names = [f"P{c}/annotation_{r}" for c in (1, 2) for r in range(1, 13)]
    with pytest.raises(InputError, match="12 raters with 3 labels are too many"):
        propose(put_all(tmp_path, *names, labels=(1, 2, 3)))


def test_raters_in_names_are_found_beside_a_dataset_json(tmp_path):
    put_all(tmp_path, *(f"P{c}_reader-{r}" for c in (1, 2) for r in "AB"))
    put_json(tmp_path / "dataset.json", {"labels": {"background": 0, "a": 1}})
    assert propose(tmp_path).protocol.reference.raters == "{case}_reader-{rater}"


def test_numbers_in_names_are_no_raters_beside_a_dataset_json(tmp_path):
    put_all(tmp_path, *(f"site{c}_{r}" for c in range(5) for r in (1, 2)))
    put_json(tmp_path / "dataset.json", {"labels": {"background": 0, "a": 1}})
    assert propose(tmp_path).protocol.reference.raters == "{case}"
