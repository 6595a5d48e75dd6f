from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from segjury.analysis.leaderboards import ranked_tables, split
from segjury.analysis.ranking import (
    Panel,
    Ranking,
    Rules,
    board,
    in_cohort,
    leaderboard,
    over_cases,
    standings,
)
from segjury.analysis.ranking.schemes import aggregated
from segjury.errors import InputError

AGGREGATES = ("mean", "median", 0.0, 0.1, 0.25, 0.9, 1.0)
TIES = ("average", "min", "max", "dense")
BY_VALUE = ("mean-of-metric-ranks", "aggregate-then-rank", "rank-then-aggregate")
DIRECTIONS = {"up": "higher", "down": "lower", "high": "higher"}
few = partial(settings, deadline=None)


def panel_of(values, *, names=("up", "down", "high"), lost=None):
    """A panel of (scores, cases, methods), in tables of which `down` is better when lower."""
    values = np.asarray(values, float)
    scores, cases, methods = values.shape
    return Panel(
        reading="given",
        methods=tuple("ABCDEFGHIJ"[:methods]),
        cases=tuple(f"case {c}" for c in range(cases)),
        keys=tuple(names[:scores]),
        metrics=tuple(names[:scores]),
        higher=np.array([DIRECTIONS[name] == "higher" for name in names[:scores]]),
        values=values,
        lost=np.zeros(values.shape, bool) if lost is None else lost,
        assigned=np.zeros(values.shape, bool) if lost is None else lost,
    )


def table_of(panel, drawn=None):
    """The long table of a panel, its cases written out as often as they are drawn."""
    drawn = np.ones(len(panel.cases)) if drawn is None else drawn
    rows = [
        (method, f"{case} draw {time}", metric, panel.values[k, c, m], panel.lost[k, c, m])
        for k, metric in enumerate(panel.metrics)
        for c, case in enumerate(panel.cases)
        for time in range(int(drawn[c]))
        for m, method in enumerate(panel.methods)
    ]
    return long_table(rows)


def long_table(rows):
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value", "lost"])
    status = np.where(table.pop("lost").astype(bool), "missing", "ok")
    return table.assign(structure="all", reading="given", status=status, cohort="")


def naive_mean_rank(panel, ranking, drawn=None):
    """Mean ranks by loops over the written-out values, ranked by pandas; None without any score."""
    drawn = np.ones(len(panel.cases)) if drawn is None else drawn
    total, weight = np.zeros(len(panel.methods)), 0.0
    for k, metric in enumerate(panel.metrics):
        rows = [
            c for c in range(len(panel.cases)) for _ in range(int(drawn[c]))
            if not np.isnan(panel.values[k, c]).any()
        ]  # fmt: skip
        if not rows:
            continue
        share = ranking.weights.get(metric, 1.0)
        higher = DIRECTIONS[metric] == "higher"
        if ranking.scheme == "rank-then-aggregate":
            each = [np.full(len(panel.methods), float(len(panel.methods))) for _ in rows]
            for ranks, c in zip(each, rows, strict=True):  # those that are there, among themselves
                there = ~panel.lost[k, c]
                if there.any():
                    ranks[there] = naive_ranks(panel.values[k, c][there], higher, ranking)
            ranks = naive_aggregate(each, ranking.aggregate)
            share *= len(rows)
        else:
            value = naive_aggregate([panel.values[k, c] for c in rows], ranking.aggregate)
            ranks = naive_ranks(value, higher, ranking)
        total, weight = total + share * ranks, weight + share
    return total / weight if weight else None


def naive_aggregate(rows, aggregate):
    if aggregate == "mean":
        return np.mean(rows, axis=0)
    return np.quantile(rows, 0.5 if aggregate == "median" else aggregate, axis=0)


def naive_ranks(values, higher, ranking):
    printed = [float(f"{value:.{ranking.digits - 1}e}") for value in values]
    return pd.Series(printed).rank(method=ranking.ties, ascending=not higher).to_numpy()


