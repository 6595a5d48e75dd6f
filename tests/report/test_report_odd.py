"""Reports of tables that are odd: gaps, few cases, hostile names, broken neighbours."""

from __future__ import annotations

import io
import json
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from segjury.analysis.columns import decimals
from segjury.analysis.ranking import Ranking, Rules
from segjury.analysis.study import Study, completed
from segjury.errors import InputError
from segjury.protocols import load_protocol
from segjury.report import Report, make_report, methods
from segjury.report.content import content
from segjury.report.figures.catalogue import KINDS
from segjury.report.figures.tests.pvalues import p_values_alt
from segjury.report.gaps import gaps
from segjury.report.html import page
from segjury.report.markdown import markdown
from segjury.report.provenance import protocol, provenance
from segjury.report.publish import illustrate, publish
from segjury.results import Results, Run
from segjury.wording import number, wrapped

HOSTILE = "a\rb,\x07c\u202ed | <b>1</b>"


def make(
    methods: tuple[str, ...] = ("A", "B", "C"),
    cases: int = 8,
    metrics: tuple[str, ...] = ("dsc", "hd95"),
    seed: int = 4,
) -> pd.DataFrame:
    """A long table of another tool: four columns."""
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            (method, f"c{case:02d}", metric, generator.uniform(0.3, 0.9))
            for method in methods
            for case in range(cases)
            for metric in metrics
        ],
        columns=["method", "case", "metric", "value"],
    )


def study(table: pd.DataFrame, **ranking: object) -> Study:
    return Study(completed(table), Rules(ranking=Ranking.model_validate(ranking)))


def report(table: pd.DataFrame, kinds: tuple[str, ...] = (), **ranking: object) -> Report:
    return make_report(study(table, **ranking), kinds=kinds, formats=("svg",))


def said_of(made: Report, title: str) -> str:
    return next((p.text for p in made.methods if p.title == title), "")


# ---- what is not scored --------------------------------------------------------------------


def test_rows_that_a_method_lacks_are_not_scored() -> None:
    table = make()
    table = table[~((table["method"] == "B") & (table["case"] == "c03"))].reset_index(drop=True)
    table.loc[(table["method"] == "C") & (table["case"] == "c05"), "value"] = np.nan
    found = [(g.method, g.case, g.status, g.scores) for g in gaps(completed(table))]
    assert found == [
        ("B", "c03", "missing", "Dice; HD95"),
        ("C", "c05", "missing", "Dice; HD95"),
    ]
    assert "Nothing: every method" not in markdown(report(table, missing="worst"))


def test_gaps_of_all_methods_are_gaps_of_the_same_scores() -> None:
    table = completed(make(methods=("A", "B"), cases=2))
    one = (table["method"] == "A") & (table["metric"] == "dsc") & (table["case"] == "c00")
    two = (table["method"] == "B") & (table["metric"] == "hd95") & (table["case"] == "c00")
    table.loc[one | two, ["status", "value"]] = ["undefined", np.nan]
    found = [(g.method, g.scores) for g in gaps(table)]
    assert found == [("A", "Dice"), ("B", "HD95")]


def test_a_gap_is_in_no_other_reading() -> None:
    table = pd.concat(
        [make(cases=2).assign(reading=name) for name in ("corrected", "released")],
        ignore_index=True,
    )
    table = completed(table)
    lost = (table["method"] == "A") & (table["case"] == "c00")
    lost &= (table["metric"] == "dsc") | (table["reading"] == "released")
    table.loc[lost, "status"] = "failed"
    found = {(g.scores, g.readings) for g in gaps(table)}
    assert found == {("Dice", "corrected, released"), ("HD95", "released")}


def without_vessel() -> pd.DataFrame:
    """Three methods on one case that lacks a vessel; C has no prediction of it."""
    rows = [
        ("A", "PORTA", 10.0, "ok", ""),
        ("A", "SMA", np.nan, "undefined", "the reference has no such vessel"),
        ("C", "PORTA", 360.0, "missing", "no prediction"),
        ("C", "SMA", np.nan, "missing", "no prediction"),
    ]
    rows += [("B", *row[1:]) for row in rows[:2]]
    table = pd.DataFrame(rows, columns=["method", "structure", "value", "status", "detail"])
    return table.assign(case="P1", metric="vi", reading="corrected")


def test_what_nobody_can_be_scored_in_is_undefined_for_a_missing_prediction_too() -> None:
    found = [(g.method, g.status, g.scores, g.detail, g.counts_as) for g in gaps(without_vessel())]
    assert found == [
        ("C", "missing", "VI (PORTA)", "no prediction", "penalty"),
        ("all methods", "undefined", "VI (SMA)", "the reference has no such vessel", "left out"),
    ]


def test_an_undefined_score_with_a_value_counts() -> None:
    table = completed(make(methods=("A", "B"), cases=2))
    empty = table["case"] == "c00"
    table.loc[empty, ["status", "detail"]] = ["undefined", "the reference is empty"]
    table.loc[empty & (table["metric"] == "hd95"), "value"] = np.nan
    found = {(g.method, g.scores, g.counts_as) for g in gaps(table)}
    assert found == {("all methods", "Dice", "penalty"), ("all methods", "HD95", "left out")}


