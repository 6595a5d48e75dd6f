"""Lesions of a case: of a consensus or of raters, in scores and in the table of details."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import ndimage

from segjury import metrics
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack, staple_foreground
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.protocols import Protocol
from segjury.scoring.score import score
from segjury.scoring.scorers.lesions.rows import MOST_LISTED

OF_MASKS = (
    *("lesion_f1", "lesion_recall", "lesion_precision", "pq", "small_lesion_recall"),
    "lesion_count_error",
)
SPACING_MM = (1.0, 1.0, 2.0)


def row(drawn):
    """An image of one row: `#` is marked."""
    return np.array([character == "#" for character in drawn])[:, None, None]


def scored(raters, mask, map_=None, policy=None, **options):
    """The rows and details of a prediction, and of its map."""
    raters = np.stack(raters)
    names = (*OF_MASKS, *(("froc",) if map_ is not None else ()))
    uses = [{"name": name, **options} for name in names]
    uses[5]["worst"] = 99.0  # of the number of lesions, which has no limit
    reference = {"raters": "annotation_{rater}", "n_raters": max(len(raters), 2)}
    protocol = Protocol(
        name="lesions", title="", reference=reference, metrics=uses, policy=policy or {}
    )
    grid = Grid(mask.shape, SPACING_MM)
    case = ReferenceCase(grid, pack(raters), ("lesion",), {})
    marks = SparseLabels.of(np.asfortranarray(mask.astype(np.uint8)))
    maps = () if map_ is None else (Volume(np.asfortranarray(map_, np.float32), grid),)
    return score(case, PredictedCase(marks, maps), protocol, ["corrected"])


def values(found):
    return {each.metric: each.value for each in found.rows}


def details(found, metric):
    return {(d.quantity, d.item): d.value for d in found.details if d.metric == metric}


def noise(seed, shape=(16, 15, 9)):
    return ndimage.uniform_filter(np.random.default_rng(seed).random(shape), 3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("of", ["consensus", "union"])
def test_a_scorer_says_what_the_function_does(seed, of):
    raters = [noise(seed) + (noise(10 * seed + k + 1) - 0.5) / 4 > 0.58 for k in range(3)]
    map_ = np.clip(noise(seed) + (noise(seed + 77) - 0.5) / 4, 0, 1).astype(np.float32)
    mask = map_ > 0.58
    patterns = pack(np.stack(raters))
    given = raters if of == "union" else patterns.image(staple_foreground(patterns))
    options = {"lesions": of, "smallest_mm3": 4.0, "connectivity": "faces"}
    found = scored(raters, mask, map_, **options)
    for name, value in values(found).items():
        other = map_ if name == "froc" else mask
        expected = getattr(metrics, name)(given, other, spacing_mm=SPACING_MM, **options)
        assert value == pytest.approx(expected, rel=1e-14), name
    assert 0 < values(found)["lesion_f1"] < 1


FIVE = [
    row(" ####   ###      ##"),
    row(" ###    ####       "),
    row("  ###              "),
    row("  ##               "),
    row(" ####              "),
]
HIT_AND_WRONG = row(" ###    ##   #     ")


def test_each_lesion_has_rows_with_its_volume_and_who_sees_it():
    found = details(scored(FIVE, HIT_AND_WRONG, lesions="union"), "lesion_f1")
    assert found == {
        ("lesions", "reference"): 1,
        ("lesions", "found"): 1,
        ("lesions", "prediction"): 2,
        ("lesions", "false positives"): 1,
        ("lesions", "disputed"): 2,
        ("lesions", "ignored"): 1,
        ("lesion_volume_mm3", "lesion 1"): 8,
        ("lesion_raters", "lesion 1"): 5,
        ("lesion_found", "lesion 1"): 1,
        ("lesion_iou", "lesion 1"): 0.75,
        ("lesion_volume_mm3", "disputed lesion 2"): 8,
        ("lesion_raters", "disputed lesion 2"): 2,
        ("lesion_volume_mm3", "disputed lesion 3"): 4,
        ("lesion_raters", "disputed lesion 3"): 1,
        ("lesion_volume_mm3", "false positive 1"): 2,
    }


def test_a_case_with_fewer_raters_asks_fewer_of_them():
    options = {"lesions": "union", "seen_by": 3}
    two = scored(FIVE[:2], HIT_AND_WRONG, **options)  # both must see a lesion, and see two
    assert details(two, "lesion_recall")["lesions", "reference"] == 2
    assert details(scored(FIVE, HIT_AND_WRONG, **options), "pq")["lesions", "reference"] == 1


def test_a_consensus_tells_how_many_raters_see_each_lesion():
    found = details(scored(FIVE[:3], HIT_AND_WRONG), "lesion_recall")
    seen = {item: value for (what, item), value in found.items() if what == "lesion_raters"}
    assert seen == {"lesion 1": 3, "lesion 2": 2}
    one = details(scored(FIVE[:1], HIT_AND_WRONG), "lesion_recall")
    assert not [key for key in one if key[0] == "lesion_raters"]


def test_panoptic_quality_has_its_factors():
    quality = details(scored([row("#### ##  # #")], row("###   #    #")), "pq")
    assert quality["quality", "segmentation"] == pytest.approx((3 / 4 + 1) / 2)
    assert quality["quality", "recognition"] == pytest.approx(2 * 2 / (4 + 3))


def test_recall_is_told_for_each_class_of_size():
    uses = [{"name": "small_lesion_recall", "size_bins_mm3": [2.0, 4.0]}]
    reference = {"raters": "annotation", "n_raters": 1}
    protocol = Protocol(name="sizes", title="", reference=reference, metrics=uses)
    mask, predicted = row("#### ##  # #"), row("###   #    #")
    case = ReferenceCase(Grid(mask.shape, SPACING_MM), pack(mask[None]), ("lesion",), {})
    marks = SparseLabels.of(np.asfortranarray(predicted.astype(np.uint8)))
    found = score(case, PredictedCase(marks), protocol, ["corrected"])
    assert values(found) == {"small_lesion_recall": 0.5}
    assert details(found, "small_lesion_recall") == {
        ("lesion recall", "up to 2 mm3"): 0.5,
        ("lesions", "up to 2 mm3"): 2,
        ("lesion recall", "2 to 4 mm3"): 1,
        ("lesions", "2 to 4 mm3"): 1,
        ("lesion recall", "above 4 mm3"): 1,
        ("lesions", "above 4 mm3"): 1,
    }


def test_a_curve_of_all_cases_can_be_drawn_from_the_rows_of_a_map():
    reference = row(" ##  ##      ")
    map_ = np.array([0, 9, 8, 0, 0, 0, 0, 0, 7, 0, 3, 3, 0])[:, None, None] / 10
    found = details(scored([reference], map_ > 0.5, map_), "froc")
    nan = pytest.approx(math.nan, nan_ok=True)
    assert {key: value for key, value in found.items() if key[0] != "sensitivity"} == {
        ("lesion_volume_mm3", "lesion 1"): 4,
        ("lesion_confidence", "lesion 1"): pytest.approx(0.9),
        ("lesion_volume_mm3", "lesion 2"): 4,
        ("lesion_confidence", "lesion 2"): nan,
        ("lesion_volume_mm3", "false positive 1"): 4,
        ("lesion_confidence", "false positive 1"): pytest.approx(0.3),
        ("lesion_volume_mm3", "false positive 2"): 2,
        ("lesion_confidence", "false positive 2"): pytest.approx(0.7),
    }
    assert found["sensitivity", "0.125 false positives"] == 0.5


def test_very_many_lesions_are_counted_and_not_all_listed():
    crumbs = np.zeros((41, 41, 3), bool)
    crumbs[::2, ::2, 1] = True  # 441 of one voxel
    map_ = np.where(crumbs, 0.5, 0.0)
    map_[40, 40, 1] = 0.9  # the last one is the surest
    found = scored([~crumbs & (np.arange(41) < 2)[:, None, None]], crumbs, map_)
    for metric in metrics.METRICS.keys() & set(values(found)):
        assert len(details(found, metric)) < 5 * MOST_LISTED
    assert details(found, "lesion_f1")["lesions without rows", "false positives"] == 241
    rows = details(found, "froc")
    assert rows["lesion_confidence", "false positive 441"] == pytest.approx(0.9)
    assert rows["lesions without rows", "false positives"] == 241
    assert not [item for _, item in rows if item == "false positive 300"]
    many = details(scored([crumbs], crumbs), "lesion_f1")
    assert many["lesions without rows", "reference"] == 241


# ---- nothing to find, and nothing found ----------------------------------------------------


@pytest.mark.parametrize(("prediction", "value"), [("      ", 1.0), ("   ## ", 0.0)])
def test_a_case_without_lesions_is_scored_by_its_false_positives(prediction, value):
    found = values(scored([row("      ")], row(prediction)))
    assert found.pop("lesion_count_error") == 1 - value
    assert set(found.values()) == {value}


def test_what_finds_a_disputed_lesion_is_no_false_positive_of_an_empty_case():
    raters = [row(" ##   "), row("      "), row("      ")]
    options = {"lesions": "union", "seen_by": 2}
    for prediction, value in ((" ##   ", 1.0), ("      ", 1.0), ("    # ", 0.0)):
        found = values(scored(raters, row(prediction), **options))
        assert {found[name] for name in OF_MASKS[:4]} == {value}
    left_out = scored(raters, row(" ##   "), policy={"empty_reference": "exclude"}, **options)
    assert {each.status for each in left_out.rows} == {"undefined"}


def test_a_reference_of_crumbs_alone_has_no_lesions():
    options = {"smallest_mm3": 4.0}
    assert values(scored([row(" #    ")], row(" #   #"), **options))["lesion_f1"] == 1
    assert values(scored([row(" #    ")], row(" ##   "), **options))["lesion_f1"] == 0


def test_a_prediction_without_lesions_is_to_blame_for_its_precision():
    rows = {each.metric: each for each in scored([row(" ##   ")], row("      ")).rows}
    assert rows["lesion_precision"].status == "undefined"
    assert "the prediction has no lesion" in rows["lesion_precision"].detail
    assert rows["lesion_precision"].value == 0


def test_a_reference_without_small_lesions_leaves_their_recall_undefined():
    big = np.ones((10, 10, 10), bool)
    rows = {each.metric: each for each in scored([big], big).rows}
    assert math.isnan(rows["small_lesion_recall"].value)
    assert rows["small_lesion_recall"].detail.endswith("the reference has no lesion up to 500 mm3")
    assert rows["lesion_recall"].value == 1


def test_a_map_of_a_case_without_lesions_has_no_sensitivity():
    found = scored([row("      ")], row("      "), row("  ##  ") * 0.7)
    froc = next(each for each in found.rows if each.metric == "froc")
    assert (froc.status, math.isnan(froc.value)) == ("undefined", True)
    assert details(found, "froc")["lesion_confidence", "false positive 1"] == pytest.approx(0.7)