@st.composite
def panels(draw, *, gaps=True, least_methods=2):
    """Small panels on a coarse grid, so that there are ties; some cases do not count."""
    shape = tuple(draw(st.integers(low, 4)) for low in (1, 1, least_methods))
    scores, cases, methods = min(shape[0], 3), shape[1], shape[2]
    size = scores * cases * methods
    values = draw(st.lists(st.integers(0, 8), min_size=size, max_size=size))
    values = np.array(values, float).reshape(scores, cases, methods) / 8
    if not gaps:
        return panel_of(values)
    flags = st.lists(st.integers(0, 9), min_size=size, max_size=size)
    lost = np.array(draw(flags)).reshape(values.shape) == 0
    undefined = np.array(draw(flags)).reshape(values.shape)[:, :, 0] == 0
    undefined[0, 0] = False
    values[undefined] = np.nan
    kept = ~np.isnan(values).all(axis=(1, 2))
    return panel_of(values, lost=lost).of_keys(kept)


rankings = st.builds(
    Ranking,
    scheme=st.sampled_from(BY_VALUE),
    aggregate=st.sampled_from(AGGREGATES),
    ties=st.sampled_from(TIES),
    weights=st.sampled_from([{}, {"up": 0.5}, {"down": 2.0, "high": 0.25}]),
)


# ---- schemes ------------------------------------------------------------------------------


@few(max_examples=50)
@given(panels(), rankings, st.data())
def test_any_resample_is_the_leaderboard_of_its_cases_written_out(panel, ranking, data):
    n = len(panel.cases)
    drawn = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    counts = data.draw(st.lists(drawn, min_size=1, max_size=3))
    found = standings(panel, ranking, np.array(counts, float))
    for mean_rank, positions, drawn in zip(found.mean_rank, found.positions, counts, strict=True):
        expected = naive_mean_rank(panel, ranking, drawn)
        if expected is None:
            assert np.isnan(mean_rank).all()
            continue
        np.testing.assert_allclose(mean_rank, expected, rtol=1e-12)
        written = leaderboard(table_of(panel, drawn), directions=DIRECTIONS, ranking=ranking)
        methods = list(panel.methods)
        np.testing.assert_allclose(mean_rank, written.mean_rank[methods], rtol=1e-12)
        assert positions.tolist() == written.position[methods].tolist()
        assert positions.tolist() == [1 + sum(expected < own - 1e-9) for own in expected]


@few(max_examples=50)
@given(panels(), st.sampled_from([a for a in AGGREGATES if a != 0.0]), st.sampled_from(BY_VALUE))
def test_values_of_a_resample_are_those_of_numpy_and_undefined_without_a_case(
    panel, aggregate, scheme
):
    rng = np.random.default_rng(len(panel.cases))
    counts = rng.integers(0, 3, (4, len(panel.cases))).astype(float)
    found = standings(panel, Ranking(aggregate=aggregate, scheme=scheme), counts)
    for sample, drawn in enumerate(counts):
        for k in range(len(panel.keys)):
            rows = np.repeat(panel.values[k], drawn.astype(int), axis=0)
            rows = rows[~np.isnan(rows).any(axis=1)]
            if len(rows):
                expected = naive_aggregate(rows, aggregate)
                np.testing.assert_allclose(found.values[sample, k], expected, rtol=1e-12)
            else:
                assert np.isnan(found.values[sample, k]).all()
                assert np.isnan(found.ranks[sample, k]).all()


def test_the_least_value_without_any_case_is_undefined():
    assert np.isnan(aggregated(np.array([[1.0], [2.0]]), np.zeros((1, 2)), 0.0)).all()


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("cells", [1, 20_000_000])
def test_quantiles_are_numpys_also_in_parts(aggregate, cells, monkeypatch):
    monkeypatch.setattr("segjury.analysis.ranking.schemes.CELLS_AT_ONCE", cells)
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((13, 5))
    scores[4] = scores[7]
    counts = rng.multinomial(13, np.full(13, 1 / 13), size=20)
    found = aggregated(scores, counts.astype(float), aggregate)
    expected = [naive_aggregate(np.repeat(scores, drawn, axis=0), aggregate) for drawn in counts]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_pandas_takes_the_same_aggregate(aggregate):
    values = np.random.default_rng(4).standard_normal((9, 2))
    frame = pd.DataFrame(values, columns=["A", "B"]).assign(group="one")
    found = frame.groupby("group")[["A", "B"]].agg(over_cases(aggregate))
    np.testing.assert_allclose(found.to_numpy()[0], naive_aggregate(values, aggregate))


