"""Layouts of predictions: masks, maps and samples, and the metrics that they allow."""

from __future__ import annotations

import numpy as np
import pytest

from segjury.benchmark.check import check
from segjury.benchmark.init import propose
from segjury.errors import InputError
from segjury.scoring.evaluate import evaluate
from tests.benchmark.init.files import box, put, put_all

CASES = ("case_1", "case_02_b", "case_11")


@pytest.fixture
def masks(tmp_path):
    """A reference of one rater."""
    return put_all(tmp_path / "labels", *CASES)


@pytest.fixture
def read_twice(tmp_path):
    """A reference of two raters."""
    return put_all(tmp_path / "labels", *(f"{case}_reader-{r}" for case in CASES for r in "AB"))


def predict(folder, *patterns, methods=("A", "B")):
    """Masks, or maps and samples by their names, of every case."""
    for m, method in enumerate(methods):
        for c, case in enumerate(CASES):
            for k, pattern in enumerate(patterns):
                mask = box(3 + (c + k + m) % 5)
                is_map = any(word in pattern for word in ("prob", "conf", "soft"))
                put(
                    folder / method / f"{pattern.format(case=case)}.nii.gz",
                    (mask * 0.75).astype(np.float32) if is_map else mask,
                )
    return folder


def names(made):
    return [use.name for use in made.protocol.metrics]


@pytest.mark.parametrize(
    ("written", "mask"),
    [
        ("{case}/segmentation", "segmentation"),
        ("{case}/pred", "pred"),
        ("{case}", "{case}"),
        ("{case}_seg", "{case}_seg"),
        ("{case}/{case}_pred", "{case}/{case}_pred"),
        ("masks/{case}", "masks/{case}"),
    ],
)
def test_masks_in_any_layout_are_found_and_scored(tmp_path, masks, written, mask):
    runs = predict(tmp_path / "runs", written)
    made = propose(masks, runs)
    assert made.protocol.prediction.mask == mask
    assert names(made) == ["dsc", "nsd", "hd95"]
    scores = evaluate(made.protocol, reference=masks, predictions=runs)
    assert set(scores["status"]) == {"ok"}
    assert not [
        p
        for p in check(made.protocol, reference=masks, predictions=runs).problems
        if p.kind in ("stray-files", "unknown-case")
    ]


@pytest.mark.parametrize(
    ("files", "probability"),
    [
        (("{case}/segmentation", "{case}/probability"), "probability"),
        (("{case}/mask", "{case}/conf"), "conf"),
        (("{case}", "{case}_softmax"), "{case}_softmax"),
        (("{case}_seg", "{case}_prob"), "{case}_prob"),
        (("masks/{case}", "prob/{case}_prob"), "prob/{case}_prob"),
    ],
)
def test_maps_are_found_and_bring_their_metrics(tmp_path, read_twice, files, probability):
    runs = predict(tmp_path / "runs", *files)
    made = propose(read_twice, runs)
    assert made.protocol.prediction.probability == probability
    assert names(made) == ["dsc", "nsd", "thr_dsc", "brier", "pooled_ece", "crps"]
    scores = evaluate(made.protocol, reference=read_twice, predictions=runs)
    assert set(scores["status"]) == {"ok"}


def test_a_method_without_maps_is_named(tmp_path, read_twice):
    predict(tmp_path / "runs", "{case}/segmentation", "{case}/probability")
    predict(tmp_path / "runs", "{case}/segmentation", methods=["C"])
    made = propose(read_twice, tmp_path / "runs")
    assert 'probability = "probability"  # no maps: C' in made.text
    assert "pooled_ece" in names(made)


def test_maps_of_few_methods_bring_no_metrics(tmp_path, read_twice):
    predict(tmp_path / "runs", "{case}/segmentation", methods=["A", "B", "C"])
    predict(tmp_path / "runs", "{case}/segmentation", "{case}/probability", methods=["D"])
    assert "pooled_ece" not in names(propose(read_twice, tmp_path / "runs"))


def test_maps_of_several_labels_are_told_by_their_names(tmp_path):
    put_all(tmp_path / "labels", *CASES, labels=(1, 2))
    runs = predict(
        tmp_path / "runs", "{case}/seg", "{case}/p_label_1_prob", "{case}/p_label_2_prob"
    )
    for path in runs.rglob("*_prob.nii.gz"):
        put(path, box(3).astype(np.float32) * 0.25)
    made = propose(tmp_path / "labels", runs)
    assert made.protocol.prediction.probability == "p_{label}_prob"
    assert "pooled_ece" in names(made)
    evaluate(made.protocol, reference=tmp_path / "labels", predictions=runs)


def test_maps_that_name_no_label_are_left_to_a_person(tmp_path):
    put_all(tmp_path / "labels", *CASES, labels=(1, 2))
    runs = predict(tmp_path / "runs", "{case}/seg", "{case}/prob_x", "{case}/prob_y")
    made = propose(tmp_path / "labels", runs)
    assert "# TODO {label} in `probability`" in made.text
    assert names(made) == ["dsc", "nsd", "hd95"]