@pytest.mark.parametrize(("missing", "counts_as"), [("worst", "penalty"), ("exclude", "left out")])
def test_a_value_that_one_method_lacks_counts_as_the_ranking_says(missing, counts_as) -> None:
    table = make()
    table.loc[(table["method"] == "C") & (table["case"] == "c05"), "value"] = np.nan
    (gap,) = content(study(table, missing=missing)).gaps
    assert gap.counts_as == counts_as


def policy_said(**policy: str) -> str:
    metrics = [{"name": "dice"}, {"name": "cldice", "undefined": "exclude"}]
    run = Run.model_validate({"protocol": {"definition": {"policy": policy, "metrics": metrics}}})
    return " ".join(methods.policy_sentences(protocol(run), provenance(run)))


def test_the_policies_for_an_absent_class_do_not_contradict_each_other() -> None:
    said = policy_said(undefined="exclude", empty_reference="exclude")
    assert "false positives cost nothing" in said
    said = policy_said(undefined="worst", empty_reference="exclude")
    assert "counts as the worst, if it has one (but not clDice: left out)" in said
    assert "cost nothing" not in said
    assert "the same for all methods" in said
    said = policy_said(undefined="exclude", empty_reference="score")
    assert "scored where the metric allows it" in said


# ---- sentences -----------------------------------------------------------------------------


def test_the_caption_counts_the_cases_that_count() -> None:
    table = make(cases=8)
    table.loc[(table["case"] == "c01") & (table["method"] == "A"), "value"] = np.nan
    whole = content(study(table, missing="exclude"))
    assert "mean over 7 cases" in whole.main.caption
    assert whole.cases == 7
    table.loc[
        (table["case"] == "c02") & (table["method"] == "A") & (table["metric"] == "dsc"), "value"
    ] = np.nan
    caption = content(study(table, missing="exclude")).main.caption
    assert "mean over 6 to 7 cases" in caption


def test_a_note_keeps_the_names_in_it() -> None:
    table = make(cases=9)
    table.loc[(table["metric"] == "hd95") & (table["case"] < "c07"), "value"] = np.nan
    (note,) = [said for said in content(study(table)).summary if "hd95" in said.lower()]
    assert note.startswith("Note: hd95: 2 of 9 cases")
    assert note.endswith("c00, c01, c02, c03, c04 and 2 more.")


@pytest.mark.parametrize(("methods", "cases"), [(("A",), 8), (("A", "B"), 1)])
def test_what_was_not_done_is_not_told(methods: tuple[str, ...], cases: int) -> None:
    made = report(make(methods=methods, cases=cases))
    assert said_of(made, "Tests") == ""
    assert "drawn with replacement" not in said_of(made, "Uncertainty")
    assert said_of(report(make(methods=("A", "B"))), "Tests") != ""


def test_no_numbers_are_described_that_the_report_does_not_show() -> None:
    assert "means" not in said_of(report(make()), "Uncertainty")


def test_of_few_cases_no_resamples_are_told() -> None:
    few = page(report(make(cases=3), kinds=("ranks",)))
    assert "drawn anew" not in few
    assert "How sure is the order?" in few
    assert "drawn anew" in page(report(make(cases=8), kinds=("ranks",)))


def test_the_page_says_how_ties_and_schemes_are() -> None:
    shared = "share the mean of their ranks"
    assert shared in page(report(make()))
    best = page(report(make(), ties="min"))
    assert shared not in best
    assert "share the best of their ranks" in best
    assert "Wilcoxon" in report(make(), scheme="test-then-rank").order


def test_ranks_on_cases_are_told_as_they_are_aggregated() -> None:
    made = report(make(), scheme="rank-then-aggregate", aggregate="median")
    assert "median rank on the cases" in made.content.main.caption
    assert "the median over the cases is the rank in a score" in said_of(made, "Ranking")


def test_a_metric_that_is_better_the_other_way_is_not_defined_as_ours() -> None:
    table = make(metrics=("dice", "nsd")).assign(value=lambda rows: 100 * rows["value"])
    rules = Rules(directions={"dice": "lower"})
    made = make_report(Study(completed(table), rules), kinds=())
    dice, nsd = made.definitions
    assert (dice.summary, dice.bounds, dice.better) == (
        "Given by the table; not defined here.",
        "",
        "lower",
    )
    assert nsd.summary.startswith("Share of the two surfaces")
    assert nsd.bounds == ""  # per cent


def test_conover_decides_nothing_where_friedman_finds_nothing() -> None:
    made = study(make(cases=5, seed=1), missing="worst")
    tests = made.analysis.scores["dsc"].tests
    assert tests is not None
    assert tests.friedman.p > 0.05
    assert p_values_alt(made, "dsc").endswith("so Conover's decides nothing.")


# ---- numbers -------------------------------------------------------------------------------