def test_a_score_that_no_drawn_case_has_does_not_count():
    values = [[[0.9, 0.1], [0.9, 0.1]], [[np.nan] * 2, [5.0, 1.0]]]
    for scheme in BY_VALUE:
        found = standings(panel_of(values), Ranking(scheme=scheme), np.array([[2.0, 0.0]]))
        assert found.mean_rank.tolist() == [[1.0, 2.0]]
        assert np.isnan(found.ranks[0, 1]).all()


def test_a_score_that_no_drawn_case_has_is_not_tested():
    values = [[[0.9, 0.1], [0.9, 0.1]], [[np.nan] * 2, [5.0, 1.0]]]
    found = standings(panel_of(values), Ranking(scheme="test-then-rank"), np.array([[2.0, 0.0]]))
    assert np.isnan(found.ranks[0, 1]).all()
    np.testing.assert_array_equal(found.mean_rank, found.ranks[:, 0])


def naive_wins(values, higher, alpha, **options):
    """Methods that each beats: scipy's one-sided tests of all ordered pairs, statsmodels' Holm."""
    n = values.shape[1]
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    side = "greater" if higher else "less"
    p = [wilcoxon(values[:, i], values[:, j], alternative=side, **options).pvalue for i, j in pairs]
    rejected = multipletests(p, alpha, method="holm")[0]
    return [sum(r for (i, _), r in zip(pairs, rejected, strict=True) if i == m) for m in range(n)]


@pytest.mark.parametrize("ties", TIES)
def test_significant_wins_are_those_of_scipy_and_statsmodels(ties):
    rng = np.random.default_rng(5)
    values = rng.standard_normal((2, 14, 5)) + np.array([0, 0.3, 1.5, 2.5, 5])
    values[1] *= -1
    ranking = Ranking(scheme="test-then-rank", ties=ties, alpha=0.1)
    found = standings(panel_of(values), ranking)
    wins = [
        naive_wins(v, higher, 0.1, method="exact")
        for v, higher in zip(values, (True, False), strict=True)
    ]
    assert len(set(wins[0])) > 2
    expected = pd.DataFrame(wins).T.rank(method=ties, ascending=False).to_numpy().T
    np.testing.assert_array_equal(found.ranks[0], expected)
    np.testing.assert_allclose(found.mean_rank[0], expected.mean(axis=0))


def naive_exact_wins(values, alpha):
    """The same with the shares of all sign patterns, so that tied differences are exact too."""
    cases, n = values.shape
    signs = np.array(list(itertools.product([-1, 1], repeat=cases)), float)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    p = []
    for i, j in pairs:
        steps = np.round(values[:, i] - values[:, j], 12)
        ranks = np.where(steps == 0, 0, rankdata(np.abs(steps)) - (steps == 0).sum())
        p.append(((signs @ ranks) >= np.sign(steps) @ ranks).mean())
    rejected = multipletests(p, alpha, method="holm")[0]
    return [sum(r for (i, _), r in zip(pairs, rejected, strict=True) if i == m) for m in range(n)]


@pytest.mark.parametrize("step", [None, 0.5])  # the second ties differences, and some with 0
def test_significant_wins_of_resamples_are_those_of_all_sign_patterns(step):
    rng = np.random.default_rng(6)
    values = rng.standard_normal((10, 4)) + np.array([0, 0.7, 1.4, 3])
    if step:
        values = np.round(values / step) * step
    counts = rng.multinomial(10, np.full(10, 0.1), size=25)
    found = standings(panel_of([values]), Ranking(scheme="test-then-rank"), counts.astype(float))
    wins = [naive_exact_wins(np.repeat(values, drawn, axis=0), 0.05) for drawn in counts]
    assert len({n for each in wins for n in each}) > 2
    expected = pd.DataFrame(wins).rank(axis=1, ascending=False)
    np.testing.assert_array_equal(found.ranks[:, 0], expected)