def test_archives_of_nnunet_are_maps(tmp_path, read_twice):
    runs = predict(tmp_path / "runs", "{case}")
    for method in ("A", "B"):
        for case in CASES:
            inside = np.where(box(4).T, 0.75, 0.25).astype(np.float32)
            np.savez(runs / method / f"{case}.npz", probabilities=np.stack([1 - inside, inside]))
    made = propose(read_twice, runs)
    assert "thr_dsc" in names(made)
    scores = evaluate(made.protocol, reference=read_twice, predictions=runs)
    assert set(scores["status"]) == {"ok"}


def test_samples_bring_their_metrics(tmp_path, read_twice):
    stems = [f"{{case}}/sample_{k:02}" for k in (1, 2, 3)]
    runs = predict(tmp_path / "runs", "{case}/segmentation", *stems)
    made = propose(read_twice, runs)
    assert made.protocol.prediction.sample == "sample"
    assert names(made) == [
        *("dsc", "nsd", "thr_dsc", "brier", "pooled_ece", "crps", "ged", "dice_match")
    ]
    scores = evaluate(made.protocol, reference=read_twice, predictions=runs)
    assert set(scores["status"]) == {"ok"}


def test_folders_and_flat_files_of_different_methods_are_both_read(tmp_path, masks):
    predict(tmp_path / "runs", "{case}/segmentation", methods=["A", "B"])
    predict(tmp_path / "runs", "{case}", methods=["C"])
    made = propose(masks, tmp_path / "runs")
    assert made.protocol.prediction.mask == "segmentation"
    scores = evaluate(made.protocol, reference=masks, predictions=tmp_path / "runs")
    assert set(scores["status"]) == {"ok"}
    assert set(scores["method"]) == {"A", "B", "C"}


def test_the_folder_of_one_method_will_do(tmp_path, masks):
    runs = predict(tmp_path / "runs", "{case}_seg", methods=["mine"]) / "mine"
    made = propose(masks, runs)
    assert made.protocol.prediction.mask == "{case}_seg"
    assert set(evaluate(made.protocol, reference=masks, predictions=runs)["method"]) == {"mine"}


def test_predictions_below_the_reference_are_no_masks_of_raters(tmp_path):
    put_all(tmp_path, *(f"labels/{case}" for case in CASES))
    runs = predict(tmp_path / "runs", "{case}")
    made = propose(tmp_path, runs)
    assert made.protocol.reference.raters == "labels/{case}"
    kinds = {p.kind for p in check(made.protocol, reference=tmp_path, predictions=runs).problems}
    assert "stray-files" not in kinds


def test_labels_that_only_predictions_have_are_told(tmp_path, masks):
    put_all(tmp_path / "runs" / "A", *CASES, labels=(1, 2))
    assert "# TODO predictions have 2 too" in propose(masks, tmp_path / "runs").text


def test_cases_that_nobody_predicts_are_told(tmp_path, masks):
    put_all(tmp_path / "runs" / "A", *CASES[:2])
    assert propose(masks, tmp_path / "runs").notes == ("nobody predicts case_11",)


def test_predictions_of_other_cases_are_refused(tmp_path, masks):
    put_all(tmp_path / "runs" / "A", "x", "y")
    with pytest.raises(InputError, match="named as a case of the reference, such as 'case_02_b'"):
        propose(masks, tmp_path / "runs")
    with pytest.raises(InputError, match="both reference and predictions"):
        propose(masks, masks)


def test_other_files_that_may_be_masks_are_told(tmp_path, masks):
    runs = tmp_path / "runs"
    put_all(runs, *(f"{case}/{method}" for case in CASES for method in ("TeamA", "TeamB")))
    (note,) = propose(masks, runs).notes
    assert note == "predictions are read as TeamA, and not as {case}/TeamB"


@pytest.mark.parametrize("written", ["{case}/sample_0{k}", "{case}_sample{k}", "draws/{case}_s{k}"])
def test_samples_need_no_mask(tmp_path, read_twice, written):
    runs = predict(tmp_path / "runs", *(written.replace("{k}", str(k)) for k in (1, 2, 3)))
    made = propose(read_twice, runs)
    assert any("2 methods: A, B, no masks" in line for line in made.found)
    assert "ged" in names(made)
    scores = evaluate(made.protocol, reference=read_twice, predictions=runs)
    assert set(scores["status"]) == {"ok"}


def test_samples_alone_are_scored_beside_one_rater_too(tmp_path, masks):
    runs = predict(tmp_path / "runs", "{case}/sample_01", "{case}/sample_02")
    made = propose(masks, runs)
    assert {"dsc", "ged"} <= set(names(made))
    scores = evaluate(made.protocol, reference=masks, predictions=runs)
    assert set(scores["status"]) == {"ok"}
