"""Scores of probability maps in a benchmark: regions, several labels, details and notes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from segjury import metrics
from segjury.arrays import flat
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.protocols import Protocol
from segjury.scoring.score import score

SHAPE, SPACING = (14, 13, 12), (1.0, 1.5, 2.0)
OF_MAPS = ["brier", "nll", "pooled_ece", "adaptive_ece", "ace", "mce", "aurc", "e_aurc", "augrc"]
NEAR = {"region": "near", "padding_voxels": 2}


def labels_and_maps(seed, n_raters=3):
    """Two labels that raters place differently, and maps with zeros, ties and odd values."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n_raters, *SHAPE), np.uint8)
    for k in range(n_raters):
        x, y = rng.integers(2, 4, 2)
        labels[k, x : x + 4, y : y + 5, 3:8] = 1
        labels[k, x + 5 : x + 8, y : y + 3, 4:9] = 2
    maps = [rng.random(SHAPE) * (labels == label).mean(axis=0).clip(0.02) for label in (1, 2)]
    maps[0][rng.random(SHAPE) < 0.4] = 0
    return labels, [np.asfortranarray(p.astype(np.float32)) for p in maps]


def rows_of(labels, maps, uses, **reference):
    """Rows and details of the metrics in some uses."""
    grid = Grid(SHAPE, SPACING)
    names = ("lesion", "organ")[: len(maps)]
    case = ReferenceCase(grid, pack(labels, n_labels=len(maps) + 1), names, {}, **reference)
    mask = np.zeros(SHAPE, np.uint8, order="F")
    for number, p in enumerate(maps, 1):
        mask[p > 0.5] = number
    prediction = PredictedCase(SparseLabels.of(flat(mask)), tuple(Volume(p, grid) for p in maps))
    form = {
        "raters": "annotation_{rater}",
        "n_raters": len(labels),
        "labels": {name: k for k, name in enumerate(names, 1)},
    }
    protocol = Protocol(name="maps", title="", reference=form, metrics=uses)
    return score(case, prediction, protocol, ["corrected"])


def use(name, **options):
    needs_worst = {"worst": 100.0} if metrics.METRICS[name].worst is None else {}
    return {"name": name} | needs_worst | options


@pytest.mark.parametrize("options", [{}, NEAR], ids=["image", "near"])
@pytest.mark.parametrize("name", [*OF_MAPS, "uncertainty_ncc"])
def test_a_label_is_scored_by_its_own_map_and_marks(name, options):
    labels, maps = labels_and_maps(0)
    rows = {row.structure: row for row in rows_of(labels, maps, [use(name, **options)]).rows}
    measure = getattr(metrics, name)
    expected = [measure(labels == k, maps[k - 1], **options) for k in (1, 2)]
    found = [rows[structure].value for structure in ("lesion", "organ", "all")]
    np.testing.assert_allclose(found, [*expected, np.mean(expected)], rtol=1e-11)


def test_the_band_has_the_spacing_of_the_grid():
    labels, maps = labels_and_maps(1)
    rows = rows_of(labels, maps, [use("boundary_ece", band_mm=2.1, bins=10)]).rows
    expected = [
        metrics.boundary_ece(labels == k, maps[k - 1], spacing_mm=SPACING, band_mm=2.1, bins=10)
        for k in (1, 2)
    ]
    np.testing.assert_allclose([row.value for row in rows[:2]], expected, rtol=1e-12)
    assert rows[0].detail == "within 2.1 mm of the raters' outlines"


def test_class_wise_error_is_one_value_of_the_case():
    labels, maps = labels_and_maps(2)
    scored = rows_of(labels, maps, [use("classwise_ece"), use("pooled_ece")])
    (classwise,) = [row for row in scored.rows if row.metric == "classwise_ece"]
    assert classwise.value == pytest.approx(metrics.classwise_ece(labels, maps), rel=1e-12)
    details = [d for d in scored.details if d.metric == "classwise_ece"]
    assert [d.item for d in details] == ["lesion", "organ"]


