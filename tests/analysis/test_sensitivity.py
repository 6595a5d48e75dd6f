from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from segjury.analysis.ranking import Ranking, Rules, leaderboard
from segjury.analysis.ranking.consensus import kemeny
from segjury.analysis.sensitivity import sensitivity

METHODS = ("A", "B", "C", "D")
METRICS = ("dsc", "crps", "vi")
CASES = tuple("123456789")


def table_of(seed=0, reading="corrected", cases=CASES, metrics=METRICS):
    """Scores with two digits, so that rules for ties and digits matter."""
    rng = np.random.default_rng(seed)
    rows = [
        (method, case, metric, rng.integers(2, 7) / 10 + rng.integers(0, 3) / 1000)
        for metric in metrics
        for method in METHODS
        for case in cases
    ]
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    return table.assign(structure="all", reading=reading, status="ok", cohort="")


def check(variant, board, main):
    """A variant is a leaderboard, its tau scipy's."""
    methods = list(METHODS)
    np.testing.assert_allclose(variant.mean_rank, board.mean_rank[methods], rtol=1e-12)
    assert variant.places.tolist() == board.position[methods].tolist()
    pair = (board.mean_rank[methods].round(10), main.mean_rank[methods].round(10))
    np.testing.assert_allclose(variant.tau, kendalltau(*pair).statistic, atol=1e-12)


BASES = [
    Ranking(),
    Ranking(scheme="aggregate-then-rank", aggregate="median", ties="min"),
    Ranking(scheme="rank-then-aggregate", digits=2, weights={"vi": 2.0}),
    Ranking(scheme="test-then-rank", ties="dense", alpha=0.3),
    Ranking(aggregate=0.25, digits=3),
]


@pytest.mark.parametrize("ranking", BASES, ids=lambda r: f"{r.scheme}, {r.aggregate}, {r.ties}")
def test_each_variant_is_the_leaderboard_with_that_one_change(ranking):
    table, main = table_of(1), leaderboard(table_of(1), ranking=ranking)
    found = sensitivity(Rules().panel(table), ranking)
    assert found.places.tolist() == main.position[list(METHODS)].tolist()
    assert found.skipped == ()
    for variant in found.variants:
        if variant.kind == "without case":
            board = leaderboard(table[table["case"] != variant.choice], ranking=ranking)
        elif variant.kind == "without metric":
            board = leaderboard(table[table["metric"] != variant.choice], ranking=ranking)
        else:
            value = int(variant.choice) if variant.kind == "digits" else variant.choice
            changed = ranking.model_copy(update={variant.kind: value})
            assert changed != ranking
            board = leaderboard(table, ranking=changed)
        check(variant, board, main)


@pytest.mark.parametrize("ranking", BASES, ids=lambda r: f"{r.scheme}, {r.aggregate}, {r.ties}")
def test_everything_is_changed_once(ranking):
    found = sensitivity(Rules().panel(table_of(1)), ranking)
    kinds = {kind: [v.choice for v in found.of_kind(kind)] for kind in dict.fromkeys(
        variant.kind for variant in found.variants)}  # fmt: skip
    by_value = {"mean-of-metric-ranks", "aggregate-then-rank"}  # one scheme by two names
    schemes = {"mean-of-metric-ranks", "rank-then-aggregate", "test-then-rank"}
    schemes -= by_value if ranking.scheme in by_value else {ranking.scheme}
    assert set(kinds["scheme"]) == schemes
    assert set(kinds["aggregate"]) == {"mean", "median"} - {ranking.aggregate}
    assert set(kinds["ties"]) == {"average", "min", "max", "dense"} - {ranking.ties}
    assert kinds.get("digits", []) == [d for d in ("3", "2") if int(d) < ranking.digits]
    assert kinds["without metric"] == list(METRICS)
    assert kinds["without case"] == list(CASES)
    assert set(kinds) <= {"scheme", "aggregate", "ties", "digits", "without metric", "without case"}


def test_other_readings_are_ranked_by_their_own_scores():
    table, other = table_of(2), table_of(3, "released")
    panels = {"released": Rules().panel(other)}
    found = sensitivity(Rules().panel(table), Ranking(), others=panels)
    (variant,) = found.of_kind("reading")
    assert variant.choice == "released"
    check(variant, leaderboard(other), leaderboard(table))
    fewer = {"released": Rules().panel(other[other["method"] != "D"])}
    assert not sensitivity(Rules().panel(table), Ranking(), others=fewer).of_kind("reading")


def test_leaving_out_the_only_case_of_a_score_leaves_out_the_score():
    table = table_of(4)
    rare = (table["metric"] == "vi") & (table["case"] != "5")
    table.loc[rare, "value"] = np.nan
    ranking = Ranking(scheme="rank-then-aggregate")
    found = sensitivity(Rules().panel(table), ranking).of_kind("without case")
    main = leaderboard(table, ranking=ranking)
    for variant in found:
        check(variant, leaderboard(table[table["case"] != variant.choice], ranking=ranking), main)


def test_leaving_out_the_only_case_of_a_score_that_is_tested():
    table = table_of(4)
    table.loc[(table["metric"] == "vi") & (table["case"] != "5"), "value"] = np.nan
    ranking = Ranking(scheme="test-then-rank")
    found = sensitivity(Rules().panel(table), ranking).of_kind("without case")
    main = leaderboard(table, ranking=ranking)
    for variant in found:
        check(variant, leaderboard(table[table["case"] != variant.choice], ranking=ranking), main)


def test_one_case_and_one_metric_leave_little_to_change():
    table = table_of(5, cases=("1",), metrics=("dsc",))
    found = sensitivity(Rules().panel(table), Ranking())
    assert {variant.kind for variant in found.variants} == {"scheme", "ties", "digits"}
    assert [v.choice for v in found.of_kind("scheme")] == ["rank-then-aggregate"]


def test_the_consensus_is_over_choices_and_not_over_cases():
    found = sensitivity(Rules().panel(table_of(6)), Ranking())
    orders = [found.places]
    orders += [variant.places for variant in found.variants if variant.kind != "without case"]
    assert found.consensus == kemeny(np.stack(orders))


def test_new_leaders_are_where_none_of_the_first_is_first():
    rows = [("A", c, "dsc", v) for c, v in zip("123", (0.9, 0.9, 0.1), strict=True)]
    rows += [("B", c, "dsc", v) for c, v in zip("123", (0.6, 0.6, 0.6), strict=True)]
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    table = table.assign(structure="all", reading="given", status="ok", cohort="")
    found = sensitivity(Rules().panel(table), Ranking())
    assert found.places.tolist() == [1, 2]  # 0.633 against 0.6
    assert [v.choice for v in found.new_leaders("without case")] == ["1", "2"]
    assert found.new_leaders("aggregate") == []
