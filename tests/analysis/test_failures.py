from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segjury.analysis import Settings, analyze
from segjury.analysis.ranking import Rules
from segjury.analysis.statistics.failures import (
    FailureRule,
    failure_table,
    failures,
    paper_rules,
    parse_rule,
    percentile_limit,
)
from segjury.analysis.study import completed
from segjury.errors import InputError

SCORES = {
    "dsc": np.array([[0.9, 0.4], [0.5, 0.3], [0.2, np.nan]]),
    "crps": np.array([[1.0, 30.0], [2.0, 10.0], [40.0, 20.0]]),
    "vi SMA": np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]),
}
NUMBERS = st.floats(-1e6, 1e6)
SIDES = ("below", "above")


def test_a_score_at_the_limit_does_not_fail():
    low, high = FailureRule("dsc", "below", 0.3, ""), FailureRule("dsc", "above", 0.3, "")
    values = np.array([0.29, 0.1 + 0.2, 0.3, 0.31, np.nan, np.inf, -np.inf])
    assert failures(values, low).tolist() == [True, False, False, False, False, False, True]
    assert failures(values, high).tolist() == [False, False, False, True, False, True, False]


@given(value=NUMBERS, limit=NUMBERS, side=st.sampled_from(SIDES), worse=st.floats(0, 1e6))
def test_a_worse_score_never_ceases_to_fail(value, limit, side, worse):
    rule = FailureRule("m", side, limit, "")
    step = -worse if side == "below" else worse
    before, after = failures(np.array([value, value + step]), rule)
    assert after or not before


@given(value=NUMBERS, limit=NUMBERS)
def test_no_score_fails_on_both_sides(value, limit):
    both = [failures(np.array(value), FailureRule("m", side, limit, "")) for side in SIDES]
    assert not all(both)
    assert any(both) or value == pytest.approx(limit, rel=1e-11)


def test_the_table_of_failures_by_hand():
    rules = [parse_rule("dsc<0.5", SCORES), parse_rule("crps>20", SCORES)]
    table = failure_table(SCORES, rules)
    assert table.counts.tolist() == [[1, 1], [2, 1]]  # (methods, rules)
    assert table.unscored_counts.tolist() == [[0, 0], [1, 0]]
    np.testing.assert_allclose(table.shares, [[1 / 3, 1 / 3], [1.0, 1 / 3]])
    assert table.failing_any.tolist() == [1, 1, 1]
    assert table.recurrent.tolist() == []
    table = failure_table(SCORES, [parse_rule("crps>5", SCORES), parse_rule("dsc<0.6", SCORES)])
    assert table.failing_any.tolist() == [1, 2, 2]
    assert table.recurrent.tolist() == [1, 2]


def test_cases_that_fail_most_methods_come_first():
    scores = {"dsc": np.array([[0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1.0]])}
    table = failure_table(scores, [FailureRule("dsc", "below", 0.5, "")])
    assert table.failing_any.tolist() == [2, 1, 3, 2]
    assert table.recurrent.tolist() == [2, 0, 3]


def test_a_method_without_scores_has_no_share():
    table = failure_table({"dsc": np.full((3, 1), np.nan)}, [FailureRule("dsc", "below", 0.5, "")])
    assert table.counts.tolist() == [[0]]
    assert table.unscored_counts.tolist() == [[3]]
    assert np.isnan(table.shares).all()


def test_percentiles_are_interpolated_between_order_statistics():
    assert percentile_limit(np.arange(11.0), 5) == pytest.approx(0.5)
    assert percentile_limit(np.array([[0.0, np.nan], [10.0, np.nan]]), 90) == pytest.approx(9.0)
    assert np.isnan(percentile_limit(np.array([np.nan]), 5))
    assert np.isnan(percentile_limit(np.zeros(0), 5))
    assert not np.isfinite(percentile_limit(np.array([1.0, np.inf, np.inf]), 90))
    with pytest.raises(ValueError, match="percentile is 101"):
        percentile_limit(np.zeros(1), 101)


