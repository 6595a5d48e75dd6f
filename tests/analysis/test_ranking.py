from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from segjury.analysis.ranking import (
    Ranking,
    Rules,
    cohorts,
    doubtful_directions,
    leaderboard,
    notes,
    readings,
)
from segjury.errors import InputError
from segjury.metrics import READINGS
from segjury.protocols import load_protocol
from segjury.results import Run
from segjury.results.read import read_scores
from tests.places import PUBLISHED


def long_table(rows, **columns):
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    defaults = {"structure": "all", "reading": "given", "unit": "", "status": "ok", "detail": ""}
    return table.assign(**(defaults | {"cohort": ""} | columns))


def test_the_published_test_ranks_come_out_rank_for_rank():
    board = leaderboard(read_scores(PUBLISHED / "curvas_pdacvi_test.csv"))
    printed = pd.read_csv(PUBLISHED / "curvas_pdacvi_test.csv").set_index("method")
    for column in [c for c in printed.columns if c.startswith("rank_")]:
        name = column.removeprefix("rank_").replace("_percent", "").replace("_e3", "")
        name = name.replace("_cm3", "")
        key = f"vi {name[3:].replace('_', ' ').upper()}" if name.startswith("vi_") else name
        assert board.ranks[key].to_dict() == printed[column].to_dict()
    expected = printed[[c for c in printed.columns if c.startswith("rank_")]].mean(axis=1)
    np.testing.assert_allclose(board.mean_rank, expected[board.mean_rank.index])
    assert board.position.index[0] == "TwinTrack"


def test_the_high_complexity_table_comes_out_to_the_printed_digit():
    board = leaderboard(read_scores(PUBLISHED / "curvas_pdacvi_high_complexity.csv"))
    printed = pd.read_csv(PUBLISHED / "curvas_pdacvi_high_complexity.csv").set_index("method")
    assert board.mean_rank.round(2).to_dict() == printed["mean_rank"].to_dict()
    assert board.sd_rank.round(2).to_dict() == printed["sd_rank"].to_dict()
    assert list(board.position.index) == list(printed.index)