@pytest.mark.parametrize(("cases", "methods"), [(11, 6), (12, 8), (64, 4)])
def test_a_method_that_is_first_on_every_case_is_first_in_all_resamples(cases, methods):
    rng = np.random.default_rng(8)
    values = rng.random((cases, methods))
    values[:, 0] += 1
    counts = rng.multinomial(cases, np.full(cases, 1 / cases), size=50)
    found = standings(panel_of([values]), Ranking(scheme="test-then-rank"), counts.astype(float))
    assert (found.positions == 1).tolist() == [[True] + [False] * (methods - 1)] * 50


def test_a_third_method_does_not_change_whether_two_differ():
    rng = np.random.default_rng(7)
    two = rng.random((12, 1)) + np.array([0.0, 1.0])
    awful = np.full((12, 1), -1e13)
    ranking = Ranking(scheme="test-then-rank")
    assert standings(panel_of([two]), ranking).ranks[0, 0].tolist() == [2, 1]
    three = standings(panel_of([np.hstack([two, awful])]), ranking)
    assert three.ranks[0, 0].tolist() == [2, 1, 3]


def test_no_test_is_significant_with_few_cases_and_one_method_is_first():
    values = [[[0.1, 0.9], [0.2, 0.8]]]
    ranking = Ranking(scheme="test-then-rank")
    assert standings(panel_of(values), ranking).mean_rank.tolist() == [[1.5, 1.5]]
    for scheme in (*BY_VALUE, "test-then-rank"):
        assert standings(panel_of([[[0.3], [0.4]]]), Ranking(scheme=scheme)).positions == [[1.0]]


def test_digits_decide_what_is_a_tie():
    values = [[[0.1234, 0.1231, 0.119]]]
    for digits, ranks in ((4, [1, 2, 3]), (3, [1.5, 1.5, 3]), (2, [2, 2, 2]), (1, [2, 2, 2])):
        for scheme in BY_VALUE:
            ranking = Ranking(scheme=scheme, digits=digits)
            assert standings(panel_of(values), ranking).ranks[0, 0].tolist() == ranks


def test_the_same_scores_in_another_order_tie_in_any_digits():
    one = [0.21, 0.96, 0.06, 0.84, 0.04, 0.1, 0.84, 0.7, 0.48, 0.52]
    two = [0.48, 0.84, 0.84, 0.7, 0.52, 0.96, 0.21, 0.1, 0.04, 0.06]
    three = sorted(one)
    for digits in (12, 3, 2):
        found = standings(panel_of([np.array([one, two, three]).T]), Ranking(digits=digits))
        assert found.ranks.tolist() == [[[2, 2, 2]]]


def test_ranks_and_spread_with_weights_by_hand():
    values = [[[0.9, 0.5, 0.5, 0.1]], [[4.0, 3.0, 2.0, 2.0]]]
    by_ties = {
        "average": ([1, 2.5, 2.5, 4], [4, 3, 1.5, 1.5]),
        "min": ([1, 2, 2, 4], [4, 3, 1, 1]),
        "max": ([1, 3, 3, 4], [4, 3, 2, 2]),
        "dense": ([1, 2, 2, 3], [3, 2, 1, 1]),
    }
    for ties, (up, down) in by_ties.items():
        found = board(panel_of(values), Ranking(ties=ties, weights={"down": 3.0}))
        assert found.ranks.loc[list("ABCD"), "up"].tolist() == up
        assert found.ranks.loc[list("ABCD"), "down"].tolist() == down
        mean = [(u + 3 * d) / 4 for u, d in zip(up, down, strict=True)]
        np.testing.assert_allclose(found.mean_rank[list("ABCD")], mean)
        spread = [np.std([u, d, d, d]) for u, d in zip(up, down, strict=True)]
        np.testing.assert_allclose(found.sd_rank[list("ABCD")], spread, atol=1e-15)


