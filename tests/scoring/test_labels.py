"""Protocols with several labels, one rater or no probability maps, from files to rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import segjury
from segjury.benchmark.case_table import case_table
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import Protocol, load_protocol
from segjury.scoring.run import score_benchmark as run_protocol

GRID = Grid((12, 10, 8), (1.0, 1.0, 2.0))
ORGANS = ("pancreas", "kidney", "liver")


def boxes(**boxes):
    """A label map with a box of each label."""
    labels = np.zeros(GRID.shape, np.uint8, order="F")
    for name, place in boxes.items():
        labels[place] = ORGANS.index(name) + 1
    return labels


PANCREAS = np.s_[1:4, 1:4, 1:4]
KIDNEY = np.s_[5:8, 1:4, 1:4]
LIVER = np.s_[1:8, 5:9, 1:7]
WHOLE = {"pancreas": PANCREAS, "kidney": KIDNEY, "liver": LIVER}


def write_case(folder, case, raters):
    for k, labels in enumerate(raters):
        write_volume(
            folder / "reference" / case / f"annotation_{k + 1}.nii.gz", Volume(labels, GRID)
        )


def write_answer(folder, method, case, labels, *, maps=True):
    place = folder / "predictions" / method / case
    write_volume(place / "segmentation.nii.gz", Volume(labels, GRID))
    for number, organ in enumerate(ORGANS if maps else (), 1):
        p = (labels == number).astype(np.float32)
        write_volume(place / f"probability_{organ}.nii.gz", Volume(p, GRID))


def run(folder, protocol="curvas-2024", **options):
    table = segjury.evaluate(
        protocol,
        reference=folder / "reference",
        predictions=folder / "predictions",
        readings=options.pop("readings", ["corrected"]),
        **options,
    )
    return table.set_index(["method", "case", "metric", "structure"]).sort_index()


# ---- CURVAS 2024 ---------------------------------------------------------------------------


def test_a_perfect_answer_to_unanimous_raters(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)] * 3)
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE))
    rows = run(tmp_path)["value"]
    for organ in (*ORGANS, "all"):
        assert rows["A", "P1", "dsc", organ] == 1
        assert rows["A", "P1", "confidence", organ] == 1
        assert rows["A", "P1", "crps", organ] == 0
    assert rows["A", "P1", "ece", "all"] == 0


def test_an_organ_that_one_rater_leaves_out_has_no_volume_there(tmp_path):
    without = {name: place for name, place in WHOLE.items() if name != "kidney"}
    write_case(tmp_path, "P1", [boxes(**WHOLE), boxes(**without), boxes(**WHOLE)])
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE))
    result = run(tmp_path, readings=["released", "corrected"]).reset_index()
    kidney = result[result["structure"] == "kidney"].set_index(["reading", "metric"])["value"]
    assert math.isnan(kidney["corrected", "confidence"])  # no voxel on which all agree
    assert kidney["released", "dsc"] == 0
    volumes = np.array([27, 0, 27]) * 2.0 / 1000
    assert kidney["corrected", "crps"] == pytest.approx(
        segjury.metrics.crps(volumes, 27 * 2.0 / 1000)
    )
    liver = result[(result["structure"] == "liver") & (result["metric"] == "dsc")]
    assert (liver["value"] == 1).all()  # labels do not shift


def test_a_missing_prediction_costs_the_worst_and_an_absent_one_its_volume(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)] * 3)
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE))
    (tmp_path / "predictions" / "B").mkdir()
    rows = run(tmp_path).loc["B"]
    assert set(rows["status"]) == {"missing"}
    worst = rows["value"]
    assert worst["P1", "dsc", "all"] == worst["P1", "confidence", "liver"] == 0
    assert worst["P1", "ece", "all"] == 1
    assert worst["P1", "crps", "liver"] == pytest.approx(7 * 4 * 6 * 2.0 / 1000)


def test_nnunets_layout_with_several_classes(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)] * 3)
    labels = boxes(**WHOLE)
    write_answer(tmp_path, "A", "P1", labels)
    folder = tmp_path / "predictions" / "nnunet"
    write_volume(folder / "P1.nii.gz", Volume(labels, GRID))
    classes = np.stack([(labels == k).astype(np.float32).T for k in range(4)])
    np.savez_compressed(folder / "P1.npz", probabilities=classes)
    values = run(tmp_path)["value"]
    pd.testing.assert_series_equal(values.loc["A"], values.loc["nnunet"])


def test_a_map_that_is_missing_is_named(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)] * 3)
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE))
    (tmp_path / "predictions" / "A" / "P1" / "probability_kidney.nii.gz").unlink()
    rows = run(tmp_path)
    lost = rows[rows["status"] == "missing"]
    assert set(lost.index.get_level_values("metric")) == {"confidence", "ece", "crps"}
    assert lost["detail"].str.contains("probability_kidney.nii.gz is missing").all()


def test_probabilities_that_nnunet_did_not_save_are_asked_for(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)] * 3)
    write_volume(tmp_path / "predictions" / "nnunet" / "P1.nii.gz", Volume(boxes(**WHOLE), GRID))
    detail = run(tmp_path).query("status == 'missing'")["detail"]
    assert detail.str.startswith("P1.npz is missing. confidence, ece, crps need").all()


# ---- tables of cases -----------------------------------------------------------------------


def test_groups_come_from_the_table_of_cases(tmp_path):
    for case in ("P1", "P2"):
        write_case(tmp_path, case, [boxes(**WHOLE)] * 3)
        write_answer(tmp_path, "A", case, boxes(**WHOLE))
    text = "\ufeffcase,group,sex,cohort\nP2, C ,f,mine\nP1,A\n"
    (tmp_path / "reference" / "cases.csv").write_text(text, encoding="utf-8")
    table = run(tmp_path).reset_index()
    assert dict(zip(table["case"], table["group"], strict=True)) == {"P1": "A", "P2": "C"}
    assert (table["cohort"] == table["group"]).all()
    assert "sex" not in table
    other = tmp_path / "other.csv"
    other.write_text("case,group\nP1,B\nP2,B\n")
    assert set(run(tmp_path, cases=other)["group"]) == {"B"}


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "no group": ("case,sex\nP1,f\n", "has no column group"),
        "no case": ("name,group\nP1,A\n", "has no column case"),
        "case absent": ("case,group\nP2,A\n", "has no case P1"),
        "twice": ("case,group\nP1,A\nP1,B\n", "has case P1 twice"),
        "semicolon": ("case,group\nP1,A;B\n", "semicolon"),
        "short line": ("case,group\nP2\n", "has no case P1"),
        "empty": ("", "it is empty"),
        "binary": ("\x00\x01", "no column|is not text"),
    }.values(),
    ids=["no group", "no case", "case absent", "twice", "semicolon", "short", "empty", "binary"],
)
def test_bad_tables_of_cases_are_refused(tmp_path, text, message):
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        case_table(load_protocol("curvas-2024"), tmp_path, ["P1"])


def test_a_table_that_was_asked_for_must_be_there(tmp_path):
    protocol = load_protocol("curvas-2024")
    assert case_table(protocol, tmp_path, ["P1"]) == {}
    with pytest.raises(InputError, match="there is no table"):
        case_table(protocol, tmp_path, ["P1"], tmp_path / "none.csv")


# ---- one rater, no maps --------------------------------------------------------------------


def two_organs(**parts):
    """A protocol of masks with one rater and two of the organs."""
    return Protocol.model_validate(
        {
            "name": "masks",
            "title": "Two organs, one rater",
            "reference": {
                "raters": "annotation_{rater}",
                "n_raters": 1,
                "labels": {"liver": 3, "pancreas": 1},
                "other_labels": {"kidney": 2},
            },
            "metrics": [{"name": "dsc"}, {"name": "hd", "worst": "image-diagonal"}],
        }
        | parts
    )


def test_labels_are_those_of_the_protocol_whatever_their_numbers(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)])
    answer = boxes(pancreas=PANCREAS, liver=np.s_[1:8, 5:9, 1:4])  # half of the liver
    write_answer(tmp_path, "A", "P1", answer, maps=False)
    rows = run(tmp_path, two_organs())["value"].loc["A", "P1"]
    assert rows["dsc", "pancreas"] == 1
    assert rows["dsc", "liver"] == pytest.approx(2 / 3)
    assert rows["dsc", "all"] == pytest.approx(5 / 6)
    assert rows["hd", "pancreas"] == 0
    assert rows["hd", "liver"] == pytest.approx(3 * 2.0, abs=1e-6)  # three slices of 2 mm


def test_a_class_that_is_not_predicted_costs_the_worst_value(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)])
    write_answer(tmp_path, "A", "P1", boxes(pancreas=PANCREAS), maps=False)
    rows = run(tmp_path, two_organs()).loc["A", "P1"]
    diagonal = math.sqrt(12**2 + 10**2 + 16**2)
    assert rows.loc[("hd", "liver"), "status"] == "undefined"
    assert rows.loc[("hd", "liver"), "detail"] == "the prediction is empty"
    assert rows.loc[("hd", "liver"), "value"] == pytest.approx(diagonal, rel=1e-6)
    assert rows.loc[("hd", "all"), "value"] == pytest.approx(diagonal / 2, rel=1e-6)
    assert rows.loc[("dsc", "liver"), "value"] == 0


@pytest.mark.parametrize(("absent", "all_value"), [("exclude", 1.0), ("score", 0.5)])
def test_a_class_that_the_reference_lacks(tmp_path, absent, all_value):
    write_case(tmp_path, "P1", [boxes(pancreas=PANCREAS)])
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE) * (boxes(**WHOLE) != 2), maps=False)
    protocol = two_organs(policy={"empty_reference": absent}, metrics=[{"name": "dsc"}])
    rows = run(tmp_path, protocol)["value"].loc["A", "P1", "dsc"]
    assert rows["all"] == all_value
    assert math.isnan(rows["liver"]) == (absent == "exclude")


def test_a_predicted_label_that_does_not_count_is_refused(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)])
    write_answer(tmp_path, "A", "P1", boxes(**WHOLE), maps=False)
    rows = run(tmp_path, two_organs())
    assert set(rows["status"]) == {"failed"}
    assert rows["detail"].str.contains("unknown label 2, expected 0, 1, 3").all()


def test_every_metric_of_masks_can_be_used_in_a_protocol(tmp_path):
    write_case(tmp_path, "P1", [boxes(**WHOLE)])
    write_answer(tmp_path, "A", "P1", boxes(liver=LIVER, pancreas=PANCREAS), maps=False)
    names = [
        name
        for name, metric in segjury.metrics.METRICS.items()
        if metric.scope == "label" and "mask" in metric.needs
    ]
    metrics = [{"name": name, "worst": 99.0} for name in names]
    rows = run(tmp_path, two_organs(metrics=metrics))["value"].loc["A", "P1"]
    for name in names:
        best = segjury.metrics.METRICS[name].best
        if name == "mi":
            assert 0 < rows[name, "liver"] < 1
        elif name == "small_recall":
            assert math.isnan(rows[name, "liver"])
        else:
            assert rows[name, "liver"] == pytest.approx(best), name


def test_nothing_is_gained_by_predicting_nothing(tmp_path):
    mask = (boxes(**WHOLE) > 0).astype(np.uint8)
    write_case(tmp_path, "P1", [mask])
    write_answer(tmp_path, "everything else", "P1", 1 - mask, maps=False)
    write_answer(tmp_path, "nothing", "P1", np.zeros_like(mask), maps=False)
    (tmp_path / "predictions" / "absent").mkdir()
    rows = run(tmp_path, "smile-uhura-2023").xs("bavd", level="metric")["value"]
    diagonal = math.sqrt(12**2 + 10**2 + 8**2)
    assert rows["absent", "P1", "all"] == rows["nothing", "P1", "all"] == pytest.approx(diagonal)
    tiny = np.zeros_like(mask)
    tiny[0, 0, 0] = 1
    write_case(tmp_path, "P1", [tiny])
    rows = run(tmp_path, "smile-uhura-2023").xs("bavd", level="metric")["value"]
    assert rows["everything else", "P1", "all"] > diagonal  # the limit of that form
    assert rows["absent", "P1", "all"] == rows["everything else", "P1", "all"]


def test_a_distance_to_nothing_is_left_out_of_the_details(tmp_path):
    mask = (boxes(**WHOLE) > 0).astype(np.uint8)
    write_case(tmp_path, "P1", [mask])
    write_answer(tmp_path, "nothing", "P1", np.zeros_like(mask), maps=False)
    folders = {name: tmp_path / name for name in ("reference", "predictions")}
    details = run_protocol("smile-uhura-2023", readings=["corrected"], **folders).details
    sums = details[details["quantity"] == "sum of distances"].set_index("item")["value"]
    assert math.isnan(sums["missed"])
    assert sums["added"] == 0
