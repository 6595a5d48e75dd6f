"""Which cases are hard: signatures and failures, by hand and read from the artists."""

from __future__ import annotations

from statistics import fmean, pstdev
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure

from segjury.analysis import Settings
from segjury.analysis.study import Study, completed
from segjury.report.figures.cases.failures import FAILURES, failures
from segjury.report.figures.cases.signatures import SIGNATURES, signatures
from segjury.report.figures.kind import Kind
from segjury.report.figures.saving.save import figure_bytes
from segjury.wording import plain
from tests.report.test_figures_spread import cut_off, small_print
from tests.score_tables import ODD_NAMES, labelled, make_scores

KINDS = (SIGNATURES, FAILURES)
TWENTY = tuple(f"Method {chr(65 + i)}" for i in range(20))
RULES = ("dsc<0.5", "nsd<0.4")

# B is the better method; easy is easy, hard is hard for both, odd for A alone, and in NSD only
DSC = {"A": {"easy": 0.8, "odd": 0.6, "hard": 0.1}, "B": {"easy": 0.9, "odd": 0.8, "hard": 0.1}}
NSD = {"A": {"easy": 0.9, "odd": 0.39, "hard": 0.2}, "B": {"easy": 0.9, "odd": 0.8, "hard": 0.4}}


def table(**metrics: dict[str, dict[str, float]]) -> pd.DataFrame:
    rows = [
        {"method": method, "case": case, "metric": metric, "value": value}
        for metric, methods in metrics.items()
        for method, cases in methods.items()
        for case, value in cases.items()
    ]
    return completed(pd.DataFrame(rows))


def study_with(scores: pd.DataFrame, *rules: str, **options: object) -> Study:
    return Study(scores, settings=Settings(samples=1, failures=rules), **options)


@pytest.fixture(scope="module")
def tiny() -> Study:
    return study_with(table(dsc=DSC, nsd=NSD), *RULES)


@pytest.fixture(scope="module")
def large() -> Study:
    """Twenty methods, seventy cases, nine scores."""
    return study_with(make_scores(TWENTY, 70, ("published",)), "dsc<0.4", "crps>8")


def cells(figure: Figure, label: str) -> np.ndarray:
    """The matrix that is drawn as cells."""
    (mesh,) = (mesh for mesh in figure.findobj(QuadMesh) if mesh.get_label() == label)
    return np.ma.filled(mesh.get_array(), np.nan)


def ticks(figure: Figure, axis: str) -> list[str]:
    found = getattr(figure.axes[0], f"get_{axis}ticklabels")()
    return [text.get_text() for text in found]


def words_at(figure: Figure) -> dict[tuple[float, float], str]:
    """What stands in the cells, by column and row."""
    axes = figure.axes[0]
    inside = [text for text in axes.texts if text.get_transform() == axes.transData]
    return {text.get_position(): text.get_text() for text in inside}


# ---- what both keep ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("methods", [ODD_NAMES, tuple(f"{i} {'long ' * 12}" for i in range(20))])
def test_odd_and_long_names_are_drawn_as_they_are_and_not_cut_off(
    kind: Kind, methods: tuple[str, ...]
) -> None:
    scores = make_scores(methods, 6, ("published",), ("dsc", "crps"))
    names = {f"P{i:03d}": name for i, name in enumerate(ODD_NAMES)}
    study = study_with(scores.assign(case=scores["case"].map(names)), "dsc<0.5")
    picture = kind.illustrate(study, {})
    assert cut_off(picture.figure) < 0.01
    svg = figure_bytes(picture.figure, "svg")
    assert b"<script" not in svg
    ElementTree.fromstring(svg)  # noqa: S314  (a file made here)
    assert plain(ODD_NAMES[0]) in picture.alt


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_many_cases_are_told_shortly_and_files_stay_small(kind: Kind, large: Study) -> None:
    picture = kind.illustrate(large, {})
    assert len(picture.alt) < 1500
    assert len(picture.caption) < 220
    assert picture.data is not None
    assert picture.data["case"].nunique() == 64
    assert "64" in small_print(picture.figure)
    assert len(figure_bytes(picture.figure, "svg")) < 200_000
    assert cut_off(picture.figure) < 0.01


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_files_are_the_same_each_time(kind: Kind, tiny: Study) -> None:
    first, second = (figure_bytes(kind.draw(tiny), "svg") for _ in range(2))
    assert first == second


def test_subjects_are_those_that_the_table_carries(tiny: Study) -> None:
    assert [list(kind.subjects(tiny)) for kind in KINDS] == [[{}], [{}]]
    one_case = study_with(make_scores(cases=1, readings=("published",), metrics=("dsc",)))
    assert [list(kind.subjects(one_case)) for kind in KINDS] == [[], []]
    assert len(SIGNATURES.data(one_case)) == 3
    assert ticks(signatures(one_case), "y") == ["P000"]


# ---- signatures ----------------------------------------------------------------------------