def test_a_ranking_refuses_what_is_none():
    for wrong in ({"aggregate": 1.5}, {"aggregate": "mode"}, {"ties": "first"}, {"digits": 0},
                  {"weights": {"up": 0.0}}, {"weights": {"up": float("inf")}}, {"alpha": 0.0},
                  {"scheme": "best"}, {"missing": "skip"}):  # fmt: skip
        with pytest.raises(ValidationError):
            Ranking(**wrong)


# ---- laws ---------------------------------------------------------------------------------


@few(max_examples=50)
@given(panels(), rankings, st.data())
def test_a_better_score_never_worsens_a_mean_rank(panel, ranking, data):
    k, c, m = (data.draw(st.integers(0, n - 1)) for n in panel.values.shape)
    values = panel.values.copy()
    values[k, c, m] += (1 if panel.higher[k] else -1) * data.draw(st.integers(1, 9)) / 8
    before, after = (
        standings(p, ranking).mean_rank[0, m] for p in (panel, replace(panel, values=values))
    )
    assert after <= before + 1e-12


@few(max_examples=50)
@given(panels(), rankings, st.randoms(use_true_random=False))
def test_methods_and_cases_may_come_in_any_order(panel, ranking, random):
    methods, cases = list(range(len(panel.methods))), list(range(len(panel.cases)))
    random.shuffle(methods)
    random.shuffle(cases)
    mixed = replace(
        panel,
        methods=tuple(panel.methods[m] for m in methods),
        cases=tuple(panel.cases[c] for c in cases),
        values=panel.values[:, cases][:, :, methods],
        lost=panel.lost[:, cases][:, :, methods],
        assigned=panel.assigned[:, cases][:, :, methods],
    )
    one, two = standings(panel, ranking), standings(mixed, ranking)
    np.testing.assert_allclose(two.mean_rank[0], one.mean_rank[0, methods], rtol=1e-12)
    np.testing.assert_array_equal(two.positions[0], one.positions[0, methods])


@few(max_examples=40)
@given(panels(), st.sampled_from(TIES), st.sampled_from(AGGREGATES))
def test_ranks_on_each_case_depend_on_the_order_only(panel, ties, aggregate):
    ranking = Ranking(scheme="rank-then-aggregate", ties=ties, aggregate=aggregate)
    bent = panel.values.copy()
    bent[0] = np.exp(3 * bent[0]) - 7
    np.testing.assert_array_equal(
        standings(panel, ranking).ranks, standings(replace(panel, values=bent), ranking).ranks
    )


@few(max_examples=40)
@given(panels(), rankings, st.integers(-100, 100), st.sampled_from([0.125, 3.0, 1000.0]))
def test_the_unit_of_a_score_changes_no_rank(panel, ranking, constant, scale):
    moved = replace(panel, values=panel.values * scale + constant)
    np.testing.assert_allclose(
        standings(panel, ranking).ranks, standings(moved, ranking).ranks, rtol=1e-12
    )


@few(max_examples=40)
@given(panels(gaps=False), rankings)
def test_a_score_and_its_negative_with_the_other_direction_rank_alike(panel, ranking):
    if not isinstance(ranking.aggregate, str) and ranking.scheme != "rank-then-aggregate":
        ranking = ranking.model_copy(update={"aggregate": 0.5})  # others are not symmetric
    other = replace(panel, values=-panel.values, higher=~panel.higher)
    np.testing.assert_array_equal(
        standings(panel, ranking).mean_rank, standings(other, ranking).mean_rank
    )


# ---- what is missing ----------------------------------------------------------------------


def without_row(table, method, case, metric):
    gone = (table["method"] == method) & (table["case"] == case) & (table["metric"] == metric)
    assert gone.sum() == 1
    return table[~gone]


METHODS = ("A", "B", "C")


@st.composite
def bounded_tables(draw):
    """Tables of dsc (worst 0) and vi (worst 360) within their limits, and one row to lose."""
    cases = draw(st.integers(1, 4))
    rows = [
        (method, str(case), metric, draw(st.integers(0, 8)) / 8 * top, False)
        for metric, top in (("dsc", 1), ("vi", 360))
        for case in range(cases)
        for method in METHODS
    ]
    lost = draw(st.sampled_from(METHODS)), str(draw(st.integers(0, cases - 1)))
    return long_table(rows), (*lost, draw(st.sampled_from(["dsc", "vi"])))


