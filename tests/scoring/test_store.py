"""Kept results come back as they were, or not at all."""

from __future__ import annotations

from segjury.scoring.records import CalibrationBin, Detail, Fact, Result, Row
from segjury.scoring.store import Store

RESULT = Result(
    "A",
    "P1",
    (Row("dsc", "all", "corrected", 0.1, "", "failed", "it is broken"),),
    (Detail("dsc", "all", "corrected", "voxels", "missed", 3.0),),
    "it is broken",
    "passing",
    (Fact("liver", "dsc", "1", "consensus", 0.5), Fact("all", "mean_pairwise_dsc", "", "", 0.25)),
    (CalibrationBin("ece", "all", "corrected", 0.0, 0.5, 7, 1.5, (3, 4), ("1", "2")),),
)


def test_a_kept_result_comes_back_as_it_was(tmp_path):
    store = Store(tmp_path)
    store.save(RESULT, "fingerprint")
    assert store.load("P1", "A", "fingerprint") == RESULT


def test_a_result_of_other_inputs_or_of_other_settings_is_not_taken(tmp_path):
    Store(tmp_path).save(RESULT, "fingerprint")
    assert Store(tmp_path).load("P1", "A", "another") is None
    assert Store(tmp_path, ["released"]).load("P1", "A", "fingerprint") is None


def test_a_result_that_was_changed_since_is_not_taken(tmp_path):
    store = Store(tmp_path)
    store.save(RESULT, "fingerprint")
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text().replace("0.25", "0.75"))
    assert store.load("P1", "A", "fingerprint") is None