def by_hand() -> dict[tuple[str, str, str], float]:
    """`(v - mean) / SD` of all cases and methods of a score."""
    found = {}
    for metric, values in (("dsc", DSC), ("nsd", NSD)):
        pool = [value for cases in values.values() for value in cases.values()]
        for method, cases in values.items():
            for case, value in cases.items():
                found[case, method, metric] = (value - fmean(pool)) / pstdev(pool)
    return found


def test_signatures_are_standardised_scores_hardest_case_first(tiny: Study) -> None:
    figure, wanted = signatures(tiny), by_hand()
    rows = ["hard", "odd", "easy"]
    columns = [(method, metric) for method in ("B", "A") for metric in ("dsc", "nsd")]
    drawn = cells(figure, "signatures")
    assert ticks(figure, "y") == rows
    assert ticks(figure, "x") == ["Dice", "NSD"] * 2
    expected = np.array([[wanted[case, *column] for column in columns] for case in rows])
    assert drawn == pytest.approx(expected)
    at = words_at(figure)
    for row, column in np.ndindex(expected.shape):
        assert at[column, row] == f"{expected[row, column]:.1f}".replace("-", "\N{MINUS SIGN}")
    for case, row in zip(rows, expected, strict=True):
        shown = labelled(figure, "mean")[case].get_text().replace("\N{MINUS SIGN}", "-")
        assert float(shown) == pytest.approx(row.mean(), abs=0.005)


def test_cases_that_methods_found_hard_are_framed_counted_and_marked(tiny: Study) -> None:
    figure, wanted = signatures(tiny), by_hand()
    means = {
        (case, method): fmean([wanted[case, method, "dsc"], wanted[case, method, "nsd"]])
        for case in ("hard", "odd", "easy")
        for method in ("A", "B")
    }
    hard = {pair for pair, mean in means.items() if mean <= -1}
    assert hard == {("hard", "A"), ("hard", "B")}
    (frames,) = (each for each in figure.findobj(LineCollection) if each.get_label() == "frames")
    corners = [path.vertices.min(axis=0) for path in frames.get_paths()]
    assert sorted(tuple(at.round().tolist()) for at in corners) == [(0, 0), (2, 0)]  # B's and A's
    assert set(labelled(figure, "recurrent")) == {"hard"}
    counts = {case: text.get_text() for case, text in labelled(figure, "hard").items()}
    assert counts == {"hard": "2/2", "odd": "0/2", "easy": "0/2"}
    bold = [t.get_text() for t in figure.axes[0].get_yticklabels() if t.get_fontweight() == "bold"]
    assert bold == ["hard"]


def test_lower_is_better_turns_the_sign_and_gaps_stay_empty() -> None:
    crps = {"A": {"P1": 1.0, "P2": 3.0, "P3": np.nan}, "B": {"P1": 2.0, "P2": 6.0, "P3": np.nan}}
    dsc = {m: {"P1": 0.5, "P2": 0.6, "P3": 0.7} for m in ("A", "B")}
    data = SIGNATURES.data(study_with(table(crps=crps, dsc=dsc)))
    found = data.set_index(["case", "method", "score"])["signature"]
    pool = (1.0, 3.0, 2.0, 6.0)
    assert found["P1", "A", "crps"] == pytest.approx((3.0 - 1.0) / pstdev(pool))
    assert np.isnan(found["P3", "A", "crps"])
    assert data.set_index(["case", "method"])["mean"]["P3", "A"].iloc[0] == pytest.approx(
        found["P3", "A", "dsc"]
    )


def test_many_columns_become_the_mean_over_the_scores(large: Study) -> None:
    figure = signatures(large)
    scores = large.scores
    keys = [rows for _, rows in scores.groupby(["metric", "structure"])]
    total = 0.0
    for rows in keys:
        values = rows.pivot(index="case", columns="method", values="value")
        pool = values.to_numpy()
        sign = 1 if rows["metric"].iloc[0] in ("dsc", "thr_dsc") else -1
        total = total + sign * (values - pool.mean()) / pool.std()
    means = total / len(keys)
    order = means.mean(axis=1).sort_values().index[:64]
    assert ticks(figure, "y") == list(order)
    assert cells(figure, "signatures") == pytest.approx(
        means.loc[order, list(large.methods)].to_numpy()
    )
    assert "Each cell is the mean over 9 scores" in small_print(figure)
    assert "The 64 hardest of 70 cases" in small_print(figure)
    below = [line for name, line in labelled(figure, "below").items() if name]
    assert sum(len(line.get_xdata()) for line in below) == (means.loc[order] <= -1).to_numpy().sum()


# ---- failures ------------------------------------------------------------------------------