@few(max_examples=40)
@given(bounded_tables(), rankings)
def test_nobody_gains_by_lacking_a_case(drawn, ranking):
    table, lost = drawn
    ranking = ranking.model_copy(update={"missing": "worst", "weights": {"vi": 0.5}})
    whole = leaderboard(table, ranking=ranking)
    less = leaderboard(without_row(table, *lost), ranking=ranking)
    assert less.mean_rank[lost[0]] >= whole.mean_rank[lost[0]] - 1e-12
    others = [m for m in METHODS if m != lost[0]]
    assert (less.mean_rank[others] <= whole.mean_rank[others] + 1e-12).all()


@pytest.mark.parametrize(
    ("metric", "seen", "worst"),
    [
        ("dsc", (0.5, 0.9), 0.0),  # declared: 0 to 1
        ("dsc", (-0.5, 0.9), -0.5),  # worse than what is declared
        ("mr_ece", (0.2, 0.1), 1.0),
        ("mr_ece", (20.0, 10.0), 20.0),  # in per cent
        ("crps", (7.0, 3.0), 7.0),  # has no limit
        ("speed", (7.0, 3.0), 3.0),  # not ours: higher is better
    ],
)
def test_a_missing_value_becomes_the_worst(metric, seen, worst):
    rows = [
        ("A", "1", metric, seen[0], 0),
        ("A", "2", metric, seen[1], 0),
        ("B", "1", metric, seen[1], 0),
    ]
    ranking = Ranking(missing="worst")
    found = leaderboard(long_table(rows), directions={"speed": "higher"}, ranking=ranking)
    assert found.values.loc["B", metric] == pytest.approx((seen[1] + worst) / 2)
    said = f"values that were missing count as the worst ({metric} {worst:.4g}): B in 1 of 2 cases"
    assert found.notes == (said,)


def test_a_declared_limit_is_not_used_where_somebody_reversed_the_direction():
    rows = [("A", "1", "dsc", 0.4, 0), ("A", "2", "dsc", 0.6, 0), ("B", "1", "dsc", 0.5, 0)]
    found = leaderboard(
        long_table(rows), directions={"dsc": "lower"}, ranking=Ranking(missing="worst")
    )
    assert found.values["dsc"].to_dict() == {"A": 0.5, "B": pytest.approx((0.5 + 0.6) / 2)}


def test_an_excluded_case_counts_for_the_other_scores():
    rows = [
        (m, c, k, v, 0) for k in ("dsc", "vi") for m, v in (("A", 0.9), ("B", 0.8)) for c in "12"
    ]
    table = without_row(long_table(rows), "B", "2", "dsc")
    with pytest.raises(InputError, match="method B has no value of dsc for case 2, others have"):
        leaderboard(table)
    table.loc[(table["case"] == "2") & (table["method"] == "A"), "value"] = [0.0, 7.0]
    found = leaderboard(table, ranking=Ranking(missing="exclude"))
    assert found.values.to_dict("index") == {
        "A": {"dsc": 0.9, "vi": (0.9 + 7.0) / 2},
        "B": {"dsc": 0.8, "vi": 0.8},
    }
    assert found.notes == ("left out for all methods, as some have no value of dsc: 2",)
    nothing = table[~((table["method"] == "B") & (table["metric"] == "dsc"))]
    nothing = nothing[nothing["metric"] == "dsc"]
    nothing = pd.concat([nothing, nothing.assign(method="B", value=np.nan)])
    with pytest.raises(InputError, match="no metric has a value that all methods share"):
        leaderboard(nothing, ranking=Ranking(missing="exclude"))