def test_the_rules_of_the_paper():
    scores = {
        "dsc": np.linspace(0, 1, 12).reshape(4, 3),
        "thr_dsc": np.linspace(0, 1, 12).reshape(4, 3),
        "mr_ece": np.arange(11.0).reshape(11, 1),
        "crps": np.append(np.arange(101.0), np.nan)[:, None],
        "vi": np.zeros((4, 3)),
    }
    found = paper_rules(np.linspace(0.5, 0.9, 41), scores)
    assert found.left_out == ()
    assert [(r.metric, r.side, round(r.limit, 9)) for r in found.rules] == [
        ("dsc", "below", 0.52),
        ("thr_dsc", "below", 0.52),
        ("mr_ece", "above", 9.0),
        ("crps", "above", 90.0),
    ]
    assert found.rules[0].why == "percentile 5 of the Dice between raters"
    assert found.rules[2].why == "percentile 90 of all cases and methods"
    # A tenth of the submissions is beyond their own 90th percentile.
    assert failures(scores["crps"], found.rules[3]).sum() == 10


@pytest.mark.parametrize("human", [None, np.zeros(0), np.array([np.nan])])
def test_overlap_has_no_rule_where_no_raters_can_be_compared(human):
    scores = {"dice": np.zeros((2, 1)), "ece": np.zeros((2, 1)), "crps": np.full((2, 1), np.nan)}
    found = paper_rules(human, scores)
    assert [rule.metric for rule in found.rules] == ["ece"]
    assert found.left_out == (
        "dice: the agreement between raters is not known",
        "crps: percentile 90 has no finite value",
    )


@pytest.mark.parametrize(
    ("text", "metric", "side", "limit", "why"),
    [
        ("dsc<0.5", "dsc", "below", 0.5, "as given"),
        (" crps > 20 ", "crps", "above", 20.0, "as given"),
        ("crps>-1.5e+1", "crps", "above", -15.0, "as given"),
        ("crps>1E1", "crps", "above", 10.0, "as given"),
        ("vi SMA>4", "vi SMA", "above", 4.0, "as given"),
        ("crps>p90", "crps", "above", 35.0, "percentile 90 of all cases and methods"),
        ("dsc<P5", "dsc", "below", 0.22, "percentile 5 of all cases and methods"),
        ("dsc < p2.5", "dsc", "below", 0.21, "percentile 2.5 of all cases and methods"),
    ],
)
def test_rules_are_read_from_text(text, metric, side, limit, why):
    rule = parse_rule(text, SCORES)
    assert (rule.metric, rule.side, rule.why) == (metric, side, why)
    assert rule.limit == pytest.approx(limit)


@given(metric=st.sampled_from(sorted(SCORES)), sign=st.sampled_from("<>"), limit=NUMBERS)
def test_what_is_written_is_read(metric, sign, limit):
    rule = parse_rule(f"{metric}{sign}{limit!r}", SCORES)
    expected = "below" if sign == "<" else "above"
    assert (rule.metric, rule.side, rule.limit) == (metric, expected, limit)


@given(percentile=st.floats(0, 100), sign=st.sampled_from("<>"))
def test_percentiles_leave_their_share_beyond_the_limit(percentile, sign):
    values = np.arange(101.0)[:, None]
    rule = parse_rule(f"m{sign}p{percentile!r}", {"m": values})
    beyond = percentile if sign == "<" else 100 - percentile
    assert abs(failures(values, rule).sum() - beyond) <= 1


@given(text=st.text(alphabet="dsc<>=p0159.e+- %", max_size=12))
def test_any_text_is_a_rule_or_a_clear_error(text):
    try:
        rule = parse_rule(text, SCORES)
    except InputError as error:
        clear = text in error.what and bool(error.fix)
    else:
        clear = rule.metric in SCORES and bool(np.isfinite(rule.limit))
    assert clear


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no rule for a failure. Give a metric, < or >"),
        ("dsc", "'dsc' is no rule"),
        ("dsc<=0.5", "'dsc<=0.5' is no rule"),
        ("dsc=0.5", "is no rule"),
        ("<0.5", "is no rule"),
        ("dsc<", "is no rule"),
        ("dsc<nan", "is no rule"),
        ("dsc<1e999", "is no rule"),
        ("dsc<1-2", "is no rule"),
        ("dsc<50%", "is no rule"),
        ("dsc<p101", "the rule 'dsc<p101' has percentile 101. Give one from 0 to 100."),
        ("hd95>3", "is about 'hd95', which has no scores. Use one of dsc, crps, vi SMA."),
    ],
)
def test_nonsense_is_refused(text, message):
    with pytest.raises(InputError) as error:
        parse_rule(text, SCORES)
    assert message in str(error.value)