def test_failures_by_hand(tiny: Study) -> None:
    figure = failures(tiny)
    assert ticks(figure, "y") == ["B", "A"]
    assert ticks(figure, "x") == ["hard", "odd", "easy"]
    # B: dsc 0.1 fails, nsd 0.4 is at the limit and does not; A: both on hard, nsd on odd
    assert cells(figure, "failures").tolist() == [[1, 0, 0], [2, 1, 0]]
    at = words_at(figure)
    assert (at[0, 0], at[0, 1], at[1, 1]) == ("a", "ab", "b")
    assert (1, 0) not in at
    counts = {
        head: [labelled(figure, head)[method].get_text() for method in ("B", "A")]
        for head in ("a", "b", "any")
    }
    assert counts == {"a": ["1", "1"], "b": ["0", "2"], "any": ["1", "2"]}
    over = {case: text.get_text() for case, text in labelled(figure, "methods").items()}
    assert over == {"hard": "2", "odd": "1"}
    assert set(labelled(figure, "several")) == {"hard"}
    assert "a: Dice below 0.5 (as given). b: NSD below 0.4 (as given)." in small_print(figure)


def test_the_table_of_failures_has_a_column_per_rule(tiny: Study) -> None:
    data = FAILURES.data(tiny).set_index(["method", "case"])
    assert data.loc[("A", "odd"), ["a: dsc < 0.5", "b: nsd < 0.4"]].tolist() == [False, True]
    assert data.loc[("A", "hard"), "failed"] == 2
    assert data["not_scored"].sum() == 0
    assert "B 1, A 2" in FAILURES.alt(tiny)
    assert "several methods fail: hard (2)" in FAILURES.alt(tiny)


def test_rules_of_the_papers_come_with_their_limits_and_reasons() -> None:
    crps = {"A": {f"P{i}": float(i) for i in range(6)}, "B": {f"P{i}": i + 6.0 for i in range(6)}}
    study = study_with(table(crps=crps))
    limit = np.percentile(np.arange(12.0), 90)
    said = small_print(failures(study))
    assert f"CRPS above {limit:.4g} (percentile 90 of all cases and methods)" in said
    assert FAILURES.data(study)["failed"].sum() == (np.arange(12.0) > limit).sum()


def test_what_was_not_scored_is_hatched() -> None:
    scores = table(dsc=DSC, nsd={m: {**cases, "easy": np.nan} for m, cases in NSD.items()})
    lost = (scores["method"] == "A") & (scores["case"] == "hard")
    study = study_with(scores.assign(status=np.where(lost, "missing", "ok")), *RULES)
    data = FAILURES.data(study).set_index(["method", "case"])["not_scored"]
    assert {pair for pair, missing in data.items() if missing} == {
        ("A", "hard"),
        ("A", "easy"),
        ("B", "easy"),
    }
    figure = failures(study)
    (strokes,) = (
        each for each in figure.findobj(LineCollection) if each.get_label() == "not scored"
    )
    cells_hit = {
        tuple(segment.mean(axis=0).round().tolist()) for segment in strokes.get_segments()[1::3]
    }
    assert cells_hit == {(0.0, 1.0), (2.0, 0.0), (2.0, 1.0)}
    assert "Hatched" in small_print(figure)


def test_most_failures_come_first_and_margins_count_what_is_shown(large: Study) -> None:
    values = {
        metric: rows.pivot(index="case", columns="method", values="value")[list(large.methods)]
        for metric, rows in large.scores[large.scores["structure"] == "all"].groupby("metric")
    }
    fails = {
        "mr_ece": values["mr_ece"] > np.percentile(values["mr_ece"], 90),
        "crps90": values["crps"] > np.percentile(values["crps"], 90),
        "dsc": values["dsc"] < 0.4,
        "crps": values["crps"] > 8,
    }
    count = sum(frame.astype(int) for frame in fails.values())
    figure = failures(large)
    shown = ticks(figure, "x")
    assert cells(figure, "failures") == pytest.approx(count.loc[shown].T.to_numpy())
    at = words_at(figure)
    for row, column in np.argwhere(count.loc[shown].T.to_numpy()):
        case, method = shown[column], large.methods[row]
        failed = [frame.loc[case, method] for frame in fails.values()]
        letters = "".join(letter for letter, fail in zip("abcd", failed, strict=True) if fail)
        assert at[column, row].replace("\n", "") == letters
    methods_failing = (count > 0).sum(axis=1)
    over = [methods_failing[case] for case in shown]
    assert over == sorted(methods_failing, reverse=True)[:64]
    for method in large.methods:
        assert labelled(figure, "any")[method].get_text() == str(
            (count.loc[shown, method] > 0).sum()
        )


def test_many_rules_are_counted_where_letters_have_no_room() -> None:
    scores = make_scores(cases=60, readings=("published",), metrics=("dsc",))
    study = study_with(scores, *(f"dsc<0.{n}" for n in range(1, 9)))
    figure = failures(study)
    drawn = cells(figure, "failures")
    at = words_at(figure)
    assert {at[column, row] for row, column in np.argwhere(drawn)} <= set("12345678")
    assert all(at[column, row] == f"{drawn[row, column]:.0f}" for row, column in np.argwhere(drawn))
