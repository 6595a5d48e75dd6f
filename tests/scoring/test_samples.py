"""Samples beside a reference: scores, the numbers behind them, and what having none costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from segjury import metrics
from segjury.analysis.ranking import Panel
from segjury.analysis.redrawn_raters import rater_scores
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import METRICS
from segjury.metrics.laws import check_laws
from segjury.protocols import Protocol
from segjury.scoring import one_case
from segjury.scoring.policy import penalty_rows
from segjury.scoring.score import score

GRID = Grid((12, 10, 8), (1.0, 2.0, 3.0))
OF_SAMPLES = [name for name, metric in METRICS.items() if metric.needs_samples]
VOLUMES = {"crps_samples", "interval_score"}
LABELS = {"liver": 1, "spleen": 2}


def label_maps(seed, n):
    """Maps of two labels that differ at random."""
    return np.random.default_rng(seed).choice(3, (n, *GRID.shape), p=[0.6, 0.2, 0.2])


def marks(labels):
    return SparseLabels.of(np.asfortranarray(labels.astype(np.uint8)))


def protocol(names=OF_SAMPLES, n_raters=3, options=None, **more):
    uses = [
        {"name": name, "readings": ["corrected"]}
        | ({"worst": "empty-prediction"} if METRICS[name].worst is None else {})
        | (options or {}).get(name, {})
        for name in names
    ]
    reference = {"raters": "annotation_{rater}", "n_raters": n_raters, "labels": LABELS}
    return Protocol(name="sets", title="", reference=reference, metrics=uses, **more)


RATERS, SAMPLES = label_maps(0, 3), label_maps(1, 4)
REFERENCE = ReferenceCase(GRID, pack(RATERS, n_labels=3), tuple(LABELS), {}, raters=("a", "b", "c"))


def predicted(samples, **more):
    return PredictedCase(marks(RATERS[0]), samples=tuple(map(marks, samples)), **more)


def scored(prediction, given=None):
    found = score(REFERENCE, prediction, given or protocol(), ["corrected"])
    return found, {(row.metric, row.structure): row for row in found.rows}


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_a_score_is_that_of_the_function_for_each_label(name):
    _, rows = scored(predicted(SAMPLES[:3]))
    more = {"spacing_mm": GRID.spacing_mm} if name in VOLUMES else {}
    values = []
    for organ, label in LABELS.items():
        values.append(getattr(metrics, name)(label == RATERS, SAMPLES[:3] == label, **more))
        assert rows[name, organ].value == pytest.approx(values[-1], rel=1e-12)
        assert rows[name, organ].status == "ok"
    assert rows[name, "all"].value == pytest.approx(np.mean(values))
    assert rows[name, "all"].unit == ("cm3" if name in VOLUMES else "")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ged", {"estimator": "fair"}),
        ("crps_samples", {"estimator": "biased"}),
        ("dice_max", {"average": "samples"}),
        ("dice_soft", {"thresholds": {"first": 0.1, "last": 0.9, "count": 9}}),
        ("volume_coverage", {"level": 0.3}),
        ("interval_score", {"level": 0.3}),
    ],
)
def test_options_are_those_of_the_function(name, options):
    _, rows = scored(predicted(SAMPLES), protocol([name], options={name: options}))
    if name == "dice_soft":
        options = {"thresholds": [k / 10 for k in range(1, 10)]}
    more = {"spacing_mm": GRID.spacing_mm} if name in VOLUMES else {}
    expected = getattr(metrics, name)(RATERS == 1, SAMPLES == 1, **options, **more)
    usual = getattr(metrics, name)(RATERS == 1, SAMPLES == 1, **more)
    assert rows[name, "liver"].value == pytest.approx(expected, rel=1e-12)
    assert name == "volume_coverage" or expected != pytest.approx(usual)


def test_the_numbers_of_samples_and_raters_are_said_where_they_do_not_fit():
    _, rows = scored(predicted(SAMPLES))
    row = rows["dice_per_rater", "liver"]
    assert (row.status, row.value) == ("undefined", 0.0)  # by fault of the prediction
    assert row.detail == "4 samples for 3 raters, expected one for each in their order"
    assert rows["dice_match", "liver"].detail == ""
    _, rows = scored(predicted(SAMPLES[:2]))
    row = rows["dice_match", "spleen"]
    assert row.status == "ok"
    assert "2 samples for 3 raters: those left without one count as 0" in row.detail


def test_details_name_the_raters():
    found, rows = scored(predicted(SAMPLES[:3]))
    for name in ("dice_max", "dice_per_rater", "crps_samples", "interval_score", "volume_coverage"):
        parts = [d for d in found.details if (d.metric, d.structure) == (name, "liver")]
        assert [part.item for part in parts] == ["rater a", "rater b", "rater c"]
        mean = np.mean([part.value for part in parts])
        assert mean == pytest.approx(rows[name, "liver"].value)


def test_scores_can_be_taken_again_with_other_raters():
    """As the function scores them when a rater is there twice and another is not."""
    names = ["crps_samples", "dice_max", "interval_score", "volume_coverage"]
    given = protocol(names)
    one = given.model_copy(
        update={"reference": given.reference.model_copy(update={"labels": {"liver": 1}})}
    )
    reference = replace(REFERENCE, patterns=pack(RATERS == 1), label_names=("liver",))
    found = score(reference, predicted(SAMPLES * (SAMPLES == 1)), one, ["corrected"])
    values = np.array([[[row.value]] for row in found.rows])
    panel = Panel(
        reading="corrected",
        methods=("A",),
        cases=("P1",),
        keys=tuple(names),
        metrics=tuple(names),
        higher=np.array([METRICS[name].direction == "higher" for name in names]),
        values=values,
        lost=np.zeros(values.shape, bool),
        assigned=np.zeros(values.shape, bool),
    )
    details = pd.DataFrame([vars(each) for each in found.details])
    again = rater_scores(panel, details.assign(method="A", case="P1"))
    assert set(again.keys) == set(names)
    taken = again.with_counts(np.array([2.0, 0.0, 1.0])).values[:, 0, 0]
    for name, value in zip(names, taken, strict=True):
        more = {"spacing_mm": GRID.spacing_mm} if name in VOLUMES else {}
        expected = getattr(metrics, name)(RATERS[[0, 0, 2]] == 1, SAMPLES == 1, **more)
        assert value == pytest.approx(expected)


# ---- a prediction without samples ----------------------------------------------------------


def judged(prediction, given):
    """The rows of a prediction and what is said of it, as a run has them."""
    task = one_case.CaseTask(given, ("corrected",), None, None, "P1", ("A",))
    found = one_case._judged(task, REFERENCE, lambda: prediction)
    rows = {(row.metric, row.structure): row for row in found.scored.rows}
    return rows, found.problem, found.fault


def test_without_samples_the_scores_of_mask_and_maps_stand():
    maps = tuple(
        Volume(np.asfortranarray((RATERS[0] == label).astype(np.float32)), GRID)
        for label in LABELS.values()
    )
    given = protocol(["dice", "thr_dsc", "ged", "crps_samples", "dice_per_rater"])
    whole, problem, _ = judged(predicted(SAMPLES, probabilities=maps), given)
    assert problem == ""
    without, problem, fault = judged(
        predicted([], probabilities=maps, no_samples="sample_01.nii.gz is missing"), given
    )
    assert (problem, fault) == ("sample_01.nii.gz is missing", "")
    assert list(whole) == list(without)
    for key, row in without.items():
        if METRICS[key[0]].needs_samples:
            assert (row.status, row.detail) == ("missing", problem)
        else:
            assert row == whole[key]
    assert without["ged", "liver"].value == 2
    assert without["dice_per_rater", "all"].value == 0
    empty, _, _ = judged(predicted([SAMPLES[0] * 0] * 3, probabilities=maps), given)
    assert without["crps_samples", "all"].value == empty["crps_samples", "all"].value


def test_maps_and_samples_may_both_be_missing():
    prediction = predicted([], no_maps=dict.fromkeys((1, 2), "no map"), no_samples="no sample")
    rows, problem, _ = judged(prediction, protocol(["dice", "thr_dsc", "ged"]))
    assert problem == "no map; no sample"
    for name, detail in (("dice", ""), ("thr_dsc", "no map"), ("ged", "no sample")):
        assert rows[name, "liver"].detail == detail
    assert (rows["dice", "liver"].status, rows["ged", "liver"].status) == ("ok", "missing")


def test_a_prediction_that_says_nothing_of_samples_has_none():
    rows, problem, _ = judged(predicted([]), protocol(["dice", "ged"]))
    assert rows["ged", "all"].status == "missing"
    assert problem == "the prediction has no samples"


def test_a_missing_prediction_costs_the_worst_of_every_metric():
    rows = penalty_rows(protocol(), ["corrected"], REFERENCE, "missing", "")
    values = {row.metric: row.value for row in rows if row.structure == "liver"}
    for name, value in values.items():
        if METRICS[name].worst is not None:
            assert value == METRICS[name].worst
    sizes = (RATERS == 1).sum(axis=(1, 2, 3)) * 6 / 1000
    assert values["crps_samples"] == pytest.approx(sizes.mean())
    assert values["interval_score"] == pytest.approx(20 * sizes.mean())


# ---- metrics of others ---------------------------------------------------------------------

CODE = """
from segjury.metrics import Metric