def test_a_percentile_of_nothing_is_refused():
    with pytest.raises(InputError, match="percentile 5 of dsc in the rule 'dsc<p5' is nan"):
        parse_rule("dsc<p5", {"dsc": np.full((2, 2), np.nan)})


def test_rules_and_tables_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="limit is nan"):
        FailureRule("dsc", "below", float("nan"), "")
    with pytest.raises(ValueError, match="side is '<'"):
        FailureRule("dsc", "<", 0.5, "")
    with pytest.raises(ValueError, match="rules name ece, scores have dsc"):
        failure_table(SCORES, [FailureRule("ece", "above", 0.5, "")])
    with pytest.raises(ValueError, match="scores have shapes"):
        failure_table({"dsc": np.zeros((2, 2)), "ece": np.zeros((2, 3))}, [])


# ---- rules of an analysis -------------------------------------------------------------------


def analysed(values, metric, *, lost=(), failures=(), cases=None):
    """The analysis of one score, (cases, methods); `lost` are cells that the policy filled."""
    rows = [
        (f"M{m}", f"P{c}", metric, value, "missing" if (c, m) in lost else "ok")
        for c, case in enumerate(values)
        for m, value in enumerate(case)
    ]
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value", "status"])
    settings = Settings(samples=100, failures=tuple(failures))
    return analyze(completed(table), Rules(), settings, cases=cases)


def test_what_the_policy_filled_in_moves_no_percentile():
    values = np.linspace(0.01, 0.12, 12).reshape(6, 2)
    values[3:, 0] = 1.0  # a quarter of all, missing: percentile 90 would be 1
    found = analysed(values, "mr_ece", lost={(3, 0), (4, 0), (5, 0)}, failures=["mr_ece>p50"])
    measured = np.delete(values.ravel(), [6, 8, 10])
    limits = [rule.limit for rule in found.failures.rules]
    assert limits == pytest.approx([np.percentile(measured, 90), np.percentile(measured, 50)])
    assert found.failures.failed[0][3:, found.panel.methods.index("M0")].all()


def test_a_rule_that_no_value_can_break_is_not_stated():
    cases = pd.DataFrame({"case": [f"P{c}" for c in range(6)], "dsc_1_2": [0.0] * 5 + [0.9]})
    cases = cases.assign(rater_1_cm3=1.0, rater_2_cm3=1.0)
    values = np.linspace(0.2, 0.9, 12).reshape(6, 2)
    found = analysed(values, "dsc", cases=cases, failures=["dsc>1", "dsc>p90"])
    assert [rule.text for rule in found.failures.rules] == ["dsc > 0.83"]
    assert "no failures counted for dsc < 0: no value can be below 0" in found.notes
    assert "no failures counted for dsc > 1: no value can be above 1" in found.notes


def test_values_of_another_scale_have_no_bounds():
    found = analysed(np.linspace(20, 90, 12).reshape(6, 2), "dsc", failures=["dsc>80"])
    assert [rule.text for rule in found.failures.rules] == ["dsc > 80"]


def test_the_agreement_of_raters_is_not_known_where_labels_lack_different_cases():
    cases = pd.DataFrame({"case": [f"P{c}" for c in range(6)]})
    for label, first in (("liver", 0.9), ("kidney", None)):
        about = {"dsc_1_2": [first, *[0.8] * 5], "rater_1_cm3": 1.0, "rater_2_cm3": 1.0}
        cases = cases.assign(**{f"{label} {name}": values for name, values in about.items()})
    found = analysed(np.linspace(0.2, 0.9, 12).reshape(6, 2), "dsc", cases=cases)
    assert found.failures.rules == ()
