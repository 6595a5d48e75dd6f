"""What odd references and incomplete predictions cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

import segjury
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import METRICS
from segjury.metrics.laws import odd_masks
from segjury.protocols import Protocol
from segjury.scoring.score import score
from tests.small_benchmarks import METHODS, write_benchmark

OF_MASKS = [
    metric
    for metric in METRICS.values()
    if metric.measured == "images" and metric.scope == "label" and not metric.needs_probability
]
OF_MAPS = [
    metric
    for metric in METRICS.values()
    if metric.measured == "images" and metric.scope != "structure" and metric.needs_probability
]
MASKS = odd_masks()
GRID = Grid(MASKS["full"].shape, (1.0, 1.0, 2.0))


def protocol(of, **policy):
    uses = [
        {"name": m.name, "readings": ["corrected"]} | ({"worst": 1000.0} if m.worst is None else {})
        for m in of
    ]
    reference = {"raters": "annotation", "n_raters": 1}
    return Protocol(name="odd", title="", reference=reference, metrics=uses, policy=policy)


def scored(reference, prediction, of=OF_MASKS, **policy):
    """Value and status of each metric, for two masks by name."""
    case = ReferenceCase(GRID, pack(MASKS[reference][None]), ("it",), {})
    marks = SparseLabels.of(np.asfortranarray(MASKS[prediction].astype(np.uint8)))
    map_ = Volume(np.asfortranarray(MASKS[prediction].astype(np.float32)), GRID)
    predicted = PredictedCase(marks, (map_,), samples=(marks,))
    rows = score(case, predicted, protocol(of, **policy), ["corrected"]).rows
    return {row.metric: row for row in rows}


@pytest.mark.parametrize("undefined", ["exclude", "worst"])
@pytest.mark.parametrize("empty_reference", ["exclude", "score"])
@pytest.mark.parametrize("reference", MASKS)
def test_no_row_beats_that_of_a_perfect_prediction(reference, empty_reference, undefined):
    policy = {"empty_reference": empty_reference, "undefined": undefined}
    check_perfect_is_best(OF_MASKS, reference, **policy)


@pytest.mark.parametrize("reference", MASKS)
def test_no_row_of_a_map_beats_that_of_a_perfect_one(reference):
    check_perfect_is_best(OF_MAPS, reference)


def check_perfect_is_best(of, reference, **policy):
    best = scored(reference, reference, of, **policy)
    for prediction in MASKS:
        for name, row in scored(reference, prediction, of, **policy).items():
            perfect = best[name].value
            sign = 1 if METRICS[name].direction == "higher" else -1
            assert math.isnan(row.value) == math.isnan(perfect), (name, prediction, row)
            assert not sign * (row.value - perfect) > 1e-9, (name, prediction, row)


@pytest.mark.parametrize("metric", OF_MASKS, ids=lambda metric: metric.name)
def test_an_empty_reference_is_scored_or_undefined_for_all(metric):
    right, wrong = scored("empty", "empty")[metric.name], scored("empty", "full")[metric.name]
    assert right.value == metric.best
    assert (right.status, wrong.status) == ("ok", "ok")
    left_out = {"empty_reference": "exclude"}
    for prediction in ("empty", "full"):
        row = scored("empty", prediction, **left_out)[metric.name]
        assert row.status == "undefined"
        assert row.detail.endswith("the reference is empty")
        assert math.isnan(row.value)


@pytest.mark.parametrize("name", ["dice", "hd", "assd", "nsd", "precision", "kappa", "cldice"])
def test_a_false_positive_on_an_empty_reference_is_no_better_than_the_worst(name):
    worst = {"hd": 1000.0, "assd": 1000.0}.get(name, 0.0)
    assert scored("empty", "part of a slice")[name].value == worst


def test_a_full_reference_leaves_undefined_what_needs_background():
    for prediction in ("full", "part of a slice"):
        row = scored("full", prediction)["specificity"]
        assert (row.status, row.detail) == ("undefined", "not defined for this reference")
        assert math.isnan(row.value)


# ---- a prediction without its probability map ----------------------------------------------


def without_map(folder, name="curvas-pdacvi-2025", file="probability.nii.gz", **policy):
    """The rows of method B, whose map of case P2 is missing, and those of a whole one."""
    write_benchmark(name, folder)
    given = segjury.load_protocol(name)
    changed = given.model_copy(update={"policy": given.policy.model_copy(update=policy)})

    def rows():
        table = segjury.evaluate(
            changed, reference=folder / "reference", predictions=folder / "predictions"
        )
        return table.set_index(["method", "case", "metric", "structure", "reading"]).sort_index()

    before = rows()
    (folder / "predictions" / METHODS[1] / "P2" / file).unlink()
    return before, rows()


def test_a_mask_without_its_map_keeps_the_scores_of_the_mask(tmp_path):
    before, after = without_map(tmp_path)
    assert list(before.index) == list(after.index)
    here = (after.index.get_level_values("method") == "B") & (
        after.index.get_level_values("case") == "P2"
    )
    of_mask = after.index.get_level_values("metric") == "dsc"
    lost = after[here & ~of_mask]
    assert after[~here | of_mask].equals(before[~here | of_mask])
    assert set(lost["status"]) == {"missing"}
    assert lost["detail"].str.contains("probability.nii.gz is missing").all()
    assert set(lost.loc[("B", "P2", "thr_dsc"), "value"]) == {0.0}
    assert set(lost.loc[("B", "P2", "mr_ece"), "value"]) == {1.0}


def test_one_missing_map_of_several_costs_its_label_and_what_looks_at_all(tmp_path):
    before, after = without_map(tmp_path, "curvas-2024", "probability_liver.nii.gz")
    rows, whole = after.loc["B", "P2"], before.loc["B", "P2"]
    assert (
        set(rows.loc["dsc", "status"])
        == set(rows.loc["confidence", "pancreas"]["status"])
        == {"ok"}
    )
    assert set(rows.loc["ece", "status"]) == {"missing"}
    for name in ("confidence", "crps"):
        for label in ("liver", "all"):
            assert set(rows.loc[name, label]["status"]) == {"missing"}
            assert rows.loc[name, label]["detail"].str.contains("probability_liver").all()
    kept = whole.loc["confidence"].loc[["pancreas", "kidney"]]["value"].groupby(level=1).sum()
    mean = rows.loc["confidence", "all"]["value"]  # the liver counts 0, the worst there is
    assert (mean - kept / 3).abs().max() < 1e-12


def test_the_policy_may_call_a_mask_without_its_map_missing(tmp_path):
    _, after = without_map(tmp_path, missing_map="missing")
    rows = after.loc["B", "P2"]
    assert set(rows["status"]) == {"missing"}
    assert set(rows.loc["dsc", "value"]) == {0.0}


def test_a_run_says_which_maps_are_missing(tmp_path):
    write_benchmark("curvas-pdacvi-2025", tmp_path)
    (tmp_path / "predictions" / "A" / "P1" / "probability.nii.gz").unlink()
    places = {name: tmp_path / name for name in ("reference", "predictions")}
    results = segjury.run("curvas-pdacvi-2025", **places)
    assert [p for p in results.problems if "probability" in p and "P1, method A" in p]