def test_empirical_crps_is_in_cm3():
    labels, maps = labels_and_maps(3)
    scored = rows_of(labels == 1, maps[:1], [use("crps_empirical")])
    voxel_cm3 = math.prod(SPACING) / 1000
    volumes = [voxel_cm3 * np.count_nonzero(each == 1) for each in labels]
    predicted = voxel_cm3 * maps[0].sum(dtype=float)
    expected = metrics.crps_empirical(volumes, predicted)
    assert scored.rows[0].value == pytest.approx(expected, rel=1e-12)
    assert [d.item for d in scored.details] == ["rater 1", "rater 2", "rater 3", "prediction"]


@pytest.mark.parametrize("name", ["brier", "nll"])
def test_details_name_each_rater_their_mean_and_the_lowest_score(name):
    labels, maps = labels_and_maps(4)
    masks, p = labels == 1, maps[0]
    scored = rows_of(masks, maps[:1], [use(name)], raters=("Ada", "Bo", "Cy"))
    found = {d.item: d.value for d in scored.details}
    measure = getattr(metrics, name)
    for rater, mask in zip(("Ada", "Bo", "Cy"), masks, strict=True):
        assert found[f"rater {rater}"] == pytest.approx(measure([mask], p), rel=1e-12)
    share = masks.mean(axis=0)
    lowest = measure(masks, share)
    assert found["lowest possible"] == pytest.approx(lowest, rel=1e-12)
    of_mean = {"brier": np.mean((p - share) ** 2), "nll": scored.rows[0].value}[name]
    assert found["mean of raters"] == pytest.approx(of_mean, rel=1e-9)


def test_the_excess_of_brier_is_its_distance_from_the_mean_of_the_raters():
    labels, maps = labels_and_maps(5)
    scored = rows_of(labels == 1, maps[:1], [use("brier")])
    found = {d.item: d.value for d in scored.details}
    excess = scored.rows[0].value - found["lowest possible"]
    assert excess == pytest.approx(found["mean of raters"], rel=1e-12)


def test_details_of_aurc_are_the_ends_of_its_range():
    labels, maps = labels_and_maps(6)
    uses = [use("aurc"), use("e_aurc")]
    scored = rows_of(labels == 1, maps[:1], uses)
    found = {d.item: d.value for d in scored.details}
    aurc, e_aurc = (row.value for row in scored.rows)
    assert found["best order"] == pytest.approx(aurc - e_aurc, rel=1e-12)
    wrong = np.where(maps[0] > 0.5, 1 - (labels == 1).mean(axis=0), (labels == 1).mean(axis=0))
    assert found["all voxels"] == pytest.approx(wrong.mean(), rel=1e-12)


# ---- what is undefined ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*OF_MAPS, "uncertainty_ncc"])
def test_near_marks_that_are_not_there_nobody_is_scored(name):
    labels, maps = labels_and_maps(7)
    (row,) = rows_of(0 * labels, maps[:1], [use(name, **NEAR)]).rows
    assert (row.status, row.detail.split("; ")[-1]) == ("undefined", "no rater marked anything")
    assert math.isnan(row.value)


def test_without_an_outline_the_band_is_empty():
    labels, maps = labels_and_maps(8)
    (row,) = rows_of(0 * labels, maps[:1], [use("boundary_ece")]).rows
    assert row.status == "undefined"
    assert row.detail.endswith("no rater draws an outline inside the image")


def test_raters_who_agree_leave_the_correlation_undefined_for_all():
    labels, maps = labels_and_maps(9)
    agreed = np.stack([labels[0] == 1] * 3)
    (row,) = rows_of(agreed, maps[:1], [use("uncertainty_ncc")]).rows
    assert math.isnan(row.value)
    assert row.detail == "variance; the raters disagree nowhere, or everywhere alike"


def test_a_map_without_uncertainty_is_to_blame():
    labels, maps = labels_and_maps(10)
    hard = [np.asfortranarray((maps[0] > 0.3).astype(np.float32))]
    (row,) = rows_of(labels == 1, hard, [use("uncertainty_ncc")]).rows
    assert (row.status, row.value) == ("undefined", -1)
    assert row.detail == "variance; the map is equally uncertain everywhere"


def test_a_case_with_fewer_raters_is_scored_against_these():
    labels, maps = labels_and_maps(11, n_raters=2)
    scored = rows_of(labels == 1, maps[:1], [use("brier")])
    assert scored.rows[0].value == pytest.approx(metrics.brier(labels == 1, maps[0]), rel=1e-12)
    assert len(scored.details) == 4
