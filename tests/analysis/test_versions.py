"""Two versions of a method beside each other."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from segjury.analysis.versions import compare_versions
from segjury.errors import InputError
from segjury.results import Results

FIRST = [0.50, 0.60, 0.70, 0.80, 0.55, 0.65, 0.75, 0.40]
SECOND = [0.58, 0.61, 0.72, 0.83, 0.59, 0.60, 0.75, 0.46]


def results(**methods):
    """A table of Dice and, the same mirrored, of an error."""
    rows = [
        {"method": m, "case": f"P{c}", "metric": metric, "value": sign * v + (sign < 0)}
        for m, values in methods.items()
        for metric, sign in (("dsc", 1), ("ece", -1))
        for c, v in enumerate(values)
    ]
    return Results.read(pd.DataFrame(rows))


def test_wins_and_differences_are_those_of_the_second_version():
    found = compare_versions(results(old=FIRST, new=SECOND), "old", "new")
    for score in found.scores:
        assert (score.better, score.equal, score.worse) == (6, 1, 1)
    dice, error = found.scores
    assert dice.first == pytest.approx(sum(FIRST) / 8)
    assert dice.second == pytest.approx(sum(SECOND) / 8)
    assert dice.median == pytest.approx(0.025)  # of 0.02 and 0.03
    assert error.median == pytest.approx(-0.025)


def test_p_is_that_of_scipys_exact_test_adjusted_over_the_scores():
    found = compare_versions(results(old=FIRST, new=SECOND), "old", "new")
    differences = [round(b - a, 12) for a, b in zip(FIRST, SECOND, strict=True) if a != b]
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert [score.p for score in found.scores] == pytest.approx([2 * expected] * 2)


def test_each_case_says_which_version_is_better():
    found = compare_versions(results(old=FIRST, new=SECOND), "old", "new").by_case
    dice = found[found["score"] == "dsc"].set_index("case")
    assert dice.loc["P5", "better"] == "first"
    assert dice.loc["P6", "better"] == "equal"
    assert dice.loc["P0", "difference"] == pytest.approx(0.08)
    error = found[found["score"] == "ece"].set_index("case")
    assert list(dice["better"]) == list(error["better"])


def test_the_cases_that_changed_most_come_first():
    found = compare_versions(results(old=FIRST, new=SECOND), "old", "new")
    assert found.most_changed(3) == ["P0", "P7", "P5"]
    same = compare_versions(results(old=FIRST, new=FIRST), "old", "new")
    assert same.most_changed(3) == []
    assert [score.p for score in same.scores] == [1.0, 1.0]


def test_other_methods_of_the_table_do_not_count():
    alone = compare_versions(results(old=FIRST, new=SECOND), "old", "new")
    beside = compare_versions(results(old=FIRST, other=SECOND[::-1], new=SECOND), "old", "new")
    pd.testing.assert_frame_equal(alone.table, beside.table)
    with pytest.raises(InputError, match=r"no method 'newer'\. It has new, old"):
        compare_versions(results(old=FIRST, new=SECOND), "old", "newer")