def _emptier(reference, prediction, *, spacing_mm, samples):
    return (samples > 0).mean() / 2 + len(samples) / 100

sample_{scope} = Metric(
    name="sample_{scope}",
    title="Samples",
    summary="What it is given of samples.",
    direction="lower",
    bounds=(0.0, 1.0),
    scope="{scope}",
    needs_samples=True,
    score=_emptier,
)
"""


@pytest.mark.parametrize("scope", ["label", "case"])
def test_a_metric_of_a_third_party_gets_the_samples(tmp_path, monkeypatch, scope):
    (tmp_path / f"others_{scope}.py").write_text(CODE.format(scope=scope))
    monkeypatch.syspath_prepend(tmp_path)
    place = f"others_{scope}:sample_{scope}"
    uses = [{"python": place, "readings": ["corrected"]}]
    given = protocol().model_dump() | {"metrics": uses}
    given = Protocol.model_validate(given, context={"allow_code": True})
    _, rows = scored(predicted(SAMPLES), given)
    expected = (SAMPLES == 2 if scope == "label" else SAMPLES > 0).mean() / 2 + 0.04
    structure = "spleen" if scope == "label" else "all"
    assert rows[f"sample_{scope}", structure].value == pytest.approx(expected)
    rows, _, _ = judged(predicted([]), given)
    assert {row.status for row in rows.values()} == {"missing"}


def test_the_laws_give_a_third_party_metric_its_samples():
    def energy(_reference, _prediction, *, spacing_mm, raters, samples, estimator):
        assert len(spacing_mm) == 3
        return metrics.ged(raters, samples, estimator=estimator)

    assert not any(check_laws(replace(METRICS["ged"], score=energy)).values())


def test_what_is_no_proper_score_is_not_ranked_unless_asked_for():
    ranked = protocol().ranked_metrics("corrected")
    assert set(OF_SAMPLES) - set(ranked) == {"volume_coverage", "interval_score"}
    asked = protocol(options={"interval_score": {"ranked": True}})
    assert "interval_score" in asked.ranked_metrics("corrected")