def test_direction_ties_and_positions_by_hand():
    rows = [
        ("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.9), ("C", "1", "dsc", 0.5),
        ("A", "1", "crps", 3.0), ("B", "1", "crps", 1.0), ("C", "1", "crps", 2.0),
    ]  # fmt: skip
    board = leaderboard(long_table(rows))
    assert board.ranks["dsc"].to_dict() == {"A": 1.5, "B": 1.5, "C": 3.0}
    assert board.ranks["crps"].to_dict() == {"A": 3.0, "B": 1.0, "C": 2.0}
    assert board.mean_rank.to_dict() == {"B": 1.25, "A": 2.25, "C": 2.5}
    assert board.sd_rank["A"] == 0.75
    assert list(board.table.columns) == [
        "method", "position", "mean_rank", "sd_rank", "dsc", "rank_dsc", "crps", "rank_crps",
    ]  # fmt: skip


def test_a_difference_in_the_last_bit_is_a_tie():
    noise = [0.1 + 0.2, 0.3]  # the same number but for the order of additions
    assert noise[0] != noise[1]
    rows = [("A", "1", "dsc", noise[0]), ("B", "1", "dsc", noise[1])]
    assert leaderboard(long_table(rows)).ranks["dsc"].to_dict() == {"A": 1.5, "B": 1.5}


def test_equal_mean_ranks_share_a_position():
    rows = [("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.8)]
    rows += [("A", "1", "crps", 2.0), ("B", "1", "crps", 1.0)]
    assert leaderboard(long_table(rows)).position.to_dict() == {"A": 1, "B": 1}


def test_median_over_cases():
    rows = [("A", c, "dsc", v) for c, v in zip("123", (0.1, 0.8, 0.9), strict=True)]
    rows += [("B", c, "dsc", v) for c, v in zip("123", (0.7, 0.7, 0.7), strict=True)]
    assert leaderboard(long_table(rows)).position["B"] == 1
    assert leaderboard(long_table(rows), ranking=Ranking(aggregate="median")).position["A"] == 1


def test_unknown_direction_is_never_guessed():
    rows = [("A", "1", "speed", 3.0), ("B", "1", "speed", 1.0)]
    with pytest.raises(InputError, match=r"more is better for speed.*`higher="):
        leaderboard(long_table(rows))
    assert leaderboard(long_table(rows), directions={"speed": "higher"}).position["A"] == 1


def test_a_case_that_one_method_lacks_is_an_error_or_left_out_for_all():
    rows = [("A", "1", "dsc", 0.9), ("A", "2", "dsc", 0.1), ("B", "1", "dsc", 0.8)]
    with pytest.raises(InputError, match=r"method B has no value of dsc .* case 2"):
        leaderboard(long_table(rows))
    board = leaderboard(long_table(rows), ranking=Ranking(missing="exclude"))
    assert board.values["dsc"].to_dict() == {"A": 0.9, "B": 0.8}


def test_a_case_undefined_for_all_is_left_out():
    rows = [(m, c, "dsc", v) for m in "AB" for c, v in (("1", 0.5), ("2", np.nan))]
    assert leaderboard(long_table(rows)).values["dsc"].to_dict() == {"A": 0.5, "B": 0.5}


def test_what_was_not_scored_is_noted():
    rows = [("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.0)]
    rows += [("A", "2", "dsc", np.nan), ("B", "2", "dsc", np.nan)]
    table = long_table(rows, status=["ok", "missing", "failed", "failed"])
    lost, bad = notes(table, "given")
    assert lost == "2 has no score for any method and has no part in the ranking"
    assert bad == "missing or failed predictions, scored as the protocol says: B 1 of 1"
    assert notes(long_table(rows[:1]), "given") == []
    table = long_table(rows[:2], status=["ok", "over_limit"])
    assert notes(table, "given") == [
        "predictions over the limit, scored as the protocol says: B 1 of 1"
    ]


def test_readings_cohorts_and_metrics_select_rows():
    rows = [("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.8)]
    rows += [("A", "2", "dsc", 0.1), ("B", "2", "dsc", 0.8)]
    table = long_table(rows, reading="released", cohort=["", "", "hard;rare", "hard;rare"])
    other = table.assign(reading="corrected", value=1 - table["value"])
    both = pd.concat([table, other])
    assert readings(both) == ["corrected", "released"]
    assert cohorts(both) == ["hard", "rare"]
    assert leaderboard(both).reading == "corrected"
    assert leaderboard(both, reading="released", cohort="hard").position["B"] == 1
    with pytest.raises(InputError, match="no reading 'published'"):
        leaderboard(both, reading="published")
    with pytest.raises(InputError, match=r"cohort 'easy'.*hard, rare"):
        leaderboard(both, cohort="easy")
    with pytest.raises(InputError, match="no metric speed"):
        leaderboard(both, metrics=["speed"])


def test_only_readings_with_the_same_metrics_are_compared():
    rows = [("A", "1", "dsc", 0.9), ("A", "1", "contact_angle", 5.0)]
    corrected = long_table(rows, reading="corrected")
    both = pd.concat([corrected, long_table(rows[:1], reading="released")])
    undefined = long_table([("A", "1", "dsc", np.nan)], reading="published")
    both = pd.concat([both, undefined])  # it has the metric, if no value
    assert Rules().other_readings(both, leaderboard(both)) == ["published", "released"]
    beside = Rules(metrics=("contact_angle",))
    assert beside.other_readings(both, beside.leaderboard(both)) == []


def test_what_stands_beside_the_ranking_is_not_ranked():
    rows = [("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.8)]
    rows += [("A", "1", "contact_angle", 90.0), ("B", "1", "contact_angle", 0.0)]
    assert list(leaderboard(long_table(rows)).values.columns) == ["dsc"]


def test_the_protocol_of_a_run_says_what_is_ranked_and_how():
    protocol = load_protocol("curvas-pdacvi-2025")
    run = {"protocol": {"definition": protocol.model_dump(mode="json")}}
    rules = Rules.of_run(Run.model_validate(run))
    assert set(rules.by_reading) == set(READINGS)
    assert rules.by_reading["released"] == ("dsc", "thr_dsc", "mr_ece", "crps", "vi")
    assert (rules.ranking.scheme, rules.ranking.aggregate) == ("mean-of-metric-ranks", "mean")
    run["protocol"]["definition"]["ranking"]["aggregate"] = "median"
    assert Rules.of_run(Run.model_validate(run)).ranking.aggregate == "median"
    for nothing in ({}, {"protocol": None}, {"protocol": {"definition": []}}):
        assert Rules.of_run(Run.model_validate(nothing)) == Rules()
    assert Rules.of_run(None) == Rules()


def test_a_metric_may_count_in_some_readings_only():
    protocol = load_protocol("smile-uhura-2023")
    run = {"protocol": {"definition": protocol.model_dump(mode="json")}}
    rules = Rules.of_run(Run.model_validate(run))
    five = ("dice", "jaccard", "volsim", "mi", "bavd")
    assert rules.by_reading["released"] == rules.by_reading["published"] == five
    assert "mi" not in rules.by_reading["corrected"]
    assert {"cldice", "betti", "small_recall"} <= set(rules.by_reading["corrected"])
    rows = [("A", "1", name, 0.5) for name in (*five, "cldice", "betti", "small_recall")]
    table = pd.concat(
        [long_table(rows, reading="corrected"), long_table(rows[:5], reading="released")]
    )
    board = rules.leaderboard(table)
    assert "mi" not in board.values
    assert rules.other_readings(table, board) == ["released"]
    assert tuple(rules.leaderboard(table, reading="released").values) == five


def test_a_value_for_the_case_is_ranked_and_not_its_structures():
    rows = [("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.8)]
    organs = [("A", "1", "dsc", 0.1), ("B", "1", "dsc", 0.2)]
    table = pd.concat([long_table(rows), long_table(organs).assign(structure="liver")])
    assert list(leaderboard(table).values.columns) == ["dsc"]
    assert leaderboard(table).position["A"] == 1


def test_ranks_on_each_case_first_by_hand():
    values = {"A": (0.9, 0.9, 0.0), "B": (0.8, 0.8, 0.9), "C": (0.7, 0.7, 0.8)}
    rows = [(m, str(c), "dsc", v) for m, cases in values.items() for c, v in enumerate(cases)]
    by_case = leaderboard(long_table(rows), ranking=Ranking(scheme="rank-then-aggregate"))
    assert by_case.mean_rank.to_dict() == {"A": 5 / 3, "B": 5 / 3, "C": 8 / 3}
    assert list(leaderboard(long_table(rows)).position.index) == ["B", "C", "A"]


def test_a_missing_case_ranks_as_low_as_there_are_methods():
    rows = [(m, "1", "dsc", v) for m, v in (("A", 0.9), ("B", 0.0), ("C", 0.0), ("D", 0.0))]
    table = long_table(rows)
    table.loc[table["method"].isin(["C", "D"]), "status"] = "missing"
    board = leaderboard(table, ranking=Ranking(scheme="rank-then-aggregate"))
    assert board.mean_rank.to_dict() == {"A": 1, "B": 2, "C": 4, "D": 4}  # B has 0, but is there


def test_a_row_that_is_absent_is_left_out_when_ranks_come_first():
    rows = [(m, c, "dsc", v) for m, v in (("A", 0.9), ("B", 0.8)) for c in ("1", "2")]
    table = long_table(rows[:-1])
    board = leaderboard(table, ranking=Ranking(scheme="rank-then-aggregate", missing="exclude"))
    assert board.mean_rank.to_dict() == {"A": 1, "B": 2}


def test_metrics_with_fewer_cases_weigh_less_when_ranks_come_first():
    rows = [(m, str(c), "dsc", v) for m, v in (("A", 0.9), ("B", 0.8)) for c in range(3)]
    rows += [("A", "0", "nsd", 0.1), ("B", "0", "nsd", 0.2)]
    board = leaderboard(long_table(rows), ranking=Ranking(scheme="rank-then-aggregate"))
    assert board.mean_rank.to_dict() == {"A": (1 * 3 + 2) / 4, "B": (2 * 3 + 1) / 4}


def test_medians_of_a_published_table_are_ranked_and_their_spread_is_not(tmp_path):
    text = "method,dice_median,dice_iqr,bavd_median,bavd_iqr\nA,0.8,0.1,0.5,9\nB,0.7,0.2,0.9,1\n"
    board = leaderboard(read_scores(write(tmp_path / "medians.csv", text)))
    assert board.values.to_dict("index") == {
        "A": {"dice": 0.8, "bavd": 0.5},
        "B": {"dice": 0.7, "bavd": 0.9},
    }


def test_curvas_2024_comes_out_in_the_published_order():
    table = read_scores(PUBLISHED / "curvas_2024_test.csv")
    printed = pd.read_csv(PUBLISHED / "curvas_2024_test.csv").set_index("method")
    board = leaderboard(table)
    assert list(board.position.index) == list(printed.sort_values("final_position").index)
    assert board.position.to_dict() == printed["final_position"].to_dict()
    for metric in ("dsc_percent", "confidence_percent", "ece_e3", "crps_cm3"):
        name = metric.rsplit("_", 1)[0]
        assert board.ranks[name].to_dict() == printed[f"rank_{metric}"].to_dict()


def write(path, text):
    path.write_text(text)
    return path


def test_a_declared_direction_is_reversed_in_tables_of_others_only():
    table = long_table([("A", "1", "dsc", 0.9), ("B", "1", "dsc", 0.8)])
    assert leaderboard(table, directions={"dsc": "lower"}).position["B"] == 1
    assert "here lower is taken" in doubtful_directions(table, {"dsc": "lower"})[0]
    with pytest.raises(InputError, match="dsc is better when higher"):
        leaderboard(table.assign(reading="released"), directions={"dsc": "lower"})
