"""The rules of a ranking: which metrics of a table count, and that the others are named."""

from __future__ import annotations

import pandas as pd

from segjury.analysis.study import Study
from segjury.protocols import load_protocol
from segjury.report.content import content
from segjury.results import Results, Run
from tests.score_tables import make_scores


def of_run(scores):
    """Results of a run of PDACVI with these scores."""
    definition = load_protocol("curvas-pdacvi-2025").model_dump(mode="json")
    run = Run.model_validate({"protocol": {"name": "curvas-pdacvi-2025", "definition": definition}})
    return Results(scores, run=run)


def added(metric, **cells):
    """A run's table with a metric that its protocol does not have."""
    scores = make_scores(cases=6)
    rows = scores[scores["metric"] == "dsc"].assign(metric=metric, **cells)
    return pd.concat([scores, rows], ignore_index=True)


def test_metrics_that_the_protocol_lacks_are_named_and_not_ranked():
    study = Study.of(of_run(added("hausdorff")), samples=100)
    note = "not in the protocol, and not ranked: hausdorff"
    board, *_ = study.leaderboards()
    assert "hausdorff" not in board.table.columns
    assert note in board.notes
    assert note in study.analysis.notes
    assert f"Note: {note}." in study.sentences
    assert any(note in sentence for sentence in content(study).summary)


def test_metrics_of_another_reading_alone_are_named():
    study = Study.of(of_run(added("hausdorff", reading="given")), samples=100)
    (note,) = [note for note in study.leaderboards()[0].notes if "hausdorff" in note]
    assert note == "without rows in the corrected reading, and not ranked: hausdorff"


def test_a_metric_that_declares_itself_unranked_is_named_in_a_table_of_others():
    scores = make_scores(readings=("given",), metrics=("dsc",))
    angles = scores.assign(metric="contact_angle", structure="PORTA", unit="")
    study = Study.of(Results(pd.concat([scores, angles])), samples=100)
    (note,) = [note for note in study.leaderboards()[0].notes if "contact_angle" in note]
    assert note == "not ranked unless chosen: contact_angle"


def test_nothing_is_said_of_metrics_that_were_not_chosen_or_do_not_count_in_the_protocol():
    scores = pd.concat([added("hausdorff"), added("contact_angle")]).drop_duplicates()
    study = Study.of(of_run(scores), metrics=["dsc"], samples=100)
    assert not [note for note in study.leaderboards()[0].notes if "not ranked" in note]
    study = Study.of(of_run(added("contact_angle")), samples=100)
    assert not [note for note in study.leaderboards()[0].notes if "not ranked" in note]