def test_a_missing_or_failed_prediction_is_last_on_its_case():
    values = np.array([[[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]])
    lost = np.zeros(values.shape, bool)
    lost[0, 0, 0] = True  # the best value, but it is not its own
    ranking = Ranking(scheme="rank-then-aggregate")
    found = standings(panel_of(values, lost=lost), ranking)
    assert found.mean_rank[0, 0] == 3.0


# ---- parts of a table ---------------------------------------------------------------------


def cohort_table():
    rows = [(m, c, "dsc", v, 0) for c in "1234" for m, v in (("A", 0.9), ("B", 0.8))]
    table = long_table(rows)
    cells = {"1": "hard;rare", "2": "rare", "3": "", "4": "hardly"}
    sexes = {"1": "f", "2": "m", "3": "f;m", "4": ""}
    return table.assign(cohort=table["case"].map(cells), sex=table["case"].map(sexes))


CASES = pd.DataFrame(
    {"case": list("1234"), "agreement": [0.1, 0.3, 0.5, np.nan], "site": ["x", "y", "x", "y"]}
)


@pytest.mark.parametrize(
    ("cohort", "inside"),
    [
        (None, "1234"),
        ("hard", "1"),
        ("rare", "12"),
        ("agreement<=0.3", "12"),
        ("agreement<0.3", "1"),
        ("agreement >= 0.3", "23"),
        ("agreement > 3e-1", "3"),
        ("agreement>-1", "123"),
    ],
)
def test_a_cohort_is_a_name_or_a_condition(cohort, inside):
    found = in_cohort(cohort_table(), cohort, CASES)
    assert "".join(dict.fromkeys(found["case"])) == inside
    assert len(found) == 2 * len(inside)


@pytest.mark.parametrize(
    ("cohort", "cases", "message"),
    [
        ("easy", CASES, r"no case is in cohort 'easy'.*hard, rare, hardly"),
        ("har", None, "no case is in cohort 'har'"),
        ("volume<=3", CASES, r"needs a column 'volume'.*cohort, sex, agreement, site"),
        ("agreement<=3", None, r"needs a column 'agreement'.*cohort, sex"),
        ("site<=3", CASES, r"compares what are not numbers.*Use = for words"),
        ("agreement>0.9", CASES, "no case has agreement>0.9"),
        ("agreement==0.1", CASES, "no case is in cohort"),
    ],
)
def test_a_cohort_that_is_none_is_refused(cohort, cases, message):
    with pytest.raises(InputError, match=message):
        in_cohort(cohort_table(), cohort, cases)


@pytest.mark.parametrize("cohort", ["agreement<=1.2.3", "agreement<=."])
def test_a_limit_that_is_no_number_is_refused(cohort):
    with pytest.raises(InputError):
        in_cohort(cohort_table(), cohort, CASES)


def test_a_table_is_split_by_cohorts_and_by_groups():
    def cases(parts):
        return {name: "".join(dict.fromkeys(part["case"])) for name, part in parts.items()}

    assert cases(split(cohort_table(), "cohort")) == {"hard": "1", "rare": "12", "hardly": "4"}
    assert cases(split(cohort_table(), "sex")) == {"f": "1", "m": "2", "f;m": "3"}
    with pytest.raises(InputError, match=r"no column 'age' to split by.*cohort, sex"):
        split(cohort_table(), "age")


def test_each_part_is_placed_as_a_table_of_its_own():
    table = cohort_table()
    table["value"] = np.random.default_rng(8).random(len(table))
    found = list(ranked_tables(table, Rules(), by=["cohort", "sex"], samples=50, seed=3))
    assert [ranked_table.part for ranked_table in found] == [
        None, ("cohort", "hard"), ("cohort", "rare"), ("cohort", "hardly"),
        ("sex", "f"), ("sex", "m"), ("sex", "f;m"),
    ]  # fmt: skip
    for ranked_table, inside in zip(found, ("1234", "1", "12", "4", "1", "2", "3"), strict=True):
        expected = table[table["case"].isin(list(inside))].groupby("method")["value"].mean()
        assert ranked_table.board.values["dsc"].to_dict() == pytest.approx(expected.to_dict())
        assert ranked_table.cases == len(inside)
        assert ranked_table.stability is None  # too few cases
        assert "too few" in ranked_table.notes[0]