def test_structures_are_compared_on_the_cases_that_all_methods_have() -> None:
    whole = make(methods=("A", "B"), cases=4, metrics=("dsc",))
    parts = whole.assign(structure="liver")
    easy, hard = parts["case"] == "c00", parts["case"] != "c00"
    parts.loc[easy, "value"], parts.loc[hard, "value"] = 0.9, 0.1
    parts.loc[hard & (parts["method"] == "A"), "value"] = 0.2
    parts.loc[(parts["case"] == "c03") & (parts["method"] == "B"), "value"] = np.nan
    table = pd.concat([whole.assign(structure="all"), parts], ignore_index=True)
    (breakdown,) = content(study(table)).breakdowns
    ((_, cells),) = breakdown.rows
    found = dict(zip(breakdown.methods, cells, strict=True))
    assert found == {"A": ("0.433", True), "B": ("0.367", False)}  # of c00, c01 and c02
    assert "that all methods have" in breakdown.caption


@pytest.mark.parametrize(
    ("value", "shown"), [(3.21e-5, "0.00003210"), (0.321, "0.3210"), (1e300, "1.000e+300")]
)
def test_no_number_is_lost_or_endless(value: float, shown: str) -> None:
    assert number(value, decimals("mse", [value])) == shown


# ---- names from outside --------------------------------------------------------------------


def hidden(text: str) -> set[str]:
    return {char for char in text if unicodedata.category(char)[0] == "C"} - {"\n"}


def test_names_show_no_hidden_characters_and_no_tags() -> None:
    table = make(methods=(HOSTILE, "B", "C"), metrics=("dsc",))
    table["structure"] = np.where(table["case"] < "c04", HOSTILE, "organ")
    table = pd.concat(
        [table.assign(reading=name) for name in (HOSTILE, "second\u202e")], ignore_index=True
    )
    table = completed(table)
    table.loc[0, ["status", "detail"]] = ["failed", HOSTILE]
    made = report(table, missing="worst")
    for text in (markdown(made), page(made)):
        assert hidden(text) == set()
        assert "<b>" not in text


@pytest.mark.parametrize("name", [HOSTILE, "cr\rname", 'q"uote', "=1+1"])
def test_the_data_of_a_figure_can_be_read_back_whatever_the_names(name: str) -> None:
    table = make(methods=(name, "B"), metrics=("dsc",))
    (group,) = report(table, kinds=("boxes",)).drawn.groups
    data = pd.read_csv(io.BytesIO(group.figures[0].files["csv"]))
    assert set(data["method"]) == {name, "B"}
    mine = table[table["method"] == name]["value"]
    assert data[data["method"] == name]["value"].to_list() == pytest.approx(mine.to_list())


def test_a_name_never_has_more_lines_than_it_may() -> None:
    name = "a---a-a- ab-a-aaa-bb-a - -"
    lines = wrapped(name, width=10, lines=2).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 10


# ---- files beside the table, and one figure at a time --------------------------------------


def write(folder: Path, run: str) -> Path:
    make().to_csv(folder / "scores.csv", index=False)
    (folder / "run.json").write_text(run, "utf-8")
    return folder / "scores.csv"


def warnings_of(scores: Path) -> tuple[str, ...]:
    kept = Study.of(Results.read(scores))
    return publish(kept, scores.with_name("r.html"), kinds=("dendrogram",)).problems


@pytest.mark.parametrize("run", ['{"protocol": ', "[1, 2]", "\x00"])
def test_a_run_that_cannot_be_read_is_told(tmp_path: Path, run: str) -> None:
    (told,) = warnings_of(write(tmp_path, run))
    assert told.startswith("run.json cannot be read")


@pytest.mark.parametrize("relative", ["x", [1], None, {"reference": 7}])
def test_folders_that_are_gone_are_told(tmp_path: Path, relative: object) -> None:
    definition = load_protocol("curvas-2024").model_dump(mode="json")
    run = {"protocol": {"definition": definition}, "reference": "/gone", "predictions": 5}
    scores = write(tmp_path, json.dumps({**run, "relative": relative}))
    kept = Study.of(Results.read(scores))
    (told,) = publish(kept, tmp_path / "r.html", kinds=("dendrogram",)).problems
    assert told.startswith("no pictures of cases: there is no folder /gone")


@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("cases", [1, 3])
def test_what_a_table_cannot_carry_is_refused_in_words(name: str, cases: int) -> None:
    kept = study(make(methods=("A", "B"), cases=cases, metrics=("dsc",)))
    subjects = KINDS[name].subjects(kept)
    for subject in ({}, {"score": "hd95"}, {"score": "dsc"}):
        if subject not in subjects and (subject or not subjects):
            with pytest.raises(InputError):
                illustrate(name, kept, subject)


def test_a_figure_says_which_score_it_needs() -> None:
    kept = study(make())
    with pytest.raises(InputError, match=r"boxes needs a `score`.*dsc, hd95"):
        illustrate("boxes", kept, {})
    assert illustrate("blob", kept, {}).title == "Resampled ranks"
